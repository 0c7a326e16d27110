/* gradcheck model: golden models and generated ones are proved, their files have PyTorch's values,
 * wrong gradients are found by differences, and each file that does not fit gets a clear line. */
#include "check/gradcheck/gradcheck.h"
#include "check/grading/model_pass.h"
#include "child.h"
#include "formats/safetensors.h"

#define IN_DOUBLE        (sizeof(real) == sizeof(double))
#define MODEL_CHECK(...) GRADCHECK("model", __VA_ARGS__)

static const char *const golden_models[] = {"seq2seq",        "seq2seq_prenorm", "lm",
                                            "lm_padded",      "lm_rotary",       "lm_llama",
                                            "seq2seq_rotary", "lm_alibi",        "seq2seq_alibi"};
enum { GOLDEN = sizeof golden_models / sizeof *golden_models };

/* The golden files of a model, from anywhere; in one of a few buffers. */
static const char *golden(const char *model, const char *part) {
    static char path[8][PATH_MAX + 96];
    static int next;
    char *out_path = path[next++ % 8];
    snprintf(out_path, sizeof path[0], "%s/../../tests/golden/%s.%s.safetensors", program_folder,
             model, part);
    return out_path;
}

#define MODEL(name) "--weights", golden(name, "weights"), "--batch", golden(name, "batch")

/* The logits of a position are 0 where target_out is padding, also if target_in is a token there.
 */
TEST(padding_has_no_logits) {
    Error e = {0};
    Safetensors batch, found, want;
    enter_folder();
    CHECK(safetensors_read(&batch, golden("seq2seq", "batch"), &e) &&
              safetensors_read(&want, golden("seq2seq", "grads"), &e),
          "%s", e.text);
    int64_t *next = (int64_t *)safetensors_find(&batch, "target_out")->bytes;
    CHECK(safetensors_find(&batch, "target_out")->dtype == DTYPE_I64 && next[1] != 0);
    next[1] = 0;
    CHECK(safetensors_write("b", NULL, 0, batch.tensor, batch.tensors, &e), "%s", e.text);
    int status = MODEL_CHECK("--weights", golden("seq2seq", "weights"), "--batch", "b", "--out",
                             "g", "--unchecked");
    CHECK(status == 0, "status %d: %s", status, err);
    CHECK(safetensors_read(&found, "g", &e), "%s", e.text);
    const Array *logits = safetensors_find(&found, "logits"),
                *others = safetensors_find(&want, "logits");
    double x[512], y[512];
    CHECK(logits->count == others->count && logits->count <= 512);
    array_to_double(logits, x), array_to_double(others, y);
    for (long i = 0, V = logits->size[2]; i < logits->count; i++)
        CHECK(fabs(x[i] - (i / V == 1 ? 0 : y[i])) < 1e-4, "logit %ld: %g", i, x[i]);
    safetensors_free(&batch), safetensors_free(&found), safetensors_free(&want);
}

/* The largest difference of the numbers in two arrays of one shape, beside the largest number. */
static double distance(const Array *a, const Array *b) {
    double *x = malloc((size_t)a->count * sizeof *x), *y = malloc((size_t)a->count * sizeof *y);
    double off = 0, largest = 1e-3;
    if (!x || !y || a->count != b->count || a->rank != b->rank) exit(1);
    array_to_double(a, x), array_to_double(b, y);
    for (long i = 0; i < a->count; i++) {
        off = fmax(off, fabs(x[i] - y[i]));
        largest = fmax(largest, fabs(y[i]));
    }
    free(x), free(y);
    return off / largest;
}

/* All parameters of the golden models are proved, and a pass that is written has PyTorch's loss,
 * logits and gradients. */
TEST(golden_models_pass) {
    for (int i = 0; i < GOLDEN; i += SANITIZER ? 3 : 1) {
        const char *model = golden_models[i];
        Error e = {0};
        Safetensors ours, theirs;
        MUST(MODEL_CHECK(MODEL(model), "--out", "g", "--unchecked"));
        CHECK(safetensors_read(&ours, "g", &e) &&
                  safetensors_read(&theirs, golden(model, "grads"), &e),
              "%s", e.text);
        CHECK(ours.tensors == theirs.tensors, "%d and %d tensors", ours.tensors, theirs.tensors);
        for (int t = 0; t < theirs.tensors; t++) {
            const Array *a = safetensors_need(&ours, theirs.tensor[t].name, &e);
            CHECK(a && distance(a, &theirs.tensor[t]) < 1e-4, "%s: %s %s", model,
                  theirs.tensor[t].name, e.text);
        }
        safetensors_free(&ours), safetensors_free(&theirs);
        if (!IN_DOUBLE) continue;
        int status = MODEL_CHECK(MODEL(model), "--samples", "1", "--json");
        CHECK(status == 0, "%s: status %d: %s", model, status, err);
        CHECK(
            strstr(out,
                   "\"case\": \"embedding.weight\", \"part\": \"ds\", \"verdict\": \"PASS\"") &&
                strstr(out,
                       "\"case\": \"embedding.weight\", \"part\": \"dw\", \"verdict\": \"PASS\"") &&
                !strstr(out, "FAIL") && !strstr(out, "INCONCLUSIVE"),
            "%s", out);
    }
}

