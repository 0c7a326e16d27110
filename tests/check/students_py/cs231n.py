"""Layers in the form of CS231n's assignments: forward returns its output and a cache, or a loss and its gradients."""
import numpy as np

cases = {
    "affine": [dict(x=(3, 2), w=(2, 3), b=(3,))],
    "relu": [dict(x=(3, 4))],
    "batchnorm": [dict(x=(4, 2), gamma=(2,), beta=(2,), bn_param={"eps": 1e-5})],
    "layernorm": [dict(x=(2, 4), gamma=(4,), beta=(4,), ln_param={})],
    "dropout": [dict(x=(3, 4), dropout_param={"p": 0.6, "seed": 3})],
    "conv": [dict(x=(2, 1, 3, 3), w=(2, 1, 2, 2), b=(2,), conv_param={"stride": 1, "pad": 1})],
    "max_pool": [dict(x=(1, 2, 4, 4), pool_param={"size": 2})],
    "softmax_loss": [dict(x=(4, 3), y=np.array([0, 2, 1, 1]))],
    "svm_loss": [dict(x=(4, 3), y=np.array([0, 2, 1, 1]))],
    "rnn_step": [dict(x=(2, 2), prev_h=(2, 3), Wx=(2, 3), Wh=(3, 3), b=(3,))],
    "lstm_step": [dict(x=(2, 1), prev_h=(2, 2), prev_c=(2, 2), Wx=(1, 8), Wh=(2, 8), b=(8,))],
    "word_embedding": [dict(x=np.array([[0, 2], [3, 2]]), W=(4, 3))],
    "attention": [dict(q=(2, 2, 3), k=(2, 3, 3), v=(2, 3, 3))],
    "rnn": [dict(x=(2, 3, 1), h0=(2, 2), Wx=(1, 2), Wh=(2, 2), b=(2,))],
    "std": [dict(x=(3, 4))],
    "weight_norm": [dict(x=(2, 3), v=(3, 2), g=(2,))],
    "spatial_groupnorm": [dict(x=(2, 4, 2, 2), gamma=(4,), beta=(4,), G=2)],
}


# ---- affine
def affine_forward(x, w, b):
    return x.reshape(x.shape[0], -1) @ w + b, (x, w, b)


def affine_backward(dout, cache):
    x, w, b = cache
    return (dout @ w.T).reshape(x.shape), x.reshape(x.shape[0], -1).T @ dout, dout.sum(axis=0)


# ---- relu
def relu_forward(x):
    return np.maximum(0, x), x


def relu_backward(dout, cache):
    return dout * (cache > 0)


# ---- batchnorm
def batchnorm_forward(x, gamma, beta, bn_param):
    mu, var = x.mean(axis=0), x.var(axis=0)
    std = np.sqrt(var + bn_param["eps"])
    x_hat = (x - mu) / std
    bn_param["running_mean"] = 0.9 * bn_param.get("running_mean", 0) + 0.1 * mu
    return gamma * x_hat + beta, (x_hat, gamma, std)


def batchnorm_backward(dout, cache):
    x_hat, gamma, std = cache
    N = dout.shape[0]
    dx_hat = dout * gamma
    dx = (dx_hat - dx_hat.mean(axis=0) - x_hat * (dx_hat * x_hat).sum(axis=0) / N) / std
    return dx, (dout * x_hat).sum(axis=0), dout.sum(axis=0)


# ---- layernorm
def layernorm_forward(x, gamma, beta, ln_param):
    std = np.sqrt(x.var(axis=1, keepdims=True) + ln_param.get("eps", 1e-5))
    x_hat = (x - x.mean(axis=1, keepdims=True)) / std
    return gamma * x_hat + beta, (x_hat, gamma, std)


def layernorm_backward(dout, cache):
    x_hat, gamma, std = cache
    d = dout * gamma
    dx = (d - d.mean(axis=1, keepdims=True) - x_hat * (d * x_hat).mean(axis=1, keepdims=True)) / std
    return dx, np.sum(dout * x_hat, axis=0), np.sum(dout, axis=0)


