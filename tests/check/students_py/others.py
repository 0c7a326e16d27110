"""Functions of other authors: sequences, broadcasts, distances. Each forward keeps its inputs as the cache."""
import numpy as np

cases = {
    "unit_rows": [dict(x=(2, 3))],
    "cumsum": [dict(x=(2, 5))],
    "cumprod": [dict(x=np.array([[0.5, -1.2, 0, 1.5], [2, 0.7, -0.4, 1.1]]))],
    "alibi": [dict(s=(2, 3, 3), m=(2,))],
    "attention_pool": [dict(s=(4,), x=(4, 3))],
    "where": [dict(cond=np.array([[1, 0, 1], [0, 0, 1]]), a=(2, 3), b=(3,))],
    "smooth_l1": [dict(a=(3, 4), b=(3, 4))],
    "outer": [dict(u=(2, 2), v=(2, 3))],
    "pair_distance": [dict(a=(2, 2), b=(3, 2))],
    "rotary": [dict(x=(4, 5), start=3, base=100)],
    "conv1d": [dict(x=(2, 2, 4), w=(2, 2, 2), b=(2,))],
}


# ---- cumsum
def cumsum_forward(x):
    return np.cumsum(x, axis=1), x.shape


def cumsum_backward(dy, shape):
    return np.cumsum(dy[:, ::-1], axis=1)[:, ::-1]


# ---- cumprod
def cumprod_forward(x):
    return np.cumprod(x, axis=1), x


def cumprod_backward(dy, x):
    dx = np.zeros_like(x)
    for k in range(x.shape[1]):
        before = np.prod(x[:, :k], axis=1)
        for j in range(k, x.shape[1]):
            dx[:, k] += dy[:, j] * before * np.prod(x[:, k + 1:j + 1], axis=1)
    return dx


# ---- alibi
def alibi_forward(s, m):
    i, j = np.arange(s.shape[1])[:, None], np.arange(s.shape[2])
    return np.where(j <= i, s - m[:, None, None] * (i - j), -1e4), (i, j)


def alibi_backward(dy, cache):
    i, j = cache
    d = np.where(j <= i, dy, 0)
    return d, -(d * (i - j)).sum(axis=(1, 2))


# ---- attention_pool
def attention_pool_forward(s, x):
    w = np.exp(s - s.max())
    w /= w.sum()
    return w @ x, (w, x, w @ x)


def attention_pool_backward(dy, cache):
    w, x, y = cache
    return w * ((x - y) @ dy), np.outer(w, dy)


# ---- where
def where_forward(cond, a, b):
    return np.where(cond, a, b), cond


def where_backward(dy, cond):
    return None, dy * (cond != 0), (dy * (cond == 0)).sum(axis=0)


# ---- smooth_l1
def smooth_l1_forward(a, b):
    d = a - b
    return np.where(abs(d) < 0.5, d * d, abs(d) - 0.25), d


def smooth_l1_backward(dy, d):
    da = dy * np.where(abs(d) < 0.5, 2 * d, np.sign(d))
    return da, -da


# ---- outer
def outer_forward(u, v):
    return u[:, :, None] * v[:, None, :], (u, v)


def outer_backward(dy, cache):
    u, v = cache
    return (dy * v[:, None, :]).sum(axis=2), (dy * u[:, :, None]).sum(axis=1)


# ---- pair_distance
def pair_distance_forward(a, b):
    d = a[:, None] - b[None]
    y = np.sqrt((d * d).sum(axis=2) + 1e-3)
    return y, (d, y)


def pair_distance_backward(dy, cache):
    d, y = cache
    g = (dy / y)[:, :, None] * d
    return g.sum(axis=1), -g.sum(axis=0)


# ---- rotary
def rotary_angles(n, width, start, base):
    return (start + np.arange(n))[:, None] * base ** (-2.0 * np.arange(width // 2) / width)


def rotary_turn(x, angle):
    h, y = x.shape[1] // 2, x.copy()
    y[:, :h] = x[:, :h] * np.cos(angle) - x[:, h:2 * h] * np.sin(angle)
    y[:, h:2 * h] = x[:, :h] * np.sin(angle) + x[:, h:2 * h] * np.cos(angle)
    return y


def rotary_forward(x, start, base):
    return rotary_turn(x, rotary_angles(*x.shape, start, base)), (start, base)


def rotary_backward(dy, cache):
    start, base = cache
    return rotary_turn(dy, -rotary_angles(*dy.shape, start, base))


# ---- conv1d
def conv1d_forward(x, w, b):
    xp = np.pad(x, ((0, 0), (0, 0), (1, 1)))
    out = range((x.shape[2] + 2 - w.shape[2]) // 2 + 1)
    y = [np.einsum("nck,ock->no", xp[:, :, 2 * t:2 * t + w.shape[2]], w) + b for t in out]
    return np.stack(y, axis=2), (xp, w)


def conv1d_backward(dy, cache):
    xp, w = cache
    K, dxp, dw = w.shape[2], np.zeros_like(xp), np.zeros_like(w)
    for t in range(dy.shape[2]):
        at = 2 * t
        dxp[:, :, at:at + K] += np.einsum("no,ock->nck", dy[:, :, t], w)
        dw += np.einsum("no,nck->ock", dy[:, :, t], xp[:, :, at:at + K])
    return dxp[:, :, 1:-1], dw, dy.sum(axis=(0, 2))


# ---- unit_rows
# Near a row of zeros the slope is 1e12, and falls off as fast.
def unit_rows_forward(x):
    n = np.sqrt((x * x).sum(axis=1, keepdims=True))
    return x / (n + 1e-12), (x, n)


def unit_rows_backward(dy, cache):
    x, n = cache
    m = n + 1e-12
    u = np.where(n > 0, x / np.where(n > 0, n, 1), 0)
    return dy / m - u * (dy * x).sum(axis=1, keepdims=True) / m ** 2