/* Files of a generated model give the same bits when they are read again. */
TEST(saved_files_give_the_same_gradients) {
    MUST(MODEL_CHECK("--save", "a", "--unchecked"));
    for (int i = 0; i < 2; i++) {
        const char *kind = i ? "lm" : "seq2seq";
        char path[3][64];
        const char *const part[] = {"weights", "batch", "grads"};
        for (int k = 0; k < 3; k++)
            snprintf(path[k], sizeof path[k], "a/%s.%s.safetensors", kind, part[k]);
        MUST(MODEL_CHECK("--weights", path[0], "--batch", path[1], "--out", "g", "--unchecked"));
        CHECK(same_files(path[2], "g"), "%s", kind);
    }
}

/* Every choice of a generated model is proved and changes the loss; a file is written with it. */
TEST(choices_of_generated_models_pass) {
    static const char *const choices[][10] = {{"--positions", "rotary"},
                                              {"--norm-kind", "rms"},
                                              {"--qk-norm", "true"},
                                              {"--activation", "silu"},
                                              {"--activation", "swiglu"},
                                              {"--init-output", "zero"},
                                              {"--positions", "rotary", "--norm-kind", "rms",
                                               "--qk-norm", "true", "--activation", "swiglu"}};
    enum { CHOICES = sizeof choices / sizeof *choices };
    char usual[2][40] = {{0}};
    if (!IN_DOUBLE) return;
    for (int i = SANITIZER ? CHOICES : 0; i <= CHOICES; i++) { /* the last one makes them all */
        const char *const *o = i ? choices[i - 1] : (const char *const[10]){0};
        int status = MODEL_CHECK("--samples", "1", o[0], o[1], o[2], o[3], o[4], o[5], o[6], o[7]);
        CHECK(status == 0 && !strstr(out, "FAIL"), "%s: status %d: %s%s", o[0], status, out, err);
        for (int k = 0; k < 2; k++) {
            const char *heading = strstr(out, k ? "\nlm: " : "seq2seq: "),
                       *loss = strstr(heading, "loss ");
            char *found = strndup(loss, strcspn(loss, "\n"));
            CHECK(strcmp(found, usual[k]) != 0, "%s: the usual %s", o[0], found);
            if (!i) snprintf(usual[k], sizeof usual[k], "%s", found);
            free(found);
        }
    }
    MUST(MODEL_CHECK("lm", "--positions", "rotary", "--qk-norm", "true", "--save", "a",
                     "--unchecked"));
    char *text = read_bytes("a/lm.weights.safetensors", &(size_t){0});
    CHECK(text && strstr(text + 8, "\"positions\": \"rotary\"") &&
          strstr(text + 8, "\"qk_norm\": \"true\""));
    free(text);
}

/* The gradient of a key's bias is 0: its float values are rounding errors, here of more than ±4 ε
 * of the largest gradient of the tensor. */
TEST(rounding_of_cancelling_terms_is_no_mistake) {
    if (!IN_DOUBLE) return;
    CHECK(MODEL_CHECK("seq2seq", "--seed", "44", "--samples", "0") == 0, "%s", out);
}

/* ---- Differences ---- */

/* A weight that the forward pass does not use though its gradient says so: two norms of one weight.
 * The parameter whose gradient is wrong fails, with its values; one beside it passes. */
TEST(wrong_gradients_are_found) {
    if (!IN_DOUBLE) return;
    Error e = {0};
    ModelPass p;
    static CaseReport r;
    ModelConfig c = pass_config(true);
    CHECK(pass_make(&p, &c, 1, &e), "%s", e.text);
    Parameters *all = &p.model->parameters;
    Tensor *norm = parameters_find(all, "encoder.layers.0.norm1.weight")->part[0],
           *beside = parameters_find(all, "encoder.layers.0.norm2.weight")->part[0];
    norm->data = beside->data;
    double dw[16] = {[7] = 1};
    for (int i = 0; i < all->count; i++) {
        bool wrong = strcmp(all->entry[i].name, "encoder.layers.0.norm1.weight") == 0;
        if (!wrong && strcmp(all->entry[i].name, "norm.weight") != 0) continue;
        model_differences(&p, i, dw, 3, 1, "lm", &r);
        CHECK(r.verdict == (wrong ? FAIL : PASS) && r.inputs == 2, "%s: %s", all->entry[i].name,
              gradcheck_verdict_text(r.verdict));
        CHECK(r.in[0].wrong == wrong && r.in[1].wrong == 3 * wrong && r.in[1].coordinates == 3);
        CHECK(!wrong || (r.in[1].numeric == 0 && fabs(r.in[1].analytic) > 1e-4), "%g %g",
              r.in[1].numeric, r.in[1].analytic);
        CHECK(shape_equal(r.in[1].shape, SHAPE(16)) && r.in[1].element >= 0 &&
              r.in[1].element < 16);
    }
    pass_close(&p);
}

