#include "tasks/corpus.h"
#include "base/crc32.h"
#include "text/encoding.h"
#include "text/lines.h"
#include "text/tokenizer_fit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 20 }; /* bytes encoded at a time */

/* Bytes of the first `characters` characters of a text. */
static size_t prefix(const char *text, size_t length, size_t characters) {
    size_t at = 0;
    while (at < length && (utf8_continues(text[at]) || characters-- > 0)) at++;
    return at;
}

/* The parts to encode: the texts, or lines and their ends in turn, so that an end is a token of its
 * own. An empty line has none. */
typedef struct Parts {
    const Passage *text; /* [texts] */
    long texts;
    Passage *all, *training; /* [count] and, of each, what is not held out */
    long count;
} Parts;

static bool make_parts(Corpus *c, Parts *p, bool lines, Error *e) {
    long n = p->texts;
    Passage *line = lines ? texts_lines(p->text, p->texts, &n, e) : NULL;
    if (lines && !line) return false;
    p->count = lines ? 2 * n : n;
    p->all = malloc((size_t)(2 * p->count + 1) * sizeof *p->all);
    p->training = p->all + p->count;
    bool ok = p->all ||
              error_set(e, STATUS_NO_MEMORY, "%s: no memory for %ld passages", p->text->where, n);
    for (long i = 0; ok && i < n && !lines; i++) p->all[i] = p->text[i];
    for (long i = 0; ok && i < n && lines; i++) {
        p->all[2 * i] = line[i];
        p->all[2 * i + 1] = (Passage){line[i].where, "\n", line[i].length > 0};
        c->empty_lines += line[i].length == 0;
    }
    free(line);
    return ok;
}

/* Holds out the end of each text, or whole lines. */
static bool hold_out(const Parts *p, const TaskOptions *o, double share, Error *e) {
    memcpy(p->training, p->all, (size_t)p->count * sizeof *p->all);
    for (long i = 0; !o->lines && i < p->count; i++) {
        const Passage *text = &p->all[i];
        double characters = (double)utf8_count(text->text, text->length);
        p->training[i].length =
            prefix(text->text, text->length, (size_t)(characters * (1 - share)));
    }
    if (!o->lines) return true;
    long lines = 0, held_out;
    Side *side = malloc((size_t)(p->count + 1) * sizeof *side);
    bool ok = side || error_set(e, STATUS_NO_MEMORY, "%s: no memory for its lines", p->text->where);
    for (long i = 0; ok && i < p->count; i += 2)
        if (p->all[i].length)
            side[lines++] = (Side){dictionary_hash(p->all[i].text, p->all[i].length), i};
    ok = ok && sides_choose(side, lines, o->seed, share, p->text->where, "line", &held_out, e);
    for (long i = 0; ok && i < held_out; i++)
        p->training[side[i].item].length = p->training[side[i].item + 1].length = 0;
    free(side);
    return ok;
}

/* Encodes the training parts, and then what is held out. An error names the line. */
static bool encode(Corpus *c, const Parts *p, const TaskOptions *o, Error *e) {
    size_t done = 0, bytes = 0;
    long line = 0;
    for (long i = 0; i < p->count; i++) bytes += p->all[i].length;
    int32_t *chunk = malloc((CHUNK + TOKEN_BYTES) * sizeof *chunk);
    c->ids = malloc((bytes + 1) * sizeof *c->ids);
    bool ok = (chunk && c->ids) ||
              error_set(e, STATUS_NO_MEMORY, "%s: no memory for %zu tokens", p->text->where, bytes);
    for (long k = 0; ok && k < 2 * p->count; k++) {
        long i = k % p->count;
        char where[ERROR_TEXT];
        Passage from = k < p->count ? p->training[i] : p->all[i];
        size_t at = k < p->count ? 0 : p->training[i].length;
        if (k == p->count) c->training = c->count;
        line = i > 0 && from.where == p->all[i - 1].where ? line + 1 - i % 2 : 1;
        if (o->lines) {
            snprintf(where, sizeof where, "%.200s: line %ld", from.where, line);
            from.where = where;
        }
        for (size_t before = at; ok && at < from.length; before = at) {
            long count = 0;
            ok = tokenizer_encode_part(c->tokenizer, &from, &at, CHUNK, chunk, &count, e);
            for (long n = 0; ok && n < count; n++) c->ids[c->count++] = (uint16_t)chunk[n];
            done += at - before;
            if (o->progress) o->progress(done);
        }
    }
    free(chunk);
    uint16_t *fitting = ok ? realloc(c->ids, (size_t)(c->count + 1) * sizeof *fitting) : NULL;
    if (fitting) c->ids = fitting;
    return ok;
}

/* Finds where lines begin among the ids. */
static bool find_lines(Corpus *c, const TaskOptions *o, Error *e) {
    const char *where = "the end of a line";
    long n, longest = 0;
    if (!tokenizer_encode(c->tokenizer, where, "\n", 1, &c->line_end, &n, e)) return false;
    if (c->line_end < c->tokenizer->unknown)
        return error_set(e, STATUS_BAD_DATA, "%s: found [UNK], need a token in the vocabulary",
                         where);
    c->line = malloc((size_t)(c->count + 1) * sizeof *c->line);
    if (!c->line)
        return error_set(e, STATUS_NO_MEMORY, "memory: the lines of %ld tokens", c->count);
    for (long i = c->line[0] = 0; i < c->count; i++) {
        if (c->ids[i] != c->line_end) continue;
        c->line[++c->lines] = i + 1;
        c->training_lines += i < c->training;
        long tokens = i + 1 - c->line[c->lines - 1];
        c->long_lines += tokens > o->context;
        if (tokens > longest) longest = tokens;
    }
    c->context = longest < o->context ? longest : o->context;
    return true;
}

