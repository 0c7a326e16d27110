/* Models as files: weights come back to the bit, and a file that is no model is refused with place
 * and reason. */
#include "folder.h"
#include "model_helpers.h"
#include <sys/resource.h>

static const Metadata some_notes[] = {{"task", "copy"},
                                      {"vocabulary", "a\"\\\n\t无可奈何\x7f 🙂"},
                                      {"empty", ""},
                                      {"begin_id", "7"}};
enum { SOME_NOTES = sizeof some_notes / sizeof *some_notes };

static void check_same_config(const ModelConfig *a, const ModelConfig *b) {
    ConfigField x, y;
    for (int i = 0; config_field(a, i, &x); i++)
        CHECK(config_field(b, i, &y) && strcmp(x.value, y.value) == 0, "%s: found %s, want %s",
              x.key, y.value, x.value);
    CHECK(!config_field(a, -1, &x));
    CHECK(a->label_smoothing == b->label_smoothing, "found %.17g", b->label_smoothing);
}

static void check_round_trip(ModelConfig c) {
    Error e = {0};
    const char *path = in_folder("model.safetensors");
    Model *m = new_model(c, 1);
    Parameters *p = &m->parameters;
    for (int i = 0; i < p->count; i++) /* gains and biases too are to be random */
        for (long j = 0; j < shape_count(p->entry[i].shape); j++)
            p->value[p->entry[i].offset + j] +=
                (real)random_normal(random_key(1, (uint64_t)i), (uint64_t)j);
    CHECK(model_save(m, path, some_notes, SOME_NOTES, &e), "%s", e.text);
    for (int training = 0; training < 2; training++) {
        Notes notes;
        Model *n = must(model_load(path, training, &notes, &e), &e);
        check_same_config(&c, &n->config);
        CHECK(n->parameters.size == p->size && same_bits(n->parameters.value, p->value, p->size));
        CHECK((n->parameters.grad != NULL) == training);
        for (long i = 0; i < (training ? p->size : 0); i++) CHECK(n->parameters.grad[i] == 0);
        CHECK(notes.count == SOME_NOTES, "found %d notes", notes.count);
        for (int i = 0; i < SOME_NOTES; i++) {
            const char *value = model_notes_find(&notes, some_notes[i].key);
            CHECK(value && strcmp(value, some_notes[i].value) == 0, "%s: found %s",
                  some_notes[i].key, value);
        }
        CHECK(!model_notes_find(&notes, "d_model") && !model_notes_find(&notes, "crc32") &&
              !model_notes_find(&notes, "no"));
        model_notes_free(&notes);
        nn_make_positions(n, c.max_length);
        nn_make_positions(m, c.max_length);
        CHECK(same_bits(n->positions.data, m->positions.data, shape_count(m->positions.shape)));
        model_free(n);
    }
    model_free(m);
}

TEST(models_come_back_to_the_bit) {
    ModelConfig c = small_seq2seq();
    check_round_trip(c);
    check_round_trip(small_language_model());
    c.norm = NORM_PRE;
    c.final_norm = true;
    c.activation = &activation_gelu;
    c.positions = &positions_learned;
    c.tied = c.scale_embedding = false;
    c.label_smoothing = 1.0 / 3;
    c.pad_id = 10;
    check_round_trip(c);
}

/* max_length alone costs no memory: nothing else in a file confirms it. */
TEST(long_sequences_cost_nothing) {
    Error e = {0};
    struct rusage before, after;
    ModelConfig c = small_seq2seq();
    c.max_length = 1 << 24;
    Model *m = new_model(c, 1);
    CHECK(model_save(m, in_folder("model"), NULL, 0, &e), "%s", e.text);
    getrusage(RUSAGE_SELF, &before);
    Model *n = must(model_load(in_folder("model"), false, NULL, &e), &e);
    getrusage(RUSAGE_SELF, &after);
    CHECK(after.ru_maxrss - before.ru_maxrss < 64 << 10, "found %ld KB",
          after.ru_maxrss - before.ru_maxrss);
    model_free(m);
    model_free(n);
}

