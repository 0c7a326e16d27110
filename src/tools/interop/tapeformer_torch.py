"""A run of ./train in PyTorch: load it, generate, train on, and save it again.

    import tapeformer_torch
    model = tapeformer_torch.load("runs/lm")          # an nn.Module of stock Transformer layers
    print(model.generate("Once", length=200))
    logits = model(torch.tensor([model.tokens.encode("Once")]))
    tapeformer_torch.save(model, "runs/more")         # ./generate and ./train --from take it

generate computes the whole window for each token, without a cache of keys: it is for a look at a
model that was trained on. For long texts save it, and ./generate writes them far quicker.

Copy this file where it is needed. It needs torch and safetensors. state_dict() has exactly the
tensors of model.safetensors; nn.TransformerEncoderLayer and nn.TransformerDecoderLayer get the
parts that they lack: rotary and ALiBi positions, normalised queries and keys, additive attention,
RMS norm, SiLU and SwiGLU."""

import contextlib
import math
import os
import re

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

# ---- Tokens: src/core/text/tokenizer.h ----

# Words as in src/core/text/words.h; a character stands for a byte.
RUNS = [
    ("[A-Za-z\x80-\xff]", "(?![\x80-\xbf])"),
    ("[0-9]", ""),
    ("[^A-Za-z\x80-\xff0-9 \t-\r]", ""),
]
WORDS = "|".join(
    [
        "'[A-Za-z]{1,2}(?![A-Za-z])",
        *(f"(?: {each}{{1,63}}|{each}{{1,64}}){end}" for each, end in RUNS),
        "[ \t-\r]{1,63}(?= [^ \t-\r])|[ \t-\r]{1,64}",
    ]
)


class Tokens:
    """The tokenizer that a run's vocabulary describes."""

    def __init__(self, vocabulary):
        found = re.match("tokenizer (byte|bpe|ids)\n", vocabulary)
        self.kind = found[1] if found else "char"
        body, self.rank = vocabulary[found.end() :] if found else vocabulary, {}
        if self.kind == "char":
            self.text = [character.encode() for character in body]
        elif self.kind == "ids":
            self.text = [b"%d " % i for i in range(int(body))]
        else:
            self.text = [bytes([i]) for i in range(256)]
        for line in body.splitlines() if self.kind == "bpe" else ():
            left, right = map(int, line.split())
            self.rank[left, right] = len(self.text)
            self.text.append(self.text[left] + self.text[right])
        self.id = {text: i for i, text in enumerate(self.text)}

    def merged(self, piece):
        ids = list(piece)
        while pairs := [self.rank[pair] for pair in zip(ids, ids[1:]) if pair in self.rank]:
            best = min(pairs)
            at = next(i for i, pair in enumerate(zip(ids, ids[1:])) if self.rank.get(pair) == best)
            ids[at : at + 2] = [best]
        return ids

    def encode(self, text):
        """The ids of a text. ValueError: a character of it has none."""
        if self.kind in ("char", "ids"):
            words = list(text) if self.kind == "char" else [word + " " for word in text.split()]
            if unknown := [word for word in words if word.encode() not in self.id]:
                need = "characters of the vocabulary" if self.kind == "char" else "ids from 0 on"
                raise ValueError(f"found {unknown[0]!r}, need one of the {len(self.id)} {need}")
            return [self.id[word.encode()] for word in words]
        if self.kind == "byte":
            return list(text.encode())
        pieces = re.findall(WORDS, text.encode().decode("latin-1"))
        return [i for piece in pieces for i in self.merged(piece.encode("latin-1"))]

    def decode(self, ids):
        return b"".join(self.text[i] for i in ids if i < len(self.text)).decode(errors="replace")


# ---- Parts of layers ----


def turned(x, base):
    """x [B, heads, T, d_k] turned by rotary positions, as transformers.models.llama does it."""
    a, b = x.chunk(2, -1)
    rate = base ** (torch.arange(a.shape[-1], dtype=torch.float64) / a.shape[-1])
    angle = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] / rate
    cosine, sine = (f(angle).repeat(1, 2).to(x.dtype) for f in (torch.cos, torch.sin))
    return x * cosine + torch.cat([-b, a], -1) * sine


def slopes(heads):
    """Of ALiBi, as the authors' get_slopes gives them: ofirpress/attention_with_linear_biases."""
    if math.log2(heads).is_integer():
        start = 2 ** (-(2 ** -(math.log2(heads) - 3)))
        return [start * start**i for i in range(heads)]
    closest = 2 ** math.floor(math.log2(heads))
    return slopes(closest) + slopes(2 * closest)[0::2][: heads - closest]


