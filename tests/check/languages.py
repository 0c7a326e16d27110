"""./gradcheck on functions of other languages: programs written from PROTOCOL.md alone, Python files and folders of them.

    GRADCHECK=build/double/gradcheck python3 tests/check/languages.py

Prints a line `ok   …` or `FAIL …` a test, as the other test programs do."""
import importlib.util, json, os, shutil, subprocess, sys, tempfile
from concurrent import futures

here = os.path.dirname(os.path.abspath(__file__))
GRADCHECK = os.path.abspath(os.environ.get("GRADCHECK", "build/double/gradcheck"))
SOFTMAX = """import numpy as np
def softmax_forward(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    y = e / e.sum(axis, keepdims=True)
    return y, (y, axis)
def softmax_backward(dy, cache):
    y, axis = cache
    return y * (dy - (dy * y).sum(axis, keepdims=True))
cases = {"softmax": [dict(x=(2, 3))]}
"""
HOSTILE = {
    "ends.py": ("y = e", "import os; os._exit(3); y = e", "FAIL", "exit(3)"),
    "forks.py": ("y = e", "import os; os.fork(); y = e", "FAIL", "PermissionError"),
    "prints.py": ("y = e", "print('x' * 10 ** 5); y = e", "PASS", ""),
    "reads.py": ("y = e", "open('/etc/passwd').read(); y = e", "FAIL", "PermissionError"),
    "asks.py": ("y = e", "input(); y = e", "FAIL", "EOFError"),
    "raises.py": ("y = e", "raise KeyError('no such'); y = e", "FAIL", "line 4"),
    "endless.py": ("y = e", "\n    while True: pass\n    y = e", "FAIL", "time limit"),
    "sleeps.py": ("y = e", "import time; time.sleep(1000); y = e", "FAIL", "time limit"),
    "unspellable.py": ("y = e", "y = = e", "FAIL", "SyntaxError"),
    "keeps.py": ("return y, (y, axis)", "global kept; kept = y; return y, (y, axis)", "PASS", ""),
    "is_global.py": ("y, axis = cache", "y, axis = kept, cache[1]", "FAIL", "before backward runs"),
    "writes.py": ("y, axis = cache", "y, axis = cache; dy *= 1; y *= 1 + 1e-9", "FAIL", "changed"),
}


