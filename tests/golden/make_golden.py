"""Makes the golden files of this folder: what PyTorch, in double precision, says the models, operations and
optimizers must give.

    python3 tests/golden/make_golden.py [FOLDER]      (default: the script's own folder)

It needs Python with torch 2.13.0 (the CPU build is enough), numpy and safetensors. Run again, it writes the
same bytes (on one kind of processor: another may round last digits differently).

NAME.weights.safetensors   F64, loads with strict=True into the modules of models.py; __metadata__
                           describes the model
NAME.batch.safetensors     I64: source [B,S] (seq2seq only), target_in [B,T], target_out [B,T]
NAME.grads.safetensors     F64: loss [], logits [B,T,V], grad.PARAMETER for each parameter (a tied embedding
                           has one, the sum over its uses)
ops.safetensors            see operations.py
optim.safetensors          see optimizers.py

Weights, and all inputs of operations, are rounded to single precision, so that a float build reads the same
numbers and differs by its arithmetic alone. No ReLU of the models meets a value within 1e-4 of its kink.

Padding. Rows are padded at the end; target_in and target_out of a row have the same length; no row is empty,
so no softmax row is ever fully masked (position 0 is real and is visible to every query). At a padded target
position PyTorch, given tgt_key_padding_mask, computes logits as anywhere: those of the padding token's
embedding attending to the real positions. They mean nothing and reach neither loss nor gradients. The file
has 0 there, and a reader compares only positions whose target_out is not pad_id. (With padding at the end and
a causal mask, no real position sees a padded target anyway.)"""
import os
import sys

import numpy as np
import safetensors
import torch
from safetensors.torch import load_file

import operations
import optimizers
from common import normal, single, stream, write
from models import Model, gradients

# The choices of the paper and of a GPT, as the project's design fixes them.
PAPER = dict(norm="post", final_norm=False, activation="relu", positions="sinusoidal", attention="dot")
GPT = dict(norm="pre", final_norm=True, activation="gelu", positions="learned", attention="dot")


def metadata(choices, **more):
    """As a weight file has it: all values are strings, in the order of the arguments."""
    return {k: str(v).lower() for k, v in {**choices, **more}.items()}


# fmt: off
# The golden models: metadata, and the real lengths of the batch's rows. Sizes that could be mistaken for one
# another differ, wherever a model allows it.
MODELS = {
    "seq2seq": dict(
        meta=metadata(
            PAPER, kind="seq2seq", encoder_layers=2, decoder_layers=2, heads=2, d_model=8, d_ff=16,
            vocab_size=11, max_length=8, tied=True, scale_embedding=True, label_smoothing=0.1, pad_id=0,
        ),
        source=[7, 1, 4],
        target=[3, 6, 1],
    ),
    "seq2seq_prenorm": dict(
        meta=metadata(
            GPT, kind="seq2seq", encoder_layers=1, decoder_layers=2, heads=2, d_model=12, d_ff=20,
            vocab_size=11, max_length=8, tied=False, scale_embedding=False, label_smoothing=0, pad_id=3,
        ),
        source=[1, 5, 3],
        target=[7, 1, 4],
    ),
    "seq2seq_additive": dict(
        meta=metadata(
            {**PAPER, "attention": "additive"}, kind="seq2seq", encoder_layers=1, decoder_layers=2, heads=3, d_model=12,
            d_ff=16, vocab_size=11, max_length=8, tied=True, scale_embedding=True, label_smoothing=0.1, pad_id=0,
        ),
        source=[6, 1, 4],
        target=[3, 7, 1],
    ),
    "lm": dict(
        meta=metadata(
            GPT, kind="lm", encoder_layers=2, decoder_layers=0, heads=2, d_model=8, d_ff=24,
            vocab_size=13, max_length=7, tied=True, scale_embedding=False, label_smoothing=0, pad_id=None,
        ),
        target=[7, 7, 7],
    ),
    "lm_rotary": dict(
        meta=metadata(
            {**GPT, "positions": "rotary", "activation": "silu"}, qk_norm=True, kind="lm", encoder_layers=2,
            decoder_layers=0, heads=2, d_model=12, d_ff=20, vocab_size=11, max_length=8, tied=True, scale_embedding=False,
            label_smoothing=0, pad_id=None,
        ),
        target=[8, 8],
    ),
    "lm_llama": dict(
        meta=metadata(
            {**GPT, "positions": "rotary", "activation": "swiglu"}, norm_kind="rms", rotary_base=100, biases=False, kind="lm",
            encoder_layers=2, decoder_layers=0, heads=2, d_model=12, d_ff=20, vocab_size=11, max_length=8, tied=False,
            scale_embedding=False, label_smoothing=0, pad_id=None,
        ),
        target=[8, 8],
    ),
    "seq2seq_rotary": dict(
        meta=metadata(
            {**GPT, "positions": "rotary", "activation": "swiglu"}, norm_kind="rms", qk_norm=True, kind="seq2seq",
            encoder_layers=1, decoder_layers=1, heads=2, d_model=8, d_ff=12, vocab_size=11, max_length=8, tied=True,
            scale_embedding=False, label_smoothing=0.1, pad_id=0,
        ),
        source=[7, 1, 4],
        target=[3, 6, 1],
    ),
    "lm_alibi": dict(
        meta=metadata(
            {**GPT, "positions": "alibi"}, kind="lm", encoder_layers=2, decoder_layers=0, heads=3, d_model=12, d_ff=20,
            vocab_size=11, max_length=8, tied=True, scale_embedding=False, label_smoothing=0, pad_id=None,
        ),
        target=[8, 8],
    ),
    "seq2seq_alibi": dict(
        meta=metadata(
            {**PAPER, "positions": "alibi"}, kind="seq2seq", encoder_layers=1, decoder_layers=1, heads=4, d_model=8,
            d_ff=12, vocab_size=11, max_length=8, tied=True, scale_embedding=True, label_smoothing=0.1, pad_id=0,
        ),
        source=[7, 1, 4],
        target=[3, 6, 1],
    ),
    "lm_padded": dict(
        meta=metadata(
            PAPER, kind="lm", encoder_layers=2, decoder_layers=0, heads=3, d_model=12, d_ff=16,
            vocab_size=11, max_length=6, tied=False, scale_embedding=False, label_smoothing=0, pad_id=10,
        ),
        target=[2, 6, 1],
    ),
}
# fmt: on


