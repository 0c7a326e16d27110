#include "text/corpus.h"
#include "base/crc32.h"
#include "base/file.h"
#include "text/encoding.h"
#include "text/tokenizer_fit.h"
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 20 }; /* bytes encoded at a time */

/* Bytes of the first `characters` characters of a text. */
static size_t prefix(const char *text, size_t length, size_t characters) {
    size_t at = 0;
    while (at < length && (((unsigned char)text[at] & 0xC0) == 0x80 || characters-- > 0)) at++;
    return at;
}

/* Encodes the training parts, and then the tails after them. */
static bool encode(Corpus *c, const Passage *p, const Passage *training, long passages,
                   const CorpusOptions *o, size_t bytes, Error *e) {
    size_t done = 0;
    int32_t *chunk = malloc((CHUNK + TOKEN_BYTES) * sizeof *chunk);
    c->ids = malloc((bytes + 1) * sizeof *c->ids);
    bool ok =
        (chunk && c->ids) || error_set(e, STATUS_NO_MEMORY, "%s: no memory for %zu tokens", p->where, bytes);
    for (long k = 0; ok && k < 2 * passages; k++) {
        const Passage *from = k < passages ? &training[k] : &p[k - passages];
        size_t at = k < passages ? 0 : training[k - passages].length;
        if (k == passages) c->training = c->count;
        for (size_t before = at; ok && at < from->length; before = at) {
            long count = 0;
            ok = tokenizer_encode_part(c->tokenizer, from, &at, CHUNK, chunk, &count, e);
            for (long i = 0; ok && i < count; i++) c->ids[c->count++] = (uint16_t)chunk[i];
            done += at - before;
            if (o->progress) o->progress(done);
        }
    }
    free(chunk);
    uint16_t *fitting = ok ? realloc(c->ids, (size_t)(c->count + 1) * sizeof *fitting) : NULL;
    if (fitting) c->ids = fitting;
    return ok;
}

/* Learns the tokenizer, and encodes all passages with this part of each held out. */
static bool split(Corpus *c, const Passage *p, long passages, const CorpusOptions *o, double held_out,
                  Passage *part, Error *e) {
    size_t bytes = 0;
    const TokenizerKind *kind = o->tokenizer;
    long size = o->vocab_size;
    for (long i = c->characters = 0; i < passages; i++) {
        size_t characters = utf8_count(p[i].text, p[i].length);
        size_t training = (size_t)((double)characters * (1 - held_out));
        part[i] = (Passage){p[i].where, p[i].text, prefix(p[i].text, p[i].length, training)};
        bytes += p[i].length, c->characters += (long)(held_out > 0 ? characters - training : characters);
    }
    for (long i = 0; i < passages && !(kind && kind->any_bytes); i++)
        if (!text_check(p[i].where, p[i].text, p[i].length, e)) return false;
    if (!o->vocabulary && (!kind || (kind == &tokenizer_bpe && !size)) &&
        !tokenizer_fit(part, passages, o->tokens, &kind, &size, e))
        return false;
    c->vocab_size = size;
    c->tokenizer = o->vocabulary
                       ? tokenizer_parse("vocabulary", o->vocabulary, e)
                       : tokenizer_learn(kind, size, tokenizer_takes_all(kind, size) ? p : part, passages, e);
    if (!c->tokenizer || !encode(c, p, part, passages, o, bytes, e)) return false;
    c->validation = held_out > 0 ? c->training : 0;
    return true;
}

/* Tokens of the shorter part. */
static long shorter(const Corpus *c) {
    long judged = c->count - c->validation;
    return judged < c->training ? judged : c->training;
}

