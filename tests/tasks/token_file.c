/* Token files: a large text has the same tokens from memory, on the first start and on the second;
 * a damaged file, or that of other options, is not read. */
#include "base/random.h"
#include "folder.h"
#include "task_helpers.h"
#include "tasks/corpus.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES = (1 << 24) + 1000 };

/* Words of random letters, and lines. */
static char *large_text(void) {
    char *text = malloc(BYTES);
    for (long i = 0; i < BYTES; i++) {
        long draw = random_below(random_key(3, 1), (uint64_t)(i % 30011), 40);
        text[i] = "abcdefghijklmnopqrstuvwxyz             \n"[draw];
    }
    return text;
}

static TaskOptions options_of(const char *cache) {
    TaskOptions o = task_defaults();
    o.tokenizer = &tokenizer_bpe;
    o.vocab_size = 300;
    o.context = 16;
    o.cache = cache;
    return o;
}

/* The name of the one token file in the folder; "": there is none. */
static const char *token_file(const char *cache) {
    static char path[PATH_CAPACITY];
    struct dirent **entry;
    int count = scandir(cache, &entry, NULL, alphasort);
    *path = 0;
    for (int i = 0; i < count; i++) {
        if (directory_ends_in(entry[i]->d_name, ".tokens"))
            snprintf(path, sizeof path, "%s/%s", cache, entry[i]->d_name);
        free(entry[i]);
    }
    if (count >= 0) free(entry);
    return path;
}

static void check_same(const Corpus *a, const Corpus *b, const char *when) {
    CHECK(a && b, "%s", when);
    if (!a || !b) return;
    CHECK(a->count == b->count && !memcmp(a->ids, b->ids, (size_t)a->count * sizeof *a->ids),
          "%s: other tokens", when);
    CHECK(a->training == b->training && a->validation == b->validation &&
              a->characters == b->characters && a->written == b->written &&
              a->different == b->different && a->context == b->context && a->lines == b->lines &&
              a->checksum == b->checksum && a->tokenizer->size == b->tokenizer->size,
          "%s: other facts", when);
}

static void overwrite(const char *path, long at, const char *bytes) {
    FILE *f = fopen(path, "r+");
    fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
    fputs(bytes, f);
    fclose(f);
}

TEST(a_large_text_is_encoded_once) {
    make_folder();
    char *text = large_text(), cache[PATH_CAPACITY];
    snprintf(cache, sizeof cache, "%s", in_folder("cache"));
    const Passage p = {"f", text, BYTES};
    write_text(in_folder("no-directory"), "");
    for (int lines = SANITIZER; lines < 2; lines++) {
        Error e = {0};
        TaskOptions o = options_of(in_folder("no-directory")), cached = options_of(cache);
        o.lines = cached.lines = lines;
        if (lines) o.tokenizer = cached.tokenizer = &tokenizer_byte;
        Corpus *memory = corpus_make(&p, 1, &o, &e);
        CHECK(memory && !memory->map.data, "%s", e.text);
        Corpus *first = corpus_make(&p, 1, &cached, &e);
        CHECK(first && first->map.data, "%s", e.text);
        check_same(memory, first, "first");
        corpus_free(first);
        CHECK(*token_file(cache));
        struct stat before, after;
        stat(token_file(cache), &before);
        Corpus *second = corpus_make(&p, 1, &cached, &e);
        check_same(memory, second, "second");
        corpus_free(second);
        stat(token_file(cache), &after);
        CHECK(before.st_ino == after.st_ino, "the file is made again");
        /* Damage is found, of the end as of the tokens; then the file is made anew. */
        static const char *const damage[] = {"of the end", "of a token", "a cut"};
        int damages = lines ? 3 : 0;
        for (int i = 0; i < damages; i++) {
            if (i < 2) overwrite(token_file(cache), i ? 100000 : -40, "x");
            if (i == 2) CHECK(truncate(token_file(cache), 100) == 0);
            Corpus *third = corpus_make(&p, 1, &cached, &e);
            check_same(memory, third, damage[i]);
            corpus_free(third);
        }
        corpus_free(memory);
        remove(token_file(cache));
    }
    free(text);
}

