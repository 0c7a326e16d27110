"""One training step of ./bench's modern cases in PyTorch, beside ours: pre-norm, rotary positions, normalised queries and
keys, GELU, tied output; forward, loss, backward, clipping to norm 1, Muon for the layers' matrices and AdamW for the rest.

    python3 tests/interop/modern_step.py [--threads 2] [--seconds 4] [--rounds 3] [--eager] [CASE ...]

Prints the median milliseconds a step of both, which take turns, and PyTorch's over ours. Wants torch and ./bench."""
import argparse
import json
import os
import statistics
import subprocess
import time

import torch
from torch import nn
from torch.nn import functional as F

BENCH = os.path.join(os.environ.get("BUILD", "build"), "float", "bench")
# layers, heads, d_model, d_ff, vocabulary, batch, length: src/tools/bench/bench_step.c
CASES = {"modern": (4, 4, 128, 512, 65, 16, 64), "modern-baby": (6, 6, 384, 1536, 65, 8, 256)}


class Layer(nn.Module):
    def __init__(self, heads, d, d_ff):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out, self.wide, self.narrow = (nn.Linear(*s) for s in ((d, 3 * d), (d, d), (d, d_ff), (d_ff, d)))

    def forward(self, x, cosine, sine):
        def turned(y):
            a, b = F.rms_norm(y, y.shape[-1:], eps=1e-5).chunk(2, -1)
            return torch.cat([a * cosine - b * sine, a * sine + b * cosine], -1)

        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.narrow(F.gelu(self.wide(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, layers, heads, d, d_ff, vocabulary, length):
        super().__init__()
        self.embedding, self.norm = nn.Embedding(vocabulary, d), nn.LayerNorm(d)
        self.layers = nn.ModuleList(Layer(heads, d, d_ff) for _ in range(layers))
        m = d // heads // 2
        angle = torch.arange(length)[:, None] / 10000 ** (torch.arange(m) / m)
        self.register_buffer("cosine", angle.cos())
        self.register_buffer("sine", angle.sin())

    def forward(self, ids, targets):
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x, self.cosine, self.sine)
        return F.cross_entropy(F.linear(self.norm(x), self.embedding.weight).flatten(0, 1), targets.flatten())


def orthogonal(u):
    x = u / (u.norm() + 1e-7)
    x = x.T if u.shape[0] > u.shape[1] else x
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.T if u.shape[0] > u.shape[1] else x


class Step:
    def __init__(self, case, compiled):
        *sizes, batch, length = CASES[case]
        torch.manual_seed(0)
        self.model = Model(*sizes, length)
        self.run = torch.compile(self.model) if compiled else self.model
        self.matrices = [p for p in self.model.layers.parameters() if p.ndim == 2]
        self.momentum = [torch.zeros_like(p) for p in self.matrices]
        rest = [p for p in self.model.parameters() if all(p is not q for q in self.matrices)]
        self.adamw = torch.optim.AdamW(rest, lr=1e-4, fused=True)
        self.ids = torch.randint(sizes[-1], (2, batch, length))

    def __call__(self):
        self.model.zero_grad(set_to_none=True)
        self.run(*self.ids).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.adamw.step()
        with torch.no_grad():
            for p, m in zip(self.matrices, self.momentum):
                m.mul_(0.95).add_(p.grad)
                scale = max(1, p.shape[0] / p.shape[1]) ** 0.5
                p.mul_(1 - 1e-6).add_(orthogonal(p.grad + 0.95 * m), alpha=-1e-4 * scale)

    def milliseconds(self, seconds):
        times, end = [], time.perf_counter() + seconds
        while time.perf_counter() < end or len(times) < 5:
            start = time.perf_counter()
            self()
            times.append(time.perf_counter() - start)
        return 1e3 * statistics.median(times)


def ours(case, threads, seconds):
    done = subprocess.run([BENCH, "step", case, "--threads", str(threads), "--seconds", str(seconds), "--json"],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--eager", action="store_true", help="without torch.compile")
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    for case in a.cases:
        step, pairs = Step(case, not a.eager), []
        step.milliseconds(0)
        for _ in range(a.rounds):
            theirs, mine = step.milliseconds(a.seconds), ours(case, a.threads, a.seconds)
            pairs.append((theirs, mine["ms_per_step"]))
        count = sum(p.numel() for p in step.model.parameters())
        assert count == mine["params"], (count, mine["params"])
        theirs, mine = (statistics.median(column) for column in zip(*pairs))
        ratio = statistics.median(t / m for t, m in pairs)
        print(f"{case}: PyTorch {theirs:.2f} ms a step, ours {mine:.2f}, {ratio:.2f} times as long", flush=True)


if __name__ == "__main__":
    main()
