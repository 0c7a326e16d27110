/* Token files. The tokens of a large text are kept in a file and mapped: a second start does not
 * encode the text again, and the tokens take no memory of the process.
 *
 * The name of a file tells the texts, by length and checksum, and the options that the tokens
 * depend on. A file has the tokens, two bytes each, the tokenizer's string, and the corpus without
 * its pointers. It is made as a whole or not at all (base/file.h). Any file may be removed; the
 * next that is made removes all but those used last. */
#include "base/crc32.h"
#include "base/program.h"
#include "tasks/corpus.h"
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Texts of fewer bytes than LARGE are encoded at each start: that takes less than two seconds. */
enum { LARGE = 1 << 24, KEPT = 8 };

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

static bool find_directory(char out[PATH_CAPACITY], const TaskOptions *o, Error *e) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const char *name = cache && *cache ? "tapeformer" : ".cache/tapeformer";
    const char *above = cache && *cache ? cache : home;
    if (o->cache)
        snprintf(out, PATH_CAPACITY, "%s", o->cache);
    else if (!above)
        return error_set(e, STATUS_CANNOT_CREATE, "HOME: found none, need it or --cache DIR");
    else if (!directory_file(out, above, name, STATUS_CANNOT_CREATE, e))
        return false;
    return directory_make(out, e);
}

/* A number that tells apart the options, and where texts begin. */
static uint64_t options_hash(const Passage *text, long texts, const TaskOptions *o) {
    const TokenizerKind *kind = o->tokenizer;
    char words[256];
    snprintf(words, sizeof words, "%s %ld %g %d %llu %d %zu", kind ? kind->choice.name : "fit",
             o->vocab_size, o->validation, o->unix_newlines,
             o->lines ? (unsigned long long)o->seed + 1 : 0, o->lines, sizeof(Corpus));
    uint64_t hash = dictionary_hash(words, strlen(words));
    if (o->vocabulary) hash += dictionary_hash(o->vocabulary, strlen(o->vocabulary));
    for (long i = 0; i < texts; i++) hash = 31 * hash + text[i].length;
    return hash;
}

bool token_file_path(char out[PATH_CAPACITY], const Passage *text, long texts, uint32_t checksum,
                     const TaskOptions *o, Error *e) {
    char directory[PATH_CAPACITY], name[64];
    size_t bytes = 0;
    for (long i = 0; i < texts; i++) bytes += text[i].length;
    bool short_tail = o->validation > 0 && o->validation * (double)bytes < 1000; /* corpus.c */
    if (bytes < LARGE || short_tail || !find_directory(directory, o, e)) return false;
    snprintf(name, sizeof name, "%08x-%zx-%016llx.tokens", (unsigned)checksum, bytes,
             (unsigned long long)options_hash(text, texts, o));
    return directory_file(out, directory, name, STATUS_CANNOT_CREATE, e);
}

/* ---- The directory ---- */

static const char unfinished[] = ".tapeformer-tmp";

static int is_token_file(const struct dirent *entry) {
    return directory_ends_in(entry->d_name, ".tokens") ||
           directory_ends_in(entry->d_name, unfinished);
}

/* The time of the last use; 0: a file that a killed process left, which is removed. */
static time_t last_use(const char *directory, const char *name) {
    char path[PATH_CAPACITY], final[NAME_MAX + 1];
    struct stat st;
    int bytes = (int)(strlen(name) - strlen(unfinished));
    bool is_whole = !directory_ends_in(name, unfinished);
    snprintf(final, sizeof final, "%.*s", is_whole ? NAME_MAX : bytes - 1, name + !is_whole);
    if (!directory_file(path, directory, final, STATUS_IO, &(Error){0})) return 0;
    if (!is_whole) file_abandon(file_create(path, &(Error){0}));
    return is_whole && stat(path, &st) == 0 ? st.st_mtime : 0;
}

/* Removes all token files of a directory but the KEPT used last. */
static void prune(const char *directory) {
    struct dirent **entry;
    char path[PATH_CAPACITY];
    int count = scandir(directory, &entry, is_token_file, NULL);
    time_t *used = count > 0 ? calloc((size_t)count, sizeof *used) : NULL;
    int known = used ? count : 0;
    for (int i = 0; i < known; i++) used[i] = last_use(directory, entry[i]->d_name);
    for (int i = 0; i < count; i++) {
        int later = 0;
        for (int k = 0; k < known; k++) later += used[k] > used[i];
        if (later >= KEPT && used[i] &&
            directory_file(path, directory, entry[i]->d_name, STATUS_IO, &(Error){0}))
            unlink(path);
        free(entry[i]);
    }
    if (count >= 0) free(entry);
    free(used);
}

/* ---- The file ---- */

/* Whether the kind and the size of the tokens are those that fit the options now. */
static bool fits(const Corpus *c, const Tokenizer *k, const TaskOptions *o) {
    const TokenizerKind *kind = o->tokenizer;
    long size = o->vocab_size;
    if (c->fit.characters == 0) return true;
    tokenizer_fit(&c->fit, o->tokens, &kind, &size);
    return kind == k->kind && size == c->vocab_size;
}

/* Sets the corpus from the end of the mapped file. */
static bool take(Corpus *c, const FileMap *m, const TaskOptions *o) {
    Trailer t;
    char mark[32] = {0};
    if (m->size < sizeof t) return false;
    memcpy(&t, m->data + m->size - sizeof t, sizeof t);
    set_mark(mark);
    uint64_t left = m->size - sizeof t;
    if (memcmp(t.mark, mark, sizeof mark) != 0 || t.string > left ||
        t.tokens != (left - t.string) / sizeof *c->ids || t.string == 0)
        return false;
    size_t length = (size_t)t.string, bytes = (size_t)t.tokens * sizeof *c->ids;
    const char *string = m->data + bytes;
    uint32_t crc = crc32_update(crc32_update(0, string, length), &t, offsetof(Trailer, crc32));
    if (crc != t.crc32 || string[length - 1] != 0) return false;
    if (crc32_update(0, m->data, bytes) != t.tokens_crc32) return false;
    Tokenizer *tokenizer = tokenizer_parse("token file", string, &(Error){0});
    if (tokenizer && fits(&t.corpus, tokenizer, o)) {
        *c = t.corpus;
        c->tokenizer = tokenizer;
        return true;
    }
    tokenizer_free(tokenizer);
    return false;
}

bool token_file_read(const char *path, Corpus *c, const TaskOptions *o) {
    FileMap m;
    if (!file_map(path, &m, &(Error){0})) return false;
    if (!take(c, &m, o)) {
        file_unmap(&m);
        return false;
    }
    utimensat(AT_FDCWD, path, NULL, 0); /* prune keeps what was used last */
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
    size_t length = strlen(string) + 1;
    t.string = length;
    t.tokens = (uint64_t)c->count;
    t.tokens_crc32 = crc32;
    set_mark(t.mark);
    t.crc32 = crc32_update(crc32_update(0, string, length), &t, offsetof(Trailer, crc32));
    file_write(f, string, length);
    file_write(f, &t, sizeof t);
    free(string);
    snprintf(path, sizeof path, "%s", file_path(f));
    if (!file_commit(f, e) || !file_map(path, &c->map, e)) return false;
    c->ids = (uint16_t *)(void *)c->map.data;
    *strrchr(path, '/') = 0;
    prune(path);
    return true;
}
