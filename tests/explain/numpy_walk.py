"""The walk of ./explain, computed again: from the weights that it prints and the sentence, by NumPy alone. Its JSON
must agree within 1e-6, and the numbers of its text in all their digits.

    BUILD=build PYTHONPATH=tests/support python3 tests/explain/numpy_walk.py

Prints a line `ok   …` or `FAIL …` a test, as the other test programs do."""
import collections
import json
import math
import os
import re
import subprocess

import numpy as np

from numpy_tests import run_tests

EXPLAIN = os.path.abspath(os.path.join(os.environ.get("BUILD", "build"), "double", "explain"))
SENTENCE = "无可奈何花落去，似曾相识燕归来"
VOCABULARY = "[UNK] I Love Nature Language Processing and you tell I Looking in my eyes"
HEADS, NEAR, SHOWN = 4, 1e-6, 0.50001e-4


def explain(*arguments, columns="80"):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "COLUMNS": columns}
    done = subprocess.run([EXPLAIN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          encoding="utf-8", env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- The model, as the paper has it

def sinusoids(n, d):
    angle = np.arange(n)[:, None] / 10000 ** (np.arange(0, d, 2) / d)
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(n, d)


def rms_norm(x, gamma=1):
    return gamma * x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)


def layer_norm(x, gamma, beta):
    return rms_norm(x - x.mean(-1, keepdims=True), gamma) + beta


def angles(n, m):
    return np.arange(n)[:, None] / 10000 ** (np.arange(m) / m)


def turned(x):
    """Pairs (a, b) as complex numbers, times e^(i phi)."""
    m = x.shape[-1] // 2
    y = (x[..., :m] + 1j * x[..., m:]) * np.exp(1j * angles(x.shape[-2], m))
    return np.concatenate([y.real, y.imag], -1)


class Model:
    """Runs the forward pass and keeps every matrix of every attention. `modern`: rotary positions, query/key norm,
    and as its weights say RMS norm and SwiGLU."""

    def __init__(self, weights, ids, modern=False):
        self.w, self.kept, self.modern = weights, {}, modern
        self.e = math.sqrt(32) * weights["embedding.weight"][ids]
        self.pe = np.zeros((len(ids), 32)) if modern else sinusoids(len(ids), 32)
        x = self.e + self.pe
        self.memory = x
        for layer in range(2):
            self.memory = self.attention("encoder", f"encoder.layers.{layer}.", "self_attn", "norm1", self.memory)
            self.memory = self.feed_forward("encoder", f"encoder.layers.{layer}.", "norm2", self.memory)
        for layer in range(2):
            p = f"decoder.layers.{layer}."
            x = self.attention("decoder", p, "self_attn", "norm1", x, causal=True)
            x = self.attention("cross", p, "multihead_attn", "norm2", x, self.memory)
            x = self.feed_forward("decoder", p, "norm3", x)

    def norm(self, name, x):
        gamma = self.w[name + ".weight"]
        return rms_norm(x, gamma) if self.modern else layer_norm(x, gamma, self.w[name + ".bias"])

    def norm_name(self):
        return "RMSNorm" if self.modern else "LayerNorm"

    def attention(self, side, p, name, norm, x, memory=None, causal=False):
        w, b = np.split(self.w[p + name + ".in_proj_weight"], 3), np.split(self.w[p + name + ".in_proj_bias"], 3)
        given = [x, x, x] if memory is None else [x, memory, memory]
        q, k, v = ((g @ m.T + c).reshape(len(g), HEADS, -1).transpose(1, 0, 2) for g, m, c in zip(given, w, b))
        new = {}
        if self.modern:
            new.update({"Q normalised": rms_norm(q), "K normalised": rms_norm(k)})
            new.update({} if memory is not None else {
                "phi": angles(len(x), q.shape[-1] // 2), "Q turned": turned(rms_norm(q)), "K turned": turned(rms_norm(k))})
        a, b = (new.get(n + " turned", new.get(n + " normalised", p)) for n, p in (("Q", q), ("K", k)))
        scores = a @ b.transpose(0, 2, 1)
        scaled = scores / math.sqrt(q.shape[-1])
        masked = np.where(np.tri(*scaled.shape[1:], dtype=bool), scaled, -np.inf) if causal else scaled
        weights = np.exp(masked - masked.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        z = weights @ v
        joined = z.transpose(1, 0, 2).reshape(len(x), -1)
        y = joined @ self.w[p + name + ".out_proj.weight"].T + self.w[p + name + ".out_proj.bias"]
        out = self.norm(p + norm, x + y)
        self.kept[side, p[-2]] = {
            "X": x, "M": memory, "Q": q, "K": k, "V": v, "S": scores, "S / sqrt(d_k)": scaled, "masked": masked,
            "A": weights, "Z": z, "S of all heads": scores, "A of all heads": weights, "Z of all heads": joined,
            "last row of X and of Z": np.stack([x[-1], joined[-1]]), "Z W^O": y, "X + Y": x + y, self.norm_name(): out,
            **new}
        return out

    def feed_forward(self, side, p, norm, x):
        inner = x @ self.w[p + "linear1.weight"].T + self.w[p + "linear1.bias"]
        gate, value = np.split(inner, 2, -1)
        hidden = gate / (1 + np.exp(-gate)) * value if self.modern else np.maximum(inner, 0)
        projected = hidden @ self.w[p + "linear2.weight"].T + self.w[p + "linear2.bias"]
        out = self.norm(p + norm, x + projected)
        mine = {"hidden": hidden, "projected": projected, "N + F": x + projected, self.norm_name() + " of it": out}
        mine.update({"gates and values": inner} if self.modern else {})
        for of in [side, "cross"] if side == "decoder" else [side]:
            self.kept[of, p[-2]].update(mine)
        return out


def wanted(model, ids, side, layer, head):
    """By name, what the walk has to show: of one head where that is what it shows."""
    found = {"x": np.array(ids, dtype=float), "E": model.e, **model.kept[side, str(layer - 1)]}
    found.update({} if model.modern else {"PE": model.pe, "E + PE": model.e + model.pe})
    alone = {"Q", "K", "V", "S", "S / sqrt(d_k)", "masked", "A", "Z", "Q normalised", "K normalised", "Q turned", "K turned"}
    return {name: x[head - 1] if name in alone else x for name, x in found.items() if x is not None}


# ---- What ./explain prints

def read_json(text):
    weights, matrices = {}, {}
    for line in map(json.loads, (line for line in text.splitlines() if '"step": "merges"' not in line)):
        x = np.array([-np.inf if v is None else v for v in line["values"]]).reshape(line["shape"])
        (weights if "weight" in line else matrices)[line.get("weight") or line["name"]] = x
    return weights, matrices


def read_text(text):
    """The matrices of the text for readers, shown whole: a head line with the shape, then rows that end in numbers."""
    matrices = {}
    for part in re.split(r"^(?=[a-z-]+: .*, \[[0-9,]+\]$)", text, flags=re.M)[1:]:
        head, *lines = part.splitlines()
        name, shape = re.fullmatch(r"[a-z-]+: (.*), \[([0-9,]+)\]", head).groups()
        shape = [int(n) for n in shape.split(",")]
        columns = shape[-1] if len(shape) > 1 else 1
        number = r"(?:-?\d+\.?\d*|-inf)" if name == "x" else r"(?:-?\d+\.\d{4}|-inf)"
        row = re.compile(rf"  .*?\S *((?: +{number}){{{columns}}})")
        rows = [m.group(1).split() for m in map(row.fullmatch, lines) if m]
        matrices[name] = np.array(rows, dtype=float).reshape(shape)
    return matrices


def agree(found, want, near=NEAR):
    assert found.keys() == want.keys(), found.keys() ^ want.keys()
    for name, x in want.items():
        assert found[name].shape == x.shape, f"{name}: {found[name].shape}, want {x.shape}"
        finite = np.isfinite(x)
        assert (finite == np.isfinite(found[name])).all(), f"{name}: not finite elsewhere"
        off = np.abs(found[name][finite] - x[finite]).max()
        assert off <= near, f"{name}: off by {off}"


def walk(ids, *arguments, sides=("encoder", "decoder", "cross"), layers=(1, 2), head=1):
    for side in sides:
        for layer in layers:
            options = [*arguments, "--side", side, "--layer", str(layer), "--head", str(head)]
            weights, matrices = read_json(explain(*options, "--json"))
            want = wanted(Model(weights, ids, "--modern" in arguments), ids, side, layer, head)
            agree(matrices, want)
            agree(read_text(explain(*options, "--whole")), want, SHOWN)
    return want


# ---- The tests

def the_default_sentence():
    walk(list(range(15)))
    walk(list(range(15)), "--text", SENTENCE, "--seed", "7", head=3)


def words():
    walk([1, 2, 3, 4, 5], "--words", "--vocabulary", VOCABULARY, "--text", "I Love Nature Language Processing")
    walk([1, 0, 11, 1, 12], "--words", "--vocabulary", VOCABULARY, "--text", "I  hate my\tI eyes", layers=(1,))


def shapes_of_four_words():
    want = walk([1, 2, 3, 4], "--words", "--text", "I Love Nature Language", sides=("encoder",), layers=(1,))
    shapes = {"x": (4,), "E + PE": (4, 32), "Q": (4, 8), "K": (4, 8), "V": (4, 8), "S": (4, 4),
              "S of all heads": (4, 4, 4), "Z W^O": (4, 32)}
    for name, shape in shapes.items():
        assert want[name].shape == shape, name


def one_character():
    walk([0], "--text", "a", layers=(1,))


class BytePairs:
    """The plain quadratic way: after every merge all pairs of all words are counted anew."""

    def __init__(self, text):
        self.words = re.findall(r" ?[^ ]+", text)
        counted = collections.Counter(c for c in text if len(c.encode()) > 1)
        self.characters = [c for c, n in counted.most_common() if n > 1]  # of a short text: all that come twice
        self.states = {word: [[[x] for c in word for x in ([c] if c in self.characters else c.encode())]] for word in self.words}
        self.table = []
        while True:
            now = [self.states[word][-1] for word in self.words]
            pairs = collections.Counter((self.id(a), self.id(b)) for tokens in now for a, b in zip(tokens, tokens[1:]))
            best = min(pairs, key=lambda pair: (-pairs[pair], pair), default=None)
            if best is None or pairs[best] < 2:
                break
            self.table.append(best)
            for word in self.states:
                self.join(self.states[word], best)

    def id(self, token):
        """The id of a token: its byte, or 256 and the index of its character or, after all of these, of its merge."""
        if len(token) == 1:
            return token[0] if isinstance(token[0], int) else 256 + self.characters.index(token[0])
        return 256 + len(self.characters) + self.table.index(tuple(token))

    def join(self, states, pair):
        while True:
            ids = [self.id(token) for token in states[-1]]
            at = next((i for i in range(len(ids) - 1) if (ids[i], ids[i + 1]) == pair), None)
            if at is None:
                return
            states.append(states[-1][:at] + [list(pair)] + states[-1][at + 2 :])

    def ids(self):
        return [[[self.id(token) for token in state] for state in self.states[word]] for word in dict.fromkeys(self.words)]


def the_modern_parts():
    for text in ("low lower lowest slow slower slowest", "花花花落 了 花落 了了"):
        pairs = BytePairs(text)
        lines = [json.loads(line) for line in explain("--modern", "--text", text, "--step", "merges", "--json").splitlines()]
        assert [line["ids"] for line in lines] == sum(pairs.ids(), []), lines
        made = [line["token"] for line in lines]
        first = 256 + len(pairs.characters)
        assert set(made) == {-1, *range(first, first + len(pairs.table))}, made
        shown = explain("--modern", "--text", text, "--step", "merges")
        assert f"a table of {len(pairs.table)}\n" in shown and shown.count(" = ") == sum(token >= 0 for token in made)
        final = dict(zip(dict.fromkeys(pairs.words), (states[-1] for states in pairs.ids())))
        walk(sum((final[word] for word in pairs.words), []), "--modern", "--text", text, head=2)


def main():
    tests = [("the walk on the default sentence is what NumPy computes", the_default_sentence),
             ("the walk on words is what NumPy computes", words),
             ("byte pairs, rotary positions, RMS norm, query/key norm and SwiGLU are what NumPy computes", the_modern_parts),
             ("shapes for four words", shapes_of_four_words),
             ("the walk on one character is what NumPy computes", one_character)]
    return run_tests("numpy_walk", tests)


if __name__ == "__main__":
    raise SystemExit(main())
