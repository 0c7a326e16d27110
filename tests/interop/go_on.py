"""Trains a run further in PyTorch: reads the model that ./train left (tapeformer_torch.py), trains it, and writes a model that ./generate reads and a checkpoint that
./train --resume continues: Adam's moments go both ways.

    python3 tests/interop/go_on.py runs/lm runs/more --text data/poems.txt

Needs torch and safetensors."""
import argparse
import os
import sys

import torch
from safetensors import safe_open
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "src", "tools", "interop"))
import tapeformer_torch  # noqa: E402


def read_moments(run, model, optimizer):
    """Gives the optimizer the moments and steps of the checkpoint. Returns its metadata; None: there is no checkpoint."""
    path = os.path.join(run, "checkpoint.safetensors")
    if not os.path.exists(path):
        return None
    with safe_open(path, "pt") as file:
        meta = file.metadata()
        if meta["recipe.optimizer"] != "adamw":
            return None
        for name, weight in model.named_parameters():
            optimizer.state[weight] = {"step": torch.tensor(float(meta["run.step"])),
                                       "exp_avg": file.get_tensor(f"moment1.{name}"),
                                       "exp_avg_sq": file.get_tensor(f"moment2.{name}")}
    return meta


def save(tensors, run, name, meta):
    """The checksum in meta is of the old file: the new one has none."""
    os.makedirs(run, exist_ok=True)
    save_file(tensors, os.path.join(run, name), {key: value for key, value in meta.items() if key != "crc32"})


def write_checkpoint(model, optimizer, meta, steps, tokens, run):
    """Writes a checkpoint that continues the old one by these steps; metrics and best model stay in the old folder."""
    step = str(int(meta["run.step"]) + steps)
    meta = {**meta, "run.step": step, "run.tokens": str(int(meta["run.tokens"]) + tokens), "run.evaluated": step,
            "run.loss_sum": "0", "run.losses": "0", "run.best_loss": "inf", "run.best_step": "0"}
    tensors = dict(model.state_dict())
    for name, weight in model.named_parameters():
        state = optimizer.state[weight]
        tensors.update({f"moment1.{name}": state["exp_avg"], f"moment2.{name}": state["exp_avg_sq"]})
    save(tensors, run, "checkpoint.safetensors", meta)


def text_batch(meta, ids, rows, rng):
    context = int(meta["max_length"])
    start = torch.randint(len(ids) - context, (rows,), generator=rng).tolist()
    window = torch.stack([ids[i : i + context + 1] for i in start])
    return {"target_in": window[:, :-1], "target_out": window[:, 1:]}


ANSWERS = {"copy": lambda x: x, "reverse": lambda x: x.flip(0), "sort": lambda x: x.sort().values}


def task_batch(meta, rows, rng):
    """Symbols and their answer, behind begin and before end, padded."""
    begin, end, pad = int(meta["begin_id"]), int(meta["end_id"]), int(meta["pad_id"])
    longest = int(meta["max_length"]) - 1
    batch = {name: torch.full((rows, longest + 1), pad) for name in ("source", "target_in", "target_out")}
    for r in range(rows):
        n = int(torch.randint(1, longest + 1, (1,), generator=rng))
        source = torch.randint(len(meta["vocabulary"]), (n,), generator=rng)
        answer = ANSWERS[meta["task"]](source)
        batch["source"][r, :n] = source
        batch["target_in"][r, : n + 1] = torch.cat([torch.tensor([begin]), answer])
        batch["target_out"][r, : n + 1] = torch.cat([answer, torch.tensor([end])])
    return batch


def train(a):
    torch.set_num_threads(1)
    model = tapeformer_torch.load(a.run)
    meta = model.meta
    optimizer = torch.optim.AdamW(model.parameters(), lr=a.lr)
    stands, tokens = read_moments(a.run, model, optimizer), 0
    rng = torch.Generator().manual_seed(a.seed)
    if a.text:
        number = {character: i for i, character in enumerate(meta["vocabulary"])}
        ids = torch.tensor([number[c] for c in open(a.text, encoding="utf-8", newline="").read()])
    for step in range(1, a.steps + 1):
        batch = text_batch(meta, ids, a.batch, rng) if a.text else task_batch(meta, a.batch, rng)
        tokens += int((batch["target_out"] != int(meta["pad_id"].replace("none", "-1"))).sum())
        loss = model.loss(model(batch["target_in"], batch.get("source")), batch["target_out"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in (1, a.steps):
            print(f"step {step}: loss {loss.item():.4f}", flush=True)
    tapeformer_torch.save(model, a.out)
    if stands:
        write_checkpoint(model, optimizer, stands, a.steps, tokens, a.out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("run", help="where ./train left a model")
    parser.add_argument("out", help="where the model goes")
    parser.add_argument("--text", help="of a language model: what to train on")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch", type=int, default=32, help="sequences of a step")
    parser.add_argument("--lr", type=float, default=0.001)
    parser.add_argument("--seed", type=int, default=1)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
