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
    out["noam.step"], out["noam.lr"] = np.array(NOAM_STEPS), np.array([noam(s) for s in NOAM_STEPS])
    check_cosine()
    out["cosine.step"], out["cosine.lr"] = np.array(COSINE_STEPS), np.array([cosine(s) for s in COSINE_STEPS])
    return out
