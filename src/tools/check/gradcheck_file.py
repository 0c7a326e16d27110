"""Serves the functions of a Python file to ./gradcheck FILE.py, which starts it (PROTOCOL.md).

    python3 gradcheck_file.py FILE.py NAME [CASES.py | OPERATION]
    python3 gradcheck_file.py --cases CASES.py

NAME is what the file is called without its ending. `cases` is a list of check's arguments,
[dict(x=(3, 5))], or such a list for each function: {"affine": [dict(x=(3, 5), w=(5, 4))]}.
The file's own cases count unless others are given."""
import importlib.util, os, sys
import gradcheck
from gradcheck import Judged, Server, convention, described

FAILED = 70  # the judge shows the last line of a program that ends with this status
gradcheck.grading = True


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, os.path.abspath(path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def find(module, name):
    """NAME_forward and NAME_backward (also NAME_forward_naive and NAME_backward_naive, for NAME or
    NAME_naive), NAME and NAME_backward, NAME_gradient or dNAME, forward and backward, a class, or
    NAME alone."""
    has = {k.lower(): v for k, v in vars(module).items() if callable(v)}
    name = name.lower()
    pairs = [(f, f.replace("_forward", "_backward")) for f in has
             if "_forward" in f and name in (f.replace("_forward", ""), f.split("_forward")[0])]
    for f, b in (*pairs, (name, name + "_backward"), (name, name + "_gradient"), (name, "d" + name),
                 ("forward", "backward")):
        if f in has and b in has:
            return convention(has[f], has[b])
    own = [v for v in has.values() if isinstance(v, type) and v.__module__ == module.__name__]
    if name not in has and len(own) != 1:
        raise ValueError(f"found no functions {name}_forward and {name}_backward, and no class")
    return convention(has[name] if name in has else own[0])


def found(module, name):
    """What find finds, or functions that fail with its error: a lack costs its own cases alone."""
    try:
        return find(module, name)
    except (TypeError, ValueError) as e:
        def lacking(*given, error=e):
            raise error
        return convention(lacking, lacking)


def cases_of(module):
    """[(function, arguments)]"""
    cases = getattr(module, "cases", None)
    if not cases:
        raise ValueError("found no cases, need one like: cases = [dict(x=(3, 5))]")
    each = cases if isinstance(cases, dict) else {module.__name__: cases}
    return [(name, case) for name in each for case in each[name]]


def served(path, name="cases", given=None):
    """Cases of a file, another file or an operation; `--cases` FILE: without functions."""
    if path == "--cases":
        return [Judged(function, None, case) for function, case in cases_of(load(name, "cases"))]
    module = load(path, name)
    if given and not given.endswith(".py"):
        named = [(given, {})]
    else:
        named = cases_of(load(given, name) if given else module)
    return [Judged(function, found(module, function), case) for function, case in named]


into, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # what the file prints is no message
empty, end = os.pipe()
os.dup2(empty, 0), os.close(empty), os.close(end)  # nor may it read one
try:
    cases = served(*sys.argv[1:])
except BaseException as e:  # a file may call exit
    print("\n" + described(e), file=sys.stderr, flush=True)
    os._exit(FAILED)
Server(cases, into, out).serve()