/* ---- Files that are no model ---- */

/* The contents of a file as model_save writes it, to be spoilt. */
typedef struct Spoilt {
    Model *model;
    Array tensor[80];
    int tensors;
    Metadata metadata[32];
    ConfigField field[CONFIG_FIELDS];
    int fields;
} Spoilt;

static Spoilt *spoilt_new(ModelConfig c) {
    Spoilt *s = calloc(1, sizeof *s);
    if (!s) exit(1);
    s->model = new_model(c, 1);
    const Parameters *p = &s->model->parameters;
    for (int i = 0; i < p->count; i++) {
        const Parameter *x = &p->entry[i];
        s->tensor[s->tensors++] = array_over(x->name, DTYPE_REAL, x->shape, p->value + x->offset);
    }
    for (; config_field(&c, s->fields, &s->field[s->fields]); s->fields++)
        s->metadata[s->fields] = (Metadata){s->field[s->fields].key, s->field[s->fields].value};
    return s;
}

static Array *spoilt_tensor(Spoilt *s, const char *name) {
    for (int i = 0; i < s->tensors; i++)
        if (strcmp(s->tensor[i].name, name) == 0) return &s->tensor[i];
    exit(1);
}

static void spoil_field(Spoilt *s, const char *key, const char *value) {
    for (int i = 0; i < s->fields; i++)
        if (strcmp(s->metadata[i].key, key) == 0) {
            s->metadata[i].value = value;
            return;
        }
    exit(1);
}

/* Writes the file, expects a refusal with this line after the path, and frees s. */
static void expect_refused(Spoilt *s, Status status, const char *line) {
    static int files;
    char name[32];
    Error e = {0};
    snprintf(name, sizeof name, "%d.safetensors", files++);
    const char *path = in_folder(name);
    CHECK(safetensors_write(path, s->metadata, s->fields, s->tensor, s->tensors, &e), "%s", e.text);
    Notes notes = {0};
    Model *m = model_load(path, true, &notes, &e);
    CHECK(!m && e.status == status, "want \"%s\", status %d", line, (int)e.status);
    const char *found = strncmp(e.text, path, strlen(path)) == 0 ? e.text + strlen(path) : e.text;
    CHECK(strcmp(found, line) == 0, "found \"%s\",\n    want \"%s\"", found, line);
    CHECK(!notes.entry);
    model_free(m);
    model_free(s->model);
    free(s);
}

TEST(tensors_that_do_not_fit) {
    Spoilt *s = spoilt_new(small_language_model());
    *spoilt_tensor(s, "encoder.layers.1.linear2.weight") = s->tensor[--s->tensors];
    expect_refused(
        s, STATUS_BAD_DATA,
        ": encoder.layers.1.linear2.weight: found no such tensor, need one of shape [8,24]");

    s = spoilt_new(small_language_model());
    s->tensor[s->tensors] = s->tensor[0];
    s->tensor[s->tensors++].name = "output.weight";
    expect_refused(
        s, STATUS_BAD_DATA,
        ": output.weight: found a tensor that the model does not have, need its 28 only");

    s = spoilt_new(small_language_model());
    Array *a = spoilt_tensor(s, "encoder.layers.0.linear1.weight");
    a->size[0] = 8;
    a->size[1] = 24; /* transposed: as many elements */
    expect_refused(s, STATUS_BAD_DATA,
                   ": encoder.layers.0.linear1.weight: found shape [8,24], need [24,8]");

    s = spoilt_new(small_language_model());
    a = spoilt_tensor(s, "norm.bias");
    a->rank = 2;
    a->size[1] = 1;
    expect_refused(s, STATUS_BAD_DATA, ": norm.bias: found shape [8,1], need [8]");

    s = spoilt_new(small_language_model());
    a = spoilt_tensor(s, "norm.bias");
    int64_t whole[8] = {0};
    a->dtype = DTYPE_I64;
    a->bytes = whole;
    expect_refused(s, STATUS_BAD_DATA, ": norm.bias: found I64, need F64, F32, F16 or BF16");
}

