/* Batch files, which other programs write: they are read as written, or refused if they do not fit
 * the model. */
#include "check/grading/batch_file.h"
#include "folder.h"
#include "model_helpers.h"

enum { ROWS = 2, S = 3, T = 4 };

/* A batch file for the small seq2seq, whose padding is 0. */
typedef struct Ids {
    int64_t source[ROWS * S], in[ROWS * T], out[ROWS * T];
    Array tensor[3];
    int tensors;
} Ids;

static const int64_t own_ids[1]; /* stands for those in Ids */

static Ids ids_new(void) {
    return (Ids){.source = {3, 4, 5, 6, 0, 0},
                 .in = {1, 7, 8, 9, 1, 10, 0, 0},
                 .out = {7, 8, 9, 2, 10, 2, 0, 0},
                 .tensor = {array_over("source", DTYPE_I64, SHAPE(ROWS, S), own_ids),
                            array_over("target_in", DTYPE_I64, SHAPE(ROWS, T), own_ids),
                            array_over("target_out", DTYPE_I64, SHAPE(ROWS, T), own_ids)},
                 .tensors = 3};
}

static PaddedBatch *read_back(Ids *x, ModelConfig c, const char **path, Error *e) {
    static int files;
    char name[32];
    snprintf(name, sizeof name, "batch%d", files++);
    *path = in_folder(name);
    int64_t *ids[] = {x->source, x->in, x->out};
    for (int i = 0; i < 3; i++)
        if (x->tensor[i].bytes == own_ids) x->tensor[i].bytes = ids[i];
    CHECK(safetensors_write(*path, NULL, 0, x->tensor, x->tensors, e), "%s", e->text);
    return batch_read(*path, &c, e);
}

static bool same_ids(const int32_t *found, const int64_t *want, long count) {
    for (long i = 0; i < count; i++)
        if (found[i] != want[i]) return false;
    return true;
}

TEST(batch_as_written) {
    Error e = {0};
    const char *path;
    Ids x = ids_new();
    PaddedBatch *b = must(read_back(&x, small_seq2seq(), &path, &e), &e);
    CHECK(b->rows == ROWS && b->S == S && b->T == T && b->pad_id == 0);
    CHECK(same_ids(b->source, x.source, ROWS * S) && same_ids(b->target_in, x.in, ROWS * T) &&
          same_ids(b->target_out, x.out, ROWS * T));
    CHECK(batch_padded_targets(b) == 4 + 2);
    batch_padded_free(b);

    /* I32; no source in a language model; without a pad_id every id is a token. */
    int32_t in[] = {0, 1, 2, 12}, out[] = {1, 2, 12, 0};
    x.tensor[0] = array_over("target_out", DTYPE_I32, SHAPE(1, 4), out);
    x.tensor[1] = array_over("target_in", DTYPE_I32, SHAPE(1, 4), in);
    x.tensors = 2;
    b = must(read_back(&x, small_language_model(), &path, &e), &e);
    CHECK(b->rows == 1 && b->S == 0 && b->T == 4 && b->pad_id == NO_PAD &&
          batch_padded_targets(b) == 4);
    CHECK(memcmp(b->target_in, in, sizeof in) == 0 && memcmp(b->target_out, out, sizeof out) == 0);
    batch_padded_free(b);
}

static void expect_no_batch(Ids x, const char *line) {
    Error e = {0};
    const char *path;
    ModelConfig c = small_seq2seq();
    c.max_length = 4;
    PaddedBatch *b = read_back(&x, c, &path, &e);
    CHECK(!b && e.status == STATUS_BAD_DATA, "want \"%s\", status %d", line, (int)e.status);
    const char *found = strncmp(e.text, path, strlen(path)) == 0 ? e.text + strlen(path) : e.text;
    CHECK(strcmp(found, line) == 0, "found \"%s\",\n    want \"%s\"", found, line);
    batch_padded_free(b);
}

/* A batch that is right but for this change, and what is said of it. */
#define WRONG(change, line)                                                                        \
    do {                                                                                           \
        Ids x = ids_new();                                                                         \
        change;                                                                                    \
        expect_no_batch(x, line);                                                                  \
    } while (0)

TEST(wrong_batches) {
    int64_t longer[ROWS * 5] = {1, 2, 3, 4, 5, 1, 2, 3, 4, 5};
    WRONG(x.tensors = 2, ": found no tensor \"target_out\"");
    WRONG(x.tensor[0].name = "src", ": found no tensor \"source\"");
    WRONG(x.tensor[2].size[0] = T;
          x.tensor[2].size[1] = ROWS, ": target_out: found shape [4,2], need [2,4]");
    WRONG(x.tensor[1].rank = 1;
          x.tensor[1].size[0] = ROWS * T, ": target_in: found 1 axes, need [sequences,tokens]");
    WRONG(x.tensor[0].size[0] = S;
          x.tensor[0].size[1] = ROWS, ": source: found 3 sequences, need 2 as in target_in");
    WRONG(x.tensor[0].size[0] = 0;
          x.tensor[0].count = 0, ": source: found [0,3], need at least one token");
    WRONG(x.source[4] = 11, ": source[1,1]: found token 11, need it in [0,11)");
    WRONG(x.out[2] = -100, ": target_out[0,2]: found token -100, need it in [0,11)");
    WRONG(x.in[5] = (int64_t)1 << 32,
          ": target_in: element 5: found 4294967296, need one in [-2147483648,2147483647]");
    WRONG(x.in[2] = 0, ": target_in[0,2]: found padding, need a token, as in target_out");
    WRONG(x.tensor[0].dtype = DTYPE_F64, ": source: found numbers of type F64, need integers");
    WRONG(x.tensor[0] = array_over("source", DTYPE_I64, SHAPE(ROWS, 5), longer),
          ": source: found sequences of 5 tokens, need at most the model's 4");
}

RUN_TESTS_AFTER(make_folder)
