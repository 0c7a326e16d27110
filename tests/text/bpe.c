/* Byte-pair encoding: merges and tokens are those of a plain version that counts everything anew for each merge, and any
 * bytes come back. */
#include "base/random.h"
#include "task_helpers.h"

enum { MOST_BYTES = 1 << 16, MOST_MERGES = 300 };

/* ---- The plain version: words as rows of tokens in one array, each ended by -1 ---- */

typedef struct Plain {
    int32_t token[2 * MOST_BYTES];
    long length, merges;
    Merge merge[MOST_MERGES];
} Plain;

static void replace_all(Plain *p, Merge m, int32_t by) {
    long n = 0;
    for (long i = 0; i < p->length; i++) {
        bool here = p->token[i] == m.left && i + 1 < p->length && p->token[i + 1] == m.right;
        p->token[n++] = here ? by : p->token[i];
        i += here;
    }
    p->length = n;
}

static void plain_text(Plain *p, const char *text, size_t length) {
    p->length = 0;
    for (size_t at = 0, end = 0; at < length; p->token[p->length++] = -1) {
        end += word_length(text + at, length - at, false);
        while (at < end) p->token[p->length++] = (unsigned char)text[at++];
    }
}

static void plain_learn(Plain *p, const char *text, size_t length, long most) {
    static int32_t count[BYTE_TOKENS + MOST_MERGES][BYTE_TOKENS + MOST_MERGES];
    plain_text(p, text, length);
    for (p->merges = 0; p->merges < most; p->merges++) {
        memset(count, 0, sizeof count);
        Merge best = {0, 0};
        for (long i = 0; i + 1 < p->length; i++)
            if (p->token[i] >= 0 && p->token[i + 1] >= 0) count[p->token[i]][p->token[i + 1]]++;
        for (int32_t a = 0; a < BYTE_TOKENS + p->merges; a++)
            for (int32_t b = 0; b < BYTE_TOKENS + p->merges; b++)
                if (count[a][b] > count[best.left][best.right]) best = (Merge){a, b};
        if (count[best.left][best.right] < 2) return;
        p->merge[p->merges] = best;
        replace_all(p, best, BYTE_TOKENS + (int32_t)p->merges);
    }
}

static void compare(const char *name, const char *text, size_t length, long most) {
    static Plain plain;
    static int32_t ids[MOST_BYTES];
    Error e = {0};
    long count;
    plain_learn(&plain, text, length, most);
    Tokenizer *k = learned(TOKENIZER_BPE, BYTE_TOKENS + most, text, length);
    CHECK(k->size == BYTE_TOKENS + plain.merges, "%s: %ld merges, want %ld", name, k->size - BYTE_TOKENS,
          plain.merges);
    for (long m = 0; m < plain.merges && m < k->size - BYTE_TOKENS; m++)
        CHECK(!memcmp(&k->merge[m], &plain.merge[m], sizeof(Merge)), "%s: merge %ld is %d %d, want %d %d",
              name, m, (int)k->merge[m].left, (int)k->merge[m].right, (int)plain.merge[m].left,
              (int)plain.merge[m].right);
    CHECK(tokenizer_encode(k, name, text, length, ids, &count, &e), "%s", e.text);
    long n = 0;
    for (long i = 0; i < plain.length; i++)
        if (plain.token[i] >= 0) CHECK(n < count && ids[n++] == plain.token[i], "%s: token %ld", name, n);
    CHECK(n == count, "%s: %ld tokens, want %ld", name, count, n);
    tokenizer_free(k);
}

/* English, text with many ties and overlaps, and noise. */
TEST(merges_and_tokens_equal_those_of_a_plain_version) {
    size_t length;
    char *text = whole_file("data/chronicle.txt", &length);
    compare("chronicle", text, MOST_BYTES / 2, 250);
    free(text);
    for (uint64_t round = 0; round < 40; round++) {
        static char random[4000];
        uint64_t key = random_key(5, round);
        long n = 1 + random_below(key, 0, sizeof random), letters = 1 + (long)round % 7;
        for (long i = 0; i < n; i++) {
            long c = random_below(key, (uint64_t)i + 1, round < 35 ? letters : 256);
            random[i] = (char)(round < 35 ? "a bé1.\n"[c] : c);
        }
        compare("random", random, (size_t)n, MOST_MERGES);
    }
    compare("one letter", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa aaaaaaa", 37, MOST_MERGES);
    compare("nothing", "", 0, 10);
}

/* "ab" and "cd" are as frequent: the smaller ids first, which are 97 98. Then "abcd" once alone. */
TEST(ties_by_hand) {
    Tokenizer *k = learned(TOKENIZER_BPE, 0, "cdab ab cd", 10);
    CHECK(k->size == BYTE_TOKENS + 2, "%ld", k->size);
    CHECK(k->merge[0].left == 'a' && k->merge[0].right == 'b');
    CHECK(k->merge[1].left == 'c' && k->merge[1].right == 'd');
    tokenizer_free(k);
}

/* Random bytes, and random pieces of a text with its words cut anywhere. ALL=1 takes a million of them. */
TEST(any_bytes_come_back, 600) {
    enum { MOST = 80 };
    long rounds = getenv("ALL") ? 1000000 : 20000;
    size_t length;
    char *text = whole_file("data/chronicle.txt", &length);
    Tokenizer *k[] = {learned(TOKENIZER_BPE, 600, text, length), learned(TOKENIZER_BYTE, 0, text, length)};
    for (long round = 0; round < rounds; round++) {
        char bytes[MOST], back[MOST * TOKEN_BYTES + 1];
        int32_t ids[MOST];
        long count, n = round % (MOST + 1);
        uint64_t key = random_key(6, (uint64_t)round);
        memcpy(bytes, text + random_below(key, 1000, (long)length - MOST), MOST);
        for (long i = round % 3 ? random_below(key, 1001, MOST) : 0; i < n; i++)
            bytes[i] = (char)random_below(key, (uint64_t)i, 256);
        for (int i = 0; i < 2; i++) {
            Error e = {0};
            CHECK(tokenizer_encode(k[i], "bytes", bytes, (size_t)n, ids, &count, &e), "%s", e.text);
            CHECK(tokenizer_decode(k[i], ids, count, back) == (size_t)n && !memcmp(bytes, back, (size_t)n),
                  "round %ld of %s", round, tokenizer_name(k[i]->kind));
        }
    }
    tokenizer_free(k[0]), tokenizer_free(k[1]), free(text);
}

/* A text encoded in parts of any size has the tokens of the whole. */
TEST(parts_of_a_text_have_the_tokens_of_the_whole) {
    size_t length;
    char *text = whole_file("data/chronicle.txt", &length);
    static int32_t whole[1 << 17], part[1 << 17];
    for (TokenizerKind kind = TOKENIZER_CHAR; kind <= TOKENIZER_WORD; kind++) {
        Tokenizer *k = learned(kind, 0, text, length);
        Passage p = {"text", text, length};
        Error e = {0};
        long count, n = 0, found;
        CHECK(tokenizer_encode(k, "text", text, length, whole, &count, &e));
        for (size_t at = 0, size = 1; at < length; size = size * 2 % 997, n += found) {
            CHECK(tokenizer_encode_part(k, &p, &at, size, part, &found, &e), "%s", e.text);
            CHECK(n + found <= count && !memcmp(whole + n, part, (size_t)found * sizeof *part), "token %ld",
                  n);
        }
        CHECK(n == count, "%ld tokens, want %ld", n, count);
        tokenizer_free(k);
    }
    free(text);
}

RUN_TESTS
