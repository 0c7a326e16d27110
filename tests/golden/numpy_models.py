"""The same models once more, from the paper's formulas, in NumPy and without PyTorch: what the golden values
are held against. Written for one sequence at a time and one head at a time, so that padding is cut off here
and not masked: the two share no trick."""
import math

import numpy as np

erf = np.vectorize(math.erf, otypes=[np.float64])


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def softmax(x):
    return np.exp(log_softmax(x))


def layer_norm(x, weight, bias):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * weight + bias


def gelu(x):
    return x * (1 + erf(x / math.sqrt(2))) / 2


def cross_entropy(logits, target, smoothing):
    """[N] losses of logits [N,V]: the target has probability 1 - smoothing + smoothing/V, the others
    smoothing/V."""
    wanted = np.full_like(logits, smoothing / logits.shape[-1])
    wanted[np.arange(len(target)), target] += 1 - smoothing
    return -(wanted * log_softmax(logits)).sum(-1)


class NumpyModel:
    def __init__(self, meta, weights):
        self.meta, self.weights = meta, weights
        self.d_model = int(meta["d_model"])

    def part(self, name):
        """The weights under NAME., without that prefix."""
        return {k[len(name) + 1 :]: w for k, w in self.weights.items() if k.startswith(name + ".")}

    def embed(self, ids):
        scale = math.sqrt(self.d_model) if self.meta["scale_embedding"] == "true" else 1
        x = self.weights["embedding.weight"][ids] * scale
        if self.meta["positions"] == "learned":
            return x + self.weights["positions.weight"][: len(ids)]
        for position in range(len(ids)):
            for i in range(self.d_model):
                angle = position / 10000 ** (2 * (i // 2) / self.d_model)
                x[position, i] += math.cos(angle) if i % 2 else math.sin(angle)
        return x

    def attention(self, w, x, memory, causal):
        (wq, wk, wv), (bq, bk, bv) = np.split(w["in_proj_weight"], 3), np.split(w["in_proj_bias"], 3)
        q, k, v = x @ wq.T + bq, memory @ wk.T + bk, memory @ wv.T + bv
        d_k = self.d_model // int(self.meta["heads"])
        heads = []
        for at in range(0, self.d_model, d_k):
            one = slice(at, at + d_k)
            if self.meta["attention"] == "additive":
                score = np.array([[np.tanh(a + b) @ w["score_weight"][one] for b in k[:, one]] for a in q[:, one]])
            else:
                score = q[:, one] @ k[:, one].T / math.sqrt(d_k)
            if causal:
                score[np.arange(len(x))[:, None] < np.arange(len(memory))] = -np.inf
            heads.append(softmax(score) @ v[:, one])
        return np.concatenate(heads, -1) @ w["out_proj.weight"].T + w["out_proj.bias"]

    def feed_forward(self, w, x):
        x = x @ w["linear1.weight"].T + w["linear1.bias"]
        x = gelu(x) if self.meta["activation"] == "gelu" else np.maximum(x, 0)
        return x @ w["linear2.weight"].T + w["linear2.bias"]

    def layer(self, name, x, memory, causal):
        """An encoder layer, or with a memory a decoder layer: each sublayer with its norm and residual."""
        w = self.part(name)
        sublayers = [lambda y: self.attention(self.part(name + ".self_attn"), y, y, causal)]
        if memory is not None:
            sublayers.append(lambda y: self.attention(self.part(name + ".multihead_attn"), y, memory, False))
        sublayers.append(lambda y: self.feed_forward(w, y))
        for i, sublayer in enumerate(sublayers, 1):
            weight, bias = w[f"norm{i}.weight"], w[f"norm{i}.bias"]
            if self.meta["norm"] == "pre":
                x = x + sublayer(layer_norm(x, weight, bias))
            else:
                x = layer_norm(x + sublayer(x), weight, bias)
        return x

    def stack(self, side, ids, memory, causal, norm):
        x = self.embed(ids)
        for i in range(int(self.meta[side + "_layers"])):
            x = self.layer(f"{side}.layers.{i}", x, memory, causal)
        if self.meta["final_norm"] == "true":
            x = layer_norm(x, self.weights[norm + ".weight"], self.weights[norm + ".bias"])
        return x

    def logits(self, target_in, source=None):
        """[T,V] of one sequence, target_in [T], without its padding."""
        if source is None:
            x = self.stack("encoder", target_in, None, True, "norm")
        else:
            memory = self.stack("encoder", source, None, False, "encoder.norm")
            x = self.stack("decoder", target_in, memory, True, "decoder.norm")
        return x @ self.weights["embedding.weight" if self.meta["tied"] == "true" else "output.weight"].T

    def run(self, batch):
        """Loss, and logits [B,T,V] with zeros at padded targets."""
        pad = None if self.meta["pad_id"] == "none" else int(self.meta["pad_id"])
        target_in, target_out = batch["target_in"], batch["target_out"]
        logits = np.zeros((*target_in.shape, int(self.meta["vocab_size"])))
        losses = []
        for row in range(len(target_in)):
            source = batch["source"][row] if "source" in batch else None
            if source is not None:
                source = source[source != pad]
            length = np.count_nonzero(target_out[row] != pad)
            logits[row, :length] = self.logits(target_in[row, :length], source)
            losses.append(
                cross_entropy(
                    logits[row, :length], target_out[row, :length], float(self.meta["label_smoothing"])
                )
            )
        return np.concatenate(losses).mean(), logits
