/* Token files: a large text has the same tokens from memory, on the first start and on the second;
 * a damaged file, or that of other options, is not read. */
#include "base/random.h"
#include "folder.h"
#include "task_helpers.h"
#include "tasks/corpus.h"
#include <dirent.h>
#include <sys/stat.h>

enum { BYTES = (1 << 24) + 1000 };

/* Words of random letters, and lines. */
static char *large_text(void) {
    char *text = malloc(BYTES);
    for (long i = 0; i < BYTES; i++) {
        long draw = random_below(random_key(3, 1), (uint64_t)(i % 1000003), 40);
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
    for (int lines = 0; lines < 2; lines++) {
        Error e = {0};
        TaskOptions o = options_of(in_folder("no-directory")), cached = options_of(cache);
        o.lines = cached.lines = lines;
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
        overwrite(token_file(cache), lines ? 100000 : -40, "x");
        Corpus *third = corpus_make(&p, 1, &cached, &e);
        check_same(memory, third, "after damage");
        corpus_free(third);
        CHECK(truncate(token_file(cache), 1000) == 0);
        third = corpus_make(&p, 1, &cached, &e);
        check_same(memory, third, "after a cut");
        corpus_free(third);
        corpus_free(memory);
        remove(token_file(cache));
    }
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
    CHECK(token_file_path(first, &whole, 1, 7, &o));
    CHECK(token_file_path(path, &whole, 1, 7, &o) && !strcmp(path, first));
    for (int i = 0; i < 6; i++)
        CHECK(token_file_path(path, &whole, 1, 7, &other[i]) && strcmp(path, first), "%d", i);
    CHECK(token_file_path(path, &whole, 1, 8, &o) && strcmp(path, first));
    CHECK(token_file_path(path, parts, 2, 7, &o) && strcmp(path, first));
    CHECK(!token_file_path(path, parts, 1, 7, &o), "a small text");
}

RUN_TESTS
