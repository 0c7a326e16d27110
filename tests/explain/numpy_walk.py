"""The walk of ./explain, computed again: NumPy repeats every record of its JSON from the operands
that the record names, and derives every gradient through elementary operations. Both must agree
within 1e-12; the text says the same.

    BUILD=build PYTHONPATH=tests/support python3 tests/explain/numpy_walk.py

Prints a line `ok   …` or `FAIL …` a test, as the other test programs do."""
import collections
import json
import math
import os
import re
import subprocess
import tempfile

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # threads that wait take processor time

import numpy as np

from numpy_tests import run_tests

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
NEAR = 1e-12
PAPER = ["X", "Q", "K", "V", "S", "S'", "A", "Z", "Z of all heads", "Y", "R", "N", "H", "F",
         "logits", "L"]


def run(program, *arguments, columns="80"):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "COLUMNS": columns}
    done = subprocess.run([os.path.join(BUILD, program), *arguments], capture_output=True,
                          check=False, encoding="utf-8", env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def explain(*arguments, **more):
    return run("double/explain", *arguments, **more)


def near(found, want, what, tolerance=NEAR):
    assert np.shape(found) == np.shape(want), f"{what}: {np.shape(found)}, want {np.shape(want)}"
    finite = np.isfinite(want)
    assert (finite == np.isfinite(found)).all(), f"{what}: not finite elsewhere"
    off = np.abs(np.asarray(found)[finite] - np.asarray(want)[finite]).max(initial=0)
    assert off <= tolerance, f"{what}: off by {off}"


def array(d, key="values"):
    return np.array([-np.inf if x is None else x for x in d[key]], dtype=float).reshape(d["shape"])


# ---- Reverse mode

class V:
    """A value with its gradient; `parents` are pairs of a value and the function of dy that gives
    its share."""
    made = []

    def __init__(self, x, *parents):
        self.x, self.parents, self.g = np.asarray(x, dtype=float), parents, np.zeros(np.shape(x))
        V.made.append(self)

    def __add__(self, o):
        return V(self.x + o.x, (self, lambda d: fold(d, self.x)), (o, lambda d: fold(d, o.x)))

    def __mul__(self, o):
        return V(self.x * o.x, (self, lambda d: fold(d * o.x, self.x)),
                 (o, lambda d: fold(d * self.x, o.x)))

    def __matmul__(self, o):
        return V(self.x @ o.x, (self, lambda d: d @ np.swapaxes(o.x, -1, -2)),
                 (o, lambda d: np.swapaxes(self.x, -1, -2) @ d))

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
    single = tuple(i for i, n in enumerate(like.shape) if n == 1)
    return d.sum(single, keepdims=True).reshape(like.shape)


def backward(loss):
    loss.g = np.ones(loss.x.shape)
    for v in reversed(V.made):
        for parent, share in v.parents:
            parent.g = parent.g + share(v.g)


# ---- The operations

def rms(x):
    return x * (x.power(2).mean() + V(1e-5)).power(-0.5)


def sigmoid(x):
    return x.map(lambda g: 1 / (1 + np.exp(-g)), lambda g: 1 / (2 + np.exp(g) + np.exp(-g)))


def gelu(x):
    phi = np.vectorize(lambda g: (1 + math.erf(g / math.sqrt(2))) / 2)
    root = math.sqrt(2 * math.pi)
    return x.map(lambda g: g * phi(g), lambda g: phi(g) + g * np.exp(-g * g / 2) / root)


ACTIVATIONS = {"none": lambda x: x, "silu": lambda x: x * sigmoid(x), "gelu": gelu,
               "relu": lambda x: x.map(lambda h: np.maximum(h, 0), lambda h: h > 0)}


def rotary(x, a):
    n, w = x.x.shape
    width = a["heads"] * a["d_k"]
    y = x[:, :width].reshape(n, a["heads"], a["d_k"])
    y = rms(y) if a["normalise"] else y
    if a["turns"]:
        m = a["d_k"] // 2
        phi = np.array(a["at"] or range(n))[:, None, None] / 10000 ** (np.arange(m) / m)
        swap = np.block([[np.zeros((m, m)), np.eye(m)], [-np.eye(m), np.zeros((m, m))]])
        y = y * V(np.tile(np.cos(phi), 2)) + (y @ V(swap)) * V(np.tile(np.sin(phi), 2))
    wide = np.eye(width, w)  # beside the columns that are copied
    return y.reshape(n, width) @ V(wide) + x * V(1.0 - wide.sum(0))


def linear(v, a):
    y = v["x"] @ v["W"].transpose(1, 0)
    return ACTIVATIONS[a["act"]](y + v["b"] if "b" in v else y)


def layer_norm(v, a):
    return rms(v["x"] + v["x"].mean().times(-1)) * v["gamma"] + v["beta"]


def embedding(v, a):
    y = v["E"][a["ids"]].times(a["s"])
    return y + v["P"][a["at"]] if "P" in v else y


def softmax(v, a):
    assert a["axis"] == v["x"].x.ndim - 1
    power = (v["x"] + V(-v["x"].x.max(-1, keepdims=True))).exp()
    return power * power.sum().power(-1)


def masked_fill(v, a):
    hidden = np.array(a["mask"], dtype=bool).reshape(v["x"].x.shape)
    return v["x"].map(lambda x: np.where(hidden, float(a["value"]), x), lambda x: ~hidden)


def cross_entropy(v, a):
    x, rows = v["x"], [i for i, target in enumerate(a["targets"]) if target != a["ignore"]]
    log_p = x + x.exp().sum().map(lambda s: -np.log(s), lambda s: -1 / s)
    right = log_p[rows, [a["targets"][i] for i in rows]]
    return right.reshape(1, -1).sum().times(-1 / len(rows)).reshape()


def swapped(x, a, b):
    axes = list(range(x.x.ndim))
    axes[a], axes[b] = b, a
    return x.transpose(*axes)


def swiglu(v, a):
    half = v["x"].x.shape[1] // 2
    gate = v["x"][:, :half]
    return gate * sigmoid(gate) * v["x"][:, half:]


def concat(v, a):
    axis, parts = a["axis"], list(v.values())
    ends = np.cumsum([x.x.shape[axis] for x in parts])
    shares = ((x, lambda d, end=end, n=x.x.shape[axis]: np.take(d, range(end - n, end), axis))
              for x, end in zip(parts, ends))
    return V(np.concatenate([x.x for x in parts], axis), *shares)


OPERATIONS = {
    "concat": concat,
    "linear": linear, "layer_norm": layer_norm, "embedding": embedding, "softmax": softmax,
    "masked_fill": masked_fill, "cross_entropy": cross_entropy, "swiglu": swiglu,
    "rms_norm": lambda v, a: rms(v["x"]) * v["gamma"], "rotary": lambda v, a: rotary(v["x"], a),
    "matmul": lambda v, a: v["a"] @ v["b"], "scale": lambda v, a: v["x"].times(a["factor"]),
    "residual": lambda v, a: v["x"] + v["f"], "add": lambda v, a: v["a"] + v["b"],
    "sub": lambda v, a: v["a"] + v["b"].times(-1), "mul": lambda v, a: v["a"] * v["b"],
    "tanh": lambda v, a: v["x"].map(np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "sum": lambda v, a: v["x"].sum(), "contiguous": lambda v, a: v["x"].times(1),
    "reshape": lambda v, a: v["x"].reshape(*a["s"]),
    "transpose": lambda v, a: swapped(v["x"], a["a"], a["b"]),
    "slice": lambda v, a: v["x"][(slice(None),) * a["axis"] + (slice(a["start"], a["stop"]),)],
}


# ---- A walk

class Walk:
    """The records of a walk forward, and their values computed again."""

    def __init__(self, *arguments):
        V.made = []
        self.head, *lines = map(json.loads, explain(*arguments, "--json").splitlines())
        self.parameters = {d["parameter"]: V(array(d)) for d in lines if "parameter" in d}
        self.records = [d for d in lines if "record" in d]
        assert [d["record"] for d in self.records] == list(range(self.head["records"]))
        self.made = []
        for d in self.records:
            operands = {o["input"]: self.operand(o) for o in d["operands"]}
            found = OPERATIONS[d["operation"]](operands, d["arguments"])
            self.made.append(found.reshape(*d["shape"]))

    def operand(self, o):
        if "record" in o:
            return self.made[o["record"]]
        if "parameter" in o:
            return self.parameters[o["parameter"]][o["row"]:o["row"] + o["shape"][0]]
        return V(array(o))

    def named(self, name, module=""):
        return [v.x for d, v in zip(self.records, self.made)
                if d["name"] == name and d["module"].startswith(module)]


def check_forward(walk):
    for d, v in zip(walk.records, walk.made):
        near(array(d), v.x, d["name"])
        labels = {axis: len(x) for axis, x in walk.head["labels"].items()}
        assert all(labels.get(axis, n) == n for axis, n in zip(d["axes"], d["shape"])), d["axes"]
        assert d["formula"] and ".c" not in d["formula"] and "dr_ij" not in d["backward"], d


def check_backward(walk, *arguments):
    lines = list(map(json.loads, explain(*arguments, "--json", "--backward").splitlines()))
    steps = [d for d in lines if "adds" in d]
    assert [d["record"] for d in steps] == sorted((d["record"] for d in steps), reverse=True)
    backward(walk.made[-1])
    sums = {}
    for d in steps:
        v = walk.made[d["record"]]
        near(array(d, "gradient"), v.g, "d " + d["name"])
        for part in d["adds"]:
            o = next(o for o in d["operands"] if o["operand"] == part["operand"])
            key = o.get("record", (o.get("parameter"), o.get("row")))
            total, count = sums.get(key, (0, 0))
            sums[key] = total + np.array(part["values"]).reshape(o["shape"]), count + 1
            assert part["part"] == count + 1
            if part["part"] == part["parts"] and "record" in o:
                near(sums[key][0], walk.made[key].g, "the sum of the parts of " + o["name"])
    for d in lines:
        if "parameter" in d:
            near(array(d, "gradient"), walk.parameters[d["parameter"]].g, d["parameter"])
    check_update(lines[-1], walk)


def check_update(d, walk):
    gradients = {name: v.g for name, v in walk.parameters.items()}
    norm = math.sqrt(sum((g**2).sum() for g in gradients.values()))
    g = gradients[d["update"]].ravel()[d["at"]]
    g *= min(1, 1 / (norm + 1e-6))  # as torch.nn.utils.clip_grad_norm_
    near([d["norm"], d["m"], d["v"]], [norm, 0.1 * g, 0.02 * g * g], "moments")
    near(d["after"], d["before"] - 0.001 * g / (abs(g) + 1e-9), "the new weight")


def check_cells(walk, *arguments):
    """A cell is the sum of its terms; a gradient's, too, and the derivative by differences is as
    near as it says."""
    lines = list(map(json.loads, explain(*arguments, "--json", "--cell", "1,0").splitlines()))
    found = collections.Counter()
    for d in lines:
        if "cell" not in d:
            continue
        record = walk.records[d["record"]]
        operands = {o["operand"]: o for o in record["operands"]}
        for k, element, value, _ in d["terms"]:
            near(value, walk.operand(operands[k]).x.ravel()[element], "an operand")
        total = sum(value * slope for _, _, value, slope in d["terms"]) + (d["rest"] or 0)
        near(total, d["value"] or 0, "a sum")
        found[record["operation"]] += abs(d["rest"] or 0) < 1e-12
    assert found["matmul"] and found["linear"] and found["embedding"], found
    assert not found["softmax"], found
    differences = 0
    lines = explain(*arguments, "--json", "--backward", "--cell", "1,0").splitlines()
    for d in map(json.loads, lines):
        if "difference" in d:
            differences += 1
            assert abs(d["difference"] - d["gradient"]) <= 16 * d["error"] + 1e-13, d
            assert d["error"] < 1e-9, d
        if "added" in d:
            dy = walk.made[d["record"]].g.ravel()
            near(sum(dy[at] * slope for at, _, slope in d["terms"]), d["added"], "added")
    assert differences > 20


def check(*arguments, names=PAPER):
    walk = Walk(*arguments)
    shown = {d["name"] for d in walk.records}
    assert set(names) <= shown, set(names) - shown
    check_forward(walk)
    check_backward(walk, *arguments)
    check_cells(walk, *arguments)
    return walk


# ---- The text

def check_text(*arguments):
    """Every matrix of the text, with all rows and columns, is that of the JSON."""
    lines = map(json.loads, explain(*arguments, "--json").splitlines())
    records = {d["record"]: d for d in lines if "record" in d}
    text, found = explain(*arguments, "--full", columns="1000"), 0
    for part in re.split(r"^(?=\d+ \S.* = .*\[[0-9,]*\]$)", text, flags=re.M)[1:]:
        head, *lines = part.split("\n\n")[0].splitlines()
        want = array(records[int(head.split()[0])])
        want = want[0] if want.ndim > 2 else want
        rows = [re.search(r"((?: +(?:-?\d+\.\d{4}|-inf))+)$", line) for line in lines
                if line.startswith("  ")]
        values = [m[1].split() for m in rows if m]
        near(np.array(values, dtype=float).reshape(want.shape), want, head, 0.50001e-4)
        found += 1
    assert found > 15


# ---- The experiment kernels

def gauss(distance, h):
    return np.exp(-(distance**2) / h)


def features(x):
    angle = x[:, None] * np.arange(1, 5) * np.pi / 5
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(len(x), -1)


class Kernels:
    def __init__(self):
        lines = [json.loads(line) for line in explain("kernels", "--json").splitlines()]
        self.rows = [line for line in lines if "kernel" in line]
        self.arrays = {line["array"]: np.array(line["values"]) for line in lines if "array" in line}
        self.x, self.y = self.arrays["x"], self.arrays["y"]
        self.far = np.abs(self.arrays["held_out_x"][:, None] - self.x)
        self.near = np.abs(self.x[:, None] - self.x)

    def error(self, weights, y):
        total = weights.sum(-1)
        guess = np.divide(weights @ self.y, total, out=np.zeros_like(total), where=total > 0)
        return np.mean((guess - y) ** 2)

    def held_out(self, h):
        return self.error(gauss(self.far, h), self.arrays["held_out_y"])

    def left_out(self, h):
        """Every known point from all others: what the width is learnt by."""
        weights = gauss(self.near, h)
        np.fill_diagonal(weights, 0)
        return self.error(weights, self.y)

    def attention(self, x):
        query, key = (self.arrays[name].reshape(8, 8) for name in ("W^Q", "W^K"))
        scores = features(x) @ query.T @ (features(self.x) @ key.T).T / np.sqrt(8)
        return np.exp(scores - scores.max(-1, keepdims=True))

    def weights(self, row):
        if row["h"] is None:
            return self.attention(self.arrays["held_out_x"])
        return gauss(self.far, row["h"])


def the_kernels():
    """Every held-out error of ./explain kernels, from the points, widths and matrices that it
    prints; and the learnt width is about the best, by a grid."""
    e, grid = Kernels(), np.geomspace(0.02, 0.2, 60)
    assert [row["kernel"] for row in e.rows] == ["gauss", "gauss", "gauss", "attention"]
    for row in e.rows:
        weights = e.weights(row)
        want = e.error(weights, e.arrays["held_out_y"])
        far = np.mean((weights * e.far).sum(-1) / weights.sum(-1))
        assert abs(row["error"] - want) <= 1e-6, (row, want)
        assert abs(row["distance"] - far) <= 1e-6, (row, far)
    wide, narrow, learnt, _ = e.rows
    assert learnt["error"] <= 1.05 * min(map(e.held_out, grid)), learnt
    assert learnt["error"] < min(wide["error"], narrow["error"])
    assert e.left_out(learnt["h"]) <= 1.01 * min(map(e.left_out, grid))


# ---- The tests

def the_papers_model():
    """Its attention, from the matrices that have the paper's names."""
    walk = check()
    check_text()
    assert walk.head["labels"]["source"] == ["I", "was", "myself"]
    for module in ("encoder.layers.1.self_attn", "decoder.layers.0.self_attn",
                   "decoder.layers.0.multihead_attn"):
        (q,), (k,), (v,), (z,) = (walk.named(name, module) for name in "QKVZ")
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(8)
        if module.startswith("decoder.layers.0.self"):
            scores = np.where(np.tri(3, dtype=bool), scores, -np.inf)
        power = np.exp(scores)
        near(power / power.sum(-1, keepdims=True) @ v, z, module)


def weights_say_what_their_rows_make():
    for line in explain("--json").splitlines():
        d = json.loads(line)
        if d.get("parameter", "").endswith("attn.in_proj_weight"):
            made = sorted((r["from"], r["makes"], r["count"], r["heads"]) for r in d["rows"])
            assert made == [(0, "Q", 32, 4), (32, "K", 32, 4), (64, "V", 32, 4)], made


class BytePairs:
    """The plain quadratic way: after every merge all pairs of all words are counted anew."""

    def __init__(self, text):
        self.words = re.findall(r" ?[^ ]+", text)
        self.states = {word: [[[byte] for byte in word.encode()]] for word in self.words}
        self.table = []
        while True:
            now = [self.states[word][-1] for word in self.words]
            pairs = collections.Counter((self.id(a), self.id(b)) for tokens in now
                                        for a, b in zip(tokens, tokens[1:]))
            best = min(pairs, key=lambda pair: (-pairs[pair], pair), default=None)
            if best is None or pairs[best] < 2:
                break
            self.table.append(best)
            for word in self.states:
                self.join(self.states[word], best)

    def id(self, token):
        """The id of a token: its byte, or 256 and the index of its merge."""
        return token[0] if len(token) == 1 else 256 + self.table.index(tuple(token))

    def join(self, states, pair):
        while True:
            ids = [self.id(token) for token in states[-1]]
            at = next((i for i in range(len(ids) - 1) if (ids[i], ids[i + 1]) == pair), None)
            if at is None:
                return
            states.append(states[-1][:at] + [list(pair)] + states[-1][at + 2 :])

    def ids(self):
        return [[[self.id(token) for token in state] for state in self.states[word]]
                for word in dict.fromkeys(self.words)]


def the_modern_parts():
    for text in ("low lower lowest slow slower slowest", "花花花落 了 花落 了了"):
        pairs = BytePairs(text)
        merges = ["--modern", "--text", text, "--step", "merges"]
        lines = [json.loads(line) for line in explain(*merges, "--json").splitlines()]
        assert [line["ids"] for line in lines] == sum(pairs.ids(), []), lines
        shown = explain(*merges)
        assert f"a table of {len(pairs.table)}\n" in shown
        assert shown.count(" = ") == sum(line["token"] >= 0 for line in lines)
        final = dict(zip(dict.fromkeys(pairs.words), (states[-1] for states in pairs.ids())))
        ids = Walk("--modern", "--text", text).records[0]["arguments"]["ids"]
        assert ids == sum((final[word] for word in pairs.words), [])
    check("--modern")
    check("--characters", "--seed", "7")


def runs():
    """Decoder-only and loaded models of all choices."""
    tiny = ["--d-model", "8", "--heads", "2", "--layers", "2", "--batch", "4", "--steps", "1",
            "--quiet"]
    copy = ["copy", *tiny, "--symbols", "5", "--max-length", "5", "--held-out", "9"]
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            with open("text", "w", encoding="utf-8") as out:
                out.write("the cat sat on the mat, and the rat sat on the cat and the mat")
            run("float/train", "lm", *tiny, "--preset", "gpt", "--text", "text", "--tail", "0",
                "--context", "8", "--run", "lm")
            check("--model", "lm", "--text", "the mat")
            for name, choices in (("copy", []), ("pre", ["--norm", "pre"]),
                                  ("additive", ["--attention", "additive"]),
                                  ("alibi", ["--positions", "alibi", "--norm-kind", "rms",
                                             "--activation", "silu"])):
                run("float/train", *copy, *choices, "--run", name)
                walk = check("--model", name, "--text", "1234",
                             names=["Q", "A", "Z", "Y", "logits", "L"])
                assert walk.head["labels"]["target"][0] == "<begin>"
        finally:
            os.chdir(here)


def main():
    return run_tests("numpy_walk", [
        ("the paper's model is what NumPy computes, forward and back", the_papers_model),
        ("byte pairs, rotary positions, RMS norm, query/key norm, SwiGLU, too", the_modern_parts),
        ("saved runs, decoder-only and others, too", runs),
        ("a weight says what its rows make", weights_say_what_their_rows_make),
        ("errors and distances of kernels, too, and its width is about the best", the_kernels)])


if __name__ == "__main__":
    raise SystemExit(main())
