/* One function for each reader of outside bytes. It takes any bytes and checks what the reader
 * promises. libFuzzer calls them through fuzz.c; tests/fuzz/fuzz_seeds.c runs the seeds, whole, cut
 * and changed. A broken promise ends the process. */
#pragma once

#include "base/utf8.h"
#include "check/grading/batch_file.h"
#include "check/messages.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "nn/model_file.h"
#include "promises.h"
#include "tasks/corpus.h"
#include "training/checkpoint.h"

/* Every way to read an array's elements ends, in a value or in a line. */
static inline void read_elements(const Array *a) {
    Error e = {0};
    size_t count = (size_t)a->count + 1;
    double *numbers = malloc(count * sizeof *numbers);
    real *reals = malloc(count * sizeof *reals);
    int32_t *narrow = malloc(count * sizeof *narrow);
    PROMISE(numbers && reals && narrow);
    array_to_double(a, numbers);
    promise_error(array_to_real(a, reals, &e), &e);
    e = (Error){0};
    promise_error(array_to_int32(a, narrow, &e), &e);
    e = (Error){0};
    promise_error(array_check_finite(a, &e), &e);
    free(numbers);
    free(reals);
    free(narrow);
}

static inline void read_safetensors(const uint8_t *data, size_t size) {
    Safetensors s;
    Error e = {0};
    bool ok = safetensors_parse(&s, "f", copy_of(data, size), size, &e);
    promise_error(ok, &e);
    if (!ok) return;
    size_t bytes = 0;
    for (int i = 0; i < s.tensors; i++) {
        PROMISE(safetensors_find(&s, s.tensor[i].name) == &s.tensor[i]);
        bytes += (size_t)s.tensor[i].count * dtype_size(s.tensor[i].dtype);
        read_elements(&s.tensor[i]);
    }
    for (int i = 0; i < s.metadata_count; i++)
        PROMISE(safetensors_metadata(&s, s.metadata[i].key) == s.metadata[i].value);
    PROMISE(bytes <= size - 8);
    safetensors_free(&s);
}

typedef struct Stream {
    const uint8_t *at;
    size_t left;
} Stream;

static inline bool next_bytes(void *context, void *to, size_t size) {
    Stream *s = context;
    if (size > s->left) return false;
    if (size) memcpy(to, s->at, size);
    s->at += size;
    s->left -= size;
    return true;
}

static inline void read_npy(const uint8_t *data, size_t size) {
    Array a;
    Error e = {0};
    bool ok = npy_receive(&a, "f", 1 << 20, next_bytes, &(Stream){data, size}, &e);
    promise_error(ok, &e);
    if (!ok) return;
    PROMISE((size_t)a.count * dtype_size(a.dtype) <= size);
    read_elements(&a);
    array_free(&a);
}

/* A string, printed and read again, is the same. */
static inline void print_and_read(const char *text) {
    char *printed = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&printed, &size);
    PROMISE(out);
    json_print(out, text);
    PROMISE(fclose(out) == 0);
    Error e = {0};
    JsonString again;
    Json j = json_over("f", printed, size, &e);
    PROMISE(json_string(&j, &again) && json_end(&j) && strcmp(again.text, text) == 0);
    free(printed);
}

static inline void read_json(const uint8_t *data, size_t size) {
    Error e = {0};
    JsonString key;
    uint64_t n;
    char *text = copy_of(data, size);
    Json j = json_over("f", text, size, &e);
    json_skip(&j);
    promise_error(json_end(&j), &e);
    free(text);

    e = (Error){0};
    text = copy_of(data, size);
    j = json_over("f", text, size, &e);
    json_enter(&j, '{');
    while (json_member(&j, &key)) {
        if (!memchr(key.text, 0, key.length)) print_and_read(key.text);
        if (key.length % 2)
            json_natural(&j, &n);
        else
            json_skip(&j);
    }
    promise_error(json_end(&j), &e);
    free(text);
}

/* A file of ours is read as another program's, without its checksum. */
static inline void read_model(const uint8_t *data, size_t size) {
    static const char ours[] = "\": {\"crc32", others[] = "\":{ \"crc32";
    Error e = {0};
    Notes notes = {0};
    char *copy = copy_of(data, size), *found = memmem(copy, size, ours, sizeof ours - 1);
    if (found) memcpy(found, others, sizeof others - 1);
    Model *m = model_load(file_of((const uint8_t *)copy, size), size % 2, &notes, &e);
    free(copy);
    promise_error(m != NULL, &e);
    if (!m) return;
    for (long i = 0; i < m->parameters.size; i++)
        PROMISE(m->parameters.value[i] - m->parameters.value[i] == 0);
    for (int i = 0; i < notes.count; i++) PROMISE(model_notes_find(&notes, notes.entry[i].key));
    model_notes_free(&notes);
    model_free(m);
}

