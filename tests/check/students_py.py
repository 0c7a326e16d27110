"""Functions in Python, of CS231n's, minitorch's and needle's forms and scalar ones, judged by ./gradcheck: no right one is
accused, and no wrong one passes. A wrong one is a right one with a piece of its text replaced (students_py/wrong.py).

    GRADCHECK=build/double/gradcheck python3 tests/check/students_py.py

Prints a line `ok   …` or `FAIL …` a test, as the other test programs do."""
import atexit, contextlib, io, itertools, os, re, shutil, subprocess, sys, tempfile, time, types

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "../../src/tools/check"), os.path.join(here, "students_py")]
sys.argv = ["", "--cases", ""]
try:
    import numpy
except ImportError:
    print("skip students_py: NumPy is not installed")
    sys.exit(0)
import gradcheck, wrong

TEXTS = {name: open(os.path.join(here, "students_py", name + ".py")).read() for name in ("cs231n", "classes", "others", "elements")}
TEXTS["elements"] += "\n\n\n" + __import__("elements").text


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
    return verdicts_of([gradcheck.Judged(label, function(text, name), case)
                        for label, text, name, cases in functions for case in cases])


def verdicts_of(judged):
    with contextlib.redirect_stderr(io.StringIO()):  # its progress
        text, reports = gradcheck.judge(judged)
    found = {}
    for r in reports:
        words = r["verdict"], r["case"], r.get("part"), r.get("reason"), r.get("property", r.get("pattern"))
        found.setdefault(r["operation"], []).append(words)
    order = ["PASS", "INCONCLUSIVE", "FAIL"]
    worst = {label: max((row[0] for row in rows), key=order.index) for label, rows in found.items()}
    return {label: (worst[label], [r for r in rows if r[0] == worst[label]]) for label, rows in found.items()}, text


def right_functions_pass():
    """Those of elements.py, of which there are many, without the cases that the judge adds."""
    names = re.findall(r"# ---- (\w+)\n", "".join(TEXTS.values()))
    assert len(names) >= 80, len(names)
    functions = [(name, *block(name)) for name in names]
    found, _ = verdicts([(name, text, name, [at_a_point(c) for c in cases] if text in TEXTS["elements"] else cases)
                         for name, text, cases in functions])
    bad = {name: found.get(name) for name in names if found.get(name, ("none",))[0] != "PASS"}
    assert not bad, bad


def at_a_point(case):
    """Arrays in place of shapes: the judge adds no cases, and looks for no smaller ones."""
    random = numpy.random.default_rng(1)
    low, high = case.get("low", -2), case.get("high", 2)
    return {k: random.uniform(low, high, v) if isinstance(v, tuple) and all(type(n) is int for n in v) else v
            for k, v in case.items()}


LITTLE = None, "unknown", "linear", "repeatable"  # does not name a mistake


def wrong_functions_fail():
    """And most of those whose diagnosis is known are named."""
    assert len(wrong.wrong) >= 200, len(wrong.wrong)
    planted, bad, named, misled = [], [], [], []
    for i, (name, old, new, *_) in enumerate(wrong.wrong):
        text, cases = block(name)
        assert old in text, (name, old)
        planted.append((f"{name}{i}", text.replace(old, new), name, [at_a_point(case) for case in cases]))
    found, _ = verdicts(planted)
    for (label, *_), (_, *change) in zip(planted, wrong.wrong):
        verdict, rows = found.get(label, ("none", []))
        words = {row[-1] for row in rows}
        if verdict != "FAIL":
            bad.append((label, change, verdict, rows))
        elif len(change) > 3 and not any(change[3] in str(row[3]) for row in rows):
            bad.append((label, change, rows))
        elif len(change) > 2:
            (named if words & {*change[2].split("|")} else misled).append((label, change, words))
    misled = [row for row in misled if not row[-1] <= {*LITTLE}]
    of = sum(len(row) > 3 for row in wrong.wrong)
    assert not bad, bad
    assert len(named) > 0.83 * of and len(misled) < 0.06 * of, (of, len(named), misled)


def a_scalar_is_drawn_on_both_sides_of_a_condition():
    text = ("def kinked(x): return x * x / 2 if abs(x) <= 1 else abs(x) - 0.5\n"
            "def kinked_gradient(x): return {} if abs(x) <= 1 else x / abs(x)\n")
    for slope, want in ("x", "PASS"), ("2 * x", "FAIL"):
        found, said = verdicts([("kinked", text.format(slope), "kinked", [dict(x=())])])
        assert found["kinked"][0] == want, said


def every_form_is_judged():
    """Each form of functions that people pass, right and wrong; those of torch and jax are in tensors.py. The judge
    adds cases only to those whose reason is asked."""
    import forms
    import tensors
    found, said = verdicts_of([gradcheck.Judged(name, gradcheck.convention(*functions, given=given),
                                                given if says or "low" in given else at_a_point(given))
                               for name, _, says, functions, given in forms.LISTED])
    bad = [(name, found.get(name), want, says) for name, want, says, _, _ in forms.LISTED
           if found.get(name, ("none",))[0] != want or says not in str(found[name])]
    assert not bad, bad


