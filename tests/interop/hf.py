"""Runs go to transformers and llama.cpp's files, and Llamas come here: tapeformer_hf.py.

    BUILD=build python3 tests/interop/hf.py

Judged by transformers on models that are made here: logits within 1e-4, the same greedy tokens, the same tokens of 1,000
strings of ten languages. Wants torch, transformers, gguf and safetensors. Prints `ok   …` or `FAIL …` a test."""
import json
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM
from transformers.utils import logging

HERE = os.path.dirname(os.path.abspath(__file__))
INTEROP = os.path.join(HERE, "..", "..", "src", "tools", "interop")
sys.path.insert(0, INTEROP)
import tapeformer_torch  # noqa: E402

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
CHRONICLE = os.path.abspath(os.path.join(HERE, "..", "..", "data", "chronicle.txt"))
KINDS = {"tied": [], "untied": ["--tied", "false", "--rotary-base", "500"], "biases": ["--biases", "true", "--heads", "2"]}
# First and last letter of some alphabets: Greek, Russian, Arabic, Hebrew, Hindi, Thai, Chinese, Japanese, Korean, faces.
ALPHABETS = ["az", "AZ", "àÿ", "αω", "ая", "اي", "את", "अह", "กฮ", "一鿿", "ぁん", "가힣", "😀🙏"]
BLANKS = [" ", "  ", "\n", "\t", "\r\n", "    ", "\n\n", "\u3000", "\u00a0"]


def run(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, f"{program} {arguments}: status {done.returncode}: {done.stdout}{done.stderr}"
    return done


def program(name):
    return os.path.join(BUILD, "float", name)


def hf(*arguments, says=None):
    done = subprocess.run([sys.executable, os.path.join(INTEROP, "tapeformer_hf.py"), *arguments], capture_output=True, text=True)
    if says is None:
        assert done.returncode == 0 and not done.stdout + done.stderr, done
    else:
        assert done.stderr.count("\n") == 1 and says in done.stderr, done
    return done.returncode


def trained(name, options):
    run(program("train"), "lm", CHRONICLE, "--preset", "llama", "--layers", "2", "--d-model", "32", "--context", "256", "--batch", "4",
        "--steps", "40", "--quiet", "--run", name, *options)


def our_logits(folder, ids):
    """[T, V], in double precision, by ./gradcheck."""
    batch = {key: torch.tensor([row]) for key, row in (("target_in", ids), ("target_out", ids))}
    save_file(batch, "batch")
    run(os.path.join(BUILD, "double", "gradcheck"), "model", "--weights", f"{folder}/model.safetensors", "--batch", "batch",
        "--unchecked", "--out", "pass")
    return load_file("pass")["logits"][0]


def their_logits(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0]


def greedy(model, ids, count):
    out = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), max_new_tokens=count, do_sample=False,
                         pad_token_id=0, eos_token_id=None)
    return out[0, len(ids):].tolist()


def strings(count):
    rng = random.Random(7)
    for _ in range(count):
        first, last = rng.choice(ALPHABETS)
        text = ""
        for _ in range(rng.randrange(1, 12)):
            word = "".join(chr(rng.randint(ord(first), ord(last))) for _ in range(rng.choice([1, 2, 5, 9, 40, 90])))
            text += rng.choice([word, word, str(rng.randrange(10**rng.randrange(1, 70))), rng.choice(["'s", "'ll", "!?", "...", "“", "'tis"]),
                                "I've", "the"]) + rng.choice(BLANKS)
        yield text[: rng.randrange(1, 300)]


def goes_out():
    """Logits and greedy texts of an exported run."""
    for name, options in KINDS.items():
        trained(name, options)
        hf("export", name, name + "-hf")
        model, tokens = AutoModelForCausalLM.from_pretrained(name + "-hf"), AutoTokenizer.from_pretrained(name + "-hf")
        prompt = "The mill stood by the river"
        ids = tokens(prompt).input_ids
        worst = (our_logits(name, ids) - their_logits(model, ids)).abs().max().item()
        assert worst < 1e-4, (name, worst)
        theirs = prompt + tokens.decode(greedy(model, ids, 200))
        ours = run(program("generate"), name, "--prompt", prompt, "--greedy", "--length", "200").stdout
        assert ours.rstrip("\n") == theirs.rstrip("\n"), (name, ours, theirs)


