"""The model of ./explain in NumPy, as the paper has it: the forward pass, and every gradient through elementary operations (none
of the fused ones of src/core/ops)."""
import math

import numpy as np

HEADS = 4


def sinusoids(n, d):
    angle = np.arange(n)[:, None] / 10000 ** (np.arange(0, d, 2) / d)
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(n, d)


def angles(n, m):
    return np.arange(n)[:, None] / 10000 ** (np.arange(m) / m)


class V:
    """A value with its gradient; `parents` are pairs of a value and the function of dy that gives its share."""
    made = []

    def __init__(self, x, *parents):
        self.x, self.parents, self.g = np.asarray(x, dtype=float), parents, np.zeros(np.shape(x))
        V.made.append(self)

    def __add__(self, o):
        return V(self.x + o.x, (self, lambda d: fold(d, self.x)), (o, lambda d: fold(d, o.x)))

    def __mul__(self, o):
        return V(self.x * o.x, (self, lambda d: fold(d * o.x, self.x)), (o, lambda d: fold(d * self.x, o.x)))

    def __matmul__(self, o):
        return V(self.x @ o.x, (self, lambda d: d @ np.swapaxes(o.x, -1, -2)), (o, lambda d: np.swapaxes(self.x, -1, -2) @ d))

    def map(self, f, slope):
        return V(f(self.x), (self, lambda d: d * slope(self.x)))

    def sum(self):
        return V(self.x.sum(-1, keepdims=True), (self, lambda d: d + 0 * self.x))

    def reshape(self, *shape):
        return V(self.x.reshape(shape), (self, lambda d: d.reshape(self.x.shape)))

    def transpose(self, *axes):
        return V(self.x.transpose(axes), (self, lambda d: d.transpose(np.argsort(axes))))

    def __getitem__(self, key):
        def share(d):
            whole = np.zeros(self.x.shape)
            np.add.at(whole, key, d)
            return whole
        return V(self.x[key], (self, share))

    def times(self, c):
        return self.map(lambda x: c * x, lambda x: c)

    def power(self, p):
        return self.map(lambda x: x**p, lambda x: p * x**(p - 1))

    def mean(self):
        return self.sum().times(1 / self.x.shape[-1])

    def exp(self):
        return self.map(np.exp, np.exp)


def fold(d, like):
    """The sum over the axes along which an operand was repeated."""
    d = d.sum(tuple(range(d.ndim - like.ndim)))
    return d.sum(tuple(i for i, n in enumerate(like.shape) if n == 1), keepdims=True).reshape(like.shape)


def backward(loss):
    loss.g = np.ones(loss.x.shape)
    for v in reversed(V.made):
        for parent, share in v.parents:
            parent.g = parent.g + share(v.g)


def rms(x):
    return x * (x.power(2).mean() + V(1e-5)).power(-0.5)


def turned(x):
    m = x.x.shape[-1] // 2
    phi = angles(x.x.shape[-2], m)
    swap = np.block([[np.zeros((m, m)), np.eye(m)], [-np.eye(m), np.zeros((m, m))]])
    return x * V(np.tile(np.cos(phi), 2)) + (x @ V(swap)) * V(np.tile(np.sin(phi), 2))


class Model:
    """Runs the forward pass and keeps every matrix of every attention. `modern`: rotary positions, query/key norm,
    RMS norm and SwiGLU."""

    def __init__(self, weights, ids, modern=False):
        V.made = []
        self.w, self.kept, self.modern = {name: V(x) for name, x in weights.items()}, {}, modern
        self.norm_name = "RMSNorm" if modern else "LayerNorm"
        self.pe = V(np.zeros((len(ids), 32)) if modern else sinusoids(len(ids), 32))
        memory = self.embed(ids)
        for layer in range(2):
            p = f"encoder.layers.{layer}."
            memory = self.feed_forward("encoder", p, "norm2", self.attention("encoder", p, "self_attn", "norm1", memory))
        x = self.embed(ids)
        for layer in range(2):
            p = f"decoder.layers.{layer}."
            x = self.attention("decoder", p, "self_attn", "norm1", x, causal=True)
            x = self.attention("cross", p, "multihead_attn", "norm2", x, memory)
            x = self.feed_forward("decoder", p, "norm3", x)
        self.out = x

    def embed(self, ids):
        self.e = self.w["embedding.weight"][ids].times(math.sqrt(32))
        return self.e + self.pe

    def linear(self, name, x):
        return x @ self.w[name + "weight"].transpose(1, 0) + self.w[name + "bias"]

    def norm(self, name, x):
        if self.modern:
            return rms(x) * self.w[name + ".weight"]
        return rms(x + x.mean().times(-1)) * self.w[name + ".weight"] + self.w[name + ".bias"]

    def attention(self, side, p, name, norm, x, memory=None, causal=False):
        w, b, n, d = self.w[p + name + ".in_proj_weight"], self.w[p + name + ".in_proj_bias"], len(x.x), 32
        given = [x, memory or x, memory or x]
        q, k, v = ((g @ w[i * d:(i + 1) * d].transpose(1, 0) + b[i * d:(i + 1) * d]).reshape(n, HEADS, -1).transpose(1, 0, 2)
                   for i, g in enumerate(given))
        kept = {"X": x, "M": memory, "Q": q, "K": k, "V": v}
        if self.modern:
            q, k = rms(q), rms(k)
            kept.update({"Q normalised": q, "K normalised": k})
        if self.modern and not memory:
            q, k = turned(q), turned(k)
            kept.update({"phi": V(angles(n, q.x.shape[-1] // 2)), "Q turned": q, "K turned": k})
        scores = q @ k.transpose(0, 2, 1)
        scaled = scores.times(1 / math.sqrt(d // HEADS))
        open_ = np.tri(n, dtype=bool) if causal else np.ones((n, n), dtype=bool)
        masked = scaled.map(lambda s: np.where(open_, s, -np.inf), lambda s: open_)
        power = (masked + V(-masked.x.max(-1, keepdims=True))).exp()
        a = power * power.sum().power(-1)
        z = a @ v
        joined = z.transpose(1, 0, 2).reshape(n, d)
        y = self.linear(p + name + ".out_proj.", joined)
        out = self.norm(p + norm, x + y)
        self.kept[side, p[-2]] = {
            **kept, "S": scores, "S'": scaled, "masked S'": masked, "A": a, "Z": z, "S of all heads": scores,
            "A of all heads": a, "Z of all heads": joined, "last row of X and of Z": V(np.stack([x.x[-1], joined.x[-1]])),
            "Y": y, "X + Y": V(x.x + y.x), self.norm_name: out}
        return out

    def feed_forward(self, side, p, norm, x):
        inner = self.linear(p + "linear1.", x)
        if self.modern:
            half = inner.x.shape[-1] // 2
            gate, value = inner[:, :half], inner[:, half:]
            hidden = gate * value * gate.map(lambda g: 1 / (1 + np.exp(-g)), lambda g: 1 / (2 + np.exp(g) + np.exp(-g)))
        else:
            hidden = inner.map(lambda h: np.maximum(h, 0), lambda h: h > 0)
        projected = self.linear(p + "linear2.", hidden)
        out = self.norm(p + norm, x + projected)
        mine = {"hidden": hidden, "projected": projected, "N + F": V(x.x + projected.x), self.norm_name + " of it": out}
        mine.update({"gates and values": inner} if self.modern else {})
        self.kept[side, p[-2]].update({self.norm_name + " across": x} if side == "decoder" else {})
        for of in [side, "cross"] if side == "decoder" else [side]:
            self.kept[of, p[-2]].update(mine)
        return out
