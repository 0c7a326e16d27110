"""Functions that are judged by where they are looked at: ties, constants, large values, domains, few digits."""
import numpy as np

SMALL, MATRIX = dict(x=(5,)), dict(x=(2, 3))


def elementwise(f, slope):
    return (lambda x: (f(x), x)), (lambda dy, x: dy * slope(x))


def largest(x):
    return x.max(-1), (x, x.argmax(-1))


def to_the_first(dy, cache):
    x, at = cache
    dx = np.zeros_like(x)
    np.put_along_axis(dx, at[..., None], dy[..., None], -1)
    return dx


def to_all_that_are_equal(dy, cache):
    x = cache[0]
    return dy[..., None] * (x == x.max(-1, keepdims=True))


def two_largest(x):
    return np.sort(x)[-2:], np.argsort(x)


def to_two(dy, order):
    dx = np.zeros(len(order))
    dx[order[-2:]] = dy
    return dx


def single(x, w):
    x, w = x.astype(np.float32), w.astype(np.float32)
    return x @ w, (x, w)


def single_backward(dy, cache):
    x, w = cache
    dy = dy.astype(np.float32)
    return dy @ w.T, x.T @ dy


def fixed_point(x):
    """y = cos(y) / 2 + x, stopped at 1e-6."""
    y = np.zeros_like(x)
    for _ in range(100):
        last, y = y, 0.5 * np.cos(y) + x
        if np.abs(y - last).max() < 1e-6:
            break
    return y, y


def by_differences(dy, x):
    h = 1e-5
    return dy * (np.sin(x + h) - np.sin(x - h)) / (2 * h)


def softplus(x):
    return np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20))))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def unit(x):
    n = np.sqrt((x * x).sum(-1, keepdims=True))
    return x / (n + 1e-12), (x, n)


def unit_backward(dy, cache, at_0=1):
    x, n = cache
    m, u = n + 1e-12, x / np.where(n > 0, n, 1)
    return dy / m * np.where(n > 0, 1, at_0) - u * (dy * x).sum(-1, keepdims=True) / m ** 2


def variance(x):
    d = x - x.mean()
    return (d * d).mean(), d


def entry_of_a_table(x):
    """Between its entries linear; there is none beyond the third."""
    i, table = int(x), [1.0, 3.0, 2.0, 5.0]
    return table[i] + (x - i) * (table[i + 1] - table[i]), table[i + 1] - table[i]


# name, verdict, words of its reasons, (forward, backward), arguments of check
LISTED = [
    ("max", "PASS", "", (largest, to_the_first), MATRIX),
    ("max to all", "FAIL", "the shares of a tie are wrong", (largest, to_all_that_are_equal), MATRIX),
    ("two largest", "PASS", "", (two_largest, to_two), SMALL),
    ("abs", "PASS", "", elementwise(np.abs, np.sign), MATRIX),
    ("abs, 2 at 0", "FAIL", "", elementwise(np.abs, lambda x: np.where(x > 0, 1, np.where(x < 0, -1, 2))), MATRIX),
    ("relu6", "PASS", "", elementwise(lambda x: np.clip(x, 0, 6), lambda x: (x > 0) & (x < 6)), MATRIX),
    ("relu6, 3 at 6", "FAIL", "", elementwise(lambda x: np.clip(x, 0, 6), lambda x: (x > 0) * (x < 6) + 3 * (x == 6)), MATRIX),
    ("hinge, 2 at 1", "FAIL", "", elementwise(lambda x: np.maximum(1 - x, 0), lambda x: -1.0 * (x <= 1) - (x == 1)), MATRIX),
    ("softplus", "PASS", "", elementwise(softplus, lambda x: np.where(x > 20, 1, sigmoid(x))), MATRIX),
    ("softplus, x above 20", "FAIL", "", elementwise(softplus, lambda x: np.where(x > 20, x, sigmoid(x))), MATRIX),
    ("clip at 100", "FAIL", "", elementwise(lambda x: np.clip(x, -100, 100), lambda x: x ** 0), MATRIX),
    ("clip at 1000", "FAIL", "", elementwise(lambda x: np.clip(x, -1000, 1000), lambda x: x ** 0), dict(x=(2,))),
    ("differences", "PASS", "", ((lambda x: (np.sin(x), x)), by_differences), MATRIX),
    ("square root", "INCONCLUSIVE", "forward gives nan", elementwise(np.sqrt, lambda x: 0.5 / np.sqrt(x)), MATRIX),
    ("arcsin", "INCONCLUSIVE", "low and high", elementwise(np.arcsin, lambda x: (1 - x * x) ** -0.5), MATRIX),
    ("arccosh", "INCONCLUSIVE", "", elementwise(np.arccosh, lambda x: (x * x - 1) ** -0.5), MATRIX),
    ("single precision", "PASS", "", (single, single_backward), dict(x=(2, 3), w=(3, 2))),
    ("iteration", "INCONCLUSIVE", "an iteration that ends early", (fixed_point, lambda dy, y: dy / (1 + 0.5 * np.sin(y))), dict(x=(2,))),
    ("relu", "PASS", "", ((lambda x: x if x > 0 else 0), (lambda x: 1 if x > 0 else 0)), dict(x=())),
    ("round", "PASS", "", elementwise(np.round, np.zeros_like), MATRIX),
    ("sign", "PASS", "", elementwise(np.sign, np.zeros_like), MATRIX),
    ("unit, 0 given", "PASS", "", (unit, unit_backward), dict(x=np.array([[0., 0], [1, 2]]))),
    ("unit, twice at 0", "FAIL", "", (unit, lambda d, c: unit_backward(d, c, 2)), dict(x=np.array([[0., 0], [1, 2]]))),
    ("variance far out", "PASS", "", (variance, lambda dy, d: 2 * dy * d / len(d)), dict(x=1e6 + np.array([1.1, 0.2, -0.7, 0.4]))),
    ("shrink beside its kink", "PASS", "", elementwise(lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0), lambda x: np.abs(x) > 0.5),
     dict(x=np.array([0.5 - 1e-7, 0.5 + 1e-7, 0.501, 0]))),
    ("table", "PASS", "", (entry_of_a_table, lambda dy, slope: dy * slope), dict(x=2.9)),
    ("small term", "FAIL", "", elementwise(lambda x: x * x + 1e-7 * np.sin(x), lambda x: 2 * x), MATRIX),
    ("small error above 3", "FAIL", "", elementwise(lambda x: x + 0, lambda x: 1 + 2e-6 * (x > 3)), MATRIX),
    ("offset", "PASS", "", ((lambda x: (x.sum() + 1e10, x)), lambda dy, x: dy * np.ones_like(x)), MATRIX),
]