def gradcheck(*arguments, env=None):
    done = subprocess.run([GRADCHECK, *arguments], env=env, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def write(name, text):
    with open(name, "w") as out:
        out.write(text)


def programs_of_the_page():
    """What tests/examples has of PROTOCOL.md's other end, as far as the language is installed; each wrong once."""
    for tool, source, name, run, change in [
            ("node", "softmax.mjs", "softmax", "node softmax.mjs", ("(dy[at + k] - sum", "(dy[at + k] + sum")),
            ("octave-cli", "cubes.m", "cubes", "octave-cli -q cubes.m", ("dw = dy .* x", "dw = dy + x")),
            ("cc", "squares.c", "squares", "./squares", ("2 * x[i]", "3 * x[i]"))]:
        if not shutil.which(tool):
            continue
        text = open(os.path.join(here, "../examples", source)).read()
        assert change[0] in text
        for wrong in False, True:
            write(source, text.replace(*change) if wrong else text)
            if tool == "cc":
                subprocess.run(["cc", "-o", name, source], check=True)
            status, out, err = gradcheck("--program", run)
            assert status == wrong and f"{name}/" in out, (source, wrong, out, err)


BROKEN = """import sys, time
out, word = sys.stdout.buffer, sys.argv[1]
def flood(byte):
    while True:
        out.write(byte * 65536)
def put(line):
    out.write(line)
    out.flush()
if word == "nothing":
    time.sleep(100)
if word == "first":
    flood(b"x")
put(b'{"cases": [{"function": "f", "inputs": [{"name": "x", "shape": [2]}]}]}\\n')
for line in iter(sys.stdin.buffer.readline, b""):
    asked = line.split()[0].decode()
    if asked == word:
        time.sleep(100)
    if word == asked + "s":
        flood(b"y")
    if asked == "case":
        put(b"ok 0\\n")
"""


def broken_programs_are_named():
    """One that leaves a message unanswered is told from its function; one that never ends an answer is given up."""
    write("broken.py", BROKEN)
    says = {"nothing": "the program sent no first line", "case": "did not answer `case`",
            "forward": "the program, not the function: it did not answer `forward`",
            "first": "first line has more than", "cases": 'answered no "ok 0"',
            "forwards": "answered a line of more than"}
    with futures.ThreadPoolExecutor() as pool:  # most of them sleep
        found = pool.map(lambda word: gradcheck("--time-limit", "1", "--program",
                                                f"{sys.executable} -S broken.py {word}"), says)
    for word, (status, out, err) in zip(says, found):
        assert status == 1 and says[word] in " ".join(out.split()), (word, out, err)


LATER = """#include "ops/ops.h"
#include <time.h>
static double now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void forward(Node *n) {
    tensor_copy_out(n->in[0], n->out->data);
    for (long i = 0; i < shape_count(n->out->shape); i++) n->out->data[i] *= n->out->data[i];
}
static void backward(Node *n) {
    static double began;
    static int calls;
    if (!calls++) began = now();
    real factor = WRONG ? 3 : 2;
    for (long i = 0; i < shape_count(n->out->shape); i++)
        n->in[0]->grad[i] += factor * n->out->grad[i] * n->in[0]->data[i * n->in[0]->stride[0]];
}
extern const Op op_later;
static Tensor *build(Tape *t, Tensor **x) {
    return tape_forward(tape_node(t, &op_later, x[0]->shape, INPUTS(x[0])));
}
static const CheckCase cases[] = {{"one", build, {{"x", DIMS(2)}}}};
const Op op_later = {"later", forward, backward, CASES(cases)};
"""


def right_at_first_is_wrong():
    for wrong, status in (("0", 0), ("calls > 40", 1), ("now() - began > 0.02", 1)):
        write("later.c", LATER.replace("WRONG", f"({wrong})"))
        found, out, err = gradcheck("later.c")
        assert found == status and (not status or "'repeatable'" in out), (wrong, out, err)


def files_are_judged():
    write("right.py", SOFTMAX)
    write("wrong.py", SOFTMAX.replace("(dy - ", "(2 * dy - "))
    write("cases.py", "cases = {'softmax': [dict(x=(3, 2), axis=0), dict(x=(4,))]}\n")
    for options in [], ["--like", "softmax"], ["--cases", "cases.py"]:
        status, out, err = gradcheck("right.py", *options, "--gradescope", "r.json")
        assert status == 0, (options, out, err)
        tests = json.load(open("r.json"))["tests"]
        assert sum(t["score"] for t in tests) == sum(t["max_score"] for t in tests) > 0, tests
        names = " ".join(t["output"] for t in tests if t["name"].endswith(": properties"))
        assert "linear" in names and not any(word in names for word in ("accumulates", "stores fresh", "any layout")), names
        status, out, err = gradcheck("wrong.py", *options)
        assert status == 1 and "FAIL softmax/" in out and "yours" in out, (options, out, err)
    status, out, err = gradcheck("right.py", "--like", "tanh")
    assert status == 1, out
    status, out, err = gradcheck("right.py", "--like", "softmax", "--cases", "cases.py")
    assert status == 2 and "--like: found cases in Python beside it" in err, err
    os.mkdir("both")  # C and Python by the same operation
    write("both/right.py", SOFTMAX)
    write("both/right.c", open(os.path.join(here, "../../src/core/ops/softmax.c")).read())
    status, out, err = gradcheck("both", "--like", "softmax")
    assert status == 0 and out.index("right.c") < out.index("right.py"), (out, err)
    write("none.py", "x = 1\n")
    status, out, err = gradcheck("none.py")
    assert status == 1 and "found no cases" in out, out


ROUNDED = {
    "gelu": ("y = np.vectorize(math.erf)(x / math.sqrt(2)); y = 0.5 * (1 + y); cache = x, y; y = x * y",
             "x, c = cache; dx = dy * (c + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi))"),
    "silu": ("s = 1 / (1 + np.exp(-x)); y = x * s; cache = x, s", "x, s = cache; dx = dy * (s + x * s * (1 - s))"),
    "sigmoid": ("y = cache = 0.5 * (1 + np.tanh(x / 2))", "dx = dy * cache * (1 - cache)"),
    "rms_norm": ("x, gamma = np.float32(x), np.float32(gamma); r = np.float32((x * x).mean(-1, keepdims=True) + 1e-5) ** -0.5; "
                 "y = gamma * x * r; cache = x, r, gamma",
                 "x, r, gamma = cache; g = np.float32(dy) * gamma; dx = r * g - x * r ** 3 * (g * x).mean(-1, keepdims=True), "
                 "(dy * x * r).reshape(-1, *gamma.shape).sum(0)"),
}


def rounding_is_no_mistake():
    """Single precision, 1 + erf, 1 - s and numbers too small for a double lose digits, and not points; a factor 1.01 does."""
    def judge(name):
        takes, (forward, backward) = "x, gamma" if name == "rms_norm" else "x", ROUNDED[name]
        text = f"""import math, numpy as np\ndef forward({takes}):\n    {forward}\n    return y, cache
def backward(dy, cache):\n    {backward}\n    return dx\n"""
        write(f"{name}.py", text)
        write(f"{name}_wrong.py", text.replace("dx = ", "dx = 1.01 * ", 1))
        return [gradcheck(f"{name}{wrong}.py", "--like", name) for wrong in ("", "_wrong")]
    with futures.ThreadPoolExecutor(2) as pool:
        for (right, out, err), (wrong, _, _) in pool.map(judge, ROUNDED):
            assert right == 0 and wrong == 1, (out, err)


NORM = """import numpy as np
def rms_norm_forward_naive(x, gamma):
    r = (np.mean(x * x, -1, keepdims=True) + 1e-5) ** -0.5
    return gamma * x * r, {"x": x, "r": r, "gamma": gamma, "work": x * 0 + 1}
def rms_norm_backward_naive(dy, cache):
    x, r, gamma, work = (cache[name] for name in ("x", "r", "gamma", "work"))
    g = dy * gamma
    dx = r * g - x * r ** 3 * (g * x).mean(-1, keepdims=True)
    return dx, (dy * x * r).reshape(-1, *gamma.shape).sum(0)
"""
COSTS = [  # text of NORM, another, tests without their points, words of the report
    ("", "", "", "These hold: read-only"),
    ("g = dy * gamma", "g = np.multiply(dy, gamma, out=work)", "", "backward changed cache['work'], line 7"),
    ("return dx, (dy * x * r).reshape(-1, *gamma.shape).sum(0)", "return dx, dy * x * r", "dgamma", "answered dgamma of shape"),
    ("dx = r * g", "raise NotImplementedError; dx = g", "y dx dgamma properties", "NotImplementedError, line 8"),
    ("+ 1e-5", "+ 1.0", "y dx dgamma", "the forward is another function"),
]


def a_mistake_costs_its_own_points():
    cases = "cases = {'rms_norm': [dict(x=(3, 4), gamma=(4,))], 'other': [dict(x=(2,))], 'rms_norm_naive': [dict(x=(3, 4), gamma=(4,))]}\n"
    write("cases.py", cases)
    write("f.py", NORM)
    status, out, err = gradcheck("f.py", "--cases", "cases.py", "--gradescope", "r.json")
    tests = json.load(open("r.json"))["tests"]
    assert {t["name"].split("/")[0] for t in tests if not t["score"]} == {"other"}, (tests, err)
    assert "found no functions other_forward and other_backward, and no class 3 operations" in " ".join(out.split()), out
    for old, new, lost, says in COSTS:
        write("f.py", NORM.replace(old, new))
        status, out, err = gradcheck("f.py", "--like", "rms_norm", "--gradescope", "r.json")
        tests = [t for t in json.load(open("r.json"))["tests"] if t["name"].startswith("rms_norm/matrix: ")]
        without = {t["name"].split(": ")[1] for t in tests if t["score"] < t["max_score"]}
        assert set(lost.split()) <= without <= {*lost.split(), "properties" * (lost != "")}, (new, tests)
        assert says in " ".join(t["output"] for t in tests), (new, tests)
        if "forward" in says:
            assert says in " ".join(out.split("\n\n")[1].split()) and "yours" not in out, out


def files_that_do_not_load_say_why():
    write("cases.py", "cases = {'softmax': [dict(x=(3, 2), axis=0)]}\n")
    broken = {"x = (\n": "SyntaxError: '(' was never closed, line 1",
              "import numpy as np\n\nx = np.float(3)\n": "AttributeError: module 'numpy' has no attribute 'float'., line 3",
              "\nimport nothing_of_this_name\n": "ModuleNotFoundError: No module named 'nothing_of_this_name', line 2",
              "\n\nnothing\n": "NameError: name 'nothing' is not defined, line 3",
              "import numpy as np\nnp.zeros(3) + np.zeros(4)\n": "line 2",
              "import sys\nsys.exit(0)\n": "SystemExit: 0, line 2"}
    ways = [], ["--like", "softmax"], ["--cases", "cases.py"]
    for i, (source, says) in enumerate(broken.items()):
        write("broken.py", source)
        for options in ways if i == 0 else ways[i % 3:i % 3 + 1]:
            status, out, err = gradcheck("broken.py", *options)
            assert status == 1 and says in " ".join(out.split()), (source, options, out, err)
    write("runs.py", SOFTMAX.replace("y = ", "np.zeros(3) + np.zeros(4); y = ", 1))
    status, out, err = gradcheck("runs.py")
    line = [n for n, text in enumerate(open("runs.py"), 1) if "np.zeros" in text][0]
    assert status == 1 and f", line {line}" in out, out
    write("checks.py", SOFTMAX + "\nfrom gradcheck import check\nassert check(softmax_forward, softmax_backward, x=(2, 2))\n")
    status, out, err = gradcheck("checks.py", "--like", "softmax")
    assert status == 0, (out, err)
    status, out, err = gradcheck("missing.py", "--like", "softmax", "--gradescope", "r.json")
    assert status == 66 and "missing.py: is missing" in err and "is missing" in open("r.json").read(), err
    write("python", f"#!/bin/sh\nexec {sys.executable} -S \"$@\"\n")  # has no NumPy
    os.chmod("python", 0o755)
    for python, says in [("/nothing/here", "/nothing/here: cannot be run"), ("/bin/false", "/bin/false: is no Python"),
                         ("./python", "./python: No module named 'numpy': install NumPy, or PYTHON=PATH names a Python with it")]:
        status, out, err = gradcheck("checks.py", env={**os.environ, "PYTHON": python})
        assert status == 69 and err == f"gradcheck: {says}\n", (status, err)
    name, long = "a_function_of_" + "many_" * 25 + "words", "the shapes do not fit, " * 15 + "END"
    write("words.py", SOFTMAX.replace("softmax", name).replace("y = e", f"raise ValueError('{long}'); y = e"))
    status, out, err = gradcheck("words.py", "--json")
    report = json.loads(out.splitlines()[0])
    assert report["operation"] == name and report["reason"].startswith(f"ValueError: {long}, line"), out
    write("huge.py", "cases = [dict(x=(1 << 20, 1 << 20))]\n" + SOFTMAX.replace("cases", "others"))
    status, out, err = gradcheck("huge.py")
    assert status == 1 and "elements" in out, (status, out, err)


TEMPORARY = """
import os, tempfile
with open(os.devnull, "w") as f:
    f.write("nothing")
assert len(open("/dev/urandom", "rb").read(4)) == 4
with tempfile.TemporaryDirectory() as folder:
    open(folder + "/a", "w").write("a")
cache = os.path.expanduser("~/.cache/b")
os.makedirs(cache)
open(cache + "/c", "w").write("d")
os.rename(cache + "/c", cache + "/e")
"""


def libraries_find_what_they_need():
    write("writes.py", TEMPORARY + SOFTMAX)
    status, out, err = gradcheck("writes.py", "--like", "softmax")
    assert status == 0, (out, err)
    for library in "matplotlib.pyplot", "torch":
        if importlib.util.find_spec(library.split(".")[0]):
            write("imports.py", f"import {library}\n" + SOFTMAX)
            status, out, err = gradcheck("imports.py", "--like", "softmax")
            assert status == 0, (library, out, err)
    write("fills.py", "import os\nfor i in range(9000):\n    open(os.environ['TMPDIR'] + f'/{i}', 'wb').write(bytes(1 << 20))\n")
    status, out, err = gradcheck("fills.py")
    assert status == 1 and ("filled the directory" in out or "File too large" in out), (out, err)


def hostile_files_harm_nobody():
    os.mkdir("slow")
    os.mkdir("all")
    for name, (old, new, verdict, says) in HOSTILE.items():
        assert old in SOFTMAX
        write(("slow/" if says == "time limit" else "all/") + name, SOFTMAX.replace(old, new, 1) if name != "is_global.py" else SOFTMAX.replace(
            "return y, (y", "global kept; kept = y; return y, (y").replace(old, new))
    write("all/good.c", open(os.path.join(here, "../examples/cube.c")).read())
    rows = []
    for folder, limit in ("slow", "1"), ("all", "300"):
        status, out, err = gradcheck(folder, "--json", "--time-limit", limit, "--gradescope", "reports")
        rows += [json.loads(line) for line in out.splitlines()]
    for name, verdict, says in [(n, v, s) for n, (_, _, v, s) in HOSTILE.items()] + [("good.c", "PASS", "")]:
        own = [r for r in rows if r["file"] == name]
        worst = "FAIL" if any(r["verdict"] == "FAIL" for r in own) else "PASS"
        assert own and worst == verdict and (not says or any(says in (r.get("reason") or "") for r in own)), (name, own)
        assert os.path.exists(f"reports/{name}.json"), name


def an_exercise_is_printed():
    status, out, err = gradcheck("--template", "softmax", "--language", "python")
    assert status == 0 and "def forward(x" in out, (out, err)
    write("start.py", out)
    status, out, err = gradcheck("start.py", "--like", "softmax")
    assert status == 1 and "NotImplementedError" in out, out
    for name in [line.split()[0] for line in gradcheck("--list")[1].splitlines() if line[0] != " "]:
        status, out, err = gradcheck("--template", name, "--language", "python")
        cases = [line for line in out.splitlines() if line.startswith("cases")]
        assert status == 2 or isinstance(eval(cases[0].split("=", 1)[1])[0], dict) and "**" not in out, (name, out, err)


failed = 0
try:
    import numpy
    tests = (programs_of_the_page, broken_programs_are_named, right_at_first_is_wrong, files_are_judged, rounding_is_no_mistake,
             a_mistake_costs_its_own_points,
             files_that_do_not_load_say_why, libraries_find_what_they_need, hostile_files_harm_nobody,
             an_exercise_is_printed)
except ImportError:
    tests = ()
    print("skip languages: NumPy is not installed")
for test in tests:
    with tempfile.TemporaryDirectory(prefix="tapeformer-test-") as folder:
        os.chdir(folder)
        try:
            test()
            print("ok   languages:", test.__name__.replace("_", " "), flush=True)
        except AssertionError as e:
            failed += 1
            print(f"  {str(e)[:2000]}\nFAIL languages:", test.__name__.replace("_", " "), flush=True)
        os.chdir("/")
sys.exit(failed > 0)
