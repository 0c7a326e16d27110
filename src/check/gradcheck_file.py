"""Serves the functions of a Python file to ./gradcheck FILE.py, which starts it; PROTOCOL.md has the messages.

    python3 gradcheck_file.py FILE.py [CASES.py | OPERATION]     python3 gradcheck_file.py --cases CASES.py

`cases` is a list of check's arguments, [dict(x=(3, 5))], or such a list for each function of the file:
{"affine": [dict(x=(3, 5), w=(5, 4))]}. The file's own cases count unless others are given."""
import importlib.util, os, sys
import gradcheck
from gradcheck import Judged, Server, convention, described

gradcheck.grading = True


def load(path):
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def find(module, name):
    """NAME_forward and NAME_backward, NAME and NAME_gradient or dNAME, forward and backward, a class, or NAME alone."""
    has = {k.lower(): v for k, v in vars(module).items() if callable(v)}
    name = name.lower()
    for f, b in ((name + "_forward", name + "_backward"), (name, name + "_backward"), (name, name + "_gradient"),
                 (name, "d" + name), ("forward", "backward")):
        if f in has and b in has:
            return convention(has[f], has[b])
    own = [v for v in has.values() if isinstance(v, type) and v.__module__ == module.__name__]
    if name not in has and len(own) != 1:
        raise ValueError(f"found no functions {name}_forward and {name}_backward, and no class")
    return convention(has[name] if name in has else own[0])


def cases_of(module):
    """[(function, arguments)]"""
    cases = getattr(module, "cases", None)
    if not cases:
        raise ValueError("found no cases, need one like: cases = [dict(x=(3, 5))]")
    each = cases if isinstance(cases, dict) else {module.__name__: cases}
    return [(name, case) for name in each for case in each[name]]


into, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # what the file prints is no message
empty, end = os.pipe()
os.dup2(empty, 0), os.close(empty), os.close(end)  # nor may it read one
try:
    if sys.argv[1] == "--cases":
        served = [Judged(name, None, case) for name, case in cases_of(load(sys.argv[2]))]
    else:
        module, given = load(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
        if given and not given.endswith(".py"):
            named = [(given, {})]
        else:
            named = cases_of(load(given) if given else module)
        served = [Judged(name, find(module, name), case) for name, case in named]
except Exception as e:
    raise SystemExit(described(e))
Server(served, into, out).serve()
