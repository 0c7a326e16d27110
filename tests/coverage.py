"""Line and branch coverage of src/ by the tests, from what gcov says of a build with --coverage, both precisions
together; then the branches that no test takes, by file and line, with the reason that tests/coverage.txt has for them.

    python3 tests/coverage.py build-coverage

A branch counts as taken if it was in one precision or the other. The status is 1 where fewer than 95 % are, or where a
reason fits nothing any more."""
import collections
import fnmatch
import glob
import json
import os
import re
import subprocess
import sys

REASONS, LEAST = "tests/coverage.txt", 0.95
# One function, inlined with other constants for each size of the tile: gcov counts every copy's branches, taken or not.
COPIES = {"src/kernels/gemm_tile.c"}


def reasons():
    """(files, pattern, reason) of each line of the list."""
    with open(REASONS, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split(" | ") for line in file if not line.startswith("#")]
    return [(files, re.compile(" | ".join(pattern)), reason) for files, *pattern, reason in lines]


def gcov(folder):
    """The coverage of every file of src/ that was compiled in `folder`, each as gcov's JSON has it."""
    notes = glob.glob(os.path.join(folder, "*", "src", "**", "*.gcno"), recursive=True)
    notes += glob.glob(os.path.join(folder, "*", "train.gcno"))
    for start in range(0, len(notes), 50):
        done = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", *notes[start : start + 50]],
                              stdout=subprocess.PIPE, text=True)
        for line in done.stdout.splitlines():
            for file in json.loads(line)["files"]:
                ours = file["file"].startswith("src/") or file["file"] == "train.c"
                if ours and os.path.exists(file["file"]):
                    yield file


def branches_and_lines(folder):
    """By file: {(line, number): whether the branch is taken}, and {line: whether it is reached}."""
    lines, branches = collections.defaultdict(dict), collections.defaultdict(dict)
    for file in gcov(folder):
        name = file["file"]
        if name in COPIES:
            continue
        for line in file["lines"]:
            n = line["line_number"]
            lines[name][n] = lines[name].get(n, False) or line["count"] > 0
            for i, branch in enumerate(b for b in line["branches"] if not b["throw"]):
                branches[name][n, i] = branches[name].get((n, i), False) or branch["count"] > 0
    return branches, lines


def statement(text, n):
    """Line n, and those behind it up to the end of its statement."""
    end = n
    while end < min(len(text), n + 4) and not re.search(r"[;{}]\s*(/\*.*)?$", text[end - 1]):
        end += 1
    return " ".join(line.strip() for line in text[n - 1 : end])


def explain(branches):
    """Prints the lines with branches that are not taken and have no reason; how many have which."""
    listed, count = reasons(), collections.Counter()
    for name in sorted(branches):
        with open(name, encoding="utf-8") as source:
            text = source.read().splitlines()
        for n in sorted({n for (n, _), taken in branches[name].items() if not taken}):
            taken = [t for (m, _), t in branches[name].items() if m == n]
            left = len(taken) - sum(taken)
            reason = next((r for r in listed if fnmatch.fnmatch(name, r[0]) and r[1].search(statement(text, n))), None)
            count[reason] += left
            if not reason:
                print(f"{name}:{n}: {left} of {len(taken)} not taken: {text[n - 1].strip()}")
    return listed, count


def share(what):
    hit, count = (sum(f(x.values()) for x in what.values()) for f in (sum, len))
    return hit / max(1, count), f"{100 * hit / max(1, count):.1f} % of {count}"


def main():
    branches, lines = branches_and_lines(sys.argv[1])
    listed, count = explain(branches)
    for reason in listed:
        files, pattern, why = reason
        print(f"{count[reason]} branches: {why}" if count[reason] else f"{REASONS}: fits nothing: {files} | {pattern.pattern}")
    print(f"{count[None]} branches: without a reason")
    part, text = share(branches)
    print(f"{share(lines)[1]} lines, {text} branches")
    return 0 if part >= LEAST and all(count[reason] for reason in listed) else 1


if __name__ == "__main__":
    sys.exit(main())
