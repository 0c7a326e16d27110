"""Functions of numbers, a line each: (name, its inputs with their bounds, y, what dy is multiplied by for the gradient of each).
Then functions of rows and matrices."""
import numpy as np

gelu = "np.tanh(0.7978845608028654 * (x + 0.044715 * x ** 3))"
TABLE = [
    ("cube", "x", "x * x * x", "3 * x * x"),
    ("softplus", "x", "np.logaddexp(0, x)", "1 / (1 + np.exp(-x))"),
    ("silu", "x", "x / (1 + np.exp(-x))", "(1 + y * np.exp(-x)) / (1 + np.exp(-x))"),
    ("elu", "x", "np.where(x > 0, x, np.expm1(x))", "np.where(x > 0, 1, y + 1)"),
    ("leaky", "x", "np.where(x > 0, x, x / 10)", "np.where(x > 0, 1, 0.1)"),
    ("hardtanh", "x", "np.clip(x, -1, 1)", "((x > -1) & (x < 1))"),
    ("sine", "x", "np.sin(x)", "np.cos(x)"),
    ("bell", "x", "np.exp(-x * x)", "-2 * x * y"),
    ("absolute", "x", "abs(x)", "np.sign(x)"),
    ("gelu_tanh", "x", f"x / 2 * (1 + {gelu})",
     f"((1 + {gelu}) / 2 + x / 2 * (1 - {gelu} ** 2) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x))"),
    ("hyperbola", "x", "np.sqrt(1 + x * x)", "x / y"),
    ("doubling", "x", "np.exp2(x)", "y * np.log(2)"),
    ("ripple", "x", "x * x + 1e-6 * np.sin(1e7 * x)", "(2 * x + 10 * np.cos(1e7 * x))"),
    ("maximum", "a b", "np.maximum(a, b)", "((a > b) + 0.5 * (a == b)), ((a < b) + 0.5 * (a == b))"),
    ("power", "a b 0.5 2", "a ** b", "b * a ** (b - 1), y * np.log(a)"),
    ("logaddexp", "a b", "np.logaddexp(a, b)", "np.exp(a - y), np.exp(b - y)"),
    ("distance", "a b", "(a - b) * (a - b)", "2 * (a - b), 2 * (b - a)"),
    ("gated", "a b", "a / (1 + np.exp(-b))", "1 / (1 + np.exp(-b)), y * (1 - 1 / (1 + np.exp(-b)))"),
    ("quotient", "a b 0.5 2", "a / b", "1 / b, -y / b"),
]

cases = {
    "lse": [dict(x=(3, 5))],
    "rotate": [dict(x=(7,))],
    "reverse": [dict(x=(6,))],
    "rowmax": [dict(x=(3, 5)), dict(x=np.array([[1., 3, 3], [2, 2, 2]]))],
    "product": [dict(a=(2, 3), b=(3, 4)), dict(a=(3, 3), b=(3, 3))],
    "mixing": [dict(x=(3,))],
    "form": [dict(x=(3,), A=(3, 3))],
    "slide": [dict(x=(7,), w=(3,))],
    "scale": [dict(x=(3, 4), w=(4,), b=(4,))],
    "five": [dict(a=(3,), b=(3,), c=(3,), d=(3,), e=(3,))],
    "window": [dict(x=(9,)), dict(x=(3,))],
    "lookup": [dict(E=(5, 3)), dict(E=(4, 1))],
    "pairs": [dict(x=(3, 2), z=(4, 2)), dict(x=(3, 3), z=(3, 3))],
}
text = ""
for name, inputs, y, gradients in TABLE:
    names = [word for word in inputs.split() if word.isalpha()]
    bounds = dict(zip(("low", "high"), map(float, inputs.split()[len(names):])))
    cases[name] = [dict.fromkeys(names, (3, 4)) | bounds]
    if name == "maximum":
        cases[name].append(dict.fromkeys(names, np.array([1., 2, 3])))
    row = ", ".join(names)
    text += (f"# ---- {name}\ndef {name}_forward({row}):\n    y = {y}\n    return y, ({row}, y)\n\n\n"
             f"def {name}_backward(dy, cache):\n    {row}, y = cache\n    return tuple(dy * g for g in ({gradients},))\n\n\n")


# ---- lse
def lse_forward(x):
    y = np.log(np.exp(x).sum(axis=1))
    return y, (x, y)


def lse_backward(dy, cache):
    x, y = cache
    return dy[:, None] * np.exp(x - y[:, None])


# ---- rotate
def rotate_forward(x):
    return np.roll(x, 2), None


def rotate_backward(dy, cache):
    return np.roll(dy, -2)


# ---- reverse
def reverse_forward(x):
    return x[::-1], None


def reverse_backward(dy, cache):
    return dy[::-1]


# ---- rowmax
def rowmax_forward(x):
    return x.max(axis=1), x == x.max(axis=1, keepdims=True)


def rowmax_backward(dy, ties):
    return dy[:, None] * ties / ties.sum(axis=1, keepdims=True)


# ---- product
def product_forward(a, b):
    return a @ b, (a, b)


def product_backward(dy, cache):
    a, b = cache
    return dy @ b.T, a.T @ dy


# ---- mixing
def mixing_forward(x):
    M = np.array([[1., 2, 3], [0, 1, 4], [5, 6, 0]])
    return M @ x, M


def mixing_backward(dy, M):
    return M.T @ dy


# ---- form
def form_forward(x, A):
    return x @ A @ x, (x, A)


def form_backward(dy, cache):
    x, A = cache
    return dy * (A + A.T) @ x, dy * np.outer(x, x)


# ---- slide
def slide_forward(x, w):
    K = len(w)
    return np.array([x[i:i + K] @ w for i in range(len(x) - K + 1)]), (x, w)


def slide_backward(dy, cache):
    x, w = cache
    dx, dw, K = np.zeros_like(x), np.zeros_like(w), len(w)
    for i in range(len(dy)):
        dx[i:i + K] += dy[i] * w
        dw += dy[i] * x[i:i + K]
    return dx, dw


# ---- scale
def scale_forward(x, w, b):
    return x * w + b, (x, w)


def scale_backward(dy, cache):
    x, w = cache
    return dy * w, (dy * x).sum(axis=0), dy.sum(axis=0)


# ---- five
def five_forward(a, b, c, d, e):
    return sum((k + 1) * x * x for k, x in enumerate((a, b, c, d, e))), (a, b, c, d, e)


def five_backward(dy, cache):
    return tuple(dy * 2 * (k + 1) * x for k, x in enumerate(cache))


# ---- window
def window_forward(x):
    return (x[:-2] + x[1:-1] + x[2:]) / 3, len(x)


def window_backward(dy, count):
    dx = np.zeros(count)
    for k in range(3):
        dx[k:count - 2 + k] += dy / 3
    return dx


# ---- lookup
def lookup_forward(E):
    return E[[2, 0, 2, 3]], E.shape


def lookup_backward(dy, shape):
    dE = np.zeros(shape)
    for row, i in zip(dy, [2, 0, 2, 3]):
        dE[i] += row
    return dE


# ---- pairs
def pairs_forward(x, z):
    d = x[:, None] - z
    return (d * d).sum(axis=2), d


def pairs_backward(dy, d):
    g = 2 * dy[:, :, None] * d
    return g.sum(axis=1), -g.sum(axis=0)