/* The reported values of a right gradient are dL/dw at the named element. */
TEST(reported_values_are_the_gradient) {
    if (!IN_DOUBLE) return;
    Error e = {0};
    ModelPass p;
    static CaseReport r;
    ModelConfig c = pass_config(false);
    CHECK(pass_make(&p, &c, 2, &e) && pass_run(&p, "model", &e), "%s", e.text);
    Parameters *all = &p.model->parameters;
    size_t bytes = (size_t)all->size * sizeof(real);
    real *before = malloc(bytes), *grad = malloc(bytes);
    if (!before || !grad) exit(1);
    memcpy(before, all->value, bytes), memcpy(grad, all->grad, bytes);
    for (int i = 0; i < all->count; i += 7) {
        const Parameter *w = &all->entry[i];
        long n = shape_count(w->shape);
        double *dw = malloc((size_t)n * sizeof *dw);
        if (!dw) exit(1);
        for (long k = 0; k < n; k++) dw[k] = (double)grad[w->offset + k];
        model_differences(&p, i, dw, 5, 3, "seq2seq", &r);
        double want = dw[r.in[1].element];
        CHECK(r.verdict == PASS && fabs(r.in[1].analytic - want) <= 1e-12 * fabs(want),
              "%s[%ld]: %g, want %g", w->name, r.in[1].element, r.in[1].analytic, want);
        free(dw);
    }
    CHECK(memcmp(before, all->value, bytes) == 0, "the weights have changed");
    free(before), free(grad);
    pass_close(&p);
}

/* A bias that training has hardly moved from 0 changes the loss by more than its rounding. */
TEST(tiny_biases_are_proved) {
    if (!IN_DOUBLE) return;
    Error e = {0};
    ModelPass p;
    static CaseReport r;
    ModelConfig c = pass_config(true);
    CHECK(pass_make(&p, &c, 2, &e), "%s", e.text);
    Parameter *bias = parameters_find(&p.model->parameters, "encoder.layers.0.linear1.bias");
    double dw[64];
    for (long k = 0; k < shape_count(bias->shape); k++)
        p.model->parameters.value[bias->offset + k] *= (real)1e-8;
    CHECK(pass_run(&p, "model", &e), "%s", e.text);
    for (long k = 0; k < shape_count(bias->shape); k++)
        dw[k] = (double)p.model->parameters.grad[bias->offset + k];
    model_differences(&p, (int)(bias - p.model->parameters.entry), dw, 5, 3, "lm", &r);
    CHECK(r.verdict == PASS, "%s", gradcheck_verdict_text(r.verdict));
    pass_close(&p);
}

/* ---- Options ---- */

TEST(only_restricts_the_parameters) {
    if (!IN_DOUBLE) return;
    MUST(MODEL_CHECK("lm", "--only", "encoder.layers.?.norm1.*", "--json"));
    CHECK(lines_of(out) == 4 * 2, "%s", out); /* ds and dw of four */
    CHECK(MODEL_CHECK("lm", "--only", "norm1", "--json") == STATUS_USAGE, "%s", out);
    CHECK(strcmp(err, "gradcheck: --only: found no parameter like 'norm1'\n") == 0, "%s", err);
}

TEST(threads_do_not_matter) {
    if (!IN_DOUBLE) return;
    const char *samples = SANITIZER ? "0" : "2";
    MUST(MODEL_CHECK("--threads", "1", "--json", "--samples", samples));
    char *one = strdup(out);
    MUST(MODEL_CHECK("--threads", "3", "--json", "--samples", samples));
    CHECK(strcmp(one, out) == 0);
    free(one);
}

TEST(table_and_graders_files) {
    if (!IN_DOUBLE) return;
    MUST(MODEL_CHECK("lm", "--reports", "r", "--gradescope", "g.json"));
    CHECK(strstr(out, "\n28 passed, 0 failed, 0 inconclusive\n") && strstr(out, "\nlm: 2 layers, "),
          "%s", out);
    size_t size;
    char *lines = read_bytes("r", &size), *gradescope = read_bytes("g.json", &size);
    CHECK(lines && lines_of(lines) == 2 * 28 &&
          strstr(lines, "\"case\": \"norm.weight\", \"part\": \"ds\""));
    CHECK(gradescope && strstr(gradescope, "\"name\": \"lm/norm.weight: dw\", \"score\": 1"));
    free(lines), free(gradescope);
}

