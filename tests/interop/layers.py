"""Parts that PyTorch's stock Transformer layers lack: rotary and ALiBi positions, normalised queries and keys, additive
attention, RMS norm, SiLU and SwiGLU. With them nn.TransformerEncoderLayer and nn.TransformerDecoderLayer load every model that ./train
writes with strict=True, as in tests/golden/models.py. `meta` is the file's __metadata__."""
import math

import torch
from torch import nn
from torch.nn import functional as F


def turned(x):
    """x [B, heads, T, d_k] turned by rotary positions, as transformers.models.llama does it."""
    a, b = x.chunk(2, -1)
    rate = 10000 ** (torch.arange(a.shape[-1], dtype=torch.float64) / a.shape[-1])
    angle = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] / rate
    cosine, sine = (f(angle).repeat(1, 2).to(x.dtype) for f in (torch.cos, torch.sin))
    return x * cosine + torch.cat([-b, a], -1) * sine


def slopes(heads):
    """Of ALiBi, as get_slopes of the authors' code gives them: ofirpress/attention_with_linear_biases."""
    if math.log2(heads).is_integer():
        start = 2 ** (-(2 ** -(math.log2(heads) - 3)))
        return [start * start**i for i in range(heads)]
    closest = 2 ** math.floor(math.log2(heads))
    return slopes(closest) + slopes(2 * closest)[0::2][: heads - closest]


class OwnAttention(nn.MultiheadAttention):
    """The stock module, with scores w·tanh(q + k) in the place of q·k / sqrt(d_k), normalised queries and keys, rotary
    positions or those of ALiBi. `places`: attention to the same tokens, which alone knows positions."""

    def __init__(self, stock, meta, places):
        super().__init__(stock.embed_dim, stock.num_heads, batch_first=True)
        self.turns, self.falls = (places and meta["positions"] == kind for kind in ("rotary", "alibi"))
        self.normalises = meta.get("qk_norm") == "true"
        if meta["attention"] == "additive":
            self.score_weight = nn.Parameter(torch.zeros(stock.embed_dim))

    def scores(self, q, k):
        if not hasattr(self, "score_weight"):
            return q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        pairs = torch.tanh(q[:, :, :, None] + k[:, :, None])  # [B, heads, T, S, d_k]
        return (pairs * self.score_weight.view(self.num_heads, 1, 1, -1)).sum(-1)

    def forward(self, query, key, value, key_padding_mask=None, attn_mask=None, need_weights=False, is_causal=False):
        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q, k, v = (
            F.linear(x, w, b).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for x, w, b in zip((query, key, value), weights, biases)
        )
        if self.normalises:
            q, k = (F.rms_norm(x, x.shape[-1:], eps=1e-5) for x in (q, k))
        if self.turns:
            q, k = turned(q), turned(k)
        scores = self.scores(q, k)
        if self.falls:
            place = torch.arange(q.shape[-2])
            scores = scores - torch.tensor(slopes(self.num_heads)).to(q)[:, None, None] * (place[:, None] - place).abs()
        for mask in (attn_mask, None if key_padding_mask is None else key_padding_mask[:, None, None]):
            if mask is not None:
                scores = scores.masked_fill(mask, -math.inf) if mask.dtype == torch.bool else scores + mask
        return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2)), None


def norm(meta, width):
    return (nn.RMSNorm if meta.get("norm_kind") == "rms" else nn.LayerNorm)(width, eps=1e-5)


def swiglu(x):
    gate, value = x.chunk(2, -1)
    return F.silu(gate) * value


def activation(meta):
    return {"silu": F.silu, "swiglu": swiglu}.get(meta["activation"], meta["activation"])


def amend(layer, meta):
    """Gives a stock layer the parts that it lacks."""
    if meta["positions"] in ("rotary", "alibi") or meta["attention"] == "additive" or meta.get("qk_norm") == "true":
        layer.self_attn = OwnAttention(layer.self_attn, meta, True)
        if hasattr(layer, "multihead_attn"):
            layer.multihead_attn = OwnAttention(layer.multihead_attn, meta, False)
    if meta["activation"] == "swiglu":
        layer.linear1 = nn.Linear(layer.linear1.in_features, 2 * layer.linear1.out_features)
    for name in [name for name, _ in layer.named_children() if name.startswith("norm")]:
        setattr(layer, name, norm(meta, int(meta["d_model"])))