TEST(weights_that_are_not_finite) {
    static const struct {
        const char *name;
        long at;
        double value;
        const char *line;
    } bad[] = {
        {"decoder.layers.1.norm3.weight", 5, INFINITY, "5: found inf, need a finite number"},
        {"decoder.layers.1.norm3.weight", 5, -INFINITY, "5: found -inf, need a finite number"},
        {"embedding.weight", 87, NAN, "87: found nan, need a finite number"},
        {"embedding.weight", 3, -3e38, "3: found -3e+38, need a weight within 1e+18"},
    };
    for (int i = 0; i < 4; i++) {
        char line[200];
        Spoilt *s = spoilt_new(small_seq2seq());
        const Parameter *p = parameters_find(&s->model->parameters, bad[i].name);
        s->model->parameters.value[p->offset + bad[i].at] = (real)bad[i].value;
        snprintf(line, sizeof line, ": %s: element %s", bad[i].name, bad[i].line);
        expect_refused(s, STATUS_BAD_DATA, line);
    }
#ifndef REAL_DOUBLE
    double large[8] = {0, 0, -1e39};
    Spoilt *s = spoilt_new(small_seq2seq());
    Array *a = spoilt_tensor(s, "decoder.layers.1.norm3.weight");
    a->dtype = DTYPE_F64;
    a->bytes = large;
    expect_refused(
        s, STATUS_BAD_DATA,
        ": decoder.layers.1.norm3.weight: element 2: found -1e+39, need at most 3.40282e+38");
#endif
}

/* The default models, field by field. */
TEST(the_usual_models) {
    static const char *const want[] = {
        "kind seq2seq decoder_layers 2 vocab_size 11 max_length 8 "
        "final_norm false scale_embedding true "
        "pad_id 0 encoder_layers 2 heads 4 d_model 128 d_ff 512 "
        "norm post norm_kind layer positions "
        "sinusoidal rotary_base 10000 attention dot qk_norm false activation relu "
        "biases true tied true label_smoothing 0.1 ",
        "kind lm decoder_layers 0 vocab_size 13 max_length 9 "
        "final_norm true scale_embedding false pad_id "
        "none encoder_layers 4 heads 4 d_model 128 d_ff 512 norm "
        "pre norm_kind layer positions learned "
        "rotary_base 10000 attention dot qk_norm false activation gelu biases true tied true "
        "label_smoothing 0 "};
    const ModelConfig models[] = {config_seq2seq(11, 8, 0), config_language_model(13, 9)};
    for (int i = 0; i < 2; i++) {
        char found[1000] = "";
        ConfigField field;
        for (int k = 0; config_field(&models[i], k, &field); k++)
            snprintf(found + strlen(found), sizeof found - strlen(found), "%s %s ", field.key,
                     field.value);
        CHECK(strcmp(found, want[i]) == 0, "found %s", found);
    }
}

