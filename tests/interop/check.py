"""PyTorch and this project read each other's models: a run's weights load with strict=True into stock layers, whose logits
and gradients are ours, for every choice of a model; training goes on there; what was trained there is read here, and
goes on.

    BUILD=build python3 tests/interop/check.py

Prints a line `ok   …` or `FAIL …` a test, as the test programs do. Wants torch and safetensors."""
import json
import os
import random
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import go_on  # noqa: E402
sys.path.insert(0, os.path.join(HERE, "..", "golden"))
from models import gradients  # noqa: E402

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
TEXT = "the cat sat on the mat, and the dog sat on the cat.\n" * 40
RUNS = {
    "lm": ["lm", "--preset", "gpt", "--text", "text", "--context", "16"],
    "copy": ["copy", "--symbols", "8", "--max-length", "6"],
}
SMALL = ["--d-model", "16", "--heads", "2", "--layers", "2", "--batch", "8", "--steps", "40", "--quiet"]


def run(program, *arguments, status=(0,)):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    if done.returncode not in status:
        raise AssertionError(f"{program} {arguments}: status {done.returncode}: {done.stdout}{done.stderr}")
    return done


def same_as_ours(weights):
    """Logits, loss and gradients of stock PyTorch over a batch made here are those of gradcheck."""
    gradcheck = os.path.join(BUILD, "double", "gradcheck")
    start = os.path.dirname(weights) + "-start"
    run(gradcheck, "model", "--weights", weights, "--save", start, "--unchecked")
    [batch] = [f"{start}/{name}" for name in os.listdir(start) if name.endswith(".batch.safetensors")]
    [ours] = [f"{start}/{name}" for name in os.listdir(start) if name.endswith(".grads.safetensors")]
    meta = go_on.tapeformer_torch.load(os.path.dirname(weights)).meta
    doubles = {name: x.double() for name, x in load_file(weights).items()}
    theirs = gradients(meta, doubles, load_file(batch))
    for name, x in load_file(ours).items():
        worst = (theirs[name] - x.double()).abs().max().item()
        assert worst < 1e-9, (name, worst)


def go(name, out, steps=30):
    text = ["--text", "text"] if name == "lm" else []
    return run(sys.executable, os.path.join(HERE, "go_on.py"), name, out, *text, "--steps", str(steps), "--batch", "8", "--lr",
               "0.003").stdout


def test_loads(name):
    """strict=True, and the same logits and gradients."""
    run(os.path.join(BUILD, "float", "train"), *RUNS[name], *SMALL, "--run", name)
    same_as_ours(f"{name}/model.safetensors")


def test_goes_on(name):
    """The loss falls."""
    said = go(name, f"{name}-more").split()
    first, last = float(said[3]), float(said[7])
    assert last < 0.98 * first, said


def test_comes_back(name):
    """The model is read here, though it has no checksum; its logits are PyTorch's."""
    done = run(os.path.join(BUILD, "float", "generate"), f"{name}-more", "--prompt", "the " if name == "lm" else "123")
    assert done.stdout and not done.stderr, done
    same_as_ours(f"{name}-more/model.safetensors")


def test_resumes(name):
    """Training goes on here from where it stood there: after no step there in the bits of a run that was never there, and
    after 30 with a lower loss."""
    train = os.path.join(BUILD, "float", "train")
    go(name, f"{name}-none", steps=0)
    for there in (name, f"{name}-none", f"{name}-more"):
        run(train, "--resume", there, "--steps", "100", "--eval-every", "100", "--quiet")
        with go_on.safe_open(f"{there}/checkpoint.safetensors", "pt") as file:
            assert file.metadata()["run.step"] == "100", there
    ours, none = (load_file(f"{there}/checkpoint.safetensors") for there in (name, f"{name}-none"))
    assert all(torch.equal(ours[key], none[key]) for key in ours)
    after, before = (losses(f"{run}/run.jsonl") for run in (f"{name}-more", name))
    assert after[-1] < before[-2], (after, before)


def losses(record):
    """The held-out losses of a run's evaluations."""
    lines = [json.loads(line) for line in open(record)]
    return [line["val_loss"] for line in lines if line["event"] == "evaluation"]


CHOICES = {"norm": ["post", "pre"], "norm-kind": ["layer", "rms"], "positions": ["sinusoidal", "learned", "rotary"],
           "qk-norm": ["false", "true"], "activation": ["relu", "gelu", "silu", "swiglu"], "attention": ["dot", "additive"],
           "init-output": ["random", "zero"], "biases": ["true", "false"], "heads": ["1", "2", "4"], "layers": ["1", "3"], "d-ff": ["24", "40"]}


def test_any_choice_loads(name):
    """A dozen models of random choices, trained for a few steps: every value of every choice occurs."""
    rng, count = random.Random(name), 12
    columns = {choice: rng.sample((values * count)[:count], count) for choice, values in CHOICES.items()}
    for i in range(count):
        options = [word for choice, values in columns.items() for word in (f"--{choice}", values[i])]
        untied = ["--tied", "false"] * (i % 2)
        run(os.path.join(BUILD, "float", "train"), *RUNS[name], "--d-model", "16", "--batch", "8", "--steps", "3", "--quiet",
            *options, *untied, "--run", f"{name}-{i}")
        try:
            same_as_ours(f"{name}-{i}/model.safetensors")
        except Exception as e:
            raise AssertionError(f"{' '.join(options + untied)}: {e}") from e


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("text", "w") as file:
            file.write(TEXT)
        for name in RUNS:
            for test in (test_loads, test_goes_on, test_comes_back, test_resumes, test_any_choice_loads):
                line = f"interop: {name}: {test.__name__[5:].replace('_', ' ')}"
                try:
                    test(name)
                    print("ok  ", line, flush=True)
                except Exception as e:  # noqa: BLE001
                    failed += 1
                    print(f"  {type(e).__name__}: {e}\nFAIL {line}", flush=True)
        os.chdir("/")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
