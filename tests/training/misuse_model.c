/* Programs that misuse models, training, decoding, texts and files get one line that names the
 * function and the argument. tests/autograd/misuse.c does the same for tape and operations. */
#include "decoding/decode.h"
#include "expect_bug.h"
#include "formats/safetensors.h"
#include "model_helpers.h"
#include "nn/model_file.h"
#include "training/trainer.h"

static Error e;

TEST(models_say_what_they_want) {
    static const int32_t ids[4] = {1, 2, 3, 1};
    Model *lm = new_model(small_language_model(), 1), *answers = new_model(small_seq2seq(), 1);
    Tape *t = tape_new();
    Tokens x;
    CHECK(tokens_new(&x, 1, 4, &e));
    tokens_pack(&x, 1, (long[]){0, 4}, ids);
    Forward f = {t, lm, NULL, &x};
    Tensor *hidden = nn_hidden(&f);
    EXPECT_BUG("model_without_memory: c is NULL", model_new(NULL, false, 1, &e));
    EXPECT_BUG("config_check: c is NULL", config_check(NULL, STATUS_USAGE, &e));
    EXPECT_BUG("nn_want_pass: f is NULL", nn_hidden(NULL));
    EXPECT_BUG("nn_want_pass: f->tape is NULL", nn_hidden(&(Forward){NULL, lm, NULL, &x}));
    EXPECT_BUG("nn_want_pass: f->model is NULL", nn_hidden(&(Forward){t, NULL, NULL, &x}));
    EXPECT_BUG("nn_hidden: f->target is NULL", nn_hidden(&(Forward){t, lm}));
    EXPECT_BUG("nn_hidden: f->source is NULL", nn_hidden(&(Forward){t, answers, NULL, &x}));
    EXPECT_BUG("nn_logits: hidden is NULL", nn_logits(&f, NULL));
    EXPECT_BUG("linear: W is [13,8], want [d_out,2]", nn_logits(&f, tape_constant(t, SHAPE(4, 2))));
    EXPECT_BUG("nn_loss: hidden is NULL", nn_loss(&f, NULL, ids));
    EXPECT_BUG("linear_cross_entropy: targets is NULL", nn_loss(&f, hidden, NULL));
    EXPECT_BUG("embedding: token 0 is 99, want it in [0,13)", {
        tokens_pack(&x, 1, (long[]){0, 1}, (int32_t[]){99});
        nn_hidden(&f);
    });
    EXPECT_BUG("tokens_new: x is NULL", tokens_new(NULL, 1, 1, &e));
    EXPECT_BUG("tokens_new: -1 sequences of 1 rows, want at least 0", tokens_new(&x, -1, 1, &e));
    EXPECT_BUG("tokens_pack: x is NULL", tokens_pack(NULL, 1, (long[]){0, 1}, ids));
    EXPECT_BUG("tokens_pack: start is NULL", tokens_pack(&x, 1, NULL, ids));
    EXPECT_BUG("tokens: ids is NULL", tokens_pack(&x, 1, (long[]){0, 1}, NULL));
    EXPECT_BUG("tokens: -1 sequences, want at most 1", tokens_pack(&x, -1, (long[]){0}, ids));
    EXPECT_BUG("tokens: sequence 0 ends at 1, before its start 2",
               tokens_pack(&x, 1, (long[]){2, 1}, ids));
    EXPECT_BUG("tokens_free: x is NULL", tokens_free(NULL));
    EXPECT_BUG("parameters_clear_grad: p is NULL", parameters_clear_grad(NULL));
    EXPECT_BUG("parameters_zero_unreached: p is NULL", parameters_zero_unreached(NULL));
    EXPECT_BUG("parameters_find: name is NULL", parameters_find(&lm->parameters, NULL));
    EXPECT_BUG("model_save: m is NULL", model_save(NULL, "x", NULL, 0, &e));
    EXPECT_BUG("model_save: path is NULL", model_save(lm, NULL, NULL, 0, &e));
    EXPECT_BUG("model_load: path is NULL", model_load(NULL, false, NULL, &e));
    EXPECT_BUG("model_notes_find: n is NULL", model_notes_find(NULL, "x"));
    tokens_free(&x);
    tape_free(t);
    model_free(lm);
    model_free(answers);
    model_free(NULL);
}