def functions_are_looked_at_where_they_change():
    """At ties, constants, large values, outside of a domain, with few digits."""
    import points
    found, said = verdicts_of([gradcheck.Judged(name, gradcheck.convention(*functions, given=given), given)
                               for name, _, _, functions, given in points.LISTED])
    bad = [(name, found.get(name), want, says) for name, want, says, _, _ in points.LISTED
           if found.get(name, ("none",))[0] != want or says not in " ".join(said.split())]
    assert not bad, bad


def what_check_cannot_judge_is_named():
    for given, line in (("abc", "the object str"), (numpy, "the object module"), (dict, "the class dict")):
        try:
            gradcheck.check(given, x=(3,))
            assert False, given
        except TypeError as e:
            assert line in str(e) and "two functions" in str(e) and "\n" not in str(e), e
    for given, line in (dict(k=3), "found no input"), (dict(x=numpy.ones(3) * 1j), "found complex numbers"):
        try:
            gradcheck.check(lambda x: x, lambda d: d, **given)
            assert False, given
        except TypeError as e:
            assert line in str(e) and "\n" not in str(e), e


def a_check_is_true_if_all_passed():
    script = ("from gradcheck import check\n"
              "found = check(lambda x: (print('seen') or x * x, x), lambda d, x: {} * x * d, x=(3,))\n"
              "print(repr(found)), print(bool(found), len(found.reports) > 1)\n")
    for factor, status, end in (2, 0, "True True\n"), (3, 1, "False True\n"):
        done = subprocess.run([sys.executable, "-c", script.format(factor)], capture_output=True, text=True,
                              env=os.environ | {"PYTHONPATH": os.path.join(here, "../../src/tools/check")})
        assert done.returncode == status and done.stdout.endswith(end) and "seen" not in done.stdout, done
        assert done.stdout.split("\n")[-5].startswith("FAIL" if status else "PASS"), done.stdout
    with tempfile.TemporaryDirectory() as folder:
        for name in "gradcheck.py", "gradcheck_forms.py":
            shutil.copy(os.path.join(here, "../../src/tools/check", name), folder)
        done = subprocess.run([sys.executable, "-c", script.format(2)], capture_output=True, text=True,
                              env={"PATH": "", "PYTHONPATH": folder})
        assert "RuntimeError: check: found no program gradcheck" in done.stderr.splitlines()[-1], done


class Terminal(io.StringIO):
    def isatty(self):
        return True


def progress_is_shown_after_two_seconds():
    """On a terminal and in a notebook; nothing of it stays. The clock is a counter."""
    for stream, notebook, tick, shown in ((Terminal(), False, 1, True), (Terminal(), False, 0, False),
                                          (io.StringIO(), True, 1, True), (io.StringIO(), False, 1, False)):
        ticks = itertools.count(0, tick)
        if notebook:
            sys.modules["ipykernel"] = None
        gradcheck.time = types.SimpleNamespace(time=lambda: next(ticks))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(stream):
            assert gradcheck.check(lambda x: (x * x, x), lambda d, x: 2 * x * d, x=(3,))
        gradcheck.time = time
        sys.modules.pop("ipykernel", None)
        said = stream.getvalue()
        assert bool(re.match(r"\rgradcheck: \d+ runs", said)) == shown, (said, notebook, tick)
        assert said.endswith("\r" + " " * 40 + "\r") or not shown, said


def nothing_is_proved_of_integers():
    with contextlib.redirect_stdout(io.StringIO()):
        report, = gradcheck.check(lambda x: x * x, lambda dy, x: dy, x=numpy.array([1, 2])).reports
    assert report["verdict"] == "INCONCLUSIVE" and "integers" in report["reason"], report


def explanations_are_those_of_an_operation():
    text, cases = block("relu")
    _, said = verdicts([("relu", text.replace("cache > 0)", "cache > 0) * 2"), "relu", cases)])
    for part in ("constant factor 2", "The smallest case that fails", "upstream gradient"):
        assert part in said, (part, said)
    with contextlib.redirect_stdout(io.StringIO()) as out:  # too large for a Jacobian: explained at size 2
        gradcheck.check(lambda a, b: (a @ b, (a, b)), lambda d, c: dict(a=d @ c[1], b=c[0].T @ d), a=(12, 12), b=(12, 12))
    gradcheck.atexit.unregister(gradcheck.fail)  # this script does not end with status 1
    assert "same way as forward" in " ".join(out.getvalue().split()), out.getvalue()


failed = 0
for test in (right_functions_pass, wrong_functions_fail, a_scalar_is_drawn_on_both_sides_of_a_condition,
             every_form_is_judged, functions_are_looked_at_where_they_change, what_check_cannot_judge_is_named, a_check_is_true_if_all_passed,
             progress_is_shown_after_two_seconds, nothing_is_proved_of_integers, explanations_are_those_of_an_operation):
    try:
        test()
        print("ok   students_py:", test.__name__.replace("_", " "), flush=True)
    except Exception as e:
        failed += 1
        print(f"  {e}\nFAIL students_py:", test.__name__.replace("_", " "), flush=True)
atexit.unregister(gradcheck.fail)  # a check that failed, as it should, ends no script here
sys.exit(failed > 0)
