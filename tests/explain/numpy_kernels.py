"""./explain kernels, computed again by NumPy alone: from the points, widths and matrices that it
prints, every held-out error within 1e-6; and that the learnt width is a good one, by a fine grid.

    BUILD=build PYTHONPATH=tests/support python3 tests/explain/numpy_kernels.py

Prints a line `ok   …` or `FAIL …` a test, as the other test programs do."""
import json

import numpy as np

from numpy_tests import run_tests
from numpy_walk import explain

LONGEST, NEAR = 5, 1e-6
FINE = np.geomspace(0.02, 2, 600)  # in steps below 1 %, around the best


def gauss(distance, h):
    return np.exp(-(distance**2) / h)


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

    def held_out(self, h):
        return self.error(gauss(self.far, h), self.arrays["held_out_y"])

    def left_out(self, h):
        """Every known point from all others: what the width is learnt by."""
        weights = gauss(self.near, h)
        np.fill_diagonal(weights, 0)
        return self.error(weights, self.y)

    def attention(self, x):
        query, key = (self.arrays[name].reshape(8, 8) for name in ("W^Q", "W^K"))
        scores = features(x) @ query.T @ (features(self.x) @ key.T).T / np.sqrt(8)
        return np.exp(scores - scores.max(-1, keepdims=True))

    def weights(self, row):
        if row["h"] is None:
            return self.attention(self.arrays["held_out_x"])
        return gauss(self.far, row["h"])


def errors_agree(e):
    assert [row["kernel"] for row in e.rows] == ["gauss", "gauss", "gauss", "attention"]
    for row in e.rows:
        weights = e.weights(row)
        want = e.error(weights, e.arrays["held_out_y"])
        far = np.mean((weights * e.far).sum(-1) / weights.sum(-1))
        assert abs(row["error"] - want) <= NEAR, (row, want)
        assert abs(row["distance"] - far) <= NEAR, (row, far)


def the_learnt_width_is_good(e):
    wide, narrow, learnt, _ = e.rows
    assert learnt["error"] <= 1.05 * min(map(e.held_out, FINE)), learnt
    assert learnt["error"] < min(wide["error"], narrow["error"])
    assert e.left_out(learnt["h"]) <= 1.002 * min(map(e.left_out, FINE))


def main():
    experiment = Experiment()
    return run_tests("numpy_kernels", [
        ("errors and distances are what NumPy computes", lambda: errors_agree(experiment)),
        ("the learnt width is about the best", lambda: the_learnt_width_is_good(experiment))])


if __name__ == "__main__":
    raise SystemExit(main())
