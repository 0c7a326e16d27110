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
