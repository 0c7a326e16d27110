"""A student who works in NumPy: reads what `gradcheck case` wrote, writes gradients of his own, and has them judged by
`gradcheck verify`. All formulas are NumPy's here; operations of each kind, in both precisions, right and wrong.

    GRADCHECK=build/double/gradcheck python3 tests/check/numpy_round_trip.py

Prints a line `ok   …` or `FAIL …` a test, as the other test programs do."""
import functools
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

import numpy as np

GRADCHECK = os.path.abspath(os.environ.get("GRADCHECK", "build/double/gradcheck"))


# ---- The operations: each takes its arguments and its inputs, and returns the output and the function that makes the
# ---- inputs' gradients of the output's.

def unbroadcast(g, x):
    """The sum over the axes along which x was repeated."""
    g = g.sum(axis=tuple(range(g.ndim - x.ndim)))
    return g.sum(axis=tuple(i for i in range(x.ndim) if x.shape[i] == 1 and g.shape[i] != 1), keepdims=True)


def add(a, x, y):
    return x + y, lambda g: [unbroadcast(g, x), unbroadcast(g, y)]


def mul(a, x, y):
    return x * y, lambda g: [unbroadcast(g * y, x), unbroadcast(g * x, y)]


def elementwise(f, slope):
    """y = f(x), dx = dy slope(x, y)."""
    def operation(a, x):
        y = f(x)
        return y, lambda g: [g * slope(x, y)]
    return operation


def normal_cdf(x):
    erf = np.vectorize(math.erf, otypes=[np.float64])
    return ((1 + erf(x.astype(np.float64) / math.sqrt(2))) / 2).astype(x.dtype)


def normal_pdf(x):
    return np.exp(-x * x / 2) / x.dtype.type(math.sqrt(2 * math.pi))


def relu(x):
    return np.maximum(x, 0)


def gelu(x):
    return x * normal_cdf(x)


def gelu_slope(x, y):
    return normal_cdf(x) + x * normal_pdf(x)


def axes(a, x):
    return tuple(range(x.ndim)) if a["axis"] == "all" else (a["axis"],)


def reduced(a, y):
    """The reduced axis stays with size 1; of all axes nothing stays."""
    return y.reshape(()) if a["axis"] == "all" else y


def mean(a, x):
    y = x.sum(axis=axes(a, x), keepdims=True)
    n = max(x.size // max(y.size, 1), 1)
    return reduced(a, y / n), lambda g: [np.broadcast_to(g.reshape(y.shape) / n, x.shape)]


def matmul(a, x, y):
    return x @ y, lambda g: [unbroadcast(g @ np.swapaxes(y, -1, -2), x),
                             unbroadcast(np.swapaxes(x, -1, -2) @ g, y)]


def exponentials(x, axis):
    m = x.max(axis=axis, keepdims=True, initial=-np.inf)
    return np.exp(x - np.where(np.isfinite(m), m, 0))


def softmax(a, x):
    e = exponentials(x, a["axis"])
    total = e.sum(axis=a["axis"], keepdims=True)
    y = e / np.where(total > 0, total, 1)
    return y, lambda g: [y * (g - (g * y).sum(axis=a["axis"], keepdims=True))]


def log_softmax(a, x):
    m = x.max(axis=a["axis"], keepdims=True, initial=-np.inf)
    y = x - m - np.log(np.exp(x - m).sum(axis=a["axis"], keepdims=True))
    return y, lambda g: [g - np.exp(y) * g.sum(axis=a["axis"], keepdims=True)]


def kept(a, x):
    return np.array(a.get("kept", np.ones(x.shape)), dtype=x.dtype).reshape(x.shape) / x.dtype.type(1 - a["p"])


def dropout(a, x):
    return x * kept(a, x), lambda g: [g * kept(a, x)]


def layer_norm(a, x, gamma, beta):
    centered = x - x.mean(axis=-1, keepdims=True)
    r = 1 / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + x.dtype.type(1e-5))
    n = centered * r

    def backward(g):
        dn = g * gamma
        dx = r * (dn - dn.mean(axis=-1, keepdims=True) - n * (dn * n).mean(axis=-1, keepdims=True))
        return [dx, unbroadcast(g * n, gamma), unbroadcast(g, beta)]
    return n * gamma + beta, backward