static inline void read_batch(const uint8_t *data, size_t size) {
    for (int lm = 0; lm < 2; lm++) {
        Error e = {0};
        ModelConfig c = lm ? config_language_model(13, 80) : config_seq2seq(11, 80, 0);
        PaddedBatch *b = batch_read(file_of(data, size), &c, &e);
        promise_error(b != NULL, &e);
        Tokens x = {0};
        if (b && tokens_new(&x, b->rows, b->rows * b->T, &e)) {
            tokens_fill(&x, b->rows, b->T, b->target_in, c.pad_id);
            for (long i = 0; i < x.sequences.total_rows; i++)
                PROMISE(x.id[i] >= 0 && x.id[i] < c.vocab_size);
        }
        tokens_free(&x);
        batch_padded_free(b);
    }
}

static inline void read_text(const uint8_t *data, size_t size) {
    Error e = {0};
    char *text = copy_of(data, size), shown[ESCAPED_TEXT];
    bool ok = utf8_check("f", text, size, &e);
    promise_error(ok, &e);
    size_t wrong = ok ? 0 : (size_t)atol(strstr(e.text, "byte ") + 5);
    PROMISE(ok || (wrong < size && !utf8_decode(text + wrong, size - wrong, &(uint32_t){0})));
    e = (Error){0};
    TaskOptions o = {.tokenizer = (const TokenizerKind *)all_tokenizers[size % 3],
                     .context = 1 + (long)(size % 8),
                     .validation = 0.25};
    Corpus *c = corpus_make(&(Passage){"f", text, size}, 1, &o, &e);
    promise_error(c != NULL, &e);
    if (c) {
        PROMISE(o.tokenizer != &tokenizer_char || (size_t)c->count == utf8_count(text, size));
    }
    corpus_free(c);
    free(text);
    text = text_of(data, size);
    utf8_escape(shown, text);
    for (const char *at = shown; *at; at++) PROMISE((unsigned char)*at >= ' ' && *at != 0x7F);
    free(text);
}

/* A vocabulary, a NUL and a text: both come back from what is made of them. */
static inline void read_vocabulary(const uint8_t *data, size_t size) {
    Error e = {0};
    char *vocabulary = text_of(data, size), *text = vocabulary + strlen(vocabulary);
    size_t rest = size - (size_t)(text - vocabulary), length = rest ? rest - 1 : 0;
    if (rest) text++;
    Tokenizer *k = tokenizer_parse("f", vocabulary, &e);
    promise_error(k != NULL, &e);
    if (k) {
        char *string = tokenizer_string(k, &e);
        PROMISE(string && strcmp(string, vocabulary) == 0);
        free(string);
        int32_t *ids = malloc((length + 1) * sizeof *ids);
        char *back = malloc(TOKEN_BYTES * length + 1);
        long count;
        PROMISE(ids && back);
        bool ok = tokenizer_encode(k, "f", text, length, ids, &count, &e);
        promise_error(ok, &e);
        for (long i = 0; i < (ok ? count : 0); i++) PROMISE(ids[i] >= 0 && ids[i] < k->size);
        if (ok)
            PROMISE(tokenizer_decode(k, ids, count, back) == length && !memcmp(back, text, length));
        free(ids);
        free(back);
    }
    tokenizer_free(k);
    free(vocabulary);
}

/* Rows of a file of pairs hold tokens, and no source is on both sides. */
static inline void read_pairs(const uint8_t *data, size_t size) {
    Error e = {0};
    TaskOptions o = task_defaults();
    o.pairs = file_of(data, size);
    o.tokenizer = (const TokenizerKind *)all_tokenizers[size % 3];
    o.validation = 0.3;
    Task *task = task_open("pairs", &o, &e);
    promise_error(task != NULL, &e);
    if (!task) return;
    Batch *training = task_batch(task, 4, &e), *held_out = task_batch(task, 4, &e);
    PROMISE(training && held_out && task->held_out > 0);
    task_training_batch(task, 1, 0, 4, training);
    PROMISE(task_held_out_batch(task, 0, 4, held_out) > 0);
    for (long r = 0; r < training->rows; r++) {
        BatchRow row = batch_row(training, r), other = batch_row(held_out, 0);
        PROMISE(row.S > 0 && row.T > 1 && row.target_out[row.T - 1] == task->end_id);
        bool same = row.S == other.S &&
                    !memcmp(row.source, other.source, (size_t)row.S * sizeof *row.source);
        for (long i = 0; i < row.S; i++)
            PROMISE(row.source[i] >= 0 && row.source[i] < task->tokenizer->size);
        PROMISE(!same);
    }
    batch_free(training);
    batch_free(held_out);
    task_free(task);
}

/* ---- Training configurations and checkpoints ---- */

static inline int by_key(const void *a, const void *b) {
    return strcmp(((const Metadata *)a)->key, ((const Metadata *)b)->key);
}

/* A configuration read from a file is the one that a checkpoint then saves, unless it names a run
 * to resume, whose checkpoint has the other settings. */
