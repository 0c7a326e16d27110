#include "tasks/corpus.h"
#include "base/crc32.h"
#include "text/lines.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 20 }; /* bytes encoded at a time */

/* The parts to encode: the texts, or lines and their ends in turn, so that an end is a token of its
 * own. An empty line has none. */
typedef struct Parts {
    const Passage *text; /* [texts] */
    long texts;
    Passage *all, *training; /* [count] and, of each, what is not held out */
    long count;
    double held_out; /* share */
} Parts;

/* Writes each line, and its end. */
static void alternate(Corpus *c, const Passage *line, long lines, Passage *out) {
    for (long i = 0; i < lines; i++) {
        out[2 * i] = line[i];
        out[2 * i + 1] = (Passage){line[i].where, "\n", line[i].length > 0};
        c->empty_lines += line[i].length == 0;
    }
}

static bool make_parts(Corpus *c, Parts *p, bool lines, Error *e) {
    long n = p->texts;
    Passage *line = lines ? texts_lines(p->text, p->texts, &n, e) : NULL;
    if (lines && !line) return false;
    p->count = lines ? 2 * n : n;
    p->all = malloc((size_t)(2 * p->count + 1) * sizeof *p->all);
    p->training = p->all + p->count;
    bool ok = p->all ||
              error_set(e, STATUS_NO_MEMORY, "%s: no memory for %ld passages", p->text->where, n);
    if (ok && !lines) memcpy(p->all, p->text, (size_t)n * sizeof *p->all);
    if (ok && lines) alternate(c, line, n, p->all);
    free(line);
    return ok;
}

/* Holds out the end of each text. */
static void hold_out_tails(const Parts *p) {
    for (long i = 0; i < p->count; i++) {
        const Passage *text = &p->all[i];
        double characters = (double)utf8_count(text->text, text->length);
        p->training[i].length =
            utf8_prefix(text->text, text->length, (size_t)(characters * (1 - p->held_out)));
    }
}

static bool hold_out_lines(const Parts *p, uint64_t seed, Error *e) {
    const char *where = p->text->where;
    long lines = 0, held_out = 0;
    Side *side = malloc((size_t)(p->count + 1) * sizeof *side);
    if (!side) return error_set(e, STATUS_NO_MEMORY, "%s: no memory for its lines", where);
    for (long i = 0; i < p->count; i += 2)
        if (p->all[i].length)
            side[lines++] = (Side){dictionary_hash(p->all[i].text, p->all[i].length), i};
    bool ok = sides_choose(side, lines, seed, p->held_out, where, "line", &held_out, e);
    for (long i = 0; i < held_out; i++)
        p->training[side[i].item].length = p->training[side[i].item + 1].length = 0;
    free(side);
    return ok;
}

/* Encoding at work. The tokens go to the token file if there is one, else into memory. */
typedef struct Encoding {
    Corpus *corpus;
    const TaskOptions *options;
    File *file;       /* NULL: memory */
    uint32_t crc32;   /* of what the file has */
    int32_t *chunk;   /* [CHUNK + TOKEN_BYTES] */
    uint16_t *block;  /* the same tokens */
    size_t done, all; /* bytes */
} Encoding;

static void store(Encoding *w, long count) {
    Corpus *c = w->corpus;
    for (long n = 0; n < count; n++) w->block[n] = (uint16_t)w->chunk[n];
    size_t bytes = (size_t)count * sizeof *w->block;
    if (w->file) {
        file_write(w->file, w->block, bytes);
        w->crc32 = crc32_update(w->crc32, w->block, bytes);
    } else
        memcpy(c->ids + c->count, w->block, bytes);
    c->count += count;
}

/* Encodes a passage from byte `at` on. */
static bool encode_passage(Encoding *w, const Passage *p, size_t at, Error *e) {
    while (at < p->length) {
        size_t before = at;
        long count = 0;
        if (w->options->goes_on && !w->options->goes_on(w->done, w->all)) return false;
        if (!tokenizer_encode_part(w->corpus->tokenizer, p, &at, CHUNK, w->chunk, &count, e))
            return false;
        store(w, count);
        w->done += at - before;
    }
    return true;
}

/* Encodes the training parts, and then what is held out. An error names the line. */
static bool encode_parts(Encoding *w, const Parts *p, Error *e) {
    Corpus *c = w->corpus;
    long line = 0;
    for (long k = 0; k < 2 * p->count; k++) {
        long i = k % p->count;
        char where[ERROR_TEXT];
        Passage from = k < p->count ? p->training[i] : p->all[i];
        size_t at = k < p->count ? 0 : p->training[i].length;
        if (k == p->count) {
            c->training = c->count;
            c->validation = p->held_out > 0 ? c->count : 0;
        }
        line = i > 0 && from.where == p->all[i - 1].where ? line + 1 - i % 2 : 1;
        if (w->options->lines) {
            snprintf(where, sizeof where, "%.200s: line %ld", from.where, line);
            from.where = where;
        }
        if (!encode_passage(w, &from, at, e)) return false;
    }
    return true;
}

