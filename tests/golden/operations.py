"""Elementary operations in PyTorch: OP.x, … the inputs, OP.y the output, OP.dy a random upstream gradient,
OP.dx, … the gradients."""

import math

import numpy as np
import torch
from torch.nn import functional as F

from common import normal, single, stream

METADATA = {
    "softmax": "over the last axis, as log_softmax; the rows: ordinary, around 1000, spread over 800",
    "layer_norm": "over the last axis, eps 1e-5 inside the root, biased variance",
    "layer_norm_flat": "the same on rows of equal elements: variance 0",
    "gelu": "x (1 + erf(x / sqrt 2)) / 2",
    "silu": "x / (1 + e^-x)",
    "swiglu": "silu(a) b, x = a|b",
    "rms_norm": "over the last axis, eps 1e-5 inside the root",
    "rotary": "x [n,3 heads d_k] holds q|k|v, 2 heads; q and k turned as transformers.models.llama turns them, row i as "
    "position at[i], base 10000",
    "rotary_normalised": "the same after F.rms_norm of every head, eps 1e-5",
    "cross_entropy": "mean over targets other than 0, label smoothing 0.1 over all classes",
    "cross_entropy_plain": "mean over all targets, no smoothing",
    "embedding": "rows of weight; ids repeat, and two rows are never asked for",
    "linear": "x weight^T + bias, weight is [out,in]",
    "attention": "q k v [B,h,T,d_k]; causal, and key_padding_mask [B,S] is 1 where a key is hidden; scores "
    "over sqrt d_k",
    "cross_attention": "the same without causal mask, T and S differ",
    "additive_attention": "as attention, with scores sum_c w_c tanh(q_c + k_c), w [h,d_k], not divided",
    "matmul": "a [2,1,3,4] by b [5,4,2]: leading axes broadcast",
}


def golden(out, op, f, constants=None, **inputs):
    """Adds to out the values and gradients of y = f(inputs, constants)."""
    rng, constants = stream(op), constants or {}
    inputs = {name: single(x) for name, x in inputs.items()}
    leaves = {name: torch.tensor(x, requires_grad=True) for name, x in inputs.items()}
    y = f(*leaves.values(), *map(torch.tensor, constants.values()))
    dy = normal(rng, *y.shape)
    y.backward(torch.tensor(dy))

    for name in inputs:
        out[f"{op}.d{name}"] = leaves[name].grad.numpy()
    for name, x in {**inputs, **constants, "y": y.detach().numpy(), "dy": dy}.items():
        out[f"{op}.{name}"] = x


def torch_additive(q, k, v, w, key_padding_mask):
    score = torch.einsum("bhijc,hc->bhij", torch.tanh(q.unsqueeze(3) + k.unsqueeze(2)), w)
    seen = (key_padding_mask == 0)[:, None, None, :].expand(-1, 1, q.shape[-2], -1).tril()
    return F.softmax(score.masked_fill(~seen, -math.inf), -1) @ v


def torch_attention(q, k, v, key_padding_mask, causal):
    seen = (key_padding_mask == 0)[:, None, None, :].expand(-1, 1, q.shape[-2], -1)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=seen.tril() if causal else seen)


HEADS, D_K = 2, 6


def turned(x, at, normalise):
    """q and k of q|k|v turned as stock PyTorch models have it: x cos + rotate_half(x) sin."""
    x = x.reshape(len(x), 3 * HEADS, D_K)
    qk, v = x[:, : 2 * HEADS], x[:, 2 * HEADS :]
    if normalise:
        qk = F.rms_norm(qk, (D_K,), eps=1e-5)
    angle = at[:, None] / 10000 ** (torch.arange(0, D_K, 2, dtype=torch.float64) / D_K)
    angle = torch.cat([angle, angle], -1)[:, None]
    one, other = qk.chunk(2, -1)
    qk = qk * angle.cos() + torch.cat([-other, one], -1) * angle.sin()
    return torch.cat([qk, v], 1).reshape(len(x), -1)


