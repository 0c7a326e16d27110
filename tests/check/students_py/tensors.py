"""Functions of torch and jax, as far as they are installed: right and wrong ones, in the form of forms.py."""
import importlib.util
from forms import listed

if importlib.util.find_spec("torch"):
    import torch

    class Squares(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, k, m):
            ctx.save_for_backward(x, m)
            ctx.k = k
            return k * x * x * m

        @staticmethod
        def backward(ctx, d):
            x, m = ctx.saved_tensors
            return 2 * ctx.k * x * d * m, None, None

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(x, w):
            return x @ w

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, d):
            x, w = ctx.saved_tensors
            return d @ w.T, x.T @ d

    class Doubled(Product):
        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, d):
            x, w = ctx.saved_tensors
            return d @ w.T, x.T @ d * 2

    class Layer(torch.nn.Module):
        def __init__(self, product):
            super().__init__()
            self.product, self.w = product, torch.nn.Parameter(torch.ones(4, 3))

        def forward(self, x):
            return self.product.apply(x, self.w)

    listed("PASS", "", Squares, x=(3,), k=3, m=torch.tensor([1.0, 0, 1]))
    listed("PASS", "", Product, x=(3, 2), w=(2, 4))
    listed("FAIL", "factor 2", Doubled, x=(3, 2), w=(2, 4))
    listed("PASS", "", torch.nn.Linear(4, 3), x=(2, 4))
    listed("PASS", "", torch.nn.Linear(4, 3), x=torch.ones(2, 4))  # float, as a Module is not
    listed("PASS", "", Layer(Product), x=(2, 4))
    listed("FAIL", "factor 2", Layer(Doubled), x=(2, 4))
    listed("PASS", "", lambda x: torch.tanh(x).sum(), x=(3, 2))
    listed("PASS", "", lambda x: (x**2).sum(), x=torch.ones(3, dtype=torch.float64))
    listed("FAIL", "factor 0.5", lambda x: (x * x.detach()).sum(), x=(3,))
    listed("PASS", "", torch.tanh, lambda d, x: d * (1 - torch.tanh(x)**2), x=(3,))

if importlib.util.find_spec("jax"):
    import jax
    import jax.numpy as jnp

    def product(order):
        f = jax.custom_vjp(lambda x, w: x * w)
        f.defvjp(lambda x, w: (x * w, (x, w)), lambda saved, d: (d * saved[order[0]], d * saved[order[1]]))
        return f

    def energy(x):
        return jnp.sum(jnp.tanh(x) * x)

    listed("PASS", "", product((1, 0)), x=(3,), w=(3,))
    listed("FAIL", "", product((1, 1)), x=(3,), w=(3,))
    listed("PASS", "", energy, jax.grad(energy), x=(3,))
    listed("FAIL", "factor 2", energy, lambda x: 2 * jax.grad(energy)(x), x=(3,))
    listed("PASS", "", jax.jit(energy), x=(3,))
