"""Line and branch coverage of src/ by the tests, from what gcov says of a build with --coverage, both precisions
together; then the branches that no test takes, by file and line.

    python3 tests/coverage.py build-coverage

A branch counts as taken if it was in one precision or the other. What is not taken for a reason that its line shows is
listed with it, and counted apart. A program that ends by a signal writes no counts: what runs before that alone, as the
end of an interrupted training, is listed as not taken."""
import collections
import glob
import json
import os
import re
import subprocess
import sys

# Why a branch is not taken, by what stands on its line.
REASONS = [
    (r"error_bug\(|STATUS_BUG", "a bug, which a wrong program meets and no input"),
    (r"STATUS_NO_MEMORY|[cm]alloc\(|strn?dup\(", "no memory: tests/faults has allocations fail"),
    (r"\|\| (error_set|json_fail|need|cannot_create|io_failed|usage)\(", "what reports an error is never true"),
]


def gcov(folder):
    """The coverage of every file of src/ that was compiled in `folder`, each as gcov's JSON has it."""
    notes = glob.glob(os.path.join(folder, "*", "src", "**", "*.gcno"), recursive=True)
    notes += glob.glob(os.path.join(folder, "*", "train.gcno"))
    for start in range(0, len(notes), 50):
        done = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", *notes[start : start + 50]],
                              capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            for file in json.loads(line)["files"]:
                ours = file["file"].startswith("src/") or file["file"] == "train.c"
                if ours and os.path.exists(file["file"]):
                    yield file


def main():
    lines, branches = collections.defaultdict(dict), collections.defaultdict(dict)
    for file in gcov(sys.argv[1]):
        name = file["file"]
        for line in file["lines"]:
            n = line["line_number"]
            lines[name][n] = lines[name].get(n, False) or line["count"] > 0
            for i, branch in enumerate(b for b in line["branches"] if not b["throw"]):
                branches[name][n, i] = branches[name].get((n, i), False) or branch["count"] > 0
    excused = collections.Counter()
    for name in sorted(branches):
        with open(name, encoding="utf-8") as source:
            text = source.read().splitlines()
        missing = sorted({n for (n, _), taken in branches[name].items() if not taken})
        for n in missing:
            taken = [t for (m, _), t in branches[name].items() if m == n]
            line, left = text[n - 1].strip(), len(taken) - sum(taken)
            reason = next((reason for pattern, reason in REASONS if re.search(pattern, line)), None)
            excused[reason] += left
            print(f"{name}:{n}: {left} of {len(taken)} not taken{f' ({reason})' if reason else ''}: {line}")

    def share(what):
        hit, count = sum(sum(x.values()) for x in what.values()), sum(map(len, what.values()))
        return f"{100 * hit / max(1, count):.1f} % of {count}"

    for reason, count in excused.most_common():
        print(f"{count} branches: {reason or 'without a reason that the line shows'}")
    print(f"{share(lines)} lines, {share(branches)} branches")


if __name__ == "__main__":
    main()