/* Learns the tokenizer, and encodes all with this share held out. The kind of tokenizer is chosen
 * by whole texts: lines are too short to measure merges on. */
static bool split(Corpus *c, const Parts *p, const TaskOptions *o, double share, Error *e) {
    const TokenizerKind *kind = o->tokenizer;
    long size = o->vocab_size;
    for (long i = 0; i < p->texts && !(kind && kind->any_bytes); i++)
        if (!text_check(p->text[i].where, p->text[i].text, p->text[i].length, e)) return false;
    if (!hold_out(p, o, share, e)) return false;
    for (long i = c->characters = 0; i < p->count; i++)
        c->characters +=
            (long)(utf8_count(p->all[i].text, p->all[i].length) -
                   (share > 0 ? utf8_count(p->training[i].text, p->training[i].length) : 0));
    const Passage *read = o->lines ? p->text : p->training;
    if (!o->vocabulary && (!kind || (kind == &tokenizer_bpe && !size)) &&
        !tokenizer_fit(read, p->texts, o->tokens, &kind, &size, e))
        return false;
    c->vocab_size = size;
    const Passage *learned =
        o->vocabulary || tokenizer_takes_all(kind, size) ? p->all : p->training;
    c->tokenizer = o->vocabulary ? tokenizer_parse("vocabulary", o->vocabulary, e)
                                 : tokenizer_learn(kind, size, learned, p->count, e);
    if (!c->tokenizer || !encode(c, p, o, e)) return false;
    c->validation = share > 0 ? c->training : 0;
    return !o->lines || find_lines(c, o, e);
}

/* Tokens of the shorter part. */
static long shorter(const Corpus *c) {
    long judged = c->count - c->validation;
    return judged < c->training ? judged : c->training;
}

/* A text that is too short for context and tail has a shorter context, or no tail. */
static bool split_to_fit(Corpus *c, const Parts *p, const TaskOptions *o, Error *e) {
    enum { SHORTEST = 8 };
    c->context = o->context;
    if (!split(c, p, o, o->validation, e)) return false;
    if (o->lines) return true;
    if (o->validation > 0 && shorter(c) <= SHORTEST && shorter(c) <= o->context) {
        tokenizer_free(c->tokenizer);
        free(c->ids);
        c->tokenizer = NULL;
        c->ids = NULL;
        c->count = 0;
        if (!split(c, p, o, 0, e)) return false;
        c->without_tail = true;
    }
    if (shorter(c) < 2)
        return error_set(e, STATUS_BAD_DATA, "%s: found %ld token%s, need at least 2",
                         p->text->where, c->count, PLURAL(c->count));
    if (c->context >= shorter(c)) c->context = shorter(c) - 1;
    return true;
}

/* Counts all characters, and those that are different; a byte that is not UTF-8 is one. */
static bool count_characters(Corpus *c, const Passage *p, long passages, Error *e) {
    enum { SYMBOLS = NO_UTF8 + 256 };
    uint8_t *seen = calloc(SYMBOLS, 1);
    uint32_t symbol;
    for (long i = 0; seen && i < passages; i++)
        for (size_t at = 0; at < p[i].length; c->written++) {
            at += utf8_symbol(p[i].text + at, p[i].length - at, &symbol);
            c->different += !seen[symbol];
            seen[symbol] = 1;
        }
    if (!seen) return error_set(e, STATUS_NO_MEMORY, "memory: %d characters", SYMBOLS);
    free(seen);
    return true;
}

Corpus *corpus_make(const Passage *passage, long passages, const TaskOptions *o, Error *e) {
    Corpus *c = calloc(1, sizeof *c);
    Parts parts = {.text = passage, .texts = passages};
    bool ok = c ? make_parts(c, &parts, o->lines, e) && split_to_fit(c, &parts, o, e) &&
                      count_characters(c, parts.all, parts.count, e)
                : error_set(e, STATUS_NO_MEMORY, "%s: no memory for a corpus", passage->where);
    for (long i = 0; ok && i < passages; i++) {
        const Passage *p = &passage[i];
        c->checksum = crc32_update(c->checksum, p->text, p->length);
        for (size_t k = 0; k < p->length; k++) c->carriage_returns += p->text[k] == '\r';
    }
    if (ok && c->tokenizer->unknown) {
        c->unknown = c->characters;
        for (long i = c->validation; i < c->count; i++)
            c->unknown -= (long)tokenizer_characters(c->tokenizer, c->ids[i]);
    }
    free(parts.all);
    if (ok) return c;
    corpus_free(c);
    return NULL;
}

Corpus *corpus_load(const TaskOptions *o, Error *e) {
    Texts t;
    bool ok = texts_open(&t, o->text, o->unix_newlines || o->lines, e);
    Corpus *c = ok ? corpus_make(t.text, t.count, o, e) : NULL;
    if (c) c->byte_order_mark = t.byte_order_mark;
    texts_close(&t);
    return c;
}

void corpus_free(Corpus *c) {
    if (!c) return;
    tokenizer_free(c->tokenizer);
    free(c->ids);
    free(c->line);
    free(c);
}