class Attention(nn.MultiheadAttention):
    """The stock module with scores w·tanh(q + k) in the place of q·k / √d_k, normalised queries and
    keys, rotary positions or those of ALiBi. `places`: attention to the same tokens, which alone
    knows positions."""

    def __init__(self, stock, meta, places):
        super().__init__(
            stock.embed_dim, stock.num_heads, bias=stock.in_proj_bias is not None, batch_first=True
        )
        self.turns = places and meta["positions"] == "rotary"
        self.falls = places and meta["positions"] == "alibi"
        self.normalises = meta.get("qk_norm") == "true"
        self.base = float(meta.get("rotary_base", 10000))
        if meta["attention"] == "additive":
            self.score_weight = nn.Parameter(torch.zeros(stock.embed_dim))

    def scores(self, q, k):
        if not hasattr(self, "score_weight"):
            return q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        pairs = torch.tanh(q[:, :, :, None] + k[:, :, None])  # [B, heads, T, S, d_k]
        return (pairs * self.score_weight.view(self.num_heads, 1, 1, -1)).sum(-1)

    def forward(self, query, key, value, key_padding_mask=None, attn_mask=None, **unused):
        weights = self.in_proj_weight.chunk(3)
        biases = [None] * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        q, k, v = (
            F.linear(x, w, b).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for x, w, b in zip((query, key, value), weights, biases)
        )
        if self.normalises:
            q, k = (F.rms_norm(x, x.shape[-1:], eps=1e-5) for x in (q, k))
        if self.turns:
            q, k = turned(q, self.base), turned(k, self.base)
        scores = self.scores(q, k)
        if self.falls:
            place, slope = torch.arange(q.shape[-2]), torch.tensor(slopes(self.num_heads)).to(q)
            scores = scores - slope[:, None, None] * (place[:, None] - place).abs()
        padding = None if key_padding_mask is None else key_padding_mask[:, None, None]
        for mask in (attn_mask, padding):
            if mask is not None and mask.dtype == torch.bool:
                scores = scores.masked_fill(mask, -math.inf)
            elif mask is not None:
                scores = scores + mask
        return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2)), None


def norm(meta, width):
    return (nn.RMSNorm if meta.get("norm_kind") == "rms" else nn.LayerNorm)(width, eps=1e-5)


def swiglu(x):
    gate, value = x.chunk(2, -1)
    return F.silu(gate) * value


def amend(layer, meta):
    """Gives a stock layer the parts that it lacks."""
    relative, additive = meta["positions"] in ("rotary", "alibi"), meta["attention"] == "additive"
    if relative or additive or meta.get("qk_norm") == "true":
        layer.self_attn = Attention(layer.self_attn, meta, True)
        if hasattr(layer, "multihead_attn"):
            layer.multihead_attn = Attention(layer.multihead_attn, meta, False)
    if meta["activation"] == "swiglu":
        first = layer.linear1
        layer.linear1 = nn.Linear(
            first.in_features, 2 * first.out_features, bias=first.bias is not None
        )
    for name in [name for name, _ in layer.named_children() if name.startswith("norm")]:
        setattr(layer, name, norm(meta, int(meta["d_model"])))


def sinusoids(length, d_model):
    """[length, d_model]: the paper's section 3.5, sine in even columns and cosine in odd ones."""
    position = torch.arange(length, dtype=torch.float64)[:, None]
    angle = position / 10000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


# ---- The model ----


