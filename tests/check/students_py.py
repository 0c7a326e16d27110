"""Functions in Python, of CS231n's, minitorch's and needle's forms and scalar ones, judged by ./gradcheck: no right one is
accused, and no wrong one passes. A wrong one is a right one with a piece of its text replaced (students_py/wrong.py).

    GRADCHECK=build/double/gradcheck python3 tests/check/students_py.py

Prints a line `ok   …` or `FAIL …` a test, as the other test programs do."""
import contextlib, io, os, re, sys, types

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "../../src/check"), os.path.join(here, "students_py")]
sys.argv = ["", "--cases", ""]
try:
    import numpy
except ImportError:
    print("skip students_py: NumPy is not installed")
    sys.exit(0)
import gradcheck, wrong

TEXTS = {name: open(os.path.join(here, "students_py", name + ".py")).read() for name in ("cs231n", "classes")}


def block(name):
    """The text of a function, and the cases of it."""
    for source, text in TEXTS.items():
        found = re.search(rf"# ---- {name}\n(.*?)(?=\n# ---- |\Z)", text, re.S)
        if found:
            return found[1], vars(__import__(source))["cases"][name]


def function(text, name):
    module = {"np": numpy}
    exec(text, module)
    pair = [name + "_forward", name + "_backward"] if name + "_forward" in module else [name, name + "_gradient"]
    return gradcheck.convention(*(module[n] for n in pair if n in module))


def verdicts(functions):
    """The worst verdict of each: [(label, text, name of the function, cases)] to {label: verdict}."""
    text, reports = gradcheck.judge([(label, function(text, name), case)
                                     for label, text, name, cases in functions for case in cases])
    found = {}
    for r in reports:
        if r["case"] != "coverage":
            found.setdefault(r["operation"], []).append((r["verdict"], r["case"], r.get("part"), r.get("reason")))
    order = ["PASS", "INCONCLUSIVE", "FAIL"]
    return {label: max(all_of_it, key=lambda v: order.index(v[0])) for label, all_of_it in found.items()}, text


def right_functions_pass():
    names = re.findall(r"# ---- (\w+)\n", "".join(TEXTS.values()))
    assert len(names) >= 40, len(names)
    found, _ = verdicts([(name, *block(name)[:1], name, block(name)[1]) for name in names])
    bad = {name: found.get(name) for name in names if found.get(name, ("none",))[0] != "PASS"}
    assert not bad, bad


def at_a_point(case):
    """Arrays in place of shapes: the judge adds no cases, and looks for no smaller ones."""
    random = numpy.random.default_rng(1)
    return {k: random.uniform(-2, 2, v) if gradcheck.is_shape(v) else v for k, v in case.items()}


def wrong_functions_fail():
    assert len(wrong.wrong) >= 80, len(wrong.wrong)
    planted = []
    for i, (name, old, new) in enumerate(wrong.wrong):
        text, cases = block(name)
        assert old in text, (name, old)
        planted.append((f"{name}{i}", text.replace(old, new), name, [at_a_point(case) for case in cases]))
    found, _ = verdicts(planted)
    bad = [(p[0], found.get(p[0]), wrong.wrong[i][1:]) for i, p in enumerate(planted) if found.get(p[0], ("none",))[0] != "FAIL"]
    assert not bad, bad


def a_scalar_is_drawn_on_both_sides_of_a_condition():
    text = ("def kinked(x): return x * x / 2 if abs(x) <= 1 else abs(x) - 0.5\n"
            "def kinked_gradient(x): return {} if abs(x) <= 1 else x / abs(x)\n")
    for slope, want in ("x", "PASS"), ("2 * x", "FAIL"):
        found, said = verdicts([("kinked", text.format(slope), "kinked", [dict(x=())])])
        assert found["kinked"][0] == want, said


def nothing_is_proved_of_integers():
    printed = io.StringIO()
    for x, verdict, why in ((numpy.array([1, 2]), "INCONCLUSIVE", "integers"), (0.5, "INCONCLUSIVE", "no input"),
                            (3, "FAIL", "numbers of type")):
        with contextlib.redirect_stdout(printed):
            reports = gradcheck.check(lambda x: print("seen") or x * x, lambda dy, x: dy, x=x)
        assert [r["verdict"] for r in reports] == [verdict] and why in reports[0]["reason"], reports
    with contextlib.redirect_stdout(printed):
        gradcheck.check(lambda x: (print("seen") or x * x, x), lambda dy, x: 2 * x * dy, x=(2,))
    assert "PASS" in printed.getvalue() and "seen" not in printed.getvalue(), printed.getvalue()


def a_gradient_that_is_missing_is_named():
    printed = io.StringIO()
    for missing in lambda dy, xw: {"dx": dy * xw[1]}, lambda dy, xw: (dy * xw[1], None):
        with contextlib.redirect_stdout(printed):
            report, = gradcheck.check(lambda x, w: (x * w, (x, w)), missing, x=(2,), w=(2,))
        assert report["verdict"] == "FAIL" and "no gradient of w;" in report["reason"], report


def explanations_are_those_of_an_operation():
    text, cases = block("relu")
    _, said = verdicts([("relu", text.replace("cache > 0)", "cache > 0) * 2"), "relu", cases)])
    for part in ("constant factor 2", "The smallest case that fails", "upstream gradient"):
        assert part in said, (part, said)


failed = 0
for test in (right_functions_pass, wrong_functions_fail, a_scalar_is_drawn_on_both_sides_of_a_condition,
             nothing_is_proved_of_integers, a_gradient_that_is_missing_is_named,
             explanations_are_those_of_an_operation):
    try:
        test()
        print("ok   students_py:", test.__name__.replace("_", " "), flush=True)
    except AssertionError as e:
        failed += 1
        print(f"  {e}\nFAIL students_py:", test.__name__.replace("_", " "), flush=True)
sys.exit(failed > 0)
