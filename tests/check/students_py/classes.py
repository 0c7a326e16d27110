"""Functions as classes: minitorch's (ctx first), layers that keep what they need (self), needle's compute and gradient; and
scalar functions with their gradients."""
import numpy as np

positive = np.array([[0.3, 1.7, 2.2], [0.9, 0.5, 1.1]])
cases = {
    "Mul": [dict(a=(2, 3), b=(2, 3))],
    "Neg": [dict(a=(2, 3))],
    "Inv": [dict(a=positive)],
    "Log": [dict(a=positive)],
    "Exp": [dict(a=(2, 3))],
    "Sigmoid": [dict(a=(2, 3))],
    "MatMul": [dict(a=(2, 3), b=(3, 2))],
    "SumAll": [dict(a=(2, 3))],
    "Permute": [dict(a=(2, 3, 4))],
    "Tanh": [dict(x=(2, 3))],
    "LeakyReLU": [dict(x=(3, 4))],
    "Linear": [dict(x=(2, 3), w=(3, 2), b=(2,))],
    "Softmax": [dict(x=(3, 4))],
    "LayerNorm": [dict(x=(3, 5))],
    "Gelu": [dict(x=(2, 5))],
    "RMSNorm": [dict(x=(2, 4), g=(4,))],
    "SwiGLU": [dict(x=(2, 2), w=(2, 3), v=(2, 3))],
    "EWiseDiv": [dict(a=(2, 3), b=positive)],
    "PowerScalar": [dict(a=(2, 3))],
    "LogSumExp": [dict(z=(3, 4))],
    "BroadcastTo": [dict(a=(1, 3))],
    "Summation": [dict(a=(2, 3, 4))],
    "cubes": [dict(x=(4,))],
    "logistic": [dict(w=(3,), X=np.array([[1.0, 2, -1], [0.5, -1, 2]]), t=np.array([0, 1]))],
    "quadratic": [dict(x=(3,))],
    "huber": [dict(r=(5,))],
}


# ---- Mul
class Mul:
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, d):
        a, b = ctx.saved_values
        return b * d, a * d


# ---- Neg
class Neg:
    @staticmethod
    def forward(ctx, a):
        return -a

    @staticmethod
    def backward(ctx, d):
        return -d


# ---- Inv
class Inv:
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return 1 / a

    @staticmethod
    def backward(ctx, d):
        (a,) = ctx.saved_values
        return -d / a ** 2


# ---- Log
class Log:
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return np.log(a)

    @staticmethod
    def backward(ctx, d):
        (a,) = ctx.saved_tensors
        return d / a


# ---- Exp
class Exp:
    @staticmethod
    def forward(ctx, a):
        ctx.out = np.exp(a)
        return ctx.out

    @staticmethod
    def backward(ctx, d):
        return d * ctx.out


# ---- Sigmoid
class Sigmoid:
    @staticmethod
    def forward(ctx, a):
        s = 1 / (1 + np.exp(-a))
        ctx.save_for_backward(s)
        return s

    @staticmethod
    def backward(ctx, d):
        (s,) = ctx.saved_values
        return d * s * (1 - s)


# ---- MatMul
class MatMul:
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, d):
        a, b = ctx.saved_values
        return d @ b.T, a.T @ d


# ---- SumAll
class SumAll:
    @staticmethod
    def forward(ctx, a):
        ctx.shape = a.shape
        return a.sum()

    @staticmethod
    def backward(ctx, d):
        return np.full(ctx.shape, d)


# ---- Permute
class Permute:
    @staticmethod
    def forward(ctx, a):
        return a.transpose(2, 0, 1)

    @staticmethod
    def backward(ctx, d):
        return d.transpose(1, 2, 0)


# ---- Tanh
class Tanh:
    def forward(self, x):
        self.y = np.tanh(x)
        return self.y

    def backward(self, dout):
        return dout * (1 - self.y ** 2)


# ---- LeakyReLU
class LeakyReLU:
    def __init__(self, slope=0.1):
        self.slope = slope

    def forward(self, x):
        self.x = x
        return np.where(x > 0, x, self.slope * x)

    def backward(self, dout):
        return np.where(self.x > 0, dout, self.slope * dout)


# ---- Linear
class Linear:
    def forward(self, x, w, b):
        self.x, self.w = x, w
        return x @ w + b

    def backward(self, dout):
        return {"x": dout @ self.w.T, "w": self.x.T @ dout, "b": dout.sum(axis=0)}


