"""The walk backward, computed again: NumPy derives every gradient (numpy_model.py) from the weights and the sentence that
./explain prints. It must agree within 1e-12.

    BUILD=build PYTHONPATH=tests/support python3 tests/explain/numpy_backward.py

Prints a line `ok   …` or `FAIL …` a test, as the other test programs do."""
import json
import math
import re

import numpy as np

from numpy_model import Model, V, backward
from numpy_tests import run_tests
from numpy_walk import SENTENCE, BytePairs, explain

NEAR = 1e-12


def near(found, want, what, tolerance=NEAR):
    assert np.shape(found) == np.shape(want), f"{what}: {np.shape(found)}, want {np.shape(want)}"
    off = np.abs(np.asarray(found) - want).max(initial=0)
    assert off <= tolerance, f"{what}: off by {off}"


def array(d):
    return np.array(d["values"], dtype=float).reshape(d["shape"])


def compare(ids, *arguments, modern=False):
    weights = {d["weight"]: array(d) for d in map(json.loads, explain(*arguments, "--json").splitlines()) if "weight" in d}
    model, n = Model(weights, ids, modern), len(ids)
    logits = model.out @ model.w["embedding.weight"].transpose(1, 0)
    shifted = logits + V(-logits.x.max(-1, keepdims=True))
    log_p = shifted + shifted.exp().sum().map(lambda s: -np.log(s), lambda s: -1 / s)
    backward(log_p[np.arange(n - 1), np.array(ids[1:])].sum().times(-1 / (n - 1)))
    for side, name in (("encoder", "self_attn"), ("decoder", "self_attn"), ("cross", "multihead_attn")):
        for layer in (1, 2):
            place = f"{'encoder' if side == 'encoder' else 'decoder'}.layers.{layer - 1}.{name}"
            options = [*arguments, "--backward", "--side", side, "--layer", str(layer), "--head", "2"]
            rows = [json.loads(line) for line in explain(*options, "--json", "--cell", "1,0").splitlines()]
            steps = [d for d in rows if "backward" in d]
            assert [d["backward"] for d in steps] == sorted((d["backward"] for d in steps), reverse=True)
            arrived = {d["name"]: array(d) for d in steps}
            near(arrived["L"], 1, "L")
            near(arrived["logits"], logits.g, "logits")
            kept = model.kept[side, str(layer - 1)]
            norm = model.norm_name
            own = ["Q", "K", "V", "S", "S'", "A", "Z", "Z of all heads", "Y", norm, "hidden", "projected", norm + " of it"]
            for symbol in own + ["X"] * (layer == 1 or side == "cross"):
                symbol = next(x for x in (symbol + " turned", symbol + " normalised", symbol) if x in kept)
                near(arrived[symbol], kept[symbol].g, f"{place} {symbol}")
            if side == "decoder":
                near(arrived[norm + " across"], kept[norm + " across"].g, place + " across")
            check_parts(steps, arrived)
            check_linear(steps, kept["hidden"].x)
            gradients = {d["gradient"]: array(d) for d in rows if "gradient" in d}
            assert gradients.keys() == model.w.keys()
            for weight, v in model.w.items():
                near(gradients[weight], v.g, weight)
            check_update(rows[-1], gradients, place)


def check_parts(steps, arrived):
    """Parts add up to what arrives, terms to their cell, and differences agree as far as they say."""
    sums, shown = {}, {}
    for d in steps:
        assert d["formula"] and ("+=" in d["formula"] or "-=" in d["formula"]), d["operation"]
        for part in d["adds"]:
            x = array(part)
            sums[part["to"]] = sums.get(part["to"], 0) + x
            shown[part["to"]] = shown.get(part["to"], 0) + 1
            if shown[part["to"]] == part["parts"] and part["to"] in arrived:
                near(sums[part["to"]], arrived[part["to"]], part["to"])
            if "terms" in part:
                dy = np.array(d["values"], dtype=float)
                near(sum(dy[int(at)] * slope for at, _, slope in part["terms"]), x.ravel()[part["cell"]], "terms")
        if "at" in d:
            assert abs(d["difference"] - d["values"][d["at"]]) <= 16 * d["error"] + 1e-13, d["name"]
            assert d["error"] < 1e-9, f"{d['name']}: {d['error']}"


