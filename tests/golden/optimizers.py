"""Five steps of PyTorch's optimizers on fixed gradients, clipping by global norm, and learning rate schedules
at a list of steps. CASE.p0 is the parameter, CASE.gI the gradient of step I and CASE.pI the parameter after
it."""
import math

import numpy as np
import torch

from common import normal, stream

STEPS, LR = 5, 1e-2
BETA1, BETA2, EPS = 0.9, 0.98, 1e-9
MOMENTUM = 0.9
DECAY = {"adamw": 0.1, "adam": 0.0, "sgd": 0.0, "sgd_decay": 0.1}

NOAM_STEPS = [1, 2, 100, 2000, 3999, 4000, 4001, 10000, 100000]
LINEAR_STEPS = [1, 2, 50, 100, 101, 600, 601, 602, 1300, 1999, 2000, 2001]
COSINE_STEPS = [0, 1, 50, 99, 100, 101, 500, 1050, 1500, 1999]

ADAM = f"lr {LR}, betas {BETA1} {BETA2}, eps {EPS} added to the root"
SGD = f"lr {LR}, momentum {MOMENTUM}, no dampening"
METADATA = {
    "adamw": f"{ADAM}, decoupled weight decay {DECAY['adamw']}",
    "adam": f"{ADAM}, no weight decay",
    "sgd": SGD,
    "sgd_decay": f"{SGD}, weight decay {DECAY['sgd_decay']} added to the gradient",
    "clip": "g1 and g2 clipped together to norm 1 are c1 and c2: times 1 / (norm + 1e-6), as PyTorch has it",
    "clip_small": "the same where the norm is below 1: c1 and c2 are g1 and g2",
    "muon": "of a wide, a high and a square matrix; lr 1e-2, momentum 0.95, Nesterov, five Newton-Schulz steps, "
    "no weight decay, update times sqrt(max(1, rows/columns))",
    "linear": "2000 steps from 1: 1e-3 step/101 for 100 steps, 1e-3 to step 600, then linearly down to 1e-3/1400 at step 2000",
    "noam": "d_model^-0.5 min(step^-0.5, step 4000^-1.5), d_model 512, steps from 1",
    "cosine": "2000 steps from 0: 1e-3 (step+1)/101 for 100 steps, then by cosine from 1e-3 towards 1e-4",
}


def by_torch(case, p, gradients):
    p = torch.nn.Parameter(torch.tensor(p))
    if case.startswith("adam"):
        optimizer = torch.optim.AdamW([p], LR, (BETA1, BETA2), EPS, DECAY[case])
    else:
        optimizer = torch.optim.SGD([p], LR, MOMENTUM, weight_decay=DECAY[case])
    for g in gradients:
        p.grad = torch.tensor(g)
        optimizer.step()
        yield p.detach().numpy().copy()


def clipped(out, case, g1, g2):
    parameters = [torch.nn.Parameter(torch.zeros(g.shape, dtype=torch.float64)) for g in (g1, g2)]
    for p, g in zip(parameters, (g1, g2)):
        p.grad = torch.tensor(g)
    norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0).numpy()
    out[f"{case}.norm"] = norm
    for i, (p, g) in enumerate(zip(parameters, (g1, g2)), 1):
        out[f"{case}.g{i}"], out[f"{case}.c{i}"] = g, p.grad.numpy()


def orthogonal(u):
    """Five Newton-Schulz steps from u, as torch.optim.Muon makes them in bfloat16."""
    x = u / (torch.linalg.norm(u) + 1e-7)
    x = x.T if u.shape[0] > u.shape[1] else x
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.T if u.shape[0] > u.shape[1] else x


def muon(out, case, shape):
    rng = stream(case)
    p0, momentum = normal(rng, *shape), torch.zeros(shape, dtype=torch.float64)
    judged = torch.nn.Parameter(torch.tensor(p0))
    judge = torch.optim.Muon([judged], LR, 0, 0.95, nesterov=True, adjust_lr_fn="original")
    p = torch.tensor(p0)
    out[f"{case}.p0"] = p0
    for step in range(1, STEPS + 1):
        out[f"{case}.g{step}"] = normal(rng, *shape)
        judged.grad = g = torch.tensor(out[f"{case}.g{step}"])
        judge.step()
        momentum = 0.95 * momentum + g
        p = p - LR * max(1, shape[0] / shape[1]) ** 0.5 * orthogonal(g + 0.95 * momentum)
        out[f"{case}.p{step}"] = p.numpy().copy()
        if not torch.allclose(judged.detach(), p, rtol=0, atol=LR / 20):
            raise SystemExit(f"{case}: torch.optim.Muon is elsewhere at step {step}")


def linear(step, steps=2000, warmup=100, decay=0.7, high=1e-3):
    return high * min(1, step / (warmup + 1), (steps + 1 - step) / (decay * steps))


def noam(step, d_model=512, warmup=4000):
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def cosine(step, steps=2000, warmup=100, high=1e-3, low=1e-4):
    if step < warmup:
        return high * (step + 1) / (warmup + 1)
    return low + 0.5 * (high - low) * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))


def check_cosine():
    """PyTorch's schedulers, which go from each step to the next, meet cosine() at every step."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 1e-3)
    warm_up = torch.optim.lr_scheduler.LinearLR(optimizer, 1 / 101, 1, 100)
    anneal = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1900, 1e-4)
    schedule = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm_up, anneal], [100])
    for step in range(2000):
        if not math.isclose(schedule.get_last_lr()[0], cosine(step), rel_tol=1e-12):
            raise SystemExit(f"cosine at step {step}: found {schedule.get_last_lr()[0]}, need {cosine(step)}")
        optimizer.step()
        schedule.step()


def optimizers():
    out = {}
    for case in DECAY:
        rng = stream(case)
        p0 = normal(rng, 7)
        gradients = [normal(rng, 7) for _ in range(STEPS)]
        for g in gradients:
            g[0] = 0  # never a gradient: only weight decay moves it
            g[1] *= 2.0**-30  # as small as eps, which then counts
        out[f"{case}.p0"] = p0
        for step, (g, p) in enumerate(zip(gradients, by_torch(case, p0, gradients)), 1):
            out[f"{case}.g{step}"], out[f"{case}.p{step}"] = g, p
    rng = stream("clip")
    clipped(out, "clip", normal(rng, 2, 3), normal(rng, 4))
    clipped(out, "clip_small", normal(rng, 2, 3) / 16, normal(rng, 4) / 16)
    for case, shape in ("muon_wide", (4, 9)), ("muon_high", (9, 4)), ("muon_square", (6, 6)):
        muon(out, case, shape)
    out["linear.step"] = np.array(LINEAR_STEPS)
    out["linear.lr"] = np.array([max(0, linear(s)) for s in LINEAR_STEPS])
    out["noam.step"], out["noam.lr"] = np.array(NOAM_STEPS), np.array([noam(s) for s in NOAM_STEPS])
    check_cosine()
    out["cosine.step"], out["cosine.lr"] = np.array(COSINE_STEPS), np.array([cosine(s) for s in COSINE_STEPS])
    return out