TEST(training_says_what_it_wants) {
    Model *m = new_model(small_language_model(), 1), *other = new_model(small_seq2seq(), 1);
    Batch *b = batch_new(1, 2, 3, &e);
    TaskOptions options = task_defaults();
    Task *task = task_open("copy", &options, &e);
    StepResult step;
    Evaluation evaluation;
    Trainer none = {0}, without_task = {.model = m};
    Trainer without_rows = {.model = m,
                            .task = task,
                            .optimizer = {.kind = &optimizer_adamw},
                            .schedule = {.kind = &schedule_constant}};
    Optimizer o = optim_default(&optimizer_sgd);
    CHECK(b && task, "%s", e.text);
    CHECK(optim_start(&o, &m->parameters, &e));
    EXPECT_BUG("batch_new: -1 rows of 2 + 3 tokens, want at least 0", batch_new(-1, 2, 3, &e));
    EXPECT_BUG("batch_add: b is NULL", batch_add(NULL, 1, 1));
    EXPECT_BUG("batch_add: row 0 of -1 + -1 tokens, want at most 1 rows of 2 + 3",
               batch_add(b, -1, -1));
    EXPECT_BUG("batch_add: row 0 of 3 + 1 tokens, want at most 1 rows of 2 + 3",
               batch_add(b, 3, 1));
    EXPECT_BUG("batch_row: row 0, want it in [0,0)", batch_row(b, 0));
    EXPECT_BUG("batch_clear: b is NULL", batch_clear(NULL));
    EXPECT_BUG("batch_teach: a row of 0 target tokens, want at least 1",
               batch_teach((BatchRow){0}, 1, NULL, 2));
    EXPECT_BUG("batch_teach: answer is NULL", batch_teach(batch_add(b, 1, 3), 1, NULL, 2));
    EXPECT_BUG("batch_target_tokens: b is NULL", batch_target_tokens(NULL));
    EXPECT_BUG("task_open: name is NULL", task_open(NULL, &options, &e));
    EXPECT_BUG("task_open: o is NULL", task_open("copy", NULL, &e));
    EXPECT_BUG("task_batch: task is NULL", task_batch(NULL, 1, &e));
    EXPECT_BUG("task_training_batch: task is NULL", task_training_batch(NULL, 1, 0, 1, b));
    EXPECT_BUG("task_training_batch: b is NULL", task_training_batch(task, 1, 0, 1, NULL));
    EXPECT_BUG("optim_default: kind is NULL", optim_default(NULL));
    EXPECT_BUG("optim_start: o->kind is NULL", optim_start(&(Optimizer){0}, &m->parameters, &e));
    EXPECT_BUG("optim_start: p is NULL", optim_start(&o, NULL, &e));
    EXPECT_BUG("optim_clip: o is NULL", optim_step(NULL, &m->parameters, 1, 1));
    EXPECT_BUG("parameters_want_grad: p is NULL", optim_step(&o, NULL, 1, 1));
    EXPECT_BUG("optim_stop: o is NULL", optim_stop(NULL));
    EXPECT_BUG("schedule_rate: s is NULL", schedule_rate(NULL, 1));
    EXPECT_BUG("schedule_rate: s->kind is NULL", schedule_rate(&(Schedule){0}, 1));
    EXPECT_BUG("trainer_start: t is NULL", trainer_start(NULL, &e));
    EXPECT_BUG("trainer_start: t->model is NULL", trainer_start(&none, &e));
    EXPECT_BUG("trainer_start: t->task is NULL", trainer_start(&without_task, &e));
    EXPECT_BUG("trainer_start: 0 rows, 0 batches a step, want at least 1",
               trainer_start(&without_rows, &e));
    EXPECT_BUG("trainer_step: the trainer has no memory, want trainer_start first",
               trainer_step(&none, &step, &e));
    EXPECT_BUG("trainer_step: step is NULL", trainer_step(&none, NULL, &e));
    EXPECT_BUG("trainer_evaluate: the trainer has no memory, want trainer_start first",
               trainer_evaluate(&none, 0, &evaluation, &e));
    EXPECT_BUG("trainer_evaluate_watched: v is NULL", trainer_evaluate(&none, 0, NULL, &e));
    EXPECT_BUG("trainer_stop: t is NULL", trainer_stop(NULL));
    ModelConfig c = small_language_model();
    Model *still = must(model_new(&c, false, 1, &e), &e);
    EXPECT_BUG("parameters_clear_grad: the model has no gradients, want one made for training",
               parameters_clear_grad(&still->parameters));
    EXPECT_BUG("parameters_zero_unreached: the model has no gradients, want one made for training",
               parameters_zero_unreached(&still->parameters));
    EXPECT_BUG("optim_step: the model has no gradients, want one made for training",
               optim_step(&o, &still->parameters, 1, 1));
    trainer_stop(&none);
    optim_stop(&o);
    EXPECT_BUG("optim_update: the optimizer has no moments, want optim_start first",
               optim_update(&o, &m->parameters, 1, 1));
    model_free(still);
    task_free(task);
    batch_free(b);
    model_free(m);
    model_free(other);
}