class Model(nn.Module):
    """The model that the metadata of a weight file describe. It stays in training mode, with
    dropout 0: in evaluation mode nn.TransformerEncoder takes another path, which leaves out padded
    positions."""

    def __init__(self, meta):
        super().__init__()
        d_model, vocab_size = int(meta["d_model"]), int(meta["vocab_size"])
        self.meta, self.seq2seq = dict(meta), meta["kind"] == "seq2seq"
        self.tokens = Tokens(meta["vocabulary"]) if "vocabulary" in meta else None
        self.d_model, self.added = d_model, meta["positions"] in ("sinusoidal", "learned")
        self.scale = math.sqrt(d_model) if meta["scale_embedding"] == "true" else 1.0
        self.pad_id = None if meta["pad_id"] == "none" else int(meta["pad_id"])
        self.label_smoothing = float(meta["label_smoothing"])
        activations = {"silu": F.silu, "swiglu": swiglu}
        layer = dict(
            d_model=d_model,
            nhead=int(meta["heads"]),
            dim_feedforward=int(meta["d_ff"]),
            dropout=0.0,
            activation=activations.get(meta["activation"], meta["activation"]),
            layer_norm_eps=1e-5,
            batch_first=True,
            norm_first=meta["norm"] == "pre",
            bias=meta.get("biases") != "false",
        )

        def final_norm(wanted):
            return norm(meta, d_model) if wanted and meta["final_norm"] == "true" else None

        self.embedding = nn.Embedding(vocab_size, d_model)
        self.positions = None
        if meta["positions"] == "learned":
            self.positions = nn.Embedding(int(meta["max_length"]), d_model)
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**layer),
            int(meta["encoder_layers"]),
            norm=final_norm(self.seq2seq),
            enable_nested_tensor=False,
        )
        self.decoder = None
        if self.seq2seq:
            self.decoder = nn.TransformerDecoder(
                nn.TransformerDecoderLayer(**layer),
                int(meta["decoder_layers"]),
                norm=final_norm(True),
            )
        for each in [*self.encoder.layers, *(self.decoder.layers if self.seq2seq else ())]:
            amend(each, meta)
        self.norm = final_norm(not self.seq2seq)
        self.output = None if meta["tied"] == "true" else nn.Linear(d_model, vocab_size, bias=False)

    def embed(self, ids):
        x = self.embedding(ids) * self.scale
        if not self.added:
            return x
        if self.positions is None:
            return x + sinusoids(ids.shape[1], self.d_model).to(x.dtype)
        return x + self.positions(torch.arange(ids.shape[1]))

    def hidden_keys(self, ids):
        return None if self.pad_id is None else ids == self.pad_id

    def forward(self, target_in, source=None):
        """Logits [B, T, V] of the ids target_in [B, T] and, for a seq2seq, source [B, S]."""
        length = target_in.shape[1]
        x = self.embed(target_in)
        hidden = self.hidden_keys(target_in)
        causal = torch.ones(length, length, dtype=torch.bool).triu(1)
        if self.seq2seq:
            hidden_source = self.hidden_keys(source)
            memory = self.encoder(self.embed(source), src_key_padding_mask=hidden_source)
            x = self.decoder(
                x,
                memory,
                tgt_mask=causal,
                tgt_key_padding_mask=hidden,
                memory_key_padding_mask=hidden_source,
            )
        else:
            x = self.encoder(x, mask=causal, src_key_padding_mask=hidden)
            x = x if self.norm is None else self.norm(x)
        return F.linear(x, (self.embedding if self.output is None else self.output).weight)

    def loss(self, logits, target_out):
        """The mean over the targets [B, T] that are not padding."""
        return F.cross_entropy(
            logits.flatten(0, 1),
            target_out.flatten(),
            label_smoothing=self.label_smoothing,
            ignore_index=-100 if self.pad_id is None else self.pad_id,
        )

    @torch.no_grad()
    def generate(self, prompt, length=200, temperature=0.0):
        """The text that continues the prompt, or of a seq2seq the answer to it; temperature 0 takes
        the likeliest token. It reads the last max_length tokens at most."""
        ids, window, source = self.tokens.encode(prompt), int(self.meta["max_length"]), None
        first, end = (int(self.meta.get(key, -1)) for key in ("begin_id", "end_id"))
        if self.seq2seq:
            source, ids, length = torch.tensor([ids]), [], min(length, window - 1)
        if self.seq2seq or first >= 0:
            ids = [first] + ids
        given = len(ids)
        with one_thread():
            for _ in range(length):
                logits = self(torch.tensor([ids[-window:]]), source)[0, -1]
                if temperature == 0:
                    new = int(logits.argmax())
                else:
                    new = int(torch.multinomial((logits / temperature).softmax(-1), 1))
                if new == end:
                    break
                ids.append(new)
        return self.tokens.decode(ids[given:])


@contextlib.contextmanager
def one_thread():
    """A token of a small model ends before other threads, which may wait for a core, have begun."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


# ---- Files ----


def load(run):
    """The model of a run's directory, or of its model.safetensors."""
    path = run if run.endswith(".safetensors") else os.path.join(run, "model.safetensors")
    with safe_open(path, "pt") as file:
        model = Model(file.metadata())
        weights = {name: file.get_tensor(name) for name in file.keys()}
    model.to(weights["embedding.weight"].dtype)
    model.load_state_dict(weights, strict=True)
    return model


def save(model, run, replace=False):
    """Writes model.safetensors into a directory. FileExistsError: it has a run, and `replace` is
    false. The checksum of the old file goes."""
    path = os.path.join(run, "model.safetensors")
    if os.path.exists(path) and not replace:
        raise FileExistsError(f"{run}: found a run, need another name or replace=True")
    os.makedirs(run, exist_ok=True)
    meta = {key: word for key, word in model.meta.items() if key != "crc32"}
    save_file(model.state_dict(), path, meta)
