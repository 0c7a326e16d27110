"""The project's models, made of stock PyTorch modules as a weight file says. tests/interop/layers.py has what PyTorch
lacks."""

import math
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop"))
from layers import activation, amend, norm  # noqa: E402


def sinusoids(length, d_model):
    """[length, d_model]: the paper's section 3.5, sine in even columns and cosine in odd ones."""
    position = torch.arange(length, dtype=torch.float64)[:, None]
    angle = position / 10000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


class Model(nn.Module):
    """Its state_dict has exactly the tensors of a weight file. It stays in training mode, with dropout 0: in
    evaluation mode nn.TransformerEncoder takes another path, which leaves out padded positions."""

    def __init__(self, meta):
        super().__init__()
        d_model, vocab_size = int(meta["d_model"]), int(meta["vocab_size"])
        self.seq2seq = meta["kind"] == "seq2seq"
        self.d_model, self.added = d_model, meta["positions"] in ("sinusoidal", "learned")
        self.scale = math.sqrt(d_model) if meta["scale_embedding"] == "true" else 1.0
        self.pad_id = None if meta["pad_id"] == "none" else int(meta["pad_id"])
        self.label_smoothing = float(meta["label_smoothing"])
        layer = dict(
            d_model=d_model,
            nhead=int(meta["heads"]),
            dim_feedforward=int(meta["d_ff"]),
            dropout=0.0,
            activation=activation(meta),
            layer_norm_eps=1e-5,
            batch_first=True,
            norm_first=meta["norm"] == "pre",
        )

        def final_norm(wanted):
            return norm(meta, d_model) if wanted and meta["final_norm"] == "true" else None

        self.embedding = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Embedding(int(meta["max_length"]), d_model) if meta["positions"] == "learned" else None
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**layer),
            int(meta["encoder_layers"]),
            norm=final_norm(self.seq2seq),
            enable_nested_tensor=False,
        )
        self.decoder = None
        if self.seq2seq:
            self.decoder = nn.TransformerDecoder(
                nn.TransformerDecoderLayer(**layer), int(meta["decoder_layers"]), norm=final_norm(True)
            )
        for layer in [*self.encoder.layers, *(self.decoder.layers if self.seq2seq else ())]:
            amend(layer, meta)
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
        """Logits [B,T,V] of the ids target_in [B,T] and, for a seq2seq, source [B,S]."""
        length = target_in.shape[1]
        x = self.embed(target_in)
        hidden = self.hidden_keys(target_in)
        causal = torch.ones(length, length, dtype=torch.bool).triu(1)
        if self.seq2seq:
            hidden_source = self.hidden_keys(source)
            memory = self.encoder(self.embed(source), src_key_padding_mask=hidden_source)
            x = self.decoder(
                x, memory, tgt_mask=causal, tgt_key_padding_mask=hidden, memory_key_padding_mask=hidden_source
            )
        else:
            x = self.encoder(x, mask=causal, src_key_padding_mask=hidden)
            x = x if self.norm is None else self.norm(x)
        return F.linear(x, (self.embedding if self.output is None else self.output).weight)

    def loss(self, logits, target_out):
        """The mean over the targets that are not padding."""
        return F.cross_entropy(
            logits.flatten(0, 1),
            target_out.flatten(),
            ignore_index=-100 if self.pad_id is None else self.pad_id,
            label_smoothing=self.label_smoothing,
        )


def gradients(meta, weights, batch):
    """The tensors of a gradient file: the model that meta describes, with these weights, on this batch. All
    three are dictionaries; weights and batch hold torch tensors, and the weights' type is the precision."""
    dtype = weights["embedding.weight"].dtype
    model = Model(meta).to(dtype)
    model.load_state_dict(weights, strict=True)
    model.train()
    target_out = batch["target_out"].long()
    source = batch["source"].long() if model.seq2seq else None
    logits = model(batch["target_in"].long(), source)
    loss = model.loss(logits, target_out)
    loss.backward()
    shown = logits.detach().clone()
    if model.pad_id is not None:
        shown[target_out == model.pad_id] = 0
    result = {"loss": loss.detach(), "logits": shown}
    for name, parameter in model.named_parameters():
        result["grad." + name] = parameter.grad
    return result