/* Samplers out of range, prompts and models that do not fit together. */
TEST(decoding_says_what_it_wants) {
    int32_t ids[8] = {1, 2, 3}, out[8];
    long start[] = {0, 2}, length[1];
    double p[26];
    real score[13] = {0};
    Model *lm = new_model(small_language_model(), 1), *answers = new_model(small_seq2seq(), 1);
    Tape *t = tape_new();
    Sampler greedy = {0};
    Scores scores = {13, score, ids, 3}, no_scores = {0, score, ids, 3};
#define DRAWS(...) decode_choose(&(Sampler){__VA_ARGS__}, &scores, 0, p)
    EXPECT_BUG("sampler: temperature is nan, want at least 0", DRAWS(.temperature = (double)NAN));
    EXPECT_BUG("sampler: temperature is -1, want at least 0", DRAWS(.temperature = -1));
    EXPECT_BUG("sampler: repetition_penalty is nan, want at least 0",
               DRAWS(.repetition_penalty = (double)NAN));
    EXPECT_BUG("sampler: top_k is -1, want at least 0", DRAWS(.top_k = -1));
    EXPECT_BUG("sampler: top_p is 2, want it in [0,1]", DRAWS(.top_p = 2));
    EXPECT_BUG("sampler: top_p is nan, want it in [0,1]", DRAWS(.top_p = (double)NAN));
    EXPECT_BUG("sampler: min_p is -1, want it in [0,1]", DRAWS(.min_p = -1));
    EXPECT_BUG("sampler: 0 tokens, want at least 1", decode_choose(&greedy, &no_scores, 0, p));
    EXPECT_BUG("check_choice: c is NULL", decode_choose(&greedy, NULL, 0, p));
    EXPECT_BUG("check_choice: p is NULL", decode_probabilities(&greedy, &scores, NULL));
    EXPECT_BUG("check_sampler: s is NULL", decode_probabilities(NULL, &scores, p));
    EXPECT_BUG("decode_continue: s is NULL",
               decode_continue(t, lm, NULL, ids, 3, 2, NULL, NULL, &e));
    EXPECT_BUG("decode_continue: m is NULL",
               decode_continue(t, NULL, &greedy, ids, 3, 2, NULL, NULL, &e));
    EXPECT_BUG("decode_continue: ids is NULL",
               decode_continue(t, lm, &greedy, NULL, 3, 2, NULL, NULL, &e));
    EXPECT_BUG("decoder_open: t is NULL",
               decode_continue(NULL, lm, &greedy, ids, 3, 2, NULL, NULL, &e));
    EXPECT_BUG("decode: a prompt of 0 tokens, want at least 1",
               decode_continue(t, lm, &greedy, ids, 0, 2, NULL, NULL, &e));
    EXPECT_BUG("decode: 1 sequences of -1 new tokens, want at least 0",
               decode_continue(t, lm, &greedy, ids, 3, -1, NULL, NULL, &e));
    EXPECT_BUG("decode: no source, want one for a sequence-to-sequence model",
               decode_continue(t, answers, &greedy, ids, 3, 2, NULL, NULL, &e));
    EXPECT_BUG("decode: sources, want none for a language model",
               decode_answers(t, lm, &greedy, 1, start, ids, 1, 2, 4, out, length, &e));
    EXPECT_BUG("decode: -1 sequences of 4 new tokens, want at least 0",
               decode_answers(t, answers, &greedy, -1, start, ids, 1, 2, 4, out, length, &e));
    EXPECT_BUG("decode_answers: out is NULL",
               decode_answers(t, answers, &greedy, 1, start, ids, 1, 2, 4, NULL, length, &e));
    EXPECT_BUG("decode_answers: length is NULL",
               decode_answers(t, answers, &greedy, 1, start, ids, 1, 2, 4, out, NULL, &e));
    EXPECT_BUG("tokens: ids is NULL",
               decode_answers(t, answers, &greedy, 1, start, NULL, 1, 2, 4, out, length, &e));
    tape_free(t);
    model_free(lm);
    model_free(answers);
}