/* ---- Bad files and options ---- */

static void expect(int status, int want, const char *words) {
    CHECK(status == want, "status %d, want %d: %s%s", status, want, out, err);
    CHECK(lines_of(err) == 1 && strstr(err, words), "found '%s', want '%s'", err, words);
    CHECK(strncmp(err, "gradcheck: ", 11) == 0 && !*out, "%s%s", out, err);
}

static Array *tensor(Safetensors *s, const char *name) {
    for (int i = 0; i < s->tensors; i++)
        if (strcmp(s->tensor[i].name, name) == 0) return &s->tensor[i];
    CHECK(false, "no %s", name);
    exit(1);
}

/* The golden lm's weights with one number replaced. */
static void write_weights(double number) {
    Error e = {0};
    Safetensors s;
    CHECK(safetensors_read(&s, golden("lm", "weights"), &e), "%s", e.text);
    Array *a = tensor(&s, "norm.weight");
    double x[64];
    CHECK(a->count <= 64);
    array_to_double(a, x);
    x[3] = number;
    a->dtype = DTYPE_F64, a->bytes = x;
    Metadata *from = calloc((size_t)s.metadata_count, sizeof *from);
    int count = 0;
    for (int i = 0; from && i < s.metadata_count; i++)
        if (strcmp(s.metadata[i].key, "crc32") != 0) from[count++] = s.metadata[i];
    CHECK(safetensors_write("weights", from, count, s.tensor, s.tensors, &e), "%s", e.text);
    free(from);
    safetensors_free(&s);
}

static void write_batch(int64_t id) {
    Error e = {0};
    int64_t in[] = {1, 2, id, 3}, next[] = {2, 3, 4, 5};
    Array a[] = {array_over("target_in", DTYPE_I64, SHAPE(1, 4), in),
                 array_over("target_out", DTYPE_I64, SHAPE(1, 4), next)};
    CHECK(safetensors_write("batch", NULL, 0, a, 2, &e), "%s", e.text);
}

TEST(bad_files_get_one_line) {
    const char *lm = golden("lm", "weights");
    char text[64];
    memset(text, 'x', sizeof text);
    write_bytes("noise", text, sizeof text);
    CHECK(mkdir("folder", 0777) == 0);
    expect(MODEL_CHECK("--weights", "folder", "--unchecked"), STATUS_NO_INPUT, "folder: ");
    expect(MODEL_CHECK("--weights", "noise", "--unchecked"), STATUS_BAD_DATA, "noise: ");
    expect(MODEL_CHECK("--weights", lm, "--batch", "none", "--unchecked"), STATUS_NO_INPUT,
           "none: ");
    expect(MODEL_CHECK("--weights", golden("lm", "grads"), "--unchecked"), STATUS_BAD_DATA, "kind");
    expect(MODEL_CHECK("--weights", golden("seq2seq", "weights"), "--batch", golden("lm", "batch"),
                       "--unchecked"),
           STATUS_BAD_DATA, "source");
    write_batch(13);
    expect(MODEL_CHECK("--weights", lm, "--batch", "batch", "--unchecked"), STATUS_BAD_DATA,
           "batch: target_in[0,2]: found token 13, need it in [0,13)");
    write_batch(-1);
    expect(MODEL_CHECK("--weights", lm, "--batch", "batch", "--unchecked"), STATUS_BAD_DATA,
           "found token -1");
    write_weights(NAN);
    expect(MODEL_CHECK("--weights", "weights", "--unchecked"), STATUS_BAD_DATA,
           "weights: norm.weight");
    /* Finite, but nothing can be computed with it. */
    write_weights(3e38);
    write_batch(2);
    expect(MODEL_CHECK("--weights", "weights", "--batch", "batch", "--unchecked", "--out", "g"),
           STATUS_BAD_DATA, "need a weight within");
    CHECK(access("g", F_OK) != 0, "a gradient file is left");
    expect(MODEL_CHECK("--weights", lm, "--unchecked", "--out", "none/g"), STATUS_CANNOT_CREATE,
           "none/g: ");
}

TEST(bad_options_get_one_line) {
    const char *lm = golden("lm", "weights");
    expect(MODEL_CHECK("lm", "--samples", "-1", "--unchecked"), STATUS_USAGE, "--samples");
    expect(MODEL_CHECK("--weights", lm, "--qk-norm", "true", "--unchecked"), STATUS_USAGE,
           "found choices for a generated model");
    if (!IN_DOUBLE) expect(MODEL_CHECK("lm"), STATUS_USAGE, "need --unchecked");
}

RUN_PROGRAM_TESTS
