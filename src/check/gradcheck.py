"""Proves gradients written in Python. Needs NumPy and tapeformer's program gradcheck; this file alone is handed out.

    from gradcheck import check
    check(forward, backward, x=(3, 5), w=(5, 4))  # at random inputs of these shapes
    check(forward, backward, x=array, y=labels)   # at this point and near it; integers take no gradient
    check(MyFunction, x=(3, 5))                   # a class: forward, backward (ctx first, or self); compute, gradient
    check(f, df, x=(4,))                          # a scalar function and its gradient; f alone may return both

forward returns its outputs and last the cache for backward(dout, cache); without a cache, backward gets the inputs.
What is no array and no shape is passed on: check(forward, backward, x=(2, 3), stride=2). Prints are not shown."""
import contextlib, copy, inspect, io, json, os, pickle, random, shutil, subprocess, tempfile, traceback, types, warnings
import numpy as np

def is_shape(v): return isinstance(v, tuple) and all(isinstance(n, int) for n in v)
def is_array(v): return isinstance(v, (np.ndarray, list))
def listed(y): return list(y) if isinstance(y, (tuple, list)) else [y]

def times(g, dy):
    return {k: np.asarray(v) * dy for k, v in g.items()} if isinstance(g, dict) else [np.asarray(v) * dy for v in listed(g)]

def convention(f, b=None):
    """A pair: forward(x, arguments) -> outputs, state; backward(dy, state, x, arguments) -> gradients."""
    if b is not None or not (hasattr(f, "forward") or hasattr(f, "compute")):
        return of_functions(f, b)
    first = list(inspect.signature(f.forward if hasattr(f, "forward") else f.compute).parameters)
    new = f if isinstance(f, type) else lambda: copy.deepcopy(f)

    def forward(x, a):
        op = new()
        if "ctx" not in first[:2]:
            return listed((op.compute if hasattr(f, "gradient") else op.forward)(*x, **a)), op
        ctx = types.SimpleNamespace()
        ctx.save_for_backward = lambda *v: ctx.__dict__.update(saved_values=v, saved_tensors=v)
        return listed((f if first[0] == "ctx" else op).forward(ctx, *x, **a)), ctx
    def backward(dy, state, x, a):
        if hasattr(f, "gradient"):
            return state.gradient(dy[0], types.SimpleNamespace(inputs=x, op=state))
        if "ctx" not in first[:2]:
            return state.backward(*dy)
        return (f if first[0] == "ctx" else new()).backward(state, *dy)
    return forward, backward

def of_functions(f, b):
    def forward(x, a):
        y = f(*x, **a)
        cut = -1 if isinstance(y, tuple) and b else None if b else 1
        return listed(y)[:cut], listed(y)[cut:] if cut else []
    def backward(dy, state, x, a):
        if not b:
            return times(state[0] if len(state) == 1 else state, dy[0])
        if state:
            return b(*dy, *state)
        needs = [p for p in inspect.signature(b).parameters.values() if p.default is p.empty and p.name not in a]
        return b(*dy, *x, **a) if len(needs) > len(x) else times(b(*x, **a), dy[0])
    return forward, backward

def frozen(x, state=None):
    try:
        return pickle.dumps((x, {k: v for k, v in getattr(state, "__dict__", {0: state}).items() if not callable(v)}))
    except Exception:  # a cache with functions in it: the inputs alone are compared
        return pickle.dumps(x)

