"""A run of the preset llama as a Hugging Face folder or a GGUF file, and a small Llama as a run.

    python3 tapeformer_hf.py export RUN FOLDER    AutoModelForCausalLM and AutoTokenizer load FOLDER
    python3 tapeformer_hf.py gguf RUN FILE.gguf   for llama.cpp; needs the package gguf
    python3 tapeformer_hf.py import FOLDER RUN    ./generate, ./train --from and ./explain take RUN

Copy this file where it is needed. It needs NumPy. What cannot be converted exactly ends with one
line and status 1."""

import json
import os
import sys

import numpy as np

EPSILON = 1e-5  # of every RMS norm here
TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
# The model that a Llama is, in the words of a run's metadata.
LLAMA = {
    "kind": "lm",
    "norm": "pre",
    "norm_kind": "rms",
    "final_norm": "true",
    "positions": "rotary",
    "qk_norm": "false",
    "activation": "swiglu",
    "scale_embedding": "false",
}
# Tensors of a layer, here and there. Fused ones, q | k | v and gate | up, have several.
LAYER = {
    "self_attn.in_proj_": ["self_attn.q_proj.", "self_attn.k_proj.", "self_attn.v_proj."],
    "self_attn.out_proj.": ["self_attn.o_proj."],
    "linear1.": ["mlp.gate_proj.", "mlp.up_proj."],
    "linear2.": ["mlp.down_proj."],
}
NORMS = {
    "norm1.weight": "input_layernorm.weight",
    "norm2.weight": "post_attention_layernorm.weight",
}


class Refused(Exception):
    """What is found, and what is needed."""


# ---- Files ----


def read_tensors(path):
    """The tensors of a safetensors file, in float32, and its metadata."""
    with open(path, "rb") as file:
        data = file.read()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] not in TYPES:
            raise Refused(f"{path}: {name}: found {entry['dtype']}, need F64, F32, F16 or BF16")
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        x = np.frombuffer(data[begin:end], TYPES[entry["dtype"]]).reshape(entry["shape"])
        if entry["dtype"] == "BF16":  # the upper half of a float32
            x = (x.astype("<u4") << 16).view("<f4")
        tensors[name] = x.astype("<f4")
    return tensors, header.get("__metadata__", {})


def write_tensors(path, tensors, metadata):
    header, offset = {"__metadata__": metadata}, 0
    for name, x in tensors.items():
        header[name] = {
            "dtype": "F32",
            "shape": list(x.shape),
            "data_offsets": [offset, offset + x.nbytes],
        }
        offset += x.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for x in tensors.values():
            file.write(np.ascontiguousarray(x, "<f4").tobytes())


def read_json(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def check_free(*paths):
    for path in paths:
        if os.path.exists(path):
            raise Refused(f"{path}: found a file, need another name")


def write_json(folder, name, value):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1, ensure_ascii=False)


# ---- Tokens: byte pairs, whose bytes are written in GPT-2's alphabet ----

SHOWN = [*range(33, 127), *range(161, 173), *range(174, 256)]
LETTER = {byte: chr(byte) for byte in SHOWN}
LETTER.update(
    (byte, chr(256 + i)) for i, byte in enumerate(b for b in range(256) if b not in LETTER)
)


def some_of(sets, negated=False):
    """An expression for one letter of the bytes of these sets."""
    letters = "".join(
        "\\" + LETTER[b] if LETTER[b] in "\\]^-[&~" else LETTER[b] for b in sorted(sets)
    )
    return f"[{'^' * negated}{letters}]"


def words():
    """An expression that cuts a text in GPT-2's alphabet into words (src/core/text/words.h)."""
    latin = {*range(65, 91), *range(97, 123)}
    blanks, digits = {32, *range(9, 14)}, set(range(48, 58))
    classes = [latin | set(range(128, 256)), digits]
    ends = [f"(?!{some_of(range(128, 192))})", ""]  # not inside a character of UTF-8
    parts = ["'%s{1,2}(?!%s)" % (some_of(latin), some_of(latin))]
    letters = [some_of(each) for each in classes] + [some_of(blanks.union(*classes), negated=True)]
    for letter, end in zip(letters, ends + [""]):
        parts += [f"{LETTER[32]}{letter}{{1,63}}{end}", f"{letter}{{1,64}}{end}"]
    blank, other = some_of(blanks), some_of(blanks, negated=True)
    return "|".join([*parts, f"{blank}{{1,63}}(?={LETTER[32]}{other})", f"{blank}{{1,64}}"])


PRE_TOKENIZER = {
    "type": "Sequence",
    "pretokenizers": [
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        {"type": "Split", "pattern": {"Regex": words()}, "behavior": "Isolated", "invert": False},
    ],
}
DECODER = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}