def tokens_are_equal():
    """Those of an exported tokenizer, of the run and of tapeformer_torch.py."""
    texts = list(strings(1000))
    lines = "".join(text.encode().hex() + "\n" for text in texts)
    ours = subprocess.run([os.path.join(BUILD, "float", "tests", "interop", "tokens"), "tied"], input=lines, capture_output=True, text=True)
    theirs, python = AutoTokenizer.from_pretrained("tied-hf"), tapeformer_torch.load("tied").tokens
    for text, line in zip(texts, ours.stdout.splitlines(), strict=True):
        ids = list(map(int, line.split()))
        for found in (theirs(text).input_ids, python.encode(text)):
            assert found == ids, (text, found, ids)
        assert theirs.decode(ids) == text == python.decode(ids), text


def llama(folder, tokenizer=None, **choices):
    """A random Llama, saved in a folder."""
    torch.manual_seed(3)
    config = LlamaConfig(**{**dict(vocab_size=300, hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=6,
                                   num_key_value_heads=2, max_position_embeddings=256, initializer_range=0.3), **choices})
    model = LlamaForCausalLM(config)
    for name, x in model.named_parameters():
        if name.endswith(("bias", "norm.weight")):
            torch.nn.init.normal_(x, 1, 0.2)
    model.save_pretrained(folder)
    if tokenizer:
        tokenizer.save(os.path.join(folder, "tokenizer.json"))
    return model.eval()


LLAMAS = {"grouped": {}, "tied-in": dict(tie_word_embeddings=True, rms_norm_eps=1e-5),
          "base": dict(rope_theta=5e5, rope_parameters=dict(rope_type="default", rope_theta=5e5), num_key_value_heads=6),
          "biases-in": dict(attention_bias=True, rms_norm_eps=1e-3), "half": {}}


def comes_in():
    """Logits and greedy ids of an imported model without a tokenizer; bfloat16 weights, too."""
    for name, choices in LLAMAS.items():
        model = llama(name, **choices)
        if name == "half":
            model.to(torch.bfloat16).save_pretrained(name)
            model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32)
        hf("import", name, name + "-run", says="the run takes ids")
        ids = [5, 77, 299, 0, 12]
        ours = our_logits(name + "-run", ids)
        worst = (ours - their_logits(model, ids)).abs().max().item()
        assert worst < 1e-4, (name, worst)
        said = run(program("generate"), name + "-run", "--prompt", " ".join(map(str, ids)), "--greedy", "--length", "200").stdout
        assert list(map(int, said.split())) == ids + greedy(model, ids, 200), name


def byte_pairs(pre_tokenizer, special=()):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizer, decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=list(special), show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train([CHRONICLE], trainer)
    return tokenizer


def tokenizers_come_in():
    """One that cuts words as a run does is taken, in the run's order of ids; others are refused by name."""
    taken = byte_pairs(Tokenizer.from_file("tied-hf/tokenizer.json").pre_tokenizer, ["<s>", "</s>"])
    model = llama("taken", taken, vocab_size=410)
    hf("import", "taken", "taken-run")
    vocabulary = tapeformer_torch.load("taken-run").tokens
    for text in strings(200):
        assert [vocabulary.text[i].decode(errors="replace") for i in vocabulary.encode(text)] == [
            taken.decode([i], skip_special_tokens=False) for i in taken.encode(text).ids], text
    ids, mine = taken.encode("The mill").ids, vocabulary.encode("The mill")
    worst = (our_logits("taken-run", mine).sort()[0] - their_logits(model, ids).sort()[0]).abs().max().item()
    assert worst < 1e-4, worst
    llama("refused", byte_pairs(pre_tokenizers.ByteLevel()), vocab_size=400)
    hf("import", "refused", "refused-run", says="pre_tokenizer ByteLevel")
    words = Tokenizer(models.WordLevel({"a": 0}, "a"))
    llama("words", words, vocab_size=400)
    hf("import", "words", "words-run", says="type WordLevel")


