"""Proves gradients written in Python. Needs NumPy and tapeformer's program gradcheck.

    from gradcheck import check
    assert check(forward, backward, x=(3, 5), w=(5, 4))   # at random inputs of these shapes
    assert check(forward, backward, x=array, y=labels)    # at this point; integers take no gradient
    assert check(Layer, x=(3, 5))    # a class or an object: forward, backward; compute, gradient
    assert check(f, df, x=(4,))      # a function and its gradient; f alone may return both
    assert check(f, x=(3, 5))        # a function of torch or jax, a Module, an autograd.Function

forward returns its outputs, and last the cache for backward(dout, cache). Without a cache backward
gets the inputs. Other values than shapes and arrays are arguments: check(…, x=(2, 3), pad=1).
low=0, high=1 bound the drawn values, constant="y" takes no gradient, flat=True allows gradients
of 0; each counts for all inputs, or for those that it names: low={"x": 0}. Prints are not shown."""
import ast, atexit, contextlib, copy, functools, io, json, math, os, random, shutil
import subprocess, sys, tempfile, time, warnings
import numpy as np
from gradcheck_forms import (Case, Judged, arrays_in, convention, described, generators, is_integer,
                             line_of, maker, name_of, outside, plain, reseed)

ORDER = "PASS", "INCONCLUSIVE", "FAIL"
grading = False  # True: check does nothing, as it stands at the end of a file that is graded


class Checked:
    """The findings of check, true if all gradients are right. reports: a dictionary for each."""
    def __init__(self, reports):
        self.reports = reports

    def __bool__(self):
        return bool(self.reports) and all(r["verdict"] == "PASS" for r in self.reports)

    def __repr__(self):
        words = [r["verdict"] for r in self.reports]
        worst = max(self.reports, key=lambda r: ORDER.index(r["verdict"]))
        where = " ".join(str(worst.get(key) or "") for key in ("operation", "case", "part"))
        finding = {"PASS": "right", "FAIL": "wrong", "INCONCLUSIVE": "unproved"}[worst["verdict"]]
        counts = ", ".join(f"{words.count(word)} {word}" for word in ORDER)
        return (f"{worst['verdict']}: {counts}\n"
                f"{where}: {worst.get('reason') or finding}\n"
                ".reports has a dictionary for each gradient")


@functools.cache
def layout(header):
    """The type, the shape and the bytes of an array, of its header in NumPy's format."""
    known = ast.literal_eval(header.decode())
    dtype = np.dtype(known["descr"])
    return dtype, known["shape"], dtype.itemsize * math.prod(known["shape"])


@functools.cache
def header(dtype, shape):
    """The bytes before the elements of an array in NumPy's format."""
    out = io.BytesIO()
    known = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, known)
    return out.getvalue()