static void free_ids(Corpus *c) {
    if (!c->map.data) free(c->ids);
    file_unmap(&c->map);
    c->ids = NULL;
    c->count = 0;
}

static bool no_memory(const Parts *p, size_t tokens, Error *e) {
    return error_set(e, STATUS_NO_MEMORY, "%s: no memory for %zu tokens", p->text->where, tokens);
}

/* Encodes all parts into the token file at `path`. False without an error: nothing was encoded, or
 * c->unkept says why there is no file. */
static bool encode_to_file(Encoding *w, const Parts *p, const char *path, Error *e) {
    Error unkept = {0};
    w->file = file_create(path, &unkept);
    /* Most texts have more tokens than one in four bytes: a full disk shows before the work. */
    bool fits = w->file && file_reserve(w->file, w->all / 4 * sizeof *w->block, &unkept);
    bool encoded = fits && encode_parts(w, p, e);
    if (encoded && token_file_end(w->file, w->corpus, w->crc32, &unkept)) return true;
    if (!encoded) file_abandon(w->file);
    w->file = NULL;
    w->done = 0;
    snprintf(w->corpus->unkept, sizeof w->corpus->unkept, "%.255s", unkept.text);
    return false;
}

/* Encodes all parts into memory that fits. */
static bool encode_to_memory(Encoding *w, const Parts *p, Error *e) {
    Corpus *c = w->corpus;
    c->count = 0;
    c->ids = malloc((w->all + 1) * sizeof *c->ids);
    if (!c->ids) return no_memory(p, w->all, e);
    if (!encode_parts(w, p, e)) return false;
    uint16_t *fitting = realloc(c->ids, (size_t)(c->count + 1) * sizeof *fitting);
    if (fitting) c->ids = fitting;
    return true;
}

/* Encodes all parts; `path` is that of their token file, or "". A file that cannot be written is
 * none. */
static bool encode(Corpus *c, const Parts *p, const TaskOptions *o, const char *path, Error *e) {
    Encoding w = {.corpus = c,
                  .options = o,
                  .chunk = malloc((CHUNK + TOKEN_BYTES) * sizeof *w.chunk),
                  .block = malloc((CHUNK + TOKEN_BYTES) * sizeof *w.block)};
    for (long i = 0; i < p->count; i++) w.all += p->all[i].length;
    bool ok = (w.chunk && w.block) || no_memory(p, CHUNK, e);
    bool kept = ok && *path && encode_to_file(&w, p, path, e);
    if (ok && !kept) ok = (!*path || *c->unkept) && encode_to_memory(&w, p, e);
    free(w.chunk);
    free(w.block);
    return ok;
}