def check_linear(steps, hidden):
    """What the formula of `linear` says: dz is dy, with the ReLU where y > 0; db is the sum of its rows."""
    for d in steps:
        if d["operation"] != "linear":
            continue
        bias = any(part["to"].endswith("bias") for part in d["adds"])
        assert ("\ndb_j += Σ_i dz_ij" in d["formula"]) == bias and "dr_ij" not in d["formula"], d["formula"]
        assert ("dz_ij = dy_ij where y_ij > 0, else 0\n" in d["formula"]) != ("\ndz = dy\n" in d["formula"])
        dz = array(d) * (hidden > 0 if d["name"] == "hidden" else 1)
        for part in d["adds"]:
            if part["to"].endswith("bias") and len(array(part)) == len(dz[0]):
                near(array(part), dz.sum(0), part["to"])


def check_update(d, gradients, place):
    assert d["update"] == place + ".in_proj_weight"
    norm = math.sqrt(sum((g**2).sum() for g in gradients.values()))
    g = gradients[d["update"]].ravel()[d["at"]] * min(1, 1 / (norm + 1e-6))  # as torch.nn.utils.clip_grad_norm_
    near([d["norm"], d["m"], d["v"]], [norm, 0.1 * g, 0.02 * g * g], "moments")
    near(d["after"], d["before"] - 0.001 * g / (abs(g) + 1e-9), "the new weight")


def the_default_sentence():
    compare(list(range(15)))


def words():
    compare([1, 2, 3], "--words", "--text", "I was myself")


def modern():
    text = "low lower lowest slow slower slowest"
    pairs = BytePairs(text)
    final = dict(zip(dict.fromkeys(pairs.words), (states[-1] for states in pairs.ids())))
    compare(sum((final[word] for word in pairs.words), []), "--modern", "--text", text, modern=True)


def a_masked_score_cannot_be_pushed():
    options = ["--words", "--text", "I was myself", "--backward", "--side", "decoder", "--step", "masked_fill", "--cell", "0,2"]
    text = explain(*options)
    assert "nan" not in text and "the value is -inf, set by the mask, and cannot be pushed" in text, text
    assert "[0,2] of it: 0, because the mask hides the score" in text, text
    for line in explain(*options, "--json").splitlines():
        assert "difference" not in json.loads(line, parse_constant=lambda name: 1 / 0)


def the_text_says_the_same():
    """Each number that the text gives beside a difference, and each sum beside its terms."""
    for arguments in (["--words", "--text", "I was myself"], ["--text", SENTENCE, "--side", "cross"]):
        text = explain(*arguments, "--backward", "--cell", "1,2", columns="300")
        pairs = re.findall(r"of it: (\S+); by differences (\S+), with an error of about (\S+)", text)
        assert len(pairs) > 10
        for found, difference, error in pairs:
            assert abs(float(found) - float(difference)) <= 16 * float(error) + 1e-9 * abs(float(found)), found
        parts = re.findall(r"adds to dL/d embedding.weight, \S+ part.*?\[1,2\] of it: (\S+)", text, re.S)
        total = re.search(r"dL/d embedding.weight, the sum of its 3 parts:.*?\[1,2\] of it: (\S+)", text, re.S)
        near(sum(map(float, parts)), float(total[1]), "the sum of 3 parts", 1e-7)
        sums = re.findall(r"of it: (\S+) = sum of (\d+) terms? dL/dy times dy/dx\n((?: +\S+ = .*\n)+)", text)
        whole = [(total, lines) for total, count, lines in sums if len(lines.splitlines()) == int(count)]
        assert len(whole) > 5
        for total, lines in whole:
            numbers = [float(line.split()[0]) for line in lines.splitlines()]
            near(sum(numbers), float(total), "the sum of the terms", 1e-7 * sum(map(abs, numbers)) + 1e-12)


def main():
    return run_tests("numpy_backward", [
        ("backward through the default sentence is what NumPy derives", the_default_sentence),
        ("backward through words is what NumPy derives", words),
        ("backward through byte pairs, rotary positions, RMS norm and SwiGLU is what NumPy derives", modern),
        ("a masked score cannot be pushed", a_masked_score_cannot_be_pushed),
        ("the text says the same", the_text_says_the_same)])


if __name__ == "__main__":
    raise SystemExit(main())