# ---- Softmax
class Softmax:
    def forward(self, x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        self.p = e / e.sum(axis=-1, keepdims=True)
        return self.p

    def backward(self, dout):
        return self.p * (dout - (dout * self.p).sum(axis=-1, keepdims=True))


# ---- LayerNorm
class LayerNorm:
    def forward(self, x):
        self.std = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
        self.y = (x - x.mean(axis=-1, keepdims=True)) / self.std
        return self.y

    def backward(self, dout):
        return (dout - dout.mean(axis=-1, keepdims=True) - self.y * (dout * self.y).mean(axis=-1, keepdims=True)) / self.std


# ---- Gelu
class Gelu:
    def forward(self, x):
        self.x = x
        self.t = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3))
        return 0.5 * x * (1 + self.t)

    def backward(self, dout):
        x, t = self.x, self.t
        du = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x ** 2)
        return dout * (0.5 * (1 + t) + 0.5 * x * (1 - t ** 2) * du)


# ---- RMSNorm
class RMSNorm:
    def forward(self, x, g):
        self.x, self.g, self.r = x, g, 1 / np.sqrt((x ** 2).mean(axis=-1, keepdims=True) + 1e-6)
        return x * self.r * g

    def backward(self, dout):
        d = dout * self.g
        dx = self.r * (d - self.x * self.r ** 2 * (d * self.x).mean(axis=-1, keepdims=True))
        return dx, (dout * self.x * self.r).sum(axis=0)


# ---- SwiGLU
class SwiGLU:
    def forward(self, x, w, v):
        self.x, self.w, self.v = x, w, v
        self.a, self.b = x @ w, x @ v
        self.s = 1 / (1 + np.exp(-self.a))
        return self.a * self.s * self.b

    def backward(self, dout):
        da = dout * self.b * self.s * (1 + self.a * (1 - self.s))
        db = dout * self.a * self.s
        return da @ self.w.T + db @ self.v.T, self.x.T @ da, self.x.T @ db


# ---- EWiseDiv
class EWiseDiv:
    def compute(self, a, b):
        return a / b

    def gradient(self, out_grad, node):
        a, b = node.inputs
        return out_grad / b, -out_grad * a / b ** 2


# ---- PowerScalar
class PowerScalar:
    def __init__(self, scalar=3):
        self.scalar = scalar

    def compute(self, a):
        return a ** self.scalar

    def gradient(self, out_grad, node):
        return out_grad * self.scalar * node.inputs[0] ** (self.scalar - 1)


# ---- LogSumExp
class LogSumExp:
    def compute(self, z):
        m = z.max(axis=1, keepdims=True)
        return np.log(np.exp(z - m).sum(axis=1)) + m[:, 0]

    def gradient(self, out_grad, node):
        z = node.inputs[0]
        e = np.exp(z - z.max(axis=1, keepdims=True))
        return out_grad[:, None] * e / e.sum(axis=1, keepdims=True)


# ---- BroadcastTo
class BroadcastTo:
    def compute(self, a):
        return np.broadcast_to(a, (4, 3))

    def gradient(self, out_grad, node):
        return out_grad.sum(axis=0, keepdims=True)


# ---- Summation
class Summation:
    def compute(self, a):
        return a.sum(axis=1)

    def gradient(self, out_grad, node):
        return np.repeat(out_grad[:, None, :], node.inputs[0].shape[1], axis=1)


# ---- cubes
def cubes(x):
    return float((x ** 3).sum())


def cubes_gradient(x):
    return 3 * x ** 2


# ---- logistic
def logistic(w, X, t):
    z = X @ w
    return np.mean(np.logaddexp(0, z) - t * z)


def logistic_gradient(w, X, t):
    p = 1 / (1 + np.exp(-X @ w))
    return X.T @ (p - t) / len(t), np.outer(p - t, w) / len(t)


# ---- quadratic
def quadratic(x):
    A = np.array([[2.0, 1, 0], [1, 3, 1], [0, 1, 4]])
    return x @ A @ x, 2 * A @ x


# ---- huber
def huber(r):
    a = np.abs(r)
    return np.where(a < 1, r ** 2 / 2, a - 0.5).sum()


def huber_gradient(r):
    return np.clip(r, -1, 1)