/* Finds where lines begin among the ids. */
static bool find_lines(Corpus *c, const TaskOptions *o, Error *e) {
    const char *where = "the end of a line";
    long n, longest = 0;
    if (!tokenizer_encode(c->tokenizer, where, "\n", 1, &c->line_end, &n, e)) return false;
    c->line = malloc((size_t)(c->count + 1) * sizeof *c->line);
    if (!c->line)
        return error_set(e, STATUS_NO_MEMORY, "memory: the lines of %ld tokens", c->count);
    c->line[0] = 0;
    for (long i = 0; i < c->count; i++) {
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

/* Counts all characters, those that are different, and those of the evaluated part. */
static bool count_characters(Corpus *c, const Parts *p, Error *e) {
    enum { SYMBOLS = NO_UTF8 + 256 };
    uint8_t *seen = calloc(SYMBOLS, 1);
    uint32_t symbol;
    if (!seen) return error_set(e, STATUS_NO_MEMORY, "memory: %d characters", SYMBOLS);
    c->written = c->different = c->characters = 0;
    for (long i = 0; i < p->count; i++) {
        const Passage *all = &p->all[i];
        size_t first = p->held_out > 0 ? p->training[i].length : 0;
        for (size_t at = 0; at < all->length; c->written++) {
            c->characters += at >= first;
            at += tokenizer_symbol(c->tokenizer, all->text + at, all->length - at, &symbol);
            c->different += !seen[symbol];
            seen[symbol] = 1;
        }
    }
    free(seen);
    return true;
}

/* Learns the tokenizer, and encodes all. The kind of tokenizer is chosen by whole texts: lines are
 * too short to measure merges on. */
static bool split(Corpus *c, const Parts *p, const TaskOptions *o, const char *path, Error *e) {
    const TokenizerKind *kind = o->tokenizer;
    long size = o->vocab_size;
    if (!kind && size) kind = &tokenizer_bpe;
    bool any_bytes = kind && kind->any_bytes;
    if (!any_bytes && !passages_check(p->text, p->texts, e)) return false;
    memcpy(p->training, p->all, (size_t)p->count * sizeof *p->all);
    if (!o->lines) hold_out_tails(p);
    if (o->lines && !hold_out_lines(p, o->seed, e)) return false;
    const Passage *read = o->lines ? p->text : p->training;
    if (!o->vocabulary && (!kind || (kind == &tokenizer_bpe && !size))) {
        if (!tokenizer_measure(read, p->texts, &c->fit, e)) return false;
        tokenizer_fit(&c->fit, o->tokens, &kind, &size);
    }
    c->vocab_size = size;
    const Passage *learned = o->vocabulary || kind->reads_all ? p->all : p->training;
    c->tokenizer = o->vocabulary ? tokenizer_parse("vocabulary", o->vocabulary, e)
                                 : tokenizer_learn(kind, size, learned, p->count, e);
    return c->tokenizer && count_characters(c, p, e) && encode(c, p, o, path, e);
}

/* Tokens of the shorter part. */
static long shorter(const Corpus *c) {
    long judged = c->count - c->validation;
    return judged < c->training ? judged : c->training;
}

/* A text that is too short for context and tail has no tail. */
static bool split_to_fit(Corpus *c, Parts *p, const TaskOptions *o, const char *path, Error *e) {
    enum { SHORTEST = 8 };
    if (!split(c, p, o, path, e)) return false;
    if (o->lines || p->held_out == 0 || shorter(c) > SHORTEST || shorter(c) > o->context)
        return true;
    tokenizer_free(c->tokenizer);
    free_ids(c);
    c->tokenizer = NULL;
    c->without_tail = true;
    p->held_out = 0;
    return split(c, p, o, "", e);
}

/* Sets what follows from the tokens and the options: lines, and a context that is shorter than the
 * text. */
static bool complete(Corpus *c, const char *where, const TaskOptions *o, Error *e) {
    c->context = o->context;
    if (o->lines) return find_lines(c, o, e);
    if (shorter(c) < 2)
        return error_set(e, STATUS_BAD_DATA, "%s: found %ld token%s, need at least 2", where,
                         c->count, PLURAL(c->count));
    if (c->context >= shorter(c)) c->context = shorter(c) - 1;
    return true;
}

/* Facts about the texts, beside their tokens. */
static void describe(Corpus *c, const Passage *passage, long passages) {
    for (long i = 0; i < passages; i++) {
        const Passage *p = &passage[i];
        if (!*c->speakers.bot) speakers_find(p->text, p->length, &c->speakers);
        c->checksum = crc32_update(c->checksum, p->text, p->length);
        const char *end = p->text + p->length, *at = memchr(p->text, '\r', p->length);
        for (; at; at = memchr(at + 1, '\r', (size_t)(end - at - 1))) c->carriage_returns++;
    }
}

static bool make(Corpus *c, const Passage *passage, long passages, const TaskOptions *o,
                 const char *path, Error *e) {
    enum { TINY = 2000 }; /* a tenth of such a text is too little to measure a loss on */
    size_t bytes = 0;
    for (long i = 0; i < passages; i++) bytes += passage[i].length;
    bool is_tiny = o->usual_tail && bytes < TINY;
    Parts parts = {.text = passage, .texts = passages, .held_out = is_tiny ? 0 : o->validation};
    bool ok = make_parts(c, &parts, o->lines, e) && split_to_fit(c, &parts, o, path, e);
    free(parts.all);
    return ok;
}

Corpus *corpus_make(const Passage *passage, long passages, const TaskOptions *o, Error *e) {
    char path[PATH_CAPACITY] = "";
    Corpus *c = calloc(1, sizeof *c);
    if (!c) {
        error_set(e, STATUS_NO_MEMORY, "%s: no memory for a corpus", passage->where);
        return NULL;
    }
    describe(c, passage, passages);
    Error unkept = {0};
    if (!token_file_path(path, passage, passages, c->checksum, o, &unkept)) *path = 0;
    snprintf(c->unkept, sizeof c->unkept, "%.255s", unkept.text);
    bool ok = *path && token_file_read(path, c, o);
    if (!ok) ok = make(c, passage, passages, o, path, e);
    if (ok && complete(c, passage->where, o, e)) return c;
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
    free_ids(c);
    free(c->line);
    free(c);
}

void corpus_remark_unmerged(const Corpus *c, const char *name, char remark[REMARK]) {
    enum { MIN_TOKENS = 100, MAX_TOKENS = 1 << 20 };
    const uint32_t *start = c->tokenizer->start;
    long read = c->count < MAX_TOKENS ? c->count : MAX_TOKENS, single = 0;
    for (long i = 0; i < read; i++) single += start[c->ids[i] + 1] - start[c->ids[i]] == 1;
    double share = (double)single / (double)read;
    if (c->tokenizer->kind == &tokenizer_bpe && read >= MIN_TOKENS && share > 0.8)
        task_remark(remark,
                    "%s: %.0f %% of the tokens are single bytes: few merges of the run's tokenizer "
                    "occur in this text",
                    name, 100 * share);
}