class Server:
    """Answers the judge's messages (PROTOCOL.md) about functions."""
    def __init__(self, judged, into, out):
        self.judged, self.into, self.out = judged, into, out
        self.count, self.began, self.next, self.shown = 0, time.time(), 2, False

    def read(self):
        """An array in NumPy's format 1.0."""
        start = self.into.read(10)
        dtype, shape, size = layout(self.into.read(int.from_bytes(start[8:], "little")))
        return np.frombuffer(bytearray(self.into.read(size)), dtype).reshape(shape)

    def send(self, line, arrays=()):
        parts = [(" ".join(line.split("\n")) + "\n").encode()]
        for a in arrays:
            parts += header(a.dtype, a.shape), a.tobytes()
        self.out.write(b"".join(parts))
        self.out.flush()

    def serve(self):
        for j in self.judged:
            if j.form:
                j.try_out()
        cases, arrays = zip(*(j.listed() for j in self.judged))
        self.send(json.dumps({"cases": cases}), [a for some in arrays for a in some])
        for line in iter(self.into.readline, b""):
            word, _, rest = line.decode().partition(" ")
            try:
                self.send(*getattr(self, word.strip())(rest))
            except Exception as e:
                self.send("error " + described(e))

    def case(self, rest):
        now = json.loads(rest)
        j = self.judged[now["number"]]
        self.form, self.run, self.random = j.form, None, j.generators()
        self.now = Case(j.form, j.given, now["inputs"], now["gradients"], now["arguments"])
        return "ok 0",

    def show_progress(self):
        seconds = time.time() - self.began
        rewrites = sys.stderr.isatty() or "ipykernel" in sys.modules
        if seconds < self.next or grading:
            return
        self.next = seconds + 0.5 if rewrites else 3 * seconds
        self.shown = rewrites
        start, end = ("\r", "") if rewrites else ("", "\n")
        print(f"{start}gradcheck: {self.count} runs in {seconds:.0f} s", end=end,
              file=sys.stderr, flush=True)

    def forward(self, rest):
        runs, changes, *self.watch = rest.split()
        given = {n: np.repeat(self.read()[None], int(runs), axis=0) for n in self.now.inputs}
        none = np.zeros((0, 3), int), np.zeros(0)
        places, values = (self.read(), self.read()) if int(changes) else none
        for k, x in enumerate(given.values()):
            run, element = places[places[:, 1] == k][:, ::2].T
            x.reshape(len(x), x[0].size)[run, element] = values[places[:, 1] == k]
        self.show_progress()
        self.runs = [self.run_at({n: x[i] for n, x in given.items()}) for i in range(int(runs))]
        self.count += int(runs)
        outputs = zip(*(run.y for run in self.runs))
        return f"ok {len(self.runs[0].y)}{self.runs[0].damage}", [np.stack(y) for y in outputs]

    def run_at(self, point):
        try:
            self.run = Run(self, {n: self.now.makers[n](x) for n, x in point.items()})
            self.point = point
            return self.run
        except Exception:
            if not self.run or all((x == self.point[n]).all() for n, x in point.items()):
                raise
            return outside(self.run, point, self.now.wanted)

    def backward(self, rest):
        dy = [self.read() for _ in self.runs[0].y]
        self.show_progress()
        gradients = [run.backward([make(d[i]) for d, make in zip(dy, run.makers)])
                     for i, run in reversed(list(enumerate(self.runs)))]
        stacked = [np.stack(g[::-1]) for g in zip(*gradients)]
        return f"ok {len(gradients[0])}{self.runs[0].damage}", stacked


class Run:
    """One forward, and all that its backwards need."""
    def __init__(self, server, inputs):
        self.server, self.form, self.now, self.saved = server, server.form, server.now, None
        arguments = copy.deepcopy(self.now.arguments)
        self.values = inputs | arguments
        self.random = [*server.random, *generators(arguments.values())]
        reseed(self.random, 0)
        before = {n: plain(v).tobytes() for n, v in inputs.items()} if server.watch else {}
        y, self.state, self.own = self.form.forward(self.now, self.values)
        changed = [n for n in before if plain(inputs[n]).tobytes() != before[n]]
        self.damage = f" forward changed {changed[0]}" if changed else ""
        self.makers = [maker(None if is_integer(v) else v, self.form.library) for v in y]
        self.y = [plain(v, "the output of forward") for v in y]

    def backward(self, dy):
        self.server.count += 1
        reseed(self.random, self.server.count)  # another seed than in forward
        state, values = self.state_apart()
        got = self.form.gradients(self.now, self.form.backward(self.now, dy, state, values))
        gradients = [self.gradient(name, got.get(name)) for name in self.now.wanted]
        if self.server.watch and any(a.tobytes() != before for a, before in self.saved or ()):
            self.damage = self.described_change(dy)
        return gradients

    def described_change(self, dy):
        """The array that backward changed, and the line at which another backward may not."""
        changed = [a for a, before in self.saved if a.tobytes() != before]
        state = self.state[0] if self.form.is_layer else self.state
        name = name_of(changed[0], self.values, "") or name_of(changed[0], state, self.form.holds)
        text = f" backward changed {name or 'what forward saved'}"
        for a in changed:
            a.flags.writeable = False
        try:
            self.form.backward(self.now, dy, *self.state_apart())
        except ValueError as e:
            text += line_of(e)
        for a in changed:
            a.flags.writeable = True
        return text

    def state_apart(self):
        """The state for one backward: what it adds, pops or sums up (in zeros, or in older arrays)
        is not there for the next. Other arrays are shared: a change shows in the next gradients."""
        both = self.state, self.values
        if self.form.library != "numpy":
            return both
        try:
            if self.saved is None:
                older = {id(a) for a, before in self.own if a.tobytes() == before.tobytes()}
                self.saved = [(a, a.tobytes()) for a, _ in arrays_in(both)
                              if id(a) not in older and a.any()]
            return copy.deepcopy(both, {id(a): a for a, _ in self.saved})
        except Exception:  # something cannot be copied
            return both

    def gradient(self, name, g):
        if g is None:
            raise ValueError(f"backward returned no gradient of {name}; "
                             f"an input that takes none is constant=\"{name}\"")
        return plain(g, f"the gradient of {name}")


