"""Helpers for the scripts that compute numbers again in NumPy."""
import traceback


def run_tests(program, tests):
    """Runs [(name, function)], prints `ok   PROGRAM: NAME` or FAIL for each; True if any failed."""
    failed = 0
    for name, test in tests:
        try:
            test()
            print(f"ok   {program}: {name}")
        except Exception:  # whatever it is, the other tests run
            failed += 1
            traceback.print_exc()
            print(f"FAIL {program}: {name}")
    return failed > 0
