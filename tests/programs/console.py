"""Programs as users meet them: runs the commands of READMEs and of tests/*/*.console, and compares.

    BUILD=build python3 tests/programs/console.py             a test for each README
    BUILD=build python3 tests/programs/console.py FILE...     these files
    … --update FILE...                                        writes what they print into them

A line `$ COMMAND`, which lines `> REST` continue, is run. The lines that follow are its output.

In a README a block begins with ```console; commands run in a folder with the programs, `src`,
`data` and `tests`, which lasts for one README, and standard output is shown.

In a .console file `# NAME` begins a test, which has a new folder; the programs are in PATH, the
tree is $TREE, options of models that train in no time are $TINY, $COPY and $LM. Output is followed
by the lines of stderr, as `! LINE` or, if the command failed, `!STATUS LINE`. A refusal (status 2,
65, 66, 71, 73 or 78) must leave the folder as it was.

`…` alone on a line stands for any lines, within a line for any text. Seconds and rates may differ.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

TREE = os.getcwd()
BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
PROGRAMS = {"train": "float", "generate": "float", "bench": "float", "gradcheck": "double",
            "explain": "double"}
TIMING = re.compile(r"[0-9.]+k? (s\b|ms\b|us\b|ns\b|tok/s|tokens/s)|[0-9]+:[0-9]+ (taken|of)")
TINY = "--d-model 8 --heads 2 --layers 1 --batch 4 --quiet"
REFUSALS = {2, 65, 66, 71, 73, 78}


def run(command, folder, programs):
    locale = os.environ.get("LC_ALL", "")
    environment = dict(os.environ, LC_ALL=locale if "UTF-8" in locale else "C.UTF-8", COLUMNS="80",
                       TREE=TREE, TINY=TINY,
                       COPY=f"copy {TINY} --symbols 5 --max-length 4 --held-out 30",
                       LM=f"lm {TINY} --context 8", PATH=programs + ":" + os.environ["PATH"])
    return subprocess.run(["bash", "-c", command], cwd=folder, env=environment, timeout=900,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="backslashreplace")


def printed(done):
    """The lines of a .console file."""
    status = str(done.returncode or "")
    errors = [f"!{status} {line}" for line in done.stderr.splitlines()]
    return done.stdout.splitlines() + (errors or ["!" + status] * (status != ""))


def agrees(shown, found):
    lines = [re.escape(TIMING.sub("#", line)).replace("…", ".*") for line in shown]
    pattern = "".join("(.*\n)*?" if line == ".*" else line + "\n" for line in lines)
    text = "".join(TIMING.sub("#", line) + "\n" for line in found)
    return re.fullmatch(pattern, text) is not None


def listing(folder):
    """All names below a folder, and the sizes and times of files."""
    found = []
    for top, below, names in os.walk(folder):
        found += [os.path.join(top, name) for name in below]
        for path in (os.path.join(top, name) for name in names):
            found.append((path, os.lstat(path).st_size, os.lstat(path).st_mtime_ns))
    return sorted(map(str, found))


def parse(lines, is_readme):
    """[(lines, shown)]: the lines of a command with those of its output, or others with None."""
    parts, inside = [], not is_readme
    for line in lines:
        inside = line == "```console" or inside and line != "```" if is_readme else True
        last = parts[-1] if parts else ([], None)
        if inside and line.startswith("$ "):
            parts.append(([line], []))
        elif last[1] == [] and line.startswith("> "):
            last[0].append(line)
        elif last[1] is not None and inside and not (line.startswith("# ") and not is_readme):
            last[1].append(line)
        else:
            parts.append(([line], None))
    return parts


def check(path, update):
    """The tests of a file with the commands that print something else: {name: [(command, …)]}."""
    is_readme, name = path.endswith(".md"), path
    with open(path, encoding="utf-8") as file:
        parts = parse(file.read().split("\n"), is_readme)
    tests, out = {path: []} if is_readme else {}, []
    with tempfile.TemporaryDirectory() as top:
        programs = os.path.join(top, "programs")
        os.mkdir(programs)
        for program, precision in PROGRAMS.items():
            os.symlink(os.path.join(BUILD, precision, program), os.path.join(programs, program))
        folder = programs
        for tree in ("src", "data", "tests") if is_readme else ():
            os.symlink(os.path.join(TREE, tree), os.path.join(folder, tree))
        if is_readme:
            os.symlink(BUILD, os.path.join(folder, "build"))
        for lines, shown in parts:
            out += lines
            if shown is None:
                if not is_readme and lines[0].startswith("# "):
                    name, folder = lines[0][2:], tempfile.mkdtemp(dir=top)
                    tests[name] = []
                continue
            command = "\n".join(line[2:] for line in lines).replace("\\\n", "")
            before, end = listing(folder), len(shown)
            while not is_readme and end and shown[end - 1] == "":
                end -= 1
            done = run(command, folder, programs)
            found = done.stdout.splitlines() if is_readme else printed(done)
            while not is_readme and found and found[-1] == "":
                found.pop()
            if not is_readme and done.returncode in REFUSALS and listing(folder) != before:
                found.append(f"the folder was {before} and is {listing(folder)}")
            same = agrees(shown[:end], found)
            out += (shown[:end] if same or not update else found) + shown[end:]
            if not same:
                tests[name].append((command, shown[:end], found))
    if update:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(out))
    return tests


def main():
    failed, update = 0, "--update" in sys.argv
    below = [glob.glob(f"{d}/**/README.md", recursive=True) for d in ("data", "src", "tests")]
    for path in sys.argv[1 + update:] or ["README.md"] + sorted(sum(below, [])):
        program = "readmes" if path.endswith(".md") else os.path.basename(path)[:-len(".console")]
        for name, wrong in check(path, update).items():
            for command, shown, found in wrong:
                print(f"  {name}: $ {command}")
                for word, lines in ("shown", shown), ("found", found):
                    print("".join(f"    {word} {line}\n" for line in lines), end="")
            print(f"{'FAIL' if wrong else 'ok  '} {program}: {name}")
            failed += len(wrong) > 0
    return 1 if failed else 0


sys.exit(main())
