#include "tasks/yardsticks.h"
#include "tasks/corpus.h"
#include "text/ngram.h"
#include <math.h>
#include <stdlib.h>

static void add(Yardsticks *y, const char *name, double loss) {
    y->of[y->count++] = (struct Yardstick){name, loss};
}

/* ---- Texts ---- */

/* Writes the characters of ids[from … to) into out; as tokenizer_symbol has them. `text`
 * has memory for their text. Returns the number of characters. */
static long decode(const Corpus *c, long from, long to, char *text, uint32_t *out) {
    size_t bytes = 0;
    long count = 0;
    for (long i = from; i < to; i++)
        bytes += tokenizer_decode(c->tokenizer, &(int32_t){c->ids[i]}, 1, text + bytes);
    for (size_t at = 0; at < bytes; count++)
        at += tokenizer_symbol(c->tokenizer, text + at, bytes - at, &out[count]);
    return count;
}

/* The characters of ids[from … to), which the caller frees. NULL: STATUS_NO_MEMORY. */
static uint32_t *characters(const Corpus *c, long from, long to, long *count, Error *e) {
    size_t bytes = 1;
    const uint32_t *start = c->tokenizer->start;
    for (long i = from; i < to; i++) bytes += start[c->ids[i] + 1] - start[c->ids[i]];
    char *text = malloc(bytes);
    uint32_t *out = malloc(bytes * sizeof *out);
    if (text && out) {
        *count = decode(c, from, to, text, out);
    } else {
        error_set(e, STATUS_NO_MEMORY, "memory: %zu characters", bytes);
        free(out);
        out = NULL;
    }
    free(text);
    return out;
}

/* N-grams count and judge at most so many characters: each takes about half a second. */
enum { MAX_CHARACTERS = 1 << 20 };

/* Goes from a place among the tokens, token by token, past so many characters or to the end. */
static long passed(const Corpus *c, long at, int step) {
    size_t characters = 0;
    long end = step < 0 ? 0 : c->count;
    while (at != end && characters < MAX_CHARACTERS) {
        characters += tokenizer_characters(c->tokenizer, c->ids[step < 0 ? at - 1 : at]);
        at += step;
    }
    return at;
}

/* Counts the end of the training text, and judges the beginning of the tail. */
static bool judge_text(const Task *task, const Corpus *c, Yardsticks *y, Error *e) {
    static const char *const names[] = {"uniform guess", "1-gram", "2-gram",
                                        "3-gram",        NULL,     "5-gram"};
    double loss[NGRAM_ORDER + 1];
    long trained, judged;
    uint32_t *training = characters(c, passed(c, c->training, -1), c->training, &trained, e);
    uint32_t *tail = characters(c, c->validation, passed(c, c->validation, 1), &judged, e);
    long skipped = trained > MAX_CHARACTERS ? trained - MAX_CHARACTERS : 0;
    bool ok = training && tail &&
              ngram_losses(training + skipped, trained - skipped, tail, judged, loss, &y->bytes, e);
    y->bytes += (size_t)(trained + judged) * sizeof *tail;
    for (int n = 0; n <= NGRAM_ORDER; n++)
        if (ok && names[n]) add(y, names[n], loss[n] * task->characters);
    free(training);
    free(tail);
    return ok;
}

bool task_yardsticks(const Task *task, Yardsticks *out, Error *e) {
    const Corpus *c = task_text_corpus(task);
    *out = (Yardsticks){0};
    if (c) return judge_text(task, c, out, e);
    bool has_end = task->end_id >= task->tokenizer->size;
    add(out, "uniform guess", log((double)(task->tokenizer->size + has_end)));
    return true;
}