def operations():
    out, rng = {}, stream("operations")

    x = normal(rng, 3, 6)
    x[1] += 1000
    x[2] *= 400
    golden(out, "softmax", lambda x: F.softmax(x, -1), x=x)
    golden(out, "log_softmax", lambda x: F.log_softmax(x, -1), x=x)

    def norm(x, weight, bias):
        return F.layer_norm(x, weight.shape, weight, bias, 1e-5)

    x, weight, bias = 3 * normal(rng, 2, 4, 6) + 1, normal(rng, 6), normal(rng, 6)
    golden(out, "layer_norm", norm, x=x, weight=weight, bias=bias)
    flat = np.repeat([[0.5], [-3.0], [0.0]], 6, 1)
    golden(out, "layer_norm_flat", norm, x=flat, weight=weight, bias=bias)

    x = np.array([-40, -12, -6, -3, -1, -0.5, -(2.0**-20), 0, 2.0**-20, 0.5, 1, 3, 6, 12, 40])
    golden(out, "gelu", F.gelu, x=np.concatenate([x, normal(rng, 9)]).reshape(4, 6))

    golden(out, "silu", F.silu, x=x.reshape(3, 5))
    golden(out, "swiglu", lambda x: F.silu(x[:, :5]) * x[:, 5:], x=2 * normal(rng, 4, 10))

    def torch_rms_norm(x, weight):
        return F.rms_norm(x, weight.shape, weight, 1e-5)

    golden(out, "rms_norm", torch_rms_norm, x=3 * normal(rng, 2, 4, 6) + 1, weight=normal(rng, 6))
    for op, normalise in ("rotary", False), ("rotary_normalised", True):
        golden(
            out,
            op,
            lambda x, at: turned(x, at, normalise),
            {"at": np.array([0, 1, 2, 100, 3])},
            x=2 * normal(rng, 5, 3 * HEADS * D_K),
        )

    target = np.array([3, 0, 4, 1, 0, 3, 2])
    golden(
        out,
        "cross_entropy",
        lambda x, target: F.cross_entropy(x, target, ignore_index=0, label_smoothing=0.1),
        {"target": target},
        x=3 * normal(rng, 7, 5),
    )
    golden(out, "cross_entropy_plain", F.cross_entropy, {"target": target}, x=3 * normal(rng, 7, 5))
    golden(
        out,
        "embedding",
        lambda weight, ids: F.embedding(ids, weight),
        {"ids": np.array([[2, 5, 2, 0], [2, 6, 5, 3]])},
        weight=normal(rng, 7, 3),
    )
    golden(out, "linear", F.linear, x=normal(rng, 2, 3, 4), weight=normal(rng, 5, 4), bias=normal(rng, 5))
    golden(out, "matmul", torch.matmul, a=normal(rng, 2, 1, 3, 4), b=normal(rng, 5, 4, 2))

    for op, causal, queries, keys, lengths in (
        ("attention", True, 5, 5, [5, 2]),
        ("cross_attention", False, 4, 6, [1, 6]),
    ):
        hidden = (np.arange(keys) >= np.array(lengths)[:, None]).astype(np.int64)
        golden(
            out,
            op,
            lambda q, k, v, key_padding_mask: torch_attention(q, k, v, key_padding_mask, causal),
            {"key_padding_mask": hidden},
            q=normal(rng, 2, 3, queries, 4),
            k=normal(rng, 2, 3, keys, 4),
            v=normal(rng, 2, 3, keys, 4),
        )
    hidden = (np.arange(5) >= np.array([5, 3])[:, None]).astype(np.int64)
    golden(
        out,
        "additive_attention",
        torch_additive,
        {"key_padding_mask": hidden},
        q=normal(rng, 2, 3, 5, 4),
        k=normal(rng, 2, 3, 5, 4),
        v=normal(rng, 2, 3, 5, 4),
        w=normal(rng, 3, 4),
    )
    return out
