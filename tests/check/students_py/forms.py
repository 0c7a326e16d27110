"""What people pass to check: (name, verdict, words of the reason, check's arguments). Right and wrong ones of each form."""
import random
import numpy as np

LISTED = []


def listed(verdict, says, *functions, **given):
    LISTED.append((f"form{len(LISTED)}", verdict, says, functions, given))


# ---- Random numbers: backward may not draw those of forward anew

def masked(x):
    return x * (np.random.rand(*x.shape) > 0.5), 0


class Dropout:
    def __init__(self, again=True):
        self.again = again

    def forward(self, x):
        self.mask = np.random.rand(*x.shape) > 0.5
        return x * self.mask

    def backward(self, d):
        return d * (np.random.rand(*d.shape) > 0.5 if self.again else self.mask)


rng, state = np.random.default_rng(3), np.random.RandomState(4)


def drawn_by(draw):
    def forward(x):
        mask = draw(x.shape) > 0.5
        return x * mask, mask
    return forward


listed("FAIL", "random", masked, lambda d, c: d * (np.random.rand(*d.shape) > 0.5), x=(2, 4))
listed("FAIL", "random", lambda x: (x * np.random.randn(*x.shape), 0), lambda d, c: d * np.random.randn(*d.shape), x=(2, 4))
listed("FAIL", "random", lambda x: (x[np.random.permutation(len(x))], 0),
       lambda d, c: d[np.argsort(np.random.permutation(len(d)))], x=(7, 2))
listed("FAIL", "random", Dropout, x=(2, 4))
listed("FAIL", "random", lambda x: (x * random.random(), 0), lambda d, c: d * random.random(), x=(2, 4))
listed("FAIL", "random", drawn_by(rng.random), lambda d, mask: d * (rng.random(d.shape) > 0.5), x=(2, 4))
listed("PASS", "", Dropout(False), x=(2, 4))
listed("PASS", "", drawn_by(rng.random), lambda d, mask: d * mask, x=(2, 4))
listed("PASS", "", drawn_by(lambda s: state.rand(*s)), lambda d, mask: d * mask, x=(2, 4))
listed("PASS", "", drawn_by(lambda s: np.random.default_rng().random(s)), lambda d, mask: d * mask, x=(2, 4))
listed("PASS", "", drawn_by(lambda s: np.random.RandomState().rand(*s)), lambda d, mask: d * mask, x=(2, 4))


# ---- A layer keeps its gradients; what forward saved stays

class Keeps:
    def __init__(self):
        self.w, self.dw, self.stack, self.memo = np.arange(12.0).reshape(3, 4) / 7, np.zeros((3, 4)), [], {}

    def forward(self, x):
        self.stack.append(x)
        return x @ self.w

    def backward(self, d):
        x = self.stack.pop()
        self.dw += x.T @ d
        self.d, self.memo[len(self.memo)] = d, x
        return d @ self.w.T


class Sums:
    def forward(self, x, w):
        self.x, self.w, self.dw = x, w, np.zeros_like(w)
        return x @ w

    def backward(self, d):
        self.dw += self.x.T @ d
        return d @ self.w.T, self.dw


class Damages:
    def forward(self, x):
        self.y = np.tanh(x)
        return self.y

    def backward(self, d):
        self.y *= self.y
        return d * (1 - self.y)


def changes_its_input(x):
    x += 1
    return x * x, x


listed("PASS", "", Keeps, x=(2, 3))
listed("PASS", "", Keeps(), x=(2, 3))
both = Keeps()
listed("PASS", "", both.forward, both.backward, x=(2, 3))
listed("PASS", "", Sums(), x=(2, 3), w=(3, 4))
listed("FAIL", "changed", Damages, x=(2, 3))
listed("FAIL", "changed", changes_its_input, lambda d, c: 2 * c * d, x=(2, 3))


# ---- Conventions

class Between:
    @staticmethod
    def forward(ctx, x, k, w):
        ctx.saved = x, k, w
        return k * x * w

    @staticmethod
    def backward(ctx, d):
        x, k, w = ctx.saved
        return d * k * w if ctx.needs_input_grad[0] else None, None, d * k * x if ctx.needs_input_grad[2] else None


class BetweenWrong(Between):
    @staticmethod
    def backward(ctx, d):
        return d, None, d