# ---- dropout
def dropout_forward(x, dropout_param):
    np.random.seed(dropout_param["seed"])
    mask = (np.random.rand(*x.shape) < dropout_param["p"]) / dropout_param["p"]
    return x * mask, mask


def dropout_backward(dout, cache):
    return dout * cache


# ---- conv
def conv_forward(x, w, b, conv_param):
    s, p = conv_param["stride"], conv_param["pad"]
    xp = np.pad(x, ((0, 0), (0, 0), (p, p), (p, p)))
    H, W = (xp.shape[2] - w.shape[2]) // s + 1, (xp.shape[3] - w.shape[3]) // s + 1
    out = np.zeros((x.shape[0], w.shape[0], H, W))
    for i in range(H):
        for j in range(W):
            part = xp[:, :, i * s:i * s + w.shape[2], j * s:j * s + w.shape[3]]
            out[:, :, i, j] = np.einsum("nchw,fchw->nf", part, w) + b
    return out, (xp, w, s, p)


def conv_backward(dout, cache):
    xp, w, s, p = cache
    dxp, dw = np.zeros_like(xp), np.zeros_like(w)
    for i in range(dout.shape[2]):
        for j in range(dout.shape[3]):
            at = np.s_[:, :, i * s:i * s + w.shape[2], j * s:j * s + w.shape[3]]
            dw += np.einsum("nchw,nf->fchw", xp[at], dout[:, :, i, j])
            dxp[at] += np.einsum("fchw,nf->nchw", w, dout[:, :, i, j])
    return dxp[:, :, p:dxp.shape[2] - p, p:dxp.shape[3] - p], dw, dout.sum(axis=(0, 2, 3))


