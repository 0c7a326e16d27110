"""Every README shows what the programs print: runs the commands of its console blocks and compares.

    BUILD=build python3 tests/programs/readmes.py            a test for each README
    BUILD=build python3 tests/programs/readmes.py --update   writes what they print into READMEs

A block begins with ```console. A line `$ COMMAND` runs in a folder with the programs, `src`, `data`
and `tests`; a folder lasts for one README. The lines that follow are its standard output; `…` alone
on a line stands for any lines. Seconds and rates may differ.
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


def folder_with_programs(folder):
    for name, precision in PROGRAMS.items():
        os.symlink(os.path.join(BUILD, precision, name), os.path.join(folder, name))
    for name in ("src", "data", "tests"):
        os.symlink(os.path.join(TREE, name), os.path.join(folder, name))
    os.symlink(BUILD, os.path.join(folder, "build"))


def printed(command, folder):
    environment = dict(os.environ, LC_ALL="C.UTF-8", COLUMNS="80")
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, timeout=300)
    return done.stdout.splitlines()


def agrees(shown, found):
    pattern = "".join("(.*\n)*?" if line == "…" else re.escape(TIMING.sub("#", line)) + "\n"
                      for line in shown)
    text = "".join(TIMING.sub("#", line) + "\n" for line in found)
    return re.fullmatch(pattern, text) is not None


def check(path, update):
    """The commands whose output differs from what the README shows."""
    lines, wrong, out = open(path, encoding="utf-8").read().split("\n"), [], []
    with tempfile.TemporaryDirectory() as folder:
        folder_with_programs(folder)
        at = 0
        while at < len(lines):
            out.append(lines[at])
            at += 1
            if out[-1] != "```console":
                continue
            while lines[at] != "```":
                command = lines[at][2:]
                out.append(lines[at])
                end = at + 1
                while lines[end] != "```" and not lines[end].startswith("$ "):
                    end += 1
                shown, at = lines[at + 1:end], end
                while command.endswith("\\"):
                    command = command[:-1] + shown[0].lstrip("> ")
                    out.append(shown.pop(0))
                found = printed(command, folder)
                same = agrees(shown, found)
                out += shown if same or not update else found
                if not same:
                    wrong.append((command, shown, found))
    if update:
        open(path, "w", encoding="utf-8").write("\n".join(out))
    return wrong


def main():
    failed, update = 0, "--update" in sys.argv
    below = [glob.glob(f"{d}/**/README.md", recursive=True) for d in ("data", "src", "tests")]
    for path in ["README.md"] + sorted(sum(below, [])):
        wrong = check(path, update)
        for command, shown, found in wrong:
            print(f"  {path}: $ {command}")
            for line in shown:
                print(f"    shown {line}")
            for line in found:
                print(f"    found {line}")
        print(f"{'FAIL' if wrong else 'ok  '} readmes: {path}")
        failed += len(wrong) > 0
    return 1 if failed else 0


sys.exit(main())