def embedding(a, E, P=None):
    ids = np.array(a["ids"], dtype=int)
    y = a["s"] * E[ids]

    def backward(g):
        dE = np.zeros_like(E)
        np.add.at(dE, ids, a["s"] * g)
        if P is None:
            return [dE]
        dP = np.zeros_like(P)
        np.add.at(dP, np.array(a["at"], dtype=int), g)
        return [dE, dP]
    return y if P is None else y + P[np.array(a["at"], dtype=int)], backward


def attention(a, *x):
    """One sequence and one head at a time."""
    packed = [v for v in x if v is not None]
    d = packed[0].shape[1] // (3 if len(packed) == 1 else 1)
    longest = max(a["keys"]["rows"], default=0)
    mask = kept(a, np.zeros((a["heads"], len(packed[0]), longest), packed[0].dtype))
    q, k, v = np.split(packed[0], 3, 1) if len(packed) == 1 else (
        packed if len(packed) == 3 else [packed[0]] + np.split(packed[1], 2, 1))
    y = np.zeros_like(q)
    parts = []
    sequences = zip(a["queries"]["start"], a["queries"]["rows"], a["keys"]["start"], a["keys"]["length"])
    for q0, rows, k0, length in sequences:
        for head in range(a["heads"]):
            d_k = d // a["heads"]
            i, j = slice(q0, q0 + rows), slice(k0, k0 + length)
            c = slice(head * d_k, (head + 1) * d_k)
            s = q[i, c] @ k[j, c].T / q.dtype.type(math.sqrt(d_k))
            if a["causal"]:
                s = np.where(np.arange(length)[None, :] > np.arange(rows)[:, None], -np.inf, s).astype(q.dtype)
            p, through = softmax({"axis": 1}, s)
            m = mask[head, i, :length]
            y[i, c] = (m * p) @ v[j, c]
            parts.append((i, j, c, p, m, through, d_k))

    def backward(g):
        dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
        for i, j, c, p, m, through, d_k in parts:
            dv[j, c] += (m * p).T @ g[i, c]
            ds = through(m * (g[i, c] @ v[j, c].T))[0] / q.dtype.type(math.sqrt(d_k))
            dq[i, c] += ds @ k[j, c]
            dk[j, c] += ds.T @ q[i, c]
        if len(packed) == 1:
            return [np.concatenate([dq, dk, dv], 1)]
        return [dq, dk, dv] if len(packed) == 3 else [dq, np.concatenate([dk, dv], 1)]
    return y, backward


def cross_entropy(a, x):
    targets = np.array(a["targets"], dtype=int)[:len(x)]
    counts = targets != a["ignore"]
    n, V, s = max(int(counts.sum()), 1), x.shape[1], x.dtype.type(a["smoothing"])
    wanted = np.full_like(x, s / V)
    wanted[np.arange(len(x)), np.where(counts, targets, 0)] += 1 - s
    wanted *= counts[:, None]
    y, through = log_softmax({"axis": 1}, x)
    return -(wanted * y).sum() / n, lambda g: through(-g * wanted / x.dtype.type(n))


OPERATIONS = {
    "add": add, "mul": mul,
    "exp": elementwise(np.exp, lambda x, y: y),
    "sqrt": elementwise(np.sqrt, lambda x, y: 1 / (2 * y)),
    "tanh": elementwise(np.tanh, lambda x, y: 1 - y * y),
    "relu": elementwise(relu, lambda x, y: (x > 0).astype(x.dtype)),
    "gelu": elementwise(gelu, gelu_slope),
    "mean": mean, "matmul": matmul, "softmax": softmax, "log_softmax": log_softmax, "dropout": dropout,
    "layer_norm": layer_norm, "embedding": embedding, "attention": attention, "cross_entropy": cross_entropy,
}


# ---- The student

def numbers(arguments):
    """JSON has no infinities: they come as text."""
    return {k: float(v) if v in ("inf", "-inf") else v for k, v in arguments.items()}