class Server:
    """Answers the judge (PROTOCOL.md) about cases: (function's name, its convention, {input or argument: value})."""
    def __init__(self, cases, into, out): self.cases, self.into, self.out = cases, into, out
    def read(self): return np.lib.format.read_array(types.SimpleNamespace(read=self.into.read))  # a pipe is no file
    def send(self, line, arrays=()):
        message = io.BytesIO()
        message.write((" ".join(line.split("\n")) + "\n").encode())
        for a in arrays:
            np.save(message, np.asarray(a, order="C"))
        self.out.write(message.getvalue())
        self.out.flush()
    def serve(self):
        def about(name, v):
            fixed = is_array(v) and {"values": 1} | ({"constant": 1} if np.asarray(v).dtype.kind in "iub" else {})
            return {"name": name, "shape": np.shape(v) if fixed else v} | (fixed or {})
        inputs = [[(k, v) for k, v in given.items() if is_shape(v) or is_array(v)] for _, _, given in self.cases]
        self.send(json.dumps({"cases": [{"function": case[0], "inputs": [about(*pair) for pair in its]}
                                        for case, its in zip(self.cases, inputs)]}),
                  [np.asarray(v, float) for its in inputs for _, v in its if is_array(v)])
        for line in iter(self.into.readline, b""):
            word, _, rest = line.decode().partition(" ")
            try:
                self.send(*getattr(self, word.strip())(rest))
            except Exception as e:
                at = [f.lineno for f in traceback.extract_tb(e.__traceback__) if f.filename != __file__][-1:]
                self.send(f"error {type(e).__name__}: {e}" + "".join(f", line {n}" for n in at))
    def case(self, rest):
        self.now = json.loads(rest)
        _, (self.f, self.b), given = self.cases[self.now["number"]]
        self.types = [np.asarray(given.get(n) if is_array(given.get(n)) else 0.0).dtype for n in self.now["inputs"]]
        self.a = {**{k: v for k, v in given.items() if k not in self.now["inputs"]}, **self.now["arguments"]}
        return "ok 0",
    def call(self, function, *given):
        """Whatever is random is so from one seed for each run; an argument that changes is another run's no more."""
        np.random.seed(0), random.seed(0)
        before, a = self.watch and frozen(*given[-2:][::-1]), copy.deepcopy(self.a) if self.a else {}
        result = function(*given, a)
        if before != (self.watch and frozen(*given[-2:][::-1])):
            raise ValueError("forward or backward changed its inputs, or backward the cache")
        return result
    def forward(self, rest):
        runs, changes, *self.watch = rest.split()
        all_runs = [np.repeat(self.read().astype(t)[None], int(runs), axis=0) for t in self.types]
        places, values = (self.read(), self.read()) if int(changes) else (np.zeros((0, 3), int), np.zeros(0))
        for k, x in enumerate(all_runs):
            run, element = places[places[:, 1] == k][:, ::2].T
            x.reshape(len(x), x[0].size)[run, element] = values[places[:, 1] == k]
        inputs = [[x[run] for x in all_runs] for run in range(int(runs))]
        self.runs = [(*self.call(self.f, x), x) for x in inputs]
        return f"ok {len(self.runs[0][0])}", [np.stack(y) for y in zip(*(run[0] for run in self.runs))]
    def backward(self, rest):
        dy = [self.read() for _ in self.runs[0][0]]
        gradients = [self.named(self.call(self.b, [np.array(d[i])[()] for d in dy], state, x))
                     for i, (_, state, x) in reversed(list(enumerate(self.runs)))]
        return f"ok {len(gradients[0])}", [np.stack(g[::-1]) for g in zip(*gradients)]
    def named(self, got):
        names, wanted = self.now["inputs"], self.now["gradients"]
        if not isinstance(got, dict):
            got = dict(zip(names if len(listed(got)) == len(names) else wanted, listed(got)))
        got = [got.get(name, got.get("d" + name)) for name in wanted]
        if missing := ", ".join(name for name, g in zip(wanted, got) if g is None):
            raise ValueError(f"backward returned no gradient of {missing}; a constant belongs inside forward")
        return [np.asarray(g, None if np.asarray(g).dtype.kind == "f" else float) for g in got]

def check(forward, backward=None, **given):
    """Prints the verdict of ./gradcheck, and returns its reports: a dictionary for each gradient of each case."""
    text, reports = judge([(getattr(forward, "__name__", type(forward).__name__), convention(forward, backward), given)])
    print(text, end="")
    return reports

def judge(cases):
    (asked, ask), (told, tell), here = os.pipe(), os.pipe(), os.path.dirname(os.path.abspath(__file__))
    places = [here + "/gradcheck", here + "/../../gradcheck", here + "/../../bin/tapeformer-gradcheck"]
    places = [os.environ.get("GRADCHECK", "")] + places + [shutil.which("tapeformer-gradcheck") or ""]
    program = next(filter(os.path.isfile, places), "gradcheck")
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "text"), "w+") as text:
        reports = os.path.join(folder, "reports")
        started = subprocess.Popen([program, "--program", f"{told},{ask}", "--reports", reports], pass_fds=(told, ask),
                                   stdout=text, stderr=text)
        os.close(told), os.close(ask)
        with os.fdopen(asked, "rb") as into, os.fdopen(tell, "wb", 0) as out:
            with contextlib.suppress(BrokenPipeError), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")  # at sizes and values that the judge adds
                Server(cases, into, out).serve()
        started.wait()
        text.seek(0)
        with open(reports) as lines:
            return text.read(), [json.loads(line) for line in lines]
