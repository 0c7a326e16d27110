"""The walk of ./explain, computed again: from the weights that it prints and the sentence, by NumPy alone. Its JSON
must agree within 1e-6, and the numbers of its text in all their digits.

    BUILD=build PYTHONPATH=tests/support python3 tests/explain/numpy_walk.py

Prints a line `ok   …` or `FAIL …` a test, as the other test programs do."""
import collections
import json
import os
import re
import subprocess

import numpy as np

from numpy_model import Model
from numpy_tests import run_tests

EXPLAIN = os.path.abspath(os.path.join(os.environ.get("BUILD", "build"), "double", "explain"))
SENTENCE = "无可奈何花落去，似曾相识燕归来"
VOCABULARY = "[UNK] I Love Nature Language Processing and you tell I Looking in my eyes"
NEAR, SHOWN = 1e-6, 0.50001e-4


def explain(*arguments, columns="80"):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "COLUMNS": columns}
    done = subprocess.run([EXPLAIN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          encoding="utf-8", env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def wanted(model, ids, side, layer, head):
    """By name, what the walk has to show: of one head where that is what it shows."""
    kept = {"E": model.e, **model.kept[side, str(layer - 1)]}
    kept.update({} if model.modern else {"PE": model.pe, "E + PE": model.e + model.pe})
    found = {"x": np.array(ids, dtype=float), **{name: v.x for name, v in kept.items() if v}}
    alone = {"Q", "K", "V", "S", "S'", "masked S'", "A", "Z", "Q normalised", "K normalised", "Q turned", "K turned"}
    return {name: x[head - 1] if name in alone else x for name, x in found.items()}


# ---- What ./explain prints

def read_json(text):
    weights, matrices = {}, {}
    for line in map(json.loads, (line for line in text.splitlines() if '"step": "merges"' not in line)):
        x = np.array([-np.inf if v is None else v for v in line["values"]]).reshape(line["shape"])
        (weights if "weight" in line else matrices)[line.get("weight") or line["name"]] = x
    return weights, matrices


def read_text(text):
    """The matrices of the text for readers, shown whole: a head line with the shape, then rows that end in numbers."""
    matrices = {}
    for part in re.split(r"^(?=[a-z-]+: .*, \[[0-9,]+\]$)", text, flags=re.M)[1:]:
        head, *lines = part.splitlines()
        name, shape = re.fullmatch(r"[a-z-]+: (.*), \[([0-9,]+)\]", head).groups()
        shape = [int(n) for n in shape.split(",")]
        columns = shape[-1] if len(shape) > 1 else 1
        number = r"(?:-?\d+\.?\d*|-inf)" if name == "x" else r"(?:-?\d+\.\d{4}|-inf)"
        row = re.compile(rf"  .*?\S *((?: +{number}){{{columns}}})")
        rows = [m.group(1).split() for m in map(row.fullmatch, lines) if m]
        matrices[name] = np.array(rows, dtype=float).reshape(shape)
    return matrices


def agree(found, want, near=NEAR):
    assert found.keys() == want.keys(), found.keys() ^ want.keys()
    for name, x in want.items():
        assert found[name].shape == x.shape, f"{name}: {found[name].shape}, want {x.shape}"
        finite = np.isfinite(x)
        assert (finite == np.isfinite(found[name])).all(), f"{name}: not finite elsewhere"
        off = np.abs(found[name][finite] - x[finite]).max()
        assert off <= near, f"{name}: off by {off}"


def walk(ids, *arguments, sides=("encoder", "decoder", "cross"), layers=(1, 2), head=1):
    for side in sides:
        for layer in layers:
            options = [*arguments, "--side", side, "--layer", str(layer), "--head", str(head)]
            weights, matrices = read_json(explain(*options, "--json"))
            want = wanted(Model(weights, ids, "--modern" in arguments), ids, side, layer, head)
            agree(matrices, want)
            agree(read_text(explain(*options, "--whole")), want, SHOWN)
    return want


# ---- The tests

def the_default_sentence():
    walk(list(range(15)))
    walk(list(range(15)), "--text", SENTENCE, "--seed", "7", head=3)


def the_feed_forward_network_follows_from_what_is_shown():
    """N of its formulas is the last matrix before it that a formula calls N."""
    for side in ("encoder", "decoder", "cross"):
        rows = [json.loads(line) for line in explain("--side", side, "--json").splitlines()]
        weight = {d["weight"]: np.reshape(d["values"], d["shape"]) for d in rows if "weight" in d}
        x = {d["name"]: np.reshape(d["values"], d["shape"]) for d in rows if d.get("step") == "feed-forward" or "LayerNorm" in d.get("name", "")}
        before = rows[:[d.get("name") for d in rows].index("hidden")]
        n = x[[d["name"] for d in before if d.get("formula", "").startswith("N = ")][-1]]
        place = f"{'encoder' if side == 'encoder' else 'decoder'}.layers.0.linear"
        hidden = np.maximum(0, n @ weight[place + "1.weight"].T + weight[place + "1.bias"])
        projected = hidden @ weight[place + "2.weight"].T + weight[place + "2.bias"]
        agree({"hidden": x["hidden"], "N + F": x["N + F"]}, {"hidden": hidden, "N + F": n + projected})


def words():
    walk([1, 2, 3, 4, 5], "--words", "--vocabulary", VOCABULARY, "--text", "I Love Nature Language Processing")
    walk([1, 0, 11, 1, 12], "--words", "--vocabulary", VOCABULARY, "--text", "I  hate my\tI eyes", layers=(1,))


def shapes_of_four_words():
    want = walk([1, 2, 3, 4], "--words", "--text", "I Love Nature Language", sides=("encoder",), layers=(1,))
    shapes = {"x": (4,), "E + PE": (4, 32), "Q": (4, 8), "K": (4, 8), "V": (4, 8), "S": (4, 4),
              "S of all heads": (4, 4, 4), "Y": (4, 32)}
    for name, shape in shapes.items():
        assert want[name].shape == shape, name


def one_character():
    walk([0], "--text", "a", layers=(1,))


class BytePairs:
    """The plain quadratic way: after every merge all pairs of all words are counted anew."""

    def __init__(self, text):
        self.words = re.findall(r" ?[^ ]+", text)
        self.states = {word: [[[byte] for byte in word.encode()]] for word in self.words}
        self.table = []
        while True:
            now = [self.states[word][-1] for word in self.words]
            pairs = collections.Counter((self.id(a), self.id(b)) for tokens in now for a, b in zip(tokens, tokens[1:]))
            best = min(pairs, key=lambda pair: (-pairs[pair], pair), default=None)
            if best is None or pairs[best] < 2:
                break
            self.table.append(best)
            for word in self.states:
                self.join(self.states[word], best)

    def id(self, token):
        """The id of a token: its byte, or 256 and the index of its merge."""
        return token[0] if len(token) == 1 else 256 + self.table.index(tuple(token))

    def join(self, states, pair):
        while True:
            ids = [self.id(token) for token in states[-1]]
            at = next((i for i in range(len(ids) - 1) if (ids[i], ids[i + 1]) == pair), None)
            if at is None:
                return
            states.append(states[-1][:at] + [list(pair)] + states[-1][at + 2 :])

    def ids(self):
        return [[[self.id(token) for token in state] for state in self.states[word]] for word in dict.fromkeys(self.words)]


def the_modern_parts():
    for text in ("low lower lowest slow slower slowest", "花花花落 了 花落 了了"):
        pairs = BytePairs(text)
        lines = [json.loads(line) for line in explain("--modern", "--text", text, "--step", "merges", "--json").splitlines()]
        assert [line["ids"] for line in lines] == sum(pairs.ids(), []), lines
        made = [line["token"] for line in lines]
        assert set(made) == {-1, *range(256, 256 + len(pairs.table))}, made
        shown = explain("--modern", "--text", text, "--step", "merges")
        assert f"a table of {len(pairs.table)}\n" in shown and shown.count(" = ") == sum(token >= 0 for token in made)
        final = dict(zip(dict.fromkeys(pairs.words), (states[-1] for states in pairs.ids())))
        walk(sum((final[word] for word in pairs.words), []), "--modern", "--text", text, head=2)


def main():
    tests = [("the walk on the default sentence is what NumPy computes", the_default_sentence),
             ("the feed-forward network follows from what is shown", the_feed_forward_network_follows_from_what_is_shown),
             ("the walk on words is what NumPy computes", words),
             ("byte pairs, rotary positions, RMS norm, query/key norm and SwiGLU are what NumPy computes", the_modern_parts),
             ("shapes for four words", shapes_of_four_words),
             ("the walk on one character is what NumPy computes", one_character)]
    return run_tests("numpy_walk", tests)


if __name__ == "__main__":
    raise SystemExit(main())
