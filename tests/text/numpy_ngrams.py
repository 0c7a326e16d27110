"""The yardsticks of ./train lm, computed again by NumPy: on the text that ships, on random DNA, and
on characters of several bytes; by each tokenizer the same. Strings of characters are numbers;
np.unique counts them.

    PYTHONPATH=tests/support python3 tests/text/numpy_ngrams.py

Prints a line `ok   …` or `FAIL …` a test, as the other test programs do."""
import os
import subprocess
import tempfile

import numpy as np

from numpy_tests import run_tests

TRAIN = os.path.abspath("train")


def strings(text, n):
    """For each place, the n characters up to it as a number; -1 where there are fewer."""
    out = np.full(len(text), -1, dtype=object)
    out[max(n - 1, 0):] = 0
    for back in range(n):
        out[n - 1:] = out[n - 1:] * (1 << 21) + text[back:len(text) - (n - 1 - back)]
    return out


def counts(values):
    return dict(zip(*np.unique(values, return_counts=True)))


def losses(training, judged):
    p = np.full(len(judged), 1 / len(set(training) | set(judged)))
    found = [-np.log(p).mean()]
    for n in range(1, 6):
        grams = strings(training, n)[n - 1:]
        count, followed, kinds = counts(grams), counts(grams >> 21), counts(np.unique(grams) >> 21)
        for i, hc in enumerate(strings(judged, n)):
            h = hc >> 21
            if hc >= 0 and h in followed:
                p[i] = (count.get(hc, 0) + kinds[h] * p[i]) / (followed[h] + kinds[h])
        found.append(-np.log(p).mean())
    return [found[n] for n in (0, 1, 2, 3, 5)]


def check(text, tokenizer):
    small = "--steps 0 --layers 1 --d-model 16 --text text --tokenizer"
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "text"), "w", encoding="utf-8") as f:
            f.write(text)
        done = subprocess.run([TRAIN, "lm", *small.split(), tokenizer], cwd=folder,
                              stderr=subprocess.PIPE, check=True, encoding="utf-8")
    line = next(x for x in done.stderr.splitlines() if x.startswith("to compare: "))
    got = [float(x.split()[-1]) for x in line.removesuffix(" nats/char").split(",")]
    ids, cut = np.array([ord(c) for c in text]), int(len(text) * 0.9)
    want = losses(ids[:cut], ids[cut:])
    assert len(got) == 5 and np.allclose(got, want, atol=1e-4), (tokenizer, got, want)


def shipped_text():
    with open("data/chronicle.txt", encoding="utf-8") as f:
        text = f.read()
    for tokenizer in ("char", "bpe"):
        check(text, tokenizer)


def random_dna():
    letters = np.random.default_rng(1).choice(list("ACGT"), 30000)
    check("".join(letters), "bpe")


def characters_of_several_bytes():
    letters = np.random.default_rng(2).integers(0, 400, 20000) ** 2 // 400
    check("".join(chr(0x4E00 + c) if c % 3 else chr(0x3B1 + c // 8) for c in letters), "byte")


if __name__ == "__main__":
    raise SystemExit(run_tests("numpy_ngrams", [
        ("the text that ships", shipped_text),
        ("random DNA", random_dna),
        ("characters of several bytes", characters_of_several_bytes),
    ]))
