"""The walk backward, computed again: NumPy derives every gradient through elementary operations (none of the fused ones of
src/ops), from the weights and the sentence that ./explain prints. It must agree within 1e-12.

    BUILD=build PYTHONPATH=tests/support python3 tests/explain/numpy_backward.py

Prints a line `ok   …` or `FAIL …` a test, as the other test programs do."""
import json
import math
import re

import numpy as np

from numpy_tests import run_tests
from numpy_walk import HEADS, SENTENCE, BytePairs, angles, explain, sinusoids

NEAR = 1e-12


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
    """As numpy_walk.Model, of values with gradients; `kept` holds the matrices of every attention."""

    def __init__(self, weights, ids, modern):
        V.made = []
        self.w, self.modern, self.kept = {name: V(x) for name, x in weights.items()}, modern, {}
        n = len(ids)
        start = lambda: self.w["embedding.weight"][ids].times(math.sqrt(32)) + V(0 if modern else sinusoids(n, 32))
        memory = start()
        for layer in range(2):
            p = f"encoder.layers.{layer}."
            memory = self.feed_forward(p, "norm2", self.attention(p + "self_attn", p + "norm1", memory))
        x = start()
        for layer in range(2):
            p = f"decoder.layers.{layer}."
            x = self.attention(p + "self_attn", p + "norm1", x, causal=True)
            x = self.attention(p + "multihead_attn", p + "norm2", x, memory)
            x = self.feed_forward(p, "norm3", x)
        self.logits = x @ self.w["embedding.weight"].transpose(1, 0)
        shifted = self.logits + V(-self.logits.x.max(-1, keepdims=True))
        log_p = shifted + shifted.exp().sum().map(lambda s: -np.log(s), lambda s: -1 / s)
        self.loss = log_p[np.arange(n - 1), np.array(ids[1:])].sum().times(-1 / (n - 1))
        backward(self.loss)

    def linear(self, name, x):
        return x @ self.w[name + "weight"].transpose(1, 0) + self.w[name + "bias"]

    def norm(self, name, x):
        if self.modern:
            return rms(x) * self.w[name + ".weight"]
        return rms(x + x.mean().times(-1)) * self.w[name + ".weight"] + self.w[name + ".bias"]

    def attention(self, name, norm, x, memory=None, causal=False):
        w, b, n, d = self.w[name + ".in_proj_weight"], self.w[name + ".in_proj_bias"], len(x.x), 32
        given = [x, memory or x, memory or x]
        q, k, v = ((g @ w[i * d:(i + 1) * d].transpose(1, 0) + b[i * d:(i + 1) * d]).reshape(n, HEADS, -1).transpose(1, 0, 2)
                   for i, g in enumerate(given))
        if self.modern:
            q, k = rms(q), rms(k)
        if self.modern and not memory:
            q, k = turned(q), turned(k)
        scores = q @ k.transpose(0, 2, 1)
        scaled = scores.times(1 / math.sqrt(d // HEADS))
        open_ = np.tri(n, dtype=bool) if causal else np.ones((n, n), dtype=bool)
        masked = scaled.map(lambda s: np.where(open_, s, -np.inf), lambda s: open_)
        power = (masked + V(-masked.x.max(-1, keepdims=True))).exp()
        a = power * power.sum().power(-1)
        z = a @ v
        joined = z.transpose(1, 0, 2).reshape(n, d)
        y = self.linear(name + ".out_proj.", joined)
        self.kept[name] = {"Q": q, "K": k, "V": v, "S": scores, "S'": scaled, "A": a, "Z": z, "Z of all heads": joined, "Y": y}
        return self.norm(norm, x + y)

    def feed_forward(self, p, norm, x):
        inner = self.linear(p + "linear1.", x)
        if self.modern:
            half = inner.x.shape[-1] // 2
            gate, value = inner[:, :half], inner[:, half:]
            hidden = gate * value * gate.map(lambda g: 1 / (1 + np.exp(-g)), lambda g: 1 / (2 + np.exp(g) + np.exp(-g)))
        else:
            hidden = inner.map(lambda h: np.maximum(h, 0), lambda h: h > 0)
        return self.norm(p + norm, x + self.linear(p + "linear2.", hidden))


def near(found, want, what, tolerance=NEAR):
    assert np.shape(found) == np.shape(want), f"{what}: {np.shape(found)}, want {np.shape(want)}"
    off = np.abs(np.asarray(found) - want).max(initial=0)
    assert off <= tolerance, f"{what}: off by {off}"


def array(d):
    return np.array(d["values"], dtype=float).reshape(d["shape"])


def compare(ids, *arguments, modern=False):
    weights = {d["weight"]: array(d) for d in map(json.loads, explain(*arguments, "--json").splitlines()) if "weight" in d}
    model = Model(weights, ids, modern)
    for side, name in (("encoder", "self_attn"), ("decoder", "self_attn"), ("cross", "multihead_attn")):
        for layer in (1, 2):
            place = f"{'encoder' if side == 'encoder' else 'decoder'}.layers.{layer - 1}.{name}"
            options = [*arguments, "--backward", "--side", side, "--layer", str(layer), "--head", "2"]
            rows = [json.loads(line) for line in explain(*options, "--json", "--cell", "1,0").splitlines()]
            steps = [d for d in rows if "backward" in d]
            assert [d["backward"] for d in steps] == sorted((d["backward"] for d in steps), reverse=True)
            arrived = {d["name"]: array(d) for d in steps}
            near(arrived["L"], 1, "L")
            near(arrived["logits"], model.logits.g, "logits")
            for symbol, v in model.kept[place].items():
                near(arrived[symbol], v.g, f"{place} {symbol}")
            check_parts(steps, arrived)
            gradients = {d["gradient"]: array(d) for d in rows if "gradient" in d}
            assert gradients.keys() == model.w.keys()
            for weight, v in model.w.items():
                near(gradients[weight], v.g, weight)
            check_update(rows[-1], gradients, place)


def check_parts(steps, arrived):
    """Parts add up to what arrives, terms to their cell, and differences agree as far as they say."""
    sums, shown = {}, {}
    for d in steps:
        assert d["formula"] and ("+=" in d["formula"] or "-=" in d["formula"]), d["operation"]
        for part in d["adds"]:
            x = array(part)
            sums[part["to"]] = sums.get(part["to"], 0) + x
            shown[part["to"]] = shown.get(part["to"], 0) + 1
            if shown[part["to"]] == part["parts"] and part["to"] in arrived:
                near(sums[part["to"]], arrived[part["to"]], part["to"])
            if "terms" in part:
                dy = np.array(d["values"], dtype=float)
                near(sum(dy[int(at)] * slope for at, _, slope in part["terms"]), x.ravel()[part["cell"]], "terms")
        if "at" in d:
            assert abs(d["difference"] - d["values"][d["at"]]) <= 16 * d["error"] + 1e-13, d["name"]
            assert d["error"] < 1e-9, f"{d['name']}: {d['error']}"


def check_update(d, gradients, place):
    assert d["update"] == place + ".in_proj_weight"
    norm = math.sqrt(sum((g**2).sum() for g in gradients.values()))
    g = gradients[d["update"]].ravel()[d["at"]] * min(1, 1 / (norm + 1e-6))  # as torch.nn.utils.clip_grad_norm_
    near([d["norm"], d["m"], d["v"]], [norm, 0.1 * g, 0.02 * g * g], "moments")
    near(d["after"], d["before"] - 0.001 * g / (abs(g) + 1e-9), "the new weight")


def the_default_sentence():
    compare(list(range(15)))


def words():
    compare([1, 2, 3], "--words", "--text", "I was myself")


def modern():
    text = "low lower lowest slow slower slowest"
    pairs = BytePairs(text)
    final = dict(zip(dict.fromkeys(pairs.words), (states[-1] for states in pairs.ids())))
    compare(sum((final[word] for word in pairs.words), []), "--modern", "--text", text, modern=True)


def the_text_says_the_same():
    """Each number that the text gives beside a difference, and each sum beside its terms."""
    for arguments in (["--words", "--text", "I was myself"], ["--text", SENTENCE, "--side", "cross"]):
        text = explain(*arguments, "--backward", "--cell", "1,2", columns="300")
        pairs = re.findall(r"of it: (\S+); by differences (\S+), with an error of about (\S+)", text)
        assert len(pairs) > 10
        for found, difference, error in pairs:
            assert abs(float(found) - float(difference)) <= 16 * float(error) + 1e-9 * abs(float(found)), found
        sums = re.findall(r"of it: (\S+) = sum of (\d+) terms dL/dy times dy/dx\n((?: +\S+ = .*\n)+)", text)
        whole = [(total, lines) for total, count, lines in sums if len(lines.splitlines()) == int(count)]
        assert len(whole) > 5
        for total, lines in whole:
            numbers = [float(line.split()[0]) for line in lines.splitlines()]
            near(sum(numbers), float(total), "the sum of the terms", 1e-7 * sum(map(abs, numbers)) + 1e-12)


def main():
    return run_tests("numpy_backward", [
        ("backward through the default sentence is what NumPy derives", the_default_sentence),
        ("backward through words is what NumPy derives", words),
        ("backward through byte pairs, rotary positions, RMS norm and SwiGLU is what NumPy derives", modern),
        ("the text says the same", the_text_says_the_same)])


if __name__ == "__main__":
    raise SystemExit(main())
