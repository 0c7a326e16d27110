"""Gradients of the project's models, in stock PyTorch modules: src/tools/interop/tapeformer_torch.py."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "src", "tools", "interop"))
from tapeformer_torch import Model  # noqa: E402


def gradients(meta, weights, batch):
    """The tensors of a gradient file: the model that meta describes, with these weights, on this batch. All
    three are dictionaries; weights and batch hold torch tensors, and the weights' type is the precision."""
    dtype = weights["embedding.weight"].dtype
    model = Model(meta).to(dtype)
    model.load_state_dict(weights, strict=True)
    model.train()
    target_out = batch["target_out"].long()
    source = batch["source"].long() if model.seq2seq else None
    logits = model(batch["target_in"].long(), source)
    loss = model.loss(logits, target_out)
    loss.backward()
    shown = logits.detach().clone()
    if model.pad_id is not None:
        shown[target_out == model.pad_id] = 0
    result = {"loss": loss.detach(), "logits": shown}
    for name, parameter in model.named_parameters():
        result["grad." + name] = parameter.grad
    return result