class Case:
    """A directory of `gradcheck case`, solved."""

    def __init__(self, directory, dtype=None):
        self.directory = directory
        with open(os.path.join(directory, "case.json"), encoding="utf-8") as f:
            self.about = json.load(f)
        given = {i["name"]: self.load(i["file"]) for i in self.about["inputs"]}
        dy = self.load("dy.npy")
        if dtype:
            given = {name: x.astype(dtype) for name, x in given.items()}
            dy = dy.astype(dtype)
            for name, x in given.items():
                self.save(name, x)
            self.save("dy", dy)
        self.x, self.dy = given, dy
        self.y, self.grads = self.run()

    def load(self, file):
        return np.load(os.path.join(self.directory, file))

    def save(self, name, x):
        np.save(os.path.join(self.directory, name + ".npy"), x)

    def run(self):
        """Forward and back. A tensor that is passed twice gets both gradients."""
        names = [i["name"] for i in self.about["inputs"]]
        y, backward = OPERATIONS[self.about["operation"]](numbers(self.about["arguments"]),
                                                          *(self.x[name] for name in names))
        grads = {}
        for name, g in zip(names, backward(self.dy)):
            grads[name] = grads[name] + g if name in grads else g
        return y, grads

    def wanted(self):
        return [w["name"][1:] for w in self.about["wanted"]]

    def write(self):
        self.save("y", self.y)
        for name in self.wanted():
            self.save("d" + name, self.grads[name])
        return self


def gradcheck(*arguments):
    return subprocess.run([GRADCHECK, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          encoding="utf-8")


def case(directory, operation, name=None, *options, dtype=None):
    shutil.rmtree(directory, ignore_errors=True)
    done = gradcheck("case", operation, *([name] if name else []), "--out", directory, *options)
    assert done.returncode == 0, done.stderr
    return Case(directory, dtype)


def verify(*directories):
    """The exit status, and what is said about each part."""
    done = gradcheck("verify", "--json", *directories)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def part_of(report, name):
    return next(r for r in report if r["part"] == name)


# ---- The tests

@functools.cache
def every_case():
    """{operation: its cases}, as the program itself lists them."""
    cases = {}
    for line in gradcheck("--json").stdout.splitlines():
        r = json.loads(line)
        names = cases.setdefault(r["operation"], [])
        if r["case"] not in names:
            names.append(r["case"])
    return cases


def right_gradients_pass(dtype):
    judged = 0
    with np.errstate(all="ignore"):
        for operation in OPERATIONS:
            directories = []
            for i, name in enumerate(every_case()[operation]):
                directories.append(f"{operation}-{i}")
                try:
                    case(directories[-1], operation, name, dtype=dtype).write()
                except AssertionError as e:  # this case is no operation alone
                    assert "uses more than the operation" in str(e), e
                    directories.pop()
            status, report = verify(*directories)
            wrong = [r for r in report if r["verdict"] != "PASS"]
            assert status == 0 and not wrong, (status, wrong)
            judged += len(report)
            for directory in directories:
                shutil.rmtree(directory)
    assert judged > 300, judged


def right_in_double():
    right_gradients_pass(np.float64)


def right_in_single():
    right_gradients_pass(np.float32)


def files_in_single():
    """float32 files by --float, worked on in float32 throughout."""
    for operation in ("layer_norm", "softmax", "matmul", "mul", "gelu", "embedding", "attention"):
        c = case("single", operation, None, "--float").write()
        assert c.y.dtype == np.float32 and c.load("dy.npy").dtype == np.float32, c.y.dtype
        status, report = verify("single")
        assert status == 0, report


def softmax_without_sum(c):
    return c.y * c.dy


def layer_norm_without_mean(c):
    x, gamma = c.x["x"], c.x["gamma"]
    centered = x - x.mean(-1, keepdims=True)
    r = 1 / np.sqrt((centered**2).mean(-1, keepdims=True) + x.dtype.type(1e-5))
    dn, n = c.dy * gamma, centered * r
    return r * (dn - n * (dn * n).mean(-1, keepdims=True))


def embedding_overwritten(c):
    dE = np.zeros_like(c.x["E"])
    dE[c.about["arguments"]["ids"]] = c.dy
    return dE


# operation, case, input; the mistake; what it is called, or "" where it has no name
MISTAKES = [
    ("layer_norm", "matrix", "x", lambda c: -c.grads["x"], "constant factor"),
    ("layer_norm", "matrix", "gamma", lambda c: c.grads["gamma"] / 3, "constant factor"),
    ("layer_norm", "matrix", "x", layer_norm_without_mean, "term missing"),
    ("layer_norm", "matrix", "beta", lambda c: c.dy, "broadcast sum missing"),
    ("softmax", "matrix", "x", softmax_without_sum, "term missing"),
    ("matmul", "matrices", "b", lambda c: c.grads["b"].T, "transposed"),
    ("matmul", "squared", "a", lambda c: c.grads["a"].T, "moved"),
    ("mul", "broadcast row", "b", lambda c: c.dy * c.x["a"], "broadcast sum missing"),
    ("mul", "broadcast row", "b", lambda c: (c.dy * c.x["a"])[-1, -1], ""),
    ("mul", "same shape", "a", lambda c: c.grads["b"], "another input's"),
    ("mul", "squared", "a", lambda c: c.grads["a"] / 2, "constant factor"),
    ("gelu", "matrix", "x", lambda c: c.dy * normal_cdf(c.x["x"]), ""),
    ("gelu", "matrix", "x", lambda c: c.grads["x"] / c.dy, "upstream ignored"),
    ("tanh", "matrix", "x", lambda c: c.dy * (1 - c.y), ""),
    ("tanh", "matrix", "x", lambda c: np.zeros_like(c.dy), "no gradient"),
    ("embedding", "repeated and unused rows", "E", embedding_overwritten, "overwritten"),
    ("attention", "plain", "q", lambda c: c.grads["q"] * math.sqrt(2), "constant factor"),
    ("log_softmax", "matrix", "x", lambda c: np.where(c.x["x"] > 0, np.nan, c.grads["x"]), "not a number"),
    ("mean", "last axis", "x", lambda c: np.broadcast_to(c.dy, c.x["x"].shape), "constant factor"),
    ("sqrt", "matrix", "x", lambda c: c.grads["x"].astype(np.float16), "wrong type"),
    ("relu", "matrix", "x", lambda c: c.grads["x"].ravel(), "wrong shape"),
]


def wrong_gradients_are_named(dtype):
    for operation, name, wrt, mistake, pattern in MISTAKES:
        c = case("wrong", operation, name, dtype=dtype).write()
        c.save("d" + wrt, mistake(c))
        status, report = verify("wrong")
        found = part_of(report, "d" + wrt)
        what = (operation, name, wrt, found)
        assert status == 1 and found["verdict"] == "FAIL", what
        assert not pattern or found["pattern"] == pattern, what
        others = [r for r in report if r["part"] != "d" + wrt and r["verdict"] != "PASS"]
        assert not others, others


def wrong_in_double():
    wrong_gradients_are_named(np.float64)


def wrong_in_single():
    wrong_gradients_are_named(np.float32)


def small_mistakes_are_caught():
    """A layer norm with another epsilon; a gelu that is the approximation by tanh; an ulp is none."""
    for dtype in (np.float64, np.float32):
        c = case("small", "gelu", dtype=dtype).write()
        x = c.x["x"]
        u = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        t = np.tanh(u)
        slope = (1 + t) / 2 + x / 2 * (1 - t * t) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)
        c.save("dx", (c.dy * slope).astype(dtype))
        assert verify("small")[0] == 1
        c.save("dx", np.nextafter(c.grads["x"], np.inf, dtype=dtype))
        assert verify("small")[0] == 0