def read_vocabulary(run, metadata):
    """The tokens of a run and its merges, in GPT-2's alphabet."""
    kind, *lines = metadata["vocabulary"].split("\n")
    if kind != "tokenizer bpe":
        raise Refused(f"{run}: found another tokenizer, need --tokenizer bpe")
    tokens, merges = [LETTER[b] for b in range(256)], []
    for line in filter(None, lines):
        left, right = (tokens[int(i)] for i in line.split(" "))
        merges.append([left, right])
        tokens.append(left + right)
    if len(set(tokens)) < len(tokens):
        raise Refused(f"{run}: found a token twice, by different merges, need another --vocab-size")
    return tokens, merges


def write_tokenizer(folder, tokens, merges, config):
    vocabulary = {token: i for i, token in enumerate(tokens)}
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": PRE_TOKENIZER,
        "decoder": DECODER,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": merges},
    }
    write_json(folder, "tokenizer.json", tokenizer)
    about = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_max_length": config["max_position_embeddings"],
    }
    write_json(folder, "tokenizer_config.json", about)


def read_tokenizer(folder):
    """The vocabulary of a run, and the ids there in the order here. Refused: it is no tokenizer of
    bytes, or cuts words in another way."""
    path = os.path.join(folder, "tokenizer.json")
    if not os.path.exists(path):
        raise Refused(f"{path}: found no such file")
    tokenizer = read_json(folder, "tokenizer.json")
    model = tokenizer["model"]
    kind, of_bytes = model.get("type"), not model.get("byte_fallback")
    if kind != "BPE" or not of_bytes or not set(LETTER.values()) <= set(model["vocab"]):
        raise Refused(f"{path}: found a tokenizer of type {kind}, need byte pairs of all bytes")
    wordlike = ("unk_token", "continuing_subword_prefix", "end_of_word_suffix")
    for key in ("dropout", "ignore_merges", *wordlike):
        if model.get(key):
            raise Refused(f"{path}: found {key} {model[key]}, need none")
    if tokenizer.get("normalizer"):
        raise Refused(f"{path}: found normalizer {tokenizer['normalizer']['type']}, need none")
    parts = (tokenizer.get("pre_tokenizer") or {}).get("pretokenizers", [])
    found = [(part["type"], part.get("pattern")) for part in parts]
    wanted = [(part["type"], part.get("pattern")) for part in PRE_TOKENIZER["pretokenizers"]]
    if found != wanted or parts[0].get("add_prefix_space") or parts[0].get("use_regex", True):
        kind = (tokenizer.get("pre_tokenizer") or {}).get("type", "none")
        raise Refused(
            f"{path}: found pre_tokenizer {kind}, which cuts words in another way than a run does"
        )
    id_of, lines, order = {}, [], []

    def add(token):
        if token not in model["vocab"] or token in id_of:
            raise Refused(
                f"{path}: found the merge of {token}, need each token of the vocabulary once"
            )
        id_of[token] = len(order)
        order.append(model["vocab"][token])

    for byte in range(256):
        add(LETTER[byte])
    for merge in model["merges"]:
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        lines.append(f"{id_of[left]} {id_of[right]}\n")
        add(left + right)
        if len(left.encode()) + len(right.encode()) > 64 and sum(map(len, (left, right))) > 64:
            raise Refused(f"{path}: found the token {left + right}, need at most 64 bytes")
    added = {entry["content"] for entry in tokenizer.get("added_tokens", [])}
    if missing := [token for token in model["vocab"] if token not in id_of and token not in added]:
        raise Refused(f"{path}: found the token {missing[0]} of no merge, need a merge for each")
    return "tokenizer bpe\n" + "".join(lines), order


# ---- From a run ----


def read_run(run):
    """Its tensors under the names of a Llama, and config.json."""
    path = run if run.endswith(".safetensors") else os.path.join(run, "model.safetensors")
    tensors, meta = read_tensors(path)
    if "kind" not in meta:
        raise Refused(f"{path}: found no run of ./train")
    for key, word in LLAMA.items():
        found = meta.get(key, "false")
        if found != word:
            raise Refused(f"{path}: found {key} {found}, need {word}: ./train lm --preset llama")
    if meta["attention"] not in ("dot", "plain"):
        raise Refused(f"{path}: found attention {meta['attention']}, need dot")
    biases = meta.get("biases") != "false"
    layers, heads = int(meta["encoder_layers"]), int(meta["heads"])
    weights = {"model.embed_tokens.weight": tensors["embedding.weight"]}
    for i in range(layers):
        ours, theirs = f"encoder.layers.{i}.", f"model.layers.{i}."
        for fused, names in LAYER.items():
            for kind in ("weight", "bias") if biases else ("weight",):
                for name, part in zip(names, np.split(tensors[ours + fused + kind], len(names))):
                    weights[theirs + name + kind] = part
        weights.update((theirs + name, tensors[ours + norm]) for norm, name in NORMS.items())
    weights["model.norm.weight"] = tensors["norm.weight"]
    tied = meta["tied"] == "true"
    if not tied:
        weights["lm_head.weight"] = tensors["output.weight"]
    theta = float(meta.get("rotary_base", 10000))
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "vocab_size": int(meta["vocab_size"]),
        "hidden_size": int(meta["d_model"]),
        "intermediate_size": int(meta["d_ff"]),
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "head_dim": int(meta["d_model"]) // heads,
        "max_position_embeddings": int(meta["max_length"]),
        "rms_norm_eps": EPSILON,
        "rope_theta": theta,
        "rope_parameters": {"rope_type": "default", "rope_theta": theta},
        "attention_bias": biases,
        "mlp_bias": biases,
        "tie_word_embeddings": tied,
        "torch_dtype": "float32",
        "bos_token_id": None,
        "eos_token_id": None,
        "pad_token_id": None,
    }
    return weights, config, meta