def check(forward, backward=None, **given):
    """Prints the verdict of ./gradcheck, and returns its findings, true if all are right."""
    if grading:
        return True
    name = getattr(forward, "__name__", type(forward).__name__)
    judged = Judged(name, convention(forward, backward, given), given)
    if not judged.inputs:
        raise TypeError("check: found no input, need shapes or arrays: check(…, x=(3, 5))")
    text, reports = judge([judged])
    print(text, end="")
    checked = Checked(reports)
    script = sys._getframe(1).f_globals
    if any(r["verdict"] == "FAIL" for r in reports) and script.get("__name__") == "__main__":
        if not hasattr(sys, "ps1") and "get_ipython" not in script:
            atexit.register(fail)
    return checked


def fail():
    """Ends a script after a FAIL."""
    sys.stdout.flush(), sys.stderr.flush()
    os._exit(1)


def main():
    """The command `gradcheck` of the package: becomes the program."""
    os.execv(program(), ["gradcheck", *sys.argv[1:]])


def program():
    here = os.path.dirname(os.path.abspath(__file__))
    places = [os.environ.get("GRADCHECK", ""), here + "/gradcheck", here + "/../../../gradcheck",
              here + "/../../bin/tapeformer-gradcheck", shutil.which("tapeformer-gradcheck") or ""]
    for place in filter(os.path.isfile, places):
        return place
    raise RuntimeError("check: found no program gradcheck: `pip install ./src/tools/check` or "
                       "`make` builds it, GRADCHECK=PATH says where it is")


@contextlib.contextmanager
def quiet():
    """Functions print and warn nothing, random numbers go on afterwards, and jax has doubles."""
    numbers, randbits = np.random.get_state(), np.random.bit_generator.randbits
    jax = sys.modules.get("jax")
    drawn, double = random.getstate(), contextlib.nullcontext()
    if jax:
        where = jax if hasattr(jax, "enable_x64") else jax.experimental
        double = where.enable_x64(True)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), double:
        warnings.simplefilter("ignore")  # at sizes and values that the judge adds
        yield
    np.random.set_state(numbers), random.setstate(drawn)
    np.random.bit_generator.randbits = randbits


def judge(cases):
    """The text and the reports of the program about what is Judged."""
    place, (asked, ask), (told, tell) = program(), os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "text"), "w+") as text:
        reports = os.path.join(folder, "reports")
        started = subprocess.Popen([place, "--program", f"{told},{ask}", "--reports", reports],
                                   pass_fds=(told, ask), stdout=text, stderr=text)
        os.close(told), os.close(ask)
        with os.fdopen(asked, "rb") as into, os.fdopen(tell, "wb", 0) as out, quiet(), \
                contextlib.suppress(BrokenPipeError):
            server = Server(cases, into, out)
            server.serve()
        if server.shown:
            print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
        started.wait()
        text.seek(0)
        with open(reports) as lines:
            return text.read(), [json.loads(line) for line in lines]