TEST(texts_and_files_say_what_they_want) {
    static real data[2];
    Passage text = {"text", "abc", 3};
    Tokenizer *k = tokenizer_learn(&tokenizer_char, 0, &text, 1, &e);
    Array a = array_over("x", DTYPE_REAL, SHAPE(2), data);
    Safetensors file = {0};
    Metadata note = {"key", NULL}, no_key = {NULL, "value"};
    int32_t ids[4] = {0};
    long count;
    char out[64];
    CHECK(k, "%s", e.text);
    EXPECT_BUG("tokenizer_learn: kind is NULL", tokenizer_learn(NULL, 0, &text, 1, &e));
    EXPECT_BUG("tokenizer_learn: passage is NULL",
               tokenizer_learn(&tokenizer_char, 0, NULL, 1, &e));
    EXPECT_BUG("tokenizer_learn: -1 passages, want at least 0",
               tokenizer_learn(&tokenizer_char, 0, &text, -1, &e));
    EXPECT_BUG("tokenizer_parse: string is NULL", tokenizer_parse("x", NULL, &e));
    EXPECT_BUG("tokenizer_string: k is NULL", tokenizer_string(NULL, &e));
    EXPECT_BUG("tokenizer_encode_part: k is NULL",
               tokenizer_encode(NULL, "x", "a", 1, ids, &count, &e));
    EXPECT_BUG("tokenizer_encode_part: p->text is NULL",
               tokenizer_encode(k, "x", NULL, 1, ids, &count, &e));
    EXPECT_BUG("tokenizer_encode_part: ids is NULL",
               tokenizer_encode(k, "x", "a", 1, NULL, &count, &e));
    EXPECT_BUG("tokenizer_encode_part: count is NULL",
               tokenizer_encode(k, "x", "a", 1, ids, NULL, &e));
    EXPECT_BUG("tokenizer_decode: k is NULL", tokenizer_decode(NULL, ids, 1, out));
    EXPECT_BUG("tokenizer_decode: ids is NULL", tokenizer_decode(k, NULL, 1, out));
    EXPECT_BUG("tokenizer_decode: out is NULL", tokenizer_decode(k, ids, 1, NULL));
    EXPECT_BUG("tokenizer_decode: -1 tokens, want at least 0", tokenizer_decode(k, ids, -1, out));
    EXPECT_BUG("dtype_size: type 99, want one of Dtype",
               array_over("x", (Dtype)99, SHAPE(2), data));
    EXPECT_BUG("dtype_size: type -1, want one of Dtype",
               array_over("x", (Dtype)-1, SHAPE(2), data));
    EXPECT_BUG("array_over: bytes is NULL", array_over("x", DTYPE_REAL, SHAPE(2), NULL));
    EXPECT_BUG("array_over: an array [-1]", array_over(NULL, DTYPE_REAL, SHAPE(-1), data));
    EXPECT_BUG("array_to_real: a is NULL", array_to_real(NULL, data, &e));
    EXPECT_BUG("array_to_real: out is NULL", array_to_real(&a, NULL, &e));
    EXPECT_BUG("array_free: a is NULL", array_free(NULL));
    EXPECT_BUG("safetensors_read: path is NULL", safetensors_read(&file, NULL, &e));
    EXPECT_BUG("safetensors_read: s is NULL", safetensors_read(NULL, "x", &e));
    EXPECT_BUG("safetensors_find: name is NULL", safetensors_find(&file, NULL));
    EXPECT_BUG("safetensors_free: s is NULL", safetensors_free(NULL));
    EXPECT_BUG("safetensors_write: path is NULL", safetensors_write(NULL, NULL, 0, &a, 1, &e));
    EXPECT_BUG("check_names: list is NULL", safetensors_write("x", NULL, 0, NULL, 1, &e));
    EXPECT_BUG("check_names: list is NULL", safetensors_write("x", NULL, 1, &a, 1, &e));
    EXPECT_BUG("check_lists: metadata[i].value is NULL",
               safetensors_write("x", &note, 1, &a, 1, &e));
    EXPECT_BUG("safetensors_write: metadata key 0 has no name",
               safetensors_write("x", &no_key, 1, &a, 1, &e));
    EXPECT_BUG("safetensors_write: -1 tensors, want at least 0",
               safetensors_write("x", NULL, 0, &a, -1, &e));
    tokenizer_free(k);
    array_free(&a);
}

RUN_TESTS
