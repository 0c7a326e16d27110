"""The tests tested: one operator or condition after the other is changed in backward passes, in what reads files and
in what saves them; each time the tests of that part have to fail. Prints the mutants that none of them noticed.

    python3 tests/coverage/mutate.py BUILD [MUTANTS [SEED]]

BUILD holds the libraries and the tests' objects, of the unchanged sources. With MUTANTS a sample of so many. A mutant is
compiled alone and linked before the library. One that does not compile, or whose object is the same, is none."""
import collections
import glob
import os
import random
import re
import subprocess
import sys
import tempfile

BUILD = sys.argv[1]
FLAGS = subprocess.run(["make", "-s", "print-lint-flags"], capture_output=True, text=True, check=True).stdout.split()
FLAGS = [flag for flag in FLAGS if not flag.startswith(("-W", "-O", "-g"))] + ["-O1", "-w"]

# The files that are mutated, their precision, and the programs that must notice; {op} is the operation's name.
READERS = ["formats/json", "check/npy", "formats/safetensors", "base/utf8", "text/tokenizer", "tasks/corpus", "nn/model_file",
           "fuzz/fuzz_seeds", "base/file", "base/no_memory"]
PARTS = {
    "backward passes": ("double", ["src/ops/*.c"], ["gradcheck {op}", "tests/ops/ops_golden", "tests/ops/fused", "tests/ops/ops_values"]),
    "readers": ("float", ["src/formats/*.c", "src/text/*.c", "src/base/utf8.c", "src/nn/config.c", "src/nn/model_file.c",
                          "src/check/grading/batch_file.c"], [f"tests/{name}" for name in READERS]),
    "saving": ("float", ["src/base/file.c", "src/base/crc32.c", "src/base/directory.c"],
               ["tests/base/file", "tests/check/directory", "tests/base/no_memory", "tests/formats/safetensors", "tests/check/npy", "tests/programs/bad_input"]),
    "going on": ("float", ["src/training/checkpoint.c", "src/run/metrics.c"],
                 ["tests/fuzz/fuzz_seeds checkpoint", "tests/run/nothing_lost", "tests/run/metrics", "tests/programs/programs metrics",
                  "tests/training/resume every", "tests/training/damage"]),
}
CHANGES = [(r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
           (r" && ", " || "), (r" \|\| ", " && "), (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " + "), (r" / ", " * "),
           (r" \+= ", " -= "), (r" -= ", " += "), (r"\+\+", "--"), (r"(?<=[( ])!(?=[\w(*])", ""), (r"\btrue\b", "false"),
           (r"\bfalse\b", "true"), (r"\bif \(", "if (!"), (r" % ", " / "), (r" << ", " >> "), (r"(?<=[ (])-(?=[a-z])", "")]


def code_of(text):
    """The text with comments, strings and directives blanked, so that nothing in them is mutated."""
    blank = lambda m: re.sub(r"[^\n]", "\0", m.group(0))  # noqa: E731
    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*', blank, text,
                  flags=re.S | re.M)


def backward_only(code):
    """Blanks everything outside functions with `backward` in their names."""
    kept = re.compile(r"^[a-z][^\n;={]*backward\w*\([^;{]*\{\n.*?^\}", re.S | re.M)
    out = ["\0" if c != "\n" else c for c in code]
    for m in kept.finditer(code):
        out[m.start() : m.end()] = code[m.start() : m.end()]
    return "".join(out)


def mutants():
    for part, (precision, patterns, programs) in PARTS.items():
        for path in sorted(p for pattern in patterns for p in glob.glob(pattern)):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            code = code_of(text)
            if part == "backward passes":
                code = backward_only(code)
            for pattern, other in CHANGES:
                for m in re.finditer(pattern, code):
                    changed = text[: m.start()] + other + text[m.end() :]
                    if other == "if (!":
                        changed = negated(text, m)
                    yield part, precision, path, programs, text[: m.start()].count("\n") + 1, m.group(0), other, changed


def negated(text, m):
    """`if (c)` as `if (!(c))`: the parenthesis that closes is looked for."""
    depth, at = 1, m.end()
    while depth and at < len(text):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return text[: m.end()] + "!(" + text[m.end() : at - 1] + ")" + text[at - 1 :]


def compiled(text, source, path, precision, out):
    """The bytes of the object of this text; None where it does not compile."""
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    flags = FLAGS + (["-DREAL_DOUBLE"] if precision == "double" else [])
    if subprocess.run(["cc", *flags, "-I", os.path.dirname(path), "-c", source, "-o", out], capture_output=True).returncode:
        return None
    with open(out, "rb") as file:
        return file.read()


def linked(precision, name, object_, folder):
    """The path of the program, linked with the mutant."""
    where = os.path.join(BUILD, precision)
    main = os.path.join(where, name if name.startswith("tests/") or name == "train" else f"src/programs/{name}") + ".o"
    out = os.path.join(folder, precision, name)
    os.makedirs(os.path.dirname(out), exist_ok=True)
    if os.path.islink(out):
        os.unlink(out)
    libraries = [os.path.join(where, f"lib{lib}.a") for lib in ("tools", "tapeformer")]
    link = subprocess.run(["cc", main, object_, *libraries, "-rdynamic", "-ldl", "-lm", "-pthread", "-o", out],
                          capture_output=True, text=True)
    if link.returncode:
        raise SystemExit(link.stderr)
    return out


def noticed(precision, program, object_, path, folder):
    """True if the program, linked with the mutant, fails."""
    name, *arguments = program.format(op=os.path.basename(path)[:-2]).split()
    out = linked(precision, name, object_, folder)
    try:
        done = subprocess.run([out, *arguments], capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def main():
    every = list(mutants())
    if len(sys.argv) > 2:
        random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1).shuffle(every)
    most = int(sys.argv[2]) if len(sys.argv) > 2 else len(every)
    count, killed, sound = collections.Counter(), collections.Counter(), {}
    with tempfile.TemporaryDirectory() as folder:
        for program in ("train", "generate", "gradcheck"):  # which tests look for beside themselves
            os.makedirs(os.path.join(folder, "float"), exist_ok=True)
            os.symlink(os.path.abspath(os.path.join(BUILD, "float", program)), os.path.join(folder, "float", program))
        for part, precision, path, programs, line, old, new, changed in every:
            if sum(count.values()) == most:
                break
            source, object_ = os.path.join(folder, os.path.basename(path)), os.path.join(folder, "mutant.o")
            if path not in sound:
                sound[path] = compiled(open(path, encoding="utf-8").read(), source, path, precision, object_)
            if compiled(changed, source, path, precision, object_) in (None, sound[path]):
                continue
            count[part] += 1
            if part == "going on":  # its tests look at what ./train does
                linked(precision, "train", object_, folder)
            if any(noticed(precision, program, object_, path, folder) for program in programs):
                killed[part] += 1
            else:
                print(f"survived: {path}:{line}: '{old.strip()}' as '{new.strip()}'", flush=True)
    for part in count:
        print(f"{part}: {killed[part]} of {count[part]} mutants noticed")
    print(f"{sum(killed.values())} of {sum(count.values())} mutants noticed, of {len(every)} that there are")


if __name__ == "__main__":
    main()
