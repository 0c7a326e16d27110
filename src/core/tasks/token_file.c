/* Token files. The tokens of a large text are kept in a file and mapped: a second start does not
 * encode the text again, and the tokens take no memory of the process.
 *
 * The name of a file tells the texts, by length and checksum, and the options that the tokens
 * depend on. A file has the tokens, two bytes each, the tokenizer's string, and the corpus without
 * its pointers. It is made as a whole or not at all (base/file.h). Any file may be removed. */
#include "base/crc32.h"
#include "base/program.h"
#include "tasks/corpus.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Texts of fewer bytes are encoded at each start: that takes less than two seconds. */
enum { LARGE = 1 << 24 };

/* The end of a token file. Another build, whose corpus may have other members, has another mark. */
typedef struct Trailer {
    char mark[32];
    uint64_t string, tokens; /* bytes of the tokenizer's string, and number of tokens */
    Corpus corpus;
    uint32_t tokens_crc32, crc32; /* of the tokens; of the string and of what stands before here */
} Trailer;

static void set_mark(char mark[32]) {
    snprintf(mark, 32, "tapeformer tokens %s %zu", TAPEFORMER_VERSION, sizeof(Corpus));
}

/* ---- The name ---- */

static bool find_directory(char out[PATH_CAPACITY], const TaskOptions *o) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    Error ignored = {0};
    if (o->cache) {
        return snprintf(out, PATH_CAPACITY, "%s", o->cache) < PATH_CAPACITY &&
               directory_make(out, &ignored);
    }
    const char *name = cache && *cache ? "tapeformer" : ".cache/tapeformer";
    const char *above = cache && *cache ? cache : home;
    if (!above || !*above) return false;
    return directory_file(out, above, name, STATUS_USAGE, &ignored) &&
           directory_make(out, &ignored);
}

/* A number that tells apart the options, and where texts begin. */
static uint64_t options_hash(const Passage *text, long texts, size_t bytes, const TaskOptions *o) {
    const TokenizerKind *kind = o->tokenizer;
    bool fits = !o->vocabulary && o->vocab_size == 0 && (!kind || kind == &tokenizer_bpe);
    /* Training that reads so little of a text, whatever its tokens are, has the largest vocabulary
     * (text/tokenizer_fit.c): a token has at most TOKEN_BYTES bytes, a character 4. */
    bool is_short = o->tokens <= (double)bytes / (4 * TOKEN_BYTES);
    char words[256];
    snprintf(words, sizeof words, "%s %ld %g %g %d %llu %d %zu", kind ? kind->choice.name : "fit",
             o->vocab_size, fits && !is_short ? o->tokens : 0, o->validation, o->unix_newlines,
             o->lines ? (unsigned long long)o->seed + 1 : 0, o->lines, sizeof(Corpus));
    uint64_t hash = dictionary_hash(words, strlen(words));
    if (o->vocabulary) hash += dictionary_hash(o->vocabulary, strlen(o->vocabulary));
    for (long i = 0; i < texts; i++) hash = 31 * hash + text[i].length;
    return hash;
}

bool token_file_path(char out[PATH_CAPACITY], const Passage *text, long texts, uint32_t checksum,
                     const TaskOptions *o) {
    char directory[PATH_CAPACITY], name[64];
    size_t bytes = 0;
    for (long i = 0; i < texts; i++) bytes += text[i].length;
    bool short_tail = o->validation > 0 && o->validation * (double)bytes < 1000; /* corpus.c */
    if (bytes < LARGE || short_tail || !find_directory(directory, o)) return false;
    snprintf(name, sizeof name, "%08x-%zx-%016llx.tokens", (unsigned)checksum, bytes,
             (unsigned long long)options_hash(text, texts, bytes, o));
    return directory_file(out, directory, name, STATUS_USAGE, &(Error){0});
}

/* ---- The file ---- */

/* Sets the corpus from the end of the mapped file. */
static bool take(Corpus *c, const FileMap *m, Error *e) {
    Trailer t;
    char mark[32] = {0};
    if (m->size < sizeof t) return false;
    memcpy(&t, m->data + m->size - sizeof t, sizeof t);
    set_mark(mark);
    uint64_t left = m->size - sizeof t;
    if (memcmp(t.mark, mark, sizeof mark) != 0 || t.string > left ||
        t.tokens != (left - t.string) / sizeof *c->ids || t.string == 0)
        return false;
    const char *string = m->data + t.tokens * sizeof *c->ids;
    uint32_t crc = crc32_update(crc32_update(0, string, t.string), &t, offsetof(Trailer, crc32));
    if (crc != t.crc32 || string[t.string - 1] != 0) return false;
    if (crc32_update(0, m->data, (size_t)(string - m->data)) != t.tokens_crc32) return false;
    Tokenizer *tokenizer = tokenizer_parse("token file", string, e);
    if (!tokenizer) return false;
    *c = t.corpus;
    c->tokenizer = tokenizer;
    return true;
}

bool token_file_read(const char *path, Corpus *c, Error *e) {
    FileMap m;
    if (!file_map(path, &m, &(Error){0})) return false;
    if (!take(c, &m, e)) {
        file_unmap(&m);
        return false;
    }
    c->map = m;
    c->ids = (uint16_t *)(void *)m.data;
    return true;
}

bool token_file_end(File *f, Corpus *c, uint32_t crc32, Error *e) {
    char path[PATH_CAPACITY], *string = tokenizer_string(c->tokenizer, e);
    if (!string) {
        file_abandon(f);
        return false;
    }
    Trailer t;
    memset(&t, 0, sizeof t);
    t.corpus = *c;
    t.corpus.tokenizer = NULL;
    t.corpus.ids = NULL;
    t.string = strlen(string) + 1;
    t.tokens = (uint64_t)c->count;
    t.tokens_crc32 = crc32;
    set_mark(t.mark);
    t.crc32 = crc32_update(crc32_update(0, string, t.string), &t, offsetof(Trailer, crc32));
    file_write(f, string, t.string);
    file_write(f, &t, sizeof t);
    free(string);
    snprintf(path, sizeof path, "%s", file_path(f));
    if (!file_commit(f, e) || !file_map(path, &c->map, e)) return false;
    c->ids = (uint16_t *)(void *)c->map.data;
    return true;
}
