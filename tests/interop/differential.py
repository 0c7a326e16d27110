"""Files by the thousand, read by two programs: this project's readers against the safetensors package.

    BUILD=build python3 tests/interop/differential.py [FILES [SEED]]

Half of the files are the package's own, changed at random (or not); there both must find the same
arrays, or ours alone may refuse, for a reason that is in the list below. The other half are ours, which the package
must read as they were meant. Prints how often each divergence was met, then `ok   …` or `FAIL …`."""
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import zlib

import numpy as np
import safetensors

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
TYPES = {"I32": 4, "I64": 8, "F16": 2, "BF16": 2, "F32": 4, "F64": 8}

# Files that this project refuses and the package reads: the line printed here, and the reason.
STRICTER = [
    (r"found type ", "a type that no weight of PyTorch's models has"),
    (r"found key ", "a key that the format does not have, which the package passes over"),
    (r"found U\+0000", "a NUL in a name, which no C string holds"),
    (r"found duplicate key", "a key given twice: the package takes the last one, and says nothing"),
    (r"found more than 8 axes", "more than 8 axes"),
    (r"tensor without a name", "a tensor whose name is empty"),
    (r"file is damaged", "a checksum of ours that does not fit"),
    (r"size \d+, need one below 2\^63|more than 2\^63 bytes", "a size that no array has, beside one of 0"),
    (r"found '\[', need less depth", "brackets 64 deep"),
]


class Ours:
    """tests/interop/files.c, kept running."""

    def __init__(self):
        program = os.path.join(BUILD, "float", "tests", "interop", "files")
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, order):
        self.process.stdin.write(order.encode() + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            raise SystemExit(f"{order}: no answer, status {self.process.wait()}")
        return line.decode()[:-1]


def quoted(text):
    """As json_print has it."""
    names = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(names.get(c) or ("\\u%04X" % ord(c) if c < " " or c == "\x7f" else c) for c in text) + '"'


def described(name, dtype, shape, data):
    return f" {quoted(name)} {dtype} [{','.join(map(str, shape))}] {zlib.crc32(data):08X}"


def read_safetensors(data):
    """The contents of a file as the package reads it and files.c prints it; None: the package refuses it."""
    try:
        tensors = safetensors.deserialize(data)
    except (safetensors.SafetensorError, OverflowError):
        return None
    length = int.from_bytes(data[:8], "little")
    pairs = json.loads(data[8 : 8 + length]).get("__metadata__") or {}
    pairs.pop("crc32", None)
    found = sorted((name.encode(), described(name, t["dtype"], t["shape"], bytes(t["data"]))) for name, t in tensors)
    pairs = sorted((key.encode(), f" {quoted(key)}={quoted(value)}") for key, value in pairs.items())
    return "ok" + "".join(text for _, text in found + pairs)


# ---- Files, right and wrong ----

def any_shape(rng):
    return [rng.randrange(5) for _ in range(rng.randrange(4))]


def make_safetensors(rng):
    """Header and data of a file as the package writes it, mostly, and sometimes with odd entries."""
    header, data = {}, b""
    if rng.random() < 0.5:
        header["__metadata__"] = {rng.choice(["a", "format", "é\n", "crc32"]): rng.choice(["", "pt", '"x"'])}
    for i in range(rng.randrange(4)):
        dtype, shape = rng.choice(list(TYPES)), any_shape(rng)
        size = TYPES[dtype] * int(np.prod(shape, dtype=int))
        name = rng.choice(["w", "a.b", "无", "", "x y", "__metadata__ "]) + str(i) * rng.randrange(2)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + size]}
        data += bytes(rng.randrange(256) for _ in range(size))
    text = json.dumps(header, ensure_ascii=rng.random() < 0.5, separators=(",", ":") if rng.random() < 0.5 else None)
    return text + " " * (-len(text.encode()) % 8), data


EDITS = [(r"\d+", ["0", "1", "-1", "1.0", "1e1", "01", "99999999999999999999", "9223372036854775808", "2", "8"]),
         (r'"[FIUB]\w+"', ['"F32"', '"F8_E4M3"', '"C64"', '"f32"', '"BF16"', "null"]),
         (r'"shape"', ['"dtype"', '"sha\\u0070e"', '"Shape"', '"x": 1, "shape"']),
         (r'"(\w+)":', ['"w":', '"\\u0000":', '"":', '"__metadata__":']),
         (r"\[([\d, ]*)\]", ["[]", "[[1]]", "{}", "[1,1,1,1,1,1,1,1,1]", "[0,9223372036854775807,3]", "[true]", "[0,0]"]),
         (r"[{}\[\],: ]", ["", " ", "\t", "\n", ",", "\v", "{", "]"])]


def edit(text, rng):
    """One place that looks like something becomes something else."""
    pattern, others = rng.choice(EDITS)
    places = list(re.finditer(pattern, text))
    if not places:
        return text
    place = rng.choice(places)
    return text[: place.start()] + rng.choice(others) + text[place.end() :]


def damage(data, rng):
    """Bytes changed, cut off or added."""
    data = bytearray(data)
    kind = rng.randrange(3)
    if kind == 0 and data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del data[rng.randrange(len(data) + 1) :]
    else:
        data += bytes(rng.randrange(256) for _ in range(rng.randrange(1, 9)))
    return bytes(data)


def changed_safetensors(rng):
    text, data = make_safetensors(rng)
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        text = edit(text, rng)
    raw = text.encode()
    whole = len(raw).to_bytes(8, "little") + raw + data
    return damage(whole, rng) if rng.random() < 0.2 else whole


# ---- The comparison ----

def compare(files, seed):
    rng, ours, count, wrong = random.Random(seed), Ours(), collections.Counter(), 0
    for i in range(files):
        path, mine = "file.safetensors", i % 2 == 1
        if mine:
            want = ours.ask(f"write {path} {seed * files + i}")
            data = open(path, "rb").read()
        else:
            data = changed_safetensors(rng)
            with open(path, "wb") as file:
                file.write(data)
        theirs, found = read_safetensors(data), ours.ask(f"read {path}")
        if mine and not sorted(want.split(" ")) == sorted(found.split(" ")) == sorted((theirs or "").split(" ")):
            kind = "FAIL: a file of ours is read otherwise"
        elif found == theirs:
            kind = "both read it, and find the same"
        elif found.startswith("no ") and theirs is None:
            kind = "both refuse it"
        elif found.startswith("no "):
            whys = [why for line, why in STRICTER if re.search(line, found)]
            kind = f"ours refuses {whys[0]}" if whys else "FAIL: ours refuses it, and nobody knows why"
        else:
            kind = "FAIL: ours reads it, or finds other arrays"
        count[kind] += 1
        if kind.startswith("FAIL"):
            wrong += 1
            if wrong <= 5:
                print(f"  {i}: {kind[6:]}\n    {data!r}\n    ours   {found}\n    theirs {theirs}")
    for kind, n in count.most_common():
        print(f"  {n:6d} {kind}")
    print(f"{'FAIL' if wrong else 'ok  '} differential: {files} files", flush=True)
    return wrong


def main():
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        wrong = compare(files, seed)
        os.chdir("/")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