/* A text that is too short for context and tail has a shorter context, or no tail. */
static bool split_to_fit(Corpus *c, const Passage *p, long passages, const CorpusOptions *o, Error *e) {
    enum { SHORTEST = 8 };
    Passage *part = malloc((size_t)passages * sizeof *part);
    bool ok = (part || error_set(e, STATUS_NO_MEMORY, "%s: no memory for a corpus", p->where)) &&
              split(c, p, passages, o, o->validation, part, e);
    c->context = o->context;
    if (ok && o->validation > 0 && shorter(c) <= SHORTEST && shorter(c) <= o->context) {
        tokenizer_free(c->tokenizer), free(c->ids);
        c->tokenizer = NULL, c->ids = NULL, c->count = 0;
        c->without_tail = ok = split(c, p, passages, o, 0, part, e);
    }
    free(part);
    if (ok && shorter(c) < 2)
        return error_set(e, STATUS_BAD_DATA, "%s: found %ld token%s, need at least 2", p->where, c->count,
                         PLURAL(c->count));
    if (ok && c->context >= shorter(c)) c->context = shorter(c) - 1;
    return ok;
}

/* Counts all characters, and those that are different; a byte that is not UTF-8 is one. */
static bool count_characters(Corpus *c, const Passage *p, long passages, Error *e) {
    enum { CODES = 0x110000 + 256 };
    uint8_t *seen = calloc(CODES, 1);
    for (long i = 0; seen && i < passages; i++)
        for (size_t at = 0, n; at < p[i].length; at += n, c->written++) {
            uint32_t code = 0x110000 + (unsigned char)p[i].text[at];
            n = (size_t)utf8_decode(p[i].text + at, p[i].length - at, &code);
            if (!n) n = 1;
            c->different += !seen[code];
            seen[code] = 1;
        }
    if (!seen) return error_set(e, STATUS_NO_MEMORY, "memory: %d characters", CODES);
    free(seen);
    return true;
}

Corpus *corpus_make(const Passage *passage, long passages, const CorpusOptions *o, Error *e) {
    Corpus *c = calloc(1, sizeof *c);
    bool ok = c ? split_to_fit(c, passage, passages, o, e) && count_characters(c, passage, passages, e)
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
    if (ok) return c;
    corpus_free(c);
    return NULL;
}

size_t corpus_unix_newlines(char *text, size_t length) {
    size_t left = 0;
    for (size_t i = 0; i < length; i++)
        if (text[i] != '\r')
            text[left++] = text[i];
        else if (i + 1 == length || text[i + 1] != '\n')
            text[left++] = '\n';
    return left;
}

static bool load(const char *path, const CorpusOptions *o, FileMap *m, Passage *p, bool *mark, Error *e) {
    if (!file_map(path, m, e)) return false;
    size_t skip = utf8_mark(m->data, m->size);
    *p = (Passage){path, m->data ? m->data + skip : "", m->size - skip};
    if (o->unix_newlines && m->data) p->length = corpus_unix_newlines(m->data + skip, p->length);
    *mark |= skip > 0;
    return true;
}

Corpus *corpus_load(const char *paths, const CorpusOptions *o, Error *e) {
    long files = 1, n = 0;
    for (const char *at = paths; *at; at++) files += *at == '\n';
    char *path = strdup(paths);
    FileMap *map = calloc((size_t)files, sizeof *map);
    Passage *passage = calloc((size_t)files, sizeof *passage);
    Corpus *c = NULL;
    bool mark = false,
         ok = (path && map && passage) || error_set(e, STATUS_NO_MEMORY, "memory: the list of texts");
    for (char *at = path; ok && n < files; n++) {
        char *end = strchr(at, '\n');
        if (end) *end = 0;
        ok = load(at, o, &map[n], &passage[n], &mark, e);
        if (end) at = end + 1;
    }
    if (ok) c = corpus_make(passage, files, o, e);
    if (c) c->byte_order_mark = mark;
    for (long i = 0; map && i < files; i++) file_unmap(&map[i]);
    free(path), free(map), free(passage);
    return c;
}

void corpus_free(Corpus *c) {
    if (!c) return;
    tokenizer_free(c->tokenizer);
    free(c->ids);
    free(c);
}