# ---- max_pool
def max_pool_forward(x, pool_param):
    n = pool_param["size"]
    parts = x.reshape(x.shape[0], x.shape[1], x.shape[2] // n, n, x.shape[3] // n, n)
    out = parts.max(axis=(3, 5))
    return out, (parts, out)


def max_pool_backward(dout, cache):
    parts, out = cache
    mask = parts == out[:, :, :, None, :, None]
    d = mask * dout[:, :, :, None, :, None] / mask.sum(axis=(3, 5), keepdims=True)
    return d.reshape(d.shape[0], d.shape[1], d.shape[2] * d.shape[3], -1)


# ---- softmax_loss
def softmax_loss(x, y):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    p, rows = e / e.sum(axis=1, keepdims=True), np.arange(x.shape[0])
    loss = -np.log(p[rows, y]).mean()
    p[rows, y] -= 1
    return loss, p / x.shape[0]


# ---- svm_loss
def svm_loss(x, y):
    rows = np.arange(x.shape[0])
    margins = np.maximum(0, x - x[rows, y][:, None] + 1.0)
    margins[rows, y] = 0
    dx = (margins > 0).astype(float)
    dx[rows, y] -= dx.sum(axis=1)
    return margins.sum() / x.shape[0], dx / x.shape[0]


# ---- rnn_step
def rnn_step_forward(x, prev_h, Wx, Wh, b):
    h = np.tanh(x @ Wx + prev_h @ Wh + b)
    return h, (x, prev_h, Wx, Wh, h)


def rnn_step_backward(dnext_h, cache):
    x, prev_h, Wx, Wh, h = cache
    da = dnext_h * (1 - h * h)
    return da @ Wx.T, da @ Wh.T, x.T @ da, prev_h.T @ da, da.sum(axis=0)


# ---- lstm_step
def lstm_step_forward(x, prev_h, prev_c, Wx, Wh, b):
    a = x @ Wx + prev_h @ Wh + b
    H = prev_h.shape[1]
    i, f, o = (1 / (1 + np.exp(-a[:, k * H:(k + 1) * H])) for k in range(3))
    g = np.tanh(a[:, 3 * H:])
    next_c = f * prev_c + i * g
    t = np.tanh(next_c)
    return o * t, next_c, (x, prev_h, prev_c, Wx, Wh, i, f, o, g, t)


def lstm_step_backward(dnext_h, dnext_c, cache):
    x, prev_h, prev_c, Wx, Wh, i, f, o, g, t = cache
    dc = dnext_c + dnext_h * o * (1 - t ** 2)
    da = np.hstack([dc * g * i * (1 - i), dc * prev_c * f * (1 - f), dnext_h * t * o * (1 - o), dc * i * (1 - g ** 2)])
    return da @ Wx.T, da @ Wh.T, dc * f, x.T @ da, prev_h.T @ da, da.sum(axis=0)


# ---- word_embedding
def word_embedding_forward(x, W):
    return W[x], (x, W.shape)


def word_embedding_backward(dout, cache):
    x, shape = cache
    dW = np.zeros(shape)
    np.add.at(dW, x, dout)
    return dW


# ---- attention
def attention_forward(q, k, v):
    s = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return p @ v, (q, k, v, p)


def attention_backward(dout, cache):
    q, k, v, p = cache
    dp = dout @ v.transpose(0, 2, 1)
    ds = p * (dp - (dp * p).sum(axis=-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return ds @ k, ds.transpose(0, 2, 1) @ q, p.transpose(0, 2, 1) @ dout


# ---- rnn
def rnn_forward(x, h0, Wx, Wh, b):
    hs = [h0]
    for t in range(x.shape[1]):
        hs.append(np.tanh(x[:, t] @ Wx + hs[-1] @ Wh + b))
    return np.stack(hs[1:], axis=1), (x, hs, Wx, Wh)


def rnn_backward(dh, cache):
    x, hs, Wx, Wh = cache
    dx, dWx, dWh, db, carry = np.zeros_like(x), np.zeros_like(Wx), np.zeros_like(Wh), 0, 0
    for t in reversed(range(x.shape[1])):
        da = (dh[:, t] + carry) * (1 - hs[t + 1] ** 2)
        dx[:, t], carry = da @ Wx.T, da @ Wh.T
        dWx += x[:, t].T @ da
        dWh += hs[t].T @ da
        db = db + da.sum(axis=0)
    return dx, carry, dWx, dWh, db


# ---- std
def std_forward(x):
    d = x - x.mean(axis=1, keepdims=True)
    s = np.sqrt((d**2).mean(axis=1, keepdims=True))
    return s, (d, s)


def std_backward(dout, cache):
    d, s = cache
    return dout * d / (d.shape[1] * s)


# ---- weight_norm
def weight_norm_forward(x, v, g):
    n = np.linalg.norm(v, axis=0)
    W = v * (g / n)
    return x @ W, (x, v, g, n, W)


def weight_norm_backward(dout, cache):
    x, v, g, n, W = cache
    dW = x.T @ dout
    dg = (dW * v).sum(axis=0) / n
    return dout @ W.T, g / n * dW - g * dg / n**2 * v, dg


# ---- spatial_groupnorm
def spatial_groupnorm_forward(x, gamma, beta, G):
    N, C, H, W = x.shape
    g = x.reshape(N, G, -1)
    std = np.sqrt(g.var(axis=2, keepdims=True) + 1e-5)
    x_hat = ((g - g.mean(axis=2, keepdims=True)) / std).reshape(x.shape)
    return gamma[None, :, None, None] * x_hat + beta[None, :, None, None], (x_hat, gamma, std, G)


def spatial_groupnorm_backward(dout, cache):
    x_hat, gamma, std, G = cache
    d, h = (v.reshape(len(dout), G, -1) for v in (dout * gamma[None, :, None, None], x_hat))
    dx = (d - d.mean(axis=2, keepdims=True) - h * (d * h).mean(axis=2, keepdims=True)) / std
    return dx.reshape(dout.shape), (dout * x_hat).sum(axis=(0, 2, 3)), dout.sum(axis=(0, 2, 3))