TEST(metadata_that_describes_no_model) {
    static const char *const cases[][3] = {
        {"heads", "-2", ": metadata: heads: found \"-2\", need an integer in [1,1048576]"},
        {"d_model", "8.0", ": metadata: d_model: found \"8.0\", need an integer in [1,1048576]"},
        {"decoder_layers", "1", ": metadata: decoder_layers: found 1, need 0 in a language model"},
        {"label_smoothing", "nan",
         ": metadata: label_smoothing: found \"nan\", need a number in [0,1]"},
        {"pad_id", "-2",
         ": metadata: pad_id: found \"-2\", need an integer in [0,16777216] or none"},
        {"pad_id", "13", ": metadata: pad_id: found 13, need a token in [0,13) or none"},
        {"activation", "relu\x1b[31m",
         ": metadata: activation: found \"relu\\x1B[31m\", need one of relu|gelu|silu|swiglu"},
        /* Shapes are compared before memory is allocated. */
        {"d_model", "1048576", ": embedding.weight: found shape [13,8], need [13,1048576]"},
        {"encoder_layers", "1",
         ": encoder.layers.1.linear1.bias: found a tensor that the model does not have, need its "
         "16 only"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Spoilt *s = spoilt_new(small_language_model());
        spoil_field(s, cases[i][0], cases[i][1]);
        expect_refused(s, STATUS_BAD_DATA, cases[i][2]);
    }
    ModelConfig c = config_language_model(13, 9);
    Error e = {0};
    c.pad_id = -2;
    CHECK(!config_check(&c, STATUS_USAGE, &e) &&
              !strcmp(e.text, "pad_id: found \"-2\", need an integer in [0,16777216] or none"),
          "%s", e.text);
    Spoilt *s = spoilt_new(small_language_model());
    spoil_field(s, "d_ff", "24");
    for (int i = 0; i < s->fields; i++)
        if (strcmp(s->metadata[i].key, "d_ff") == 0) s->metadata[i].key = "d_fff";
    expect_refused(s, STATUS_BAD_DATA, ": metadata: found no d_ff, need it");
}

/* ---- Every setting ---- */

/* The k-th value of a setting that differs from others of it; false: there are no more. */
static bool some_value(const Setting *s, int k, char out[SETTING_VALUE]) {
    static const char *const truths[] = {"false", "true"}, *const wholes[] = {"2", "4"},
                             *const reals[] = {"0.25", "0.1"};
    const char *const *fixed = s->type == SETTING_REAL ? reals : wholes;
    if (s->type == SETTING_TRUTH) fixed = truths;
    if (s->type == SETTING_KIND) {
        for (int i = 0; i <= k; i++)
            if (!s->kinds[i]) return false;
        snprintf(out, SETTING_VALUE, "%s", s->kinds[k]->name);
        return true;
    }
    if (s->type != SETTING_CHOICE) return k < 2 && snprintf(out, SETTING_VALUE, "%s", fixed[k]);
    const char *word = s->allowed;
    for (; k > 0; k--) {
        word = strchr(word, '|');
        if (!word) return false;
        word++;
    }
    return word && snprintf(out, SETTING_VALUE, "%.*s", (int)strcspn(word, "|"), word);
}

static const char *replaced_key, *replaced_value;

/* A field of a small model, but for the replaced one. */
static const char *field_of(void *model, const char *name) {
    static ConfigField field;
    if (strcmp(name, replaced_key) == 0) return replaced_value;
    for (int i = 0; config_field(model, i, &field); i++)
        if (strcmp(field.key, name) == 0) return field.value;
    return NULL;
}

/* Each value of each setting that weight files hold is read and written again as itself, and all
 * words of a choice stand in the message on another one. */
TEST(every_setting_of_a_weight_file) {
    ModelConfig small = small_seq2seq(), read;
    int rows = 0, values = 0;
    for (const Setting *s = config_settings; s->name; s++) {
        char key[SETTING_KEY], value[SETTING_VALUE];
        bool words = s->type == SETTING_CHOICE || s->type == SETTING_KIND;
        Error wrong = {0};
        replaced_key = setting_key(s, key);
        replaced_value = "no such word";
        if (s->saved == SAVED_IN_CHECKPOINT) continue;
        rows++;
        CHECK(!config_parse(&read, "f", field_of, &small, &wrong) &&
              wrong.status == STATUS_BAD_DATA);
        for (int k = 0; some_value(s, k, value); k++) {
            values++;
            Error e = {0};
            CHECK(!words || strstr(wrong.text, value), "%s: %s", value, wrong.text);
            if (strcmp(key, "kind") == 0) continue; /* follows from decoder_layers */
            replaced_value = value;
            CHECK(config_parse(&read, "f", field_of, &small, &e), "%s", e.text);
            replaced_key = "";
            const char *again = field_of(&read, key);
            CHECK(again && strcmp(again, value) == 0, "%s: found %s, want %s", key, again, value);
            replaced_key = key;
        }
    }
    CHECK(rows >= 19 && values >= 40, "found %d rows, %d values", rows, values);
}

RUN_TESTS_AFTER(make_folder)