/* Training that reads a text more often has fewer tokens, and its file takes the other's place.
 * Eight files stay, and none that a killed process has left. A signal leaves none. A file that
 * cannot be written is reported, and the tokens are in memory. */
static bool stops(size_t done, size_t all) {
    return all == BYTES && done == 0;
}

TEST(token_files_are_few_and_optional) {
    make_folder();
    char *text = large_text(), cache[PATH_CAPACITY], name[PATH_CAPACITY + 40];
    const Passage p = {"f", text, BYTES};
    Error e = {0};
    TaskOptions o = options_of(cache);
    snprintf(cache, sizeof cache, "%s", in_folder("few"));
    o.goes_on = stops;
    CHECK(!corpus_make(&p, 1, &o, &e) && e.status == STATUS_DONE);
    CHECK(rmdir(cache) == 0, "an encoding that was stopped leaves a file");
    directory_make(cache, &e);
    o.goes_on = NULL;
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "%s/%d.tokens", cache, i);
        write_text(name, "");
        struct timespec times[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};
        utimensat(AT_FDCWD, name, times, 0);
    }
    snprintf(name, sizeof name, "%s/.x.tokens.tapeformer-tmp", cache);
    write_text(name, "");
    o.vocab_size = 0;
    for (int often = !SANITIZER; often >= 0; often--) {
        o.tokens = often ? 1e9 : 1;
        Corpus *c = corpus_make(&p, 1, &o, &e);
        CHECK(c && c->map.data && !*c->unkept, "%s", e.text);
        CHECK(c && c->vocab_size == (often ? 1024 : 8192), "%ld", c ? c->vocab_size : 0);
        corpus_free(c);
    }
    CHECK(access(name, F_OK) != 0, "the file of a killed process stays");
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "%s/%d.tokens", cache, i);
        CHECK((access(name, F_OK) == 0) == (i >= 3), "%d", i);
    }
    write_text(in_folder("no-directory"), "");
    o.cache = in_folder("no-directory");
    o.tokenizer = &tokenizer_byte;
    Corpus *c = corpus_make(&p, 1, &o, &e);
    CHECK(c && !c->map.data && strstr(c->unkept, "no-directory"), "%s", e.text);
    corpus_free(c);
    free(text);
}

/* Each of these has a file of its own. */
TEST(other_options_are_another_file) {
    static char text[1 << 24];
    const Passage whole = {"f", text, sizeof text},
                  parts[] = {{"f", text, 1000}, {"g", text + 1000, sizeof text - 1000}};
    TaskOptions o = options_of(in_folder("cache")), other[6];
    for (int i = 0; i < 6; i++) other[i] = o;
    other[0].vocab_size = 301;
    other[1].tokenizer = &tokenizer_byte;
    other[2].validation = 0.2;
    other[3].lines = true;
    other[4].vocabulary = "tokenizer byte\n";
    other[5].tokenizer = NULL;
    char first[PATH_CAPACITY], path[PATH_CAPACITY];
    Error e = {0};
    CHECK(token_file_path(first, &whole, 1, 7, &o, &e));
    CHECK(token_file_path(path, &whole, 1, 7, &o, &e) && !strcmp(path, first));
    for (int i = 0; i < 6; i++)
        CHECK(token_file_path(path, &whole, 1, 7, &other[i], &e) && strcmp(path, first), "%d", i);
    CHECK(token_file_path(path, &whole, 1, 8, &o, &e) && strcmp(path, first));
    CHECK(token_file_path(path, parts, 2, 7, &o, &e) && strcmp(path, first));
    CHECK(!token_file_path(path, parts, 1, 7, &o, &e) && !e.status, "a small text");
}

RUN_TESTS
