"""Line and branch coverage of src/ by the tests, from what gcov says of a build with --coverage, both precisions
together; then the branches that no test takes, by file and line, with the reason that tests/coverage/coverage.txt has for them.

    python3 tests/coverage/coverage.py build-coverage [FILE...]

With files, what is said of these alone. The build copies no code: what it inlines, or makes for one caller, would count
its branches again. So each condition of the source counts once, and is taken if it was anywhere, in one precision or the
other. Two shares are printed: of all branches, and of those that can be taken at all, which leaves out what the reasons
marked with ! explain: into error_bug(), which checks what holds unless this program itself is wrong, and back from a report
of an error as if there were none, which always returns false. The status is 1 where fewer than 95 % of all branches are
taken, or where a reason fits nothing any more."""
import collections
import fnmatch
import glob
import json
import os
import re
import subprocess
import sys

REASONS, LEAST = "tests/coverage/coverage.txt", 0.95


def reasons():
    """(files, pattern, reason, whether nothing can take it) of each line of the list."""
    with open(REASONS, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split(" | ") for line in file if not line.startswith("#")]
    return [(files.lstrip("!"), re.compile(" | ".join(pattern)), reason, files.startswith("!"))
            for files, *pattern, reason in lines]


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


def branches_and_lines(folder, wanted):
    """By file: {(line, number): whether the branch is taken}, and {line: whether it is reached}."""
    lines, branches = collections.defaultdict(dict), collections.defaultdict(dict)
    for file in gcov(folder):
        name = file["file"]
        if wanted and name not in wanted:
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


def explain(branches, listed):
    """Prints the lines with untaken branches that have no reason, and the number of branches with each reason. A condition
    that nothing can meet is one branch for each occurrence in the statement."""
    count = collections.Counter()
    for name in sorted(branches):
        with open(name, encoding="utf-8") as source:
            text = source.read().splitlines()
        for n in sorted({n for (n, _), taken in branches[name].items() if not taken}):
            taken = [t for (m, _), t in branches[name].items() if m == n]
            left, words = len(taken) - sum(taken), statement(text, n)
            for reason in (r for r in listed if fnmatch.fnmatch(name, r[0]) and r[1].search(words)):
                here = min(left, len(reason[1].findall(words))) if reason[3] else left
                count[reason] += here
                left -= here
            count[None] += left
            if left:
                print(f"{name}:{n}: {left} of {len(taken)} not taken: {text[n - 1].strip()}")
    return count


def share(what):
    hit, count = (sum(f(x.values()) for x in what.values()) for f in (sum, len))
    return hit, count


def percent(hit, count):
    return f"{100 * hit / max(1, count):.1f} % of {count}"


def main():
    branches, lines = branches_and_lines(sys.argv[1], sys.argv[2:])
    listed = reasons()
    count = explain(branches, listed)
    unfit = [reason for reason in listed if not count[reason] and not sys.argv[2:]]
    for reason in listed:
        if count[reason]:
            print(f"{count[reason]} branches: {reason[2]}")
    for files, pattern, *_ in unfit:
        print(f"{REASONS}: fits nothing: {files} | {pattern.pattern}")
    print(f"{count[None]} branches: without a reason")
    hit, all_of_them = share(branches)
    never = sum(n for reason, n in count.items() if reason and reason[3])
    print(f"{percent(*share(lines))} lines, {percent(hit, all_of_them)} branches, "
          f"{percent(hit, all_of_them - never)} that can be taken")
    return 0 if hit >= LEAST * all_of_them and not unfit else 1


if __name__ == "__main__":
    sys.exit(main())