def draw_weights(meta, rng):
    """Matrices that keep the size of what they multiply. No bias is 0 and no norm's weight is 1, as at the
    start of training they would be, so that each of them counts."""
    weights = {}
    for name, w in Model(meta).state_dict().items():
        x = normal(rng, *w.shape)
        if "norm" in name:
            x = 0.25 * x + name.endswith("weight")
        elif x.ndim == 2:
            x /= np.sqrt(w.shape[-1])
        else:
            x *= 0.25
        weights[name] = single(x)
    return weights


def draw_batch(spec, rng):
    vocabulary = np.arange(int(spec["meta"]["vocab_size"]))
    pad_id = spec["meta"]["pad_id"]
    words = [i for i in vocabulary if str(i) != pad_id]

    def padded(rows):
        out = np.full((len(rows), max(map(len, rows))), -1 if pad_id == "none" else int(pad_id))
        for row, ids in zip(out, rows):
            row[: len(ids)] = ids
        return out

    batch = {}
    if "source" in spec:
        batch["source"] = padded([rng.choice(words, n) for n in spec["source"]])
    targets = [rng.choice(words, n + 1) for n in spec["target"]]
    batch["target_in"] = padded([ids[:-1] for ids in targets])
    batch["target_out"] = padded([ids[1:] for ids in targets])
    return batch


def check_kinks(name, meta, weights, batch):
    """No ReLU in float may take another branch than in double."""
    model = Model(meta).double()
    model.load_state_dict(weights, strict=True)
    nearest = []
    for part, module in model.named_modules():
        if part.endswith("linear1"):
            module.register_forward_hook(lambda module, args, y: nearest.append(y.abs().min().item()))
    model(batch["target_in"], batch.get("source"))
    if meta["activation"] == "relu" and min(nearest) < 1e-4:
        raise SystemExit(f"{name}: found a ReLU at {min(nearest):.3g} from its kink, need 1e-4")


def model_files(name, spec):
    """{file name: (tensors, metadata)} of one golden model."""
    meta, rng = spec["meta"], stream(name)
    weights, batch = draw_weights(meta, rng), draw_batch(spec, rng)
    torch_weights = {k: torch.tensor(w) for k, w in weights.items()}
    torch_batch = {k: torch.tensor(ids) for k, ids in batch.items()}
    grads = {k: x.numpy() for k, x in gradients(meta, torch_weights, torch_batch).items()}
    check_kinks(name, meta, torch_weights, torch_batch)

    return {
        f"{name}.weights.safetensors": (weights, meta),
        f"{name}.batch.safetensors": (batch, None),
        f"{name}.grads.safetensors": (grads, None),
    }


def check_loads(folder):
    """The files as written give the same tensors through the safetensors package, and the same gradients."""
    for name in MODELS:
        weights, batch, grads = (
            os.path.join(folder, f"{name}.{part}.safetensors") for part in ("weights", "batch", "grads")
        )
        with safetensors.safe_open(weights, "pt") as file:
            meta = file.metadata()
        want = load_file(grads)
        found = gradients(meta, load_file(weights), load_file(batch))
        if found.keys() != want.keys() or not all(torch.equal(found[k], want[k]) for k in want):
            raise SystemExit(f"{name}: the files read back give other gradients")


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    files = {
        "ops.safetensors": (operations.operations(), operations.METADATA),
        "optim.safetensors": (optimizers.optimizers(), optimizers.METADATA),
    }
    for name, spec in MODELS.items():
        files.update(model_files(name, spec))
    for file, (tensors, metadata) in files.items():
        write(os.path.join(folder, file), tensors, metadata)
    check_loads(folder)


if __name__ == "__main__":
    main()