class TwoOutputs:
    def forward(self, a, b):
        self.a, self.b = a, b
        return a + b, a * b

    def backward(self, d1, d2):
        return d1 + d2 * self.b, d1 + d2 * self.a


class WithCache:
    def forward(self, x):
        return x * x, x

    def backward(self, d, cache):
        return 2 * cache * d


listed("PASS", "", TwoOutputs, a=(3,), b=(3,))
listed("PASS", "", WithCache(), x=(3,))
mask = np.array([1.0, 0, 1])
listed("PASS", "", lambda x, w: x * w, lambda d, *inputs: (d * inputs[1], d * inputs[0]), x=(3,), w=(3,))
listed("FAIL", "", lambda x, w: x * w, lambda d, *inputs: (d * inputs[0], d * inputs[1]), x=(3,), w=(3,))
listed("PASS", "", lambda x, w: (x * w, x + w), lambda a, b, x, w: (a * w + b, a * x + b), x=(3,), w=(3,))
listed("FAIL", "", lambda x, w: (x * w, x + w), lambda a, b, x, w: (a * w + b, a * x - b), x=(3,), w=(3,))
listed("PASS", "", Between, x=(3,), k=2, w=(3,))
listed("FAIL", "", BetweenWrong, x=(3,), k=2, w=(3,))
listed("PASS", "", lambda x, m: (x * m, m), lambda d, m: (d * m, None), x=(3,), m=mask)
listed("FAIL", "no gradient of w;", lambda x, w: (x * w, w), lambda d, w: (d * w, None), x=(3,), w=(3,))
listed("PASS", "", lambda x, w: (x * w, w), lambda d, w: (d * w, None), x=(3,), w=(3,), constant="w")
listed("PASS", "", lambda a, b: a / b, lambda d, a, b: (d / b, -d * a / b**2), b=np.array([1.0, 2]), a=(2,))
listed("PASS", "", lambda x, low, high: (np.clip(x, low, high), (x > low) & (x < high)), lambda d, c: d * c, x=(3,), low=-1, high=1)

# ---- Values

listed("PASS", "", lambda x: (np.log(x), x), lambda d, x: d / x, x=(3,), low=0.1, high=2)
listed("PASS", "", lambda x, y: (np.arccosh(x) * y, (x, y)), lambda d, c: (d * c[1] / np.sqrt(c[0]**2 - 1), d * np.arccosh(c[0])),
       x=(3,), y=(3,), low={"x": 1.5})
listed("PASS", "", lambda x: (x * 0, x), lambda d, x: d * 0, x=(3,), flat=True)
listed("INCONCLUSIVE", "every gradient", lambda x: (x * 0, x), lambda d, x: d * 0, x=(3,))
listed("PASS", "", lambda x: x * x, lambda x: 2 * x, x=1.5)
listed("PASS", "", lambda x: x * x, lambda x: 2 * x, x=np.array(1.5))
listed("FAIL", "", lambda x: x * x, lambda x: 3 * x, x=1.5)
listed("PASS", "", lambda x: x * x, lambda x: 2 * x, x=(np.int64(3), np.int64(2)))
listed("PASS", "", lambda x: ((x * x).sum(), 2 * x), x=(3,))
listed("FAIL", "complex numbers", lambda x: (x * 2, 0), lambda d, c: 2 * d + 5j, x=(3,))
listed("FAIL", "complex numbers", lambda x: (x * 2j, 0), lambda d, c: 2 * d, x=(3,))
listed("FAIL", "numpy.matrix", lambda x: (np.matrix(x) * 2, 0), lambda d, c: 2 * d, x=(3, 2))
listed("FAIL", "no gradient beside", lambda x: np.tanh(x), x=(3,))


# ---- A size among the constants

def mean(x, n=4):
    return x.sum() / n


listed("INCONCLUSIVE", "right at your sizes; at size 1", mean, lambda d, x: d * np.ones(x.shape) / len(x), x=(4,))
listed("INCONCLUSIVE", "is a size a constant?", lambda x: x.mean(), lambda d, x: d * np.ones(x.shape) / 4, x=(4,))
listed("FAIL", "", lambda x: x.mean(), lambda d, x: d * np.ones(x.shape) / 5, x=(4,))