def numpy_writes_other_files():
    """Fortran order and big-endian are read, pickled objects are refused, and the rest is judged."""
    c = case("files", "matmul").write()
    c.save("da", np.asfortranarray(c.grads["a"]))
    c.save("db", c.grads["b"].astype(">f8"))
    assert verify("files")[0] == 0
    c.save("da", c.grads["a"].astype(object))
    c.save("db", c.grads["b"].astype(complex))
    status, report = verify("files")
    assert status == 1, report
    assert "pickled" in part_of(report, "da")["reason"], report
    assert "c16" in part_of(report, "db")["reason"], report
    assert part_of(report, "y")["verdict"] == "PASS", report


def forward_is_judged():
    c = case("forward", "softmax").write()
    c.save("y", np.exp(c.x["x"]))
    status, report = verify("forward")
    assert status == 1 and part_of(report, "y")["verdict"] == "FAIL", report
    assert part_of(report, "dx")["verdict"] == "PASS", report


TESTS = [right_in_double, right_in_single, files_in_single, wrong_in_double, wrong_in_single,
         small_mistakes_are_caught, numpy_writes_other_files, forward_is_judged]


def main():
    failed = 0
    memory = "/dev/shm"  # a thousand small files, each of which the checker brings to the disk where it lies on one
    place = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="tapeformer-test-", dir=place) as folder:
        os.chdir(folder)
        for test in TESTS:
            if len(sys.argv) > 1 and test.__name__ not in sys.argv[1:]:
                continue
            try:
                test()
                print("ok   numpy round trip:", test.__name__.replace("_", " "), flush=True)
            except Exception:  # whatever it is, the other tests run
                failed += 1
                print("  " + traceback.format_exc().replace("\n", "\n  ").rstrip())
                print("FAIL numpy round trip:", test.__name__.replace("_", " "), flush=True)
        os.chdir("/")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