static inline void read_train_config(const uint8_t *data, size_t size) {
    Error e = {0};
    TrainConfig r, again = {.resume = "run"};
    char *arguments[] = {(char[]){"train"}, (char[]){"--config"}, (char *)file_of(data, size)};
    bool ok =
        train_config_parse(&r, 3, arguments, &e) && (r.resume || train_config_complete(&r, &e));
    bool looked = r.resume && e.status == STATUS_NO_INPUT; /* a run is found by its name */
    promise_reason(ok, &e, looked ? STATUS_NO_INPUT : STATUS_USAGE);
    if (ok && !r.resume) {
        Contents c = {0};
        ConfigField field;
        train_config_notes(&r, &c);
        for (int i = 0; config_field(&r.model, i, &field); i++)
            contents_note(&c, field.key, field.value);
        contents_note(&c, "task", r.task);
        Safetensors saved = {
            .path = "f", .metadata = c.metadata, .metadata_count = (int)c.metadata_count};
        qsort(c.metadata, (size_t)c.metadata_count, sizeof *c.metadata, by_key);
        PROMISE(train_config_resume(&again, &saved, &e) && train_config_complete(&again, &e));
        for (const Setting *s = train_settings; s->name; s++) {
            char first[SETTING_VALUE], second[SETTING_VALUE];
            PROMISE(s->saved == SAVED_NOWHERE ||
                    !strcmp(setting_text(s, &r, first), setting_text(s, &again, second)));
        }
        contents_free(&c);
    }
    train_config_free(&r);
    train_config_free(&again);
}

/* The trainer of the seeds' runs. */
static inline Trainer *seed_trainer(void) {
    static Trainer t;
    static const char text[] = "abababbabaabababababababaaababab";
    if (t.model) return &t;
    Error e = {0};
    TaskOptions o = task_defaults();
    o.text = file_of((const uint8_t *)text, sizeof text - 1);
    o.context = 2;
    Task *task = task_open("lm", &o, &e);
    PROMISE(task);
    ModelConfig c = config_language_model((int)task->vocab_size, (int)task->max_T);
    c.encoder_layers = c.heads = c.d_ff = 1;
    c.d_model = 2;
    t = (Trainer){.task = task,
                  .optimizer = optim_default(&optimizer_adamw),
                  .model = model_new(&c, true, 1, &e)};
    PROMISE(t.model && optim_start(&t.optimizer, &t.model->parameters, &e));
    return &t;
}

/* A folder whose checkpoint.safetensors leads to that file; it goes with the process. */
static char run_folder[] = "/tmp/tapeformer-fuzz-XXXXXX", run_checkpoint_link[64];

static inline void remove_run_folder(void) {
    unlink(run_checkpoint_link);
    rmdir(run_folder);
}

static inline void make_run_folder(const char *file) {
    if (*run_checkpoint_link) return;
    PROMISE(mkdtemp(run_folder));
    snprintf(run_checkpoint_link, sizeof run_checkpoint_link, "%s/checkpoint.safetensors",
             run_folder);
    PROMISE(symlink(file, run_checkpoint_link) == 0 && atexit(remove_run_folder) == 0);
}

/* A checkpoint that is taken gives finite weights and a place to go on from. */
static inline void read_checkpoint(const uint8_t *data, size_t size) {
    Error e = {0};
    Checkpoint c;
    TrainConfig r = {.resume = "run"};
    Trainer *t = seed_trainer();
    make_run_folder(file_of(data, size));
    bool ok = checkpoint_open(&c, run_folder, &e);
    promise_error(ok, &e);
    if (ok) {
        promise_reason(train_config_resume(&r, &c.file, &e), &e, STATUS_OTHER_MODEL);
        e = (Error){0};
        ok = checkpoint_restore(&c, t, &e);
        promise_reason(ok, &e, STATUS_OTHER_MODEL);
        PROMISE(c.state.step >= 0 && c.state.tokens >= 0 && c.state.evaluated >= 0);
        const Parameters *p = &t->model->parameters;
        for (long i = 0; i < (ok ? p->size : 0); i++) PROMISE(p->value[i] - p->value[i] == 0);
    }
    train_config_free(&r);
    checkpoint_free(&c);
}

static const struct Reader {
    const char *name;
    void (*read)(const uint8_t *data, size_t size);
    int header; /* 8: safetensors, 10: npy: the bytes before a header that say how long it is; 0:
                   there is none */
} readers[] = {
    {"safetensors", read_safetensors, 8},
    {"npy", read_npy, 10},
    {"json", read_json, 0},
    {"model", read_model, 8},
    {"batch", read_batch, 8},
    {"text", read_text, 0},
    {"vocabulary", read_vocabulary, 0},
    {"pairs", read_pairs, 0},
    {"recipe", read_train_config, 0},
    {"checkpoint", read_checkpoint, 8},
};
enum { READERS = sizeof readers / sizeof *readers };