def what_cannot_go():
    """One line, and status 1."""
    run(program("train"), "lm", CHRONICLE, "--layers", "1", "--d-model", "16", "--steps", "2", "--quiet", "--run", "modern")
    assert hf("export", "modern", "modern-hf", says="found norm_kind layer, need rms") == 1
    trained("letters", ["--tokenizer", "char"])
    assert hf("export", "letters", "letters-hf", says="need --tokenizer bpe") == 1
    assert hf("export", "none", "none-hf", says="none/model.safetensors") == 1
    assert hf("export", "tied-hf", "again-hf", says="found no run of ./train") == 1
    assert hf("import", "tied-hf", "tied", says="tied/model.safetensors: found a file, need another name") == 1
    assert hf("export", "tied", "tied-hf", says="tied-hf/config.json: found a file, need another name") == 1
    os.makedirs("broken", exist_ok=True)
    for text, says in (("{", "damaged"), ("{}", "model_type None"), ("[]", "damaged"), ('{"model_type": "llama"}', "hidden_size")):
        with open("broken/config.json", "w") as file:
            file.write(text)
        assert hf("import", "broken", "broken-run", says=says) == 1
    llama("gelu", hidden_act="gelu")
    assert hf("import", "gelu", "gelu-run", says="found hidden_act gelu, need silu") == 1


def comes_back():
    """A run that went to transformers and back has the same logits and tokens."""
    hf("import", "untied-hf", "untied-back")
    ids = list(range(200, 260))
    worst = (our_logits("untied", ids) - our_logits("untied-back", ids)).abs().max().item()
    assert worst < 1e-6, worst
    lines = b"The mill\n".hex() + "\n"
    both = [subprocess.run([os.path.join(BUILD, "float", "tests", "interop", "tokens"), name], input=lines, capture_output=True, text=True).stdout
            for name in ("untied", "untied-back")]
    assert both[0] == both[1] and both[0], both


def goes_to_gguf():
    """gguf reads back what was written: tokens, merges, and each weight; queries and keys with neighbours as pairs."""
    import gguf
    hf("gguf", "untied", "untied.gguf")
    reader, weights = gguf.GGUFReader("untied.gguf"), load_file("untied-hf/model.safetensors")
    found = {tensor.name: np.array(tensor.data).reshape(tensor.shape[::-1]) for tensor in reader.tensors}
    assert len(found) == len(weights), (len(found), len(weights))
    assert np.array_equal(found["token_embd.weight"], weights["model.embed_tokens.weight"].numpy())
    q, heads = weights["model.layers.1.self_attn.q_proj.weight"].numpy(), 4
    half = q.shape[0] // heads // 2
    for head in range(heads):
        for i in range(half):
            row = 2 * (head * half + i)
            assert np.array_equal(found["blk.1.attn_q.weight"][row], q[head * 2 * half + i])
            assert np.array_equal(found["blk.1.attn_q.weight"][row + 1], q[head * 2 * half + half + i])
    tokens = reader.fields["tokenizer.ggml.tokens"]
    words = [bytes(tokens.parts[i]).decode() for i in tokens.data]
    assert words == list(json.load(open("untied-hf/tokenizer.json"))["model"]["vocab"])


def fails(kind, text, call, *arguments):
    try:
        call(*arguments)
    except kind as e:
        assert text in str(e), e
    else:
        raise AssertionError(f"found no {kind.__name__}, need one")


def torch_generates():
    """tapeformer_torch.py writes the text of ./generate, and what it saves is read here."""
    model = tapeformer_torch.load("tied")
    ours = run(program("generate"), "tied", "--prompt", "The mill", "--greedy", "--length", "40").stdout
    assert "The mill" + model.generate("The mill", 40) == ours.rstrip("\n")
    tapeformer_torch.save(model, "saved")
    assert run(program("generate"), "saved", "--prompt", "The mill", "--greedy", "--length", "40").stdout == ours
    fails(FileExistsError, "saved: found a run", tapeformer_torch.save, model, "saved")
    for task in ("copy", "reverse"):
        run(program("train"), task, "--steps", "60", "--quiet", "--run", task)
        model = tapeformer_torch.load(task)
        fails(ValueError, "found 'ä', need one of the 61 characters", model.generate, "ABä")
        theirs = model.generate("ABC")
        assert theirs == run(program("generate"), task, "--prompt", "ABC").stdout.strip(), task


def main():
    failed = 0
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for test in (goes_out, tokens_are_equal, comes_in, tokenizers_come_in, what_cannot_go, comes_back, goes_to_gguf, torch_generates):
            line = f"hf: {test.__name__.replace('_', ' ')}"
            try:
                test()
                print("ok  ", line, flush=True)
            except Exception as e:  # noqa: BLE001
                failed += 1
                print(f"  {type(e).__name__}: {str(e)[:600]}\nFAIL {line}", flush=True)
        os.chdir("/")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
