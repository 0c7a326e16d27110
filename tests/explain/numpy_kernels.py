"""./explain kernels, computed again by NumPy alone: from the points, widths and matrices that it prints, every held-out
error within 1e-6; and that the widths learnt are good ones, by grids finer than its own.

    BUILD=build PYTHONPATH=tests/support python3 tests/explain/numpy_kernels.py

Prints a line `ok   …` or `FAIL …` a test, as the other test programs do."""
import json

import numpy as np

from numpy_tests import run_tests
from numpy_walk import explain

LONGEST, NEAR = 5, 1e-6
ITS_GRID = np.geomspace(0.01, 100, 200)
FINE = np.geomspace(0.02, 2, 600)  # in steps below 1 %, around the best


def kernel(name, distance, h):
    if name == "gauss":
        return np.exp(-(distance**2) / h)
    if name == "box":
        return (distance <= h).astype(float)
    return np.maximum(1 - distance / h, 0)


def features(x):
    angle = x[:, None] * np.arange(1, 5) * np.pi / LONGEST
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(len(x), -1)


class Experiment:
    def __init__(self):
        lines = [json.loads(line) for line in explain("kernels", "--json").splitlines()]
        self.rows = [line for line in lines if "kernel" in line]
        self.arrays = {line["array"]: np.array(line["values"]) for line in lines if "array" in line}
        self.x, self.y = self.arrays["x"], self.arrays["y"]
        self.far = np.abs(self.arrays["held_out_x"][:, None] - self.x)
        self.near = np.abs(self.x[:, None] - self.x)

    def error(self, weights, y):
        total = weights.sum(-1)
        guess = np.divide(weights @ self.y, total, out=np.zeros_like(total), where=total > 0)
        return np.mean((guess - y) ** 2)

    def held_out(self, name, h):
        return self.error(kernel(name, self.far, h), self.arrays["held_out_y"])

    def left_out(self, name, h):
        """Every known point from all others: what the widths are learnt by."""
        weights = kernel(name, self.near, h)
        np.fill_diagonal(weights, 0)
        return self.error(weights, self.y)

    def attention(self, x):
        query, key = (self.arrays[name].reshape(8, 8) for name in ("W^Q", "W^K"))
        scores = features(x) @ query.T @ (features(self.x) @ key.T).T / np.sqrt(8)
        return np.exp(scores - scores.max(-1, keepdims=True))

    def distance(self, row):
        """The mean of |x - x_j| under the weights, over 40 x."""
        x = LONGEST * np.arange(40) / 40
        far = np.abs(x[:, None] - self.x)
        weights = self.attention(x) if row["h"] is None else kernel(row["kernel"], far, row["h"])
        return np.mean((weights * far).sum(-1) / weights.sum(-1))


def errors_agree(e):
    assert len(e.rows) == 9, len(e.rows)
    best = {name: min(e.held_out(name, h) for h in ITS_GRID) for name in ("gauss", "box", "triangle")}
    for row in e.rows:
        want = (e.error(e.attention(e.arrays["held_out_x"]), e.arrays["held_out_y"]) if row["h"] is None
                else e.held_out(row["kernel"], row["h"]))
        assert abs(row["error"] - want) <= NEAR, (row, want)
        assert abs(row["distance"] - e.distance(row)) <= NEAR, (row, e.distance(row))
        assert row["h"] is None or abs(row["best"] - best[row["kernel"]]) <= NEAR, (row, best)


def learnt_widths_are_good(e):
    learnt = [row for row in e.rows if row["width"] == "learnt" and row["h"] is not None]
    assert [row["kernel"] for row in learnt] == ["gauss", "triangle"]
    for row in learnt:
        best = min(e.held_out(row["kernel"], h) for h in FINE)
        assert row["error"] <= 1.05 * best, (row, best)
        fixed = [r["error"] for r in e.rows if r["kernel"] == row["kernel"] and r["width"] == "fixed"]
        assert fixed and row["error"] < min(fixed), (row, fixed)
        least = min(e.left_out(row["kernel"], h) for h in FINE)
        assert e.left_out(row["kernel"], row["h"]) <= 1.002 * least, (row, least)


def main():
    experiment = Experiment()
    return run_tests("numpy_kernels", [
        ("errors and distances of every kernel are what NumPy computes", lambda: errors_agree(experiment)),
        ("widths that are learnt are about the best, by a fine grid", lambda: learnt_widths_are_good(experiment))])


if __name__ == "__main__":
    raise SystemExit(main())