def export(run, folder):
    weights, config, meta = read_run(run)
    tokens, merges = read_vocabulary(run, meta)
    check_free(*(os.path.join(folder, name) for name in ("config.json", "model.safetensors")))
    os.makedirs(folder, exist_ok=True)
    write_json(folder, "config.json", config)
    write_tokenizer(folder, tokens, merges, config)
    write_tensors(os.path.join(folder, "model.safetensors"), weights, {"format": "pt"})


def interleaved(x, heads):
    """Rows of queries or keys as llama.cpp turns them: pairs of neighbours, not of halves."""
    return x.reshape(heads, 2, -1, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


GGUF = {
    "model.embed_tokens.": "token_embd.",
    "model.norm.": "output_norm.",
    "lm_head.": "output.",
    "model.layers.": "blk.",
    "self_attn.q_proj.": "attn_q.",
    "self_attn.k_proj.": "attn_k.",
    "self_attn.v_proj.": "attn_v.",
    "self_attn.o_proj.": "attn_output.",
    "mlp.gate_proj.": "ffn_gate.",
    "mlp.up_proj.": "ffn_up.",
    "mlp.down_proj.": "ffn_down.",
    "input_layernorm.": "attn_norm.",
    "post_attention_layernorm.": "ffn_norm.",
}


def export_gguf(run, path):
    """llama.cpp cuts words as GPT-2 does, which differs from a run at some letters and blanks."""
    import gguf  # here, because the rest needs no such package

    weights, config, meta = read_run(run)
    tokens, merges = read_vocabulary(run, meta)
    heads = config["num_attention_heads"]
    check_free(path)
    out = gguf.GGUFWriter(path, "llama")
    out.add_context_length(config["max_position_embeddings"])
    out.add_embedding_length(config["hidden_size"])
    out.add_block_count(config["num_hidden_layers"])
    out.add_feed_forward_length(config["intermediate_size"])
    out.add_head_count(heads)
    out.add_head_count_kv(heads)
    out.add_layer_norm_rms_eps(EPSILON)
    out.add_rope_freq_base(config["rope_theta"])
    out.add_rope_dimension_count(config["head_dim"])
    out.add_vocab_size(len(tokens))
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("gpt-2")
    out.add_token_list(tokens)
    out.add_token_types([gguf.TokenType.NORMAL] * len(tokens))
    out.add_token_merges([" ".join(merge) for merge in merges])
    out.add_add_bos_token(False)
    for name, x in weights.items():
        if "q_proj" in name or "k_proj" in name:
            x = interleaved(x, heads)
        for theirs, ours in GGUF.items():
            name = name.replace(theirs, ours)
        out.add_tensor(name, np.ascontiguousarray(x, "<f4"))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


# ---- To a run ----


def read_folder(folder):
    """The tensors of all files, config.json of a Llama, and the base of its rotations."""
    config = read_json(folder, "config.json")
    theta = check_config(folder, config)
    index = os.path.join(folder, "model.safetensors.index.json")
    names = ["model.safetensors"]
    if os.path.exists(index):
        names = sorted(
            set(read_json(folder, "model.safetensors.index.json")["weight_map"].values())
        )
    tensors = {}
    for name in names:
        tensors.update(read_tensors(os.path.join(folder, name))[0])
    return tensors, config, theta


def check_config(folder, config):
    path = os.path.join(folder, "config.json")
    if config.get("model_type") != "llama":
        raise Refused(f"{path}: found model_type {config.get('model_type')}, need llama")
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    width = config["hidden_size"] // config["num_attention_heads"]
    wanted = {
        "hidden_act": (config.get("hidden_act"), "silu"),
        "rope_type": (rope.get("rope_type", rope.get("type", "default")), "default"),
        "head_dim": (config.get("head_dim") or width, width),
    }
    for key, (found, need) in wanted.items():
        if found != need:
            raise Refused(f"{path}: found {key} {found}, need {need}")
    return float(rope.get("rope_theta", config.get("rope_theta", 10000)))


def read_layer(tensors, number, config, biases):
    """The tensors of a layer of a run. Keys and values that several heads share are repeated."""
    heads = config["num_attention_heads"]
    shared = heads // (config.get("num_key_value_heads") or heads)
    rows = {"linear1.": config["intermediate_size"]}
    # A norm of s x with its constant is a norm of x with the constant / s²: so the residual stream
    # has s times the size, and the constant that is asked.
    scale = {"self_attn.out_proj.": config["scale"], "linear2.": config["scale"]}
    theirs, layer = f"model.layers.{number}.", {}
    for fused, names in LAYER.items():
        for kind in ("weight", "bias") if biases else ("weight",):
            parts = []
            for name in names:
                x = tensors.get(theirs + name + kind)
                if x is None and kind == "weight":
                    raise Refused(f"found no tensor {theirs}{name}{kind}")
                if x is not None and ("k_proj" in name or "v_proj" in name):
                    x = (
                        x.reshape(heads // shared, -1, *x.shape[1:])
                        .repeat(shared, 0)
                        .reshape(-1, *x.shape[1:])
                    )
                parts.append(
                    np.zeros(rows.get(fused, config["hidden_size"]), "<f4") if x is None else x
                )
            layer[fused + kind] = np.concatenate(parts) * np.float32(scale.get(fused, 1))
    layer.update((ours, tensors[theirs + name]) for ours, name in NORMS.items())
    return layer


def rows_of_tokens(x, order):
    """The rows of an embedding in the order of a run's tokens; those of no token come last."""
    if order is None:
        return x
    rest = sorted(set(range(len(x))) - set(order))
    return x[order + rest]


def import_folder(folder, run):
    check_free(os.path.join(run, "model.safetensors"))
    tensors, config, theta = read_folder(folder)
    config["scale"] = (EPSILON / config["rms_norm_eps"]) ** 0.5
    order, tied = None, config.get("tie_word_embeddings", False)
    try:
        vocabulary, order = read_tokenizer(folder)
    except Refused as e:
        print(f"{e}; the run takes ids: --prompt '1 2 3'", file=sys.stderr)
        vocabulary = f"tokenizer ids\n{config['vocab_size']}\n"
    embedding = rows_of_tokens(tensors["model.embed_tokens.weight"], order)
    biases = any(name.endswith("_proj.bias") for name in tensors)
    out = {"embedding.weight": embedding * np.float32(config["scale"])}
    for i in range(config["num_hidden_layers"]):
        for name, x in read_layer(tensors, i, config, biases).items():
            out[f"encoder.layers.{i}.{name}"] = x
    out["norm.weight"] = tensors["model.norm.weight"] / np.float32(config["scale"] if tied else 1)
    if not tied:
        out["output.weight"] = rows_of_tokens(tensors["lm_head.weight"], order)
    meta = {
        **LLAMA,
        "encoder_layers": config["num_hidden_layers"],
        "decoder_layers": 0,
        "heads": config["num_attention_heads"],
        "d_model": config["hidden_size"],
        "d_ff": config["intermediate_size"],
        "vocab_size": len(embedding),
        "rotary_base": theta,
        "max_length": config["max_position_embeddings"],
        "attention": "dot",
        "pad_id": "none",
        "biases": str(biases).lower(),
        "tied": str(tied).lower(),
        "label_smoothing": 0,
        "task": "lm",
        "vocabulary": vocabulary,
        "begin_id": -1,
        "end_id": -1,
        "opening_id": 10 if order else 0,
        "newline": "keep",
        "lines": "",
    }
    os.makedirs(run, exist_ok=True)
    write_tensors(
        os.path.join(run, "model.safetensors"), out, {key: str(word) for key, word in meta.items()}
    )


def main():
    commands = {"export": export, "gguf": export_gguf, "import": import_folder}
    if len(sys.argv) != 4 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    try:
        commands[sys.argv[1]](*sys.argv[2:])
    except OSError as e:
        sys.exit(f"tapeformer_hf: {e.filename}: {e.strerror}")
    except KeyError as e:
        sys.exit(f"tapeformer_hf: {sys.argv[2]}: found no {e}, need it")
    except ImportError as e:
        sys.exit(f"tapeformer_hf: {e}: install it, as in pip install gguf")
    except (ValueError, TypeError, AttributeError, IndexError, ArithmeticError) as e:
        sys.exit(f"tapeformer_hf: {sys.argv[2]}: found a damaged file: {e}")
    except Refused as e:
        sys.exit(f"tapeformer_hf: {e}")


if __name__ == "__main__":
    main()
