/* Byte-pair encoding: merges and tokens are those of a plain version that counts everything anew
 * for each merge, and any bytes come back. */
#include "base/random.h"
#include "decoding/decode.h"
#include "task_helpers.h"

enum { MAX_BYTES = 1 << 16, MAX_MERGES = 300 };

static const char poem[] = "无可奈何花落去，似曾相识燕归来";

/* ---- The plain version: words as rows of tokens in one array, each ended by -1 ---- */

typedef struct Plain {
    int32_t token[2 * MAX_BYTES];
    long length, merges;
    Merge merge[MAX_MERGES];
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
    size_t at = 0;
    p->length = 0;
    while (at < length) {
        size_t end = at + word_length(text + at, length - at);
        while (at < end) p->token[p->length++] = (unsigned char)text[at++];
        p->token[p->length++] = -1;
    }
}

static void plain_learn(Plain *p, const char *text, size_t length, long size) {
    static int32_t count[BYTE_TOKENS + MAX_MERGES][BYTE_TOKENS + MAX_MERGES];
    plain_text(p, text, length);
    int32_t next = BYTE_TOKENS;
    for (p->merges = 0; next < size; next++) {
        memset(count, 0, sizeof count);
        Merge best = {0, 0};
        for (long i = 0; i + 1 < p->length; i++)
            if (p->token[i] >= 0 && p->token[i + 1] >= 0) count[p->token[i]][p->token[i + 1]]++;
        for (int32_t a = 0; a < next; a++)
            for (int32_t b = 0; b < next; b++)
                if (count[a][b] > count[best.left][best.right]) best = (Merge){a, b};
        if (count[best.left][best.right] < 2) return;
        p->merge[p->merges++] = best;
        replace_all(p, best, next);
    }
}

static void compare(const char *name, const char *text, size_t length, long max) {
    static Plain plain;
    static int32_t ids[MAX_BYTES];
    Error e = {0};
    long count;
    plain_learn(&plain, text, length, BYTE_TOKENS + max);
    Tokenizer *k = learned(&tokenizer_bpe, BYTE_TOKENS + max, text, length);
    CHECK(k->size - BYTE_TOKENS == plain.merges, "%s: %ld merges, want %ld", name,
          k->size - BYTE_TOKENS, plain.merges);
    for (long m = 0; m < plain.merges && m < k->size - BYTE_TOKENS; m++)
        CHECK(!memcmp(&k->merge[m], &plain.merge[m], sizeof(Merge)),
              "%s: merge %ld is %d %d, want %d %d", name, m, (int)k->merge[m].left,
              (int)k->merge[m].right, (int)plain.merge[m].left, (int)plain.merge[m].right);
    CHECK(tokenizer_encode(k, name, text, length, ids, &count, &e), "%s", e.text);
    long n = 0;
    for (long i = 0; i < plain.length; i++)
        if (plain.token[i] >= 0)
            CHECK(n < count && ids[n++] == plain.token[i], "%s: token %ld", name, n);
    CHECK(n == count, "%s: %ld tokens, want %ld", name, count, n);
    tokenizer_free(k);
}

/* English, text with many ties and overlaps, and noise. */
TEST(merges_and_tokens_equal_those_of_a_plain_version) {
    size_t length;
    char *text = whole_file("data/chronicle.txt", &length);
    compare("chronicle", text, MAX_BYTES / 2, 250);
    free(text);
    for (uint64_t round = 0; round < 40; round++) {
        static const uint32_t few[] = {'a', ' ', 'b', 0xE9, '1', '.', '\n'};
        static char random[4000];
        uint64_t key = random_key(5, round);
        long max = 1 + random_below(key, 0, sizeof random - UTF8_MAX), n = 0;
        for (uint64_t i = 1; n < max; i++) {
            uint32_t any = 1 + 61 * (uint32_t)random_below(key, i, 200);
            n += utf8_encode(round < 35 ? few[any % (1 + round % 7)] : any, random + n);
        }
        compare("random", random, (size_t)n, MAX_MERGES);
    }
    static char rhymes[9000];
    for (uint64_t i = 0; i < 2800; i++) /* the first characters are the most frequent */
        memcpy(rhymes + 3 * i,
               poem + 3 * (random_below(random_key(9, 0), 2 * i, 15) *
                           random_below(random_key(9, 1), i, 15) / 15),
               3);
    compare("rhymes", rhymes, strlen(rhymes), 16);
    compare("rhymes", rhymes, strlen(rhymes), MAX_MERGES);
    compare("one letter", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa aaaaaaa", 37, MAX_MERGES);
    compare("nothing", "", 0, 10);
}

/* "ab" and "cd" are as frequent: the smaller ids first, which are 97 98. Then "abcd" once alone. */
TEST(ties_by_hand) {
    Tokenizer *k = learned(&tokenizer_bpe, 0, "cdab ab cd", 10);
    CHECK(k->size == BYTE_TOKENS + 2, "%ld", k->size);
    CHECK(k->merge[0].left == 'a' && k->merge[0].right == 'b');
    CHECK(k->merge[1].left == 'c' && k->merge[1].right == 'd');
    tokenizer_free(k);
}

/* Random bytes, and random pieces of a text with its words cut anywhere. ALL=1 takes a million of
 * them. */
TEST(any_bytes_come_back) {
    enum { MAX = 80 };
    long rounds = SANITIZER ? 2000 : 20000;
    if (getenv("ALL")) rounds = 1000000;
    size_t length;
    char *text = whole_file("data/chronicle.txt", &length);
    Tokenizer *k[] = {learned(&tokenizer_bpe, 600, text, length),
                      learned(&tokenizer_byte, 0, text, length)};
    for (long round = 0; round < rounds; round++) {
        char bytes[MAX], back[MAX * TOKEN_BYTES + 1];
        int32_t ids[MAX];
        long count, n = round % (MAX + 1);
        uint64_t key = random_key(6, (uint64_t)round);
        memcpy(bytes, text + random_below(key, 1000, (long)length - MAX), MAX);
        for (long i = round % 3 ? random_below(key, 1001, MAX) : 0; i < n; i++)
            bytes[i] = (char)random_below(key, (uint64_t)i, 256);
        for (int i = 0; i < 2; i++) {
            Error e = {0};
            CHECK(tokenizer_encode(k[i], "bytes", bytes, (size_t)n, ids, &count, &e), "%s", e.text);
            CHECK(tokenizer_decode(k[i], ids, count, back) == (size_t)n &&
                      !memcmp(bytes, back, (size_t)n),
                  "round %ld of %s", round, k[i]->kind->choice.name);
        }
    }
    tokenizer_free(k[0]);
    tokenizer_free(k[1]);
    free(text);
}

/* A text encoded in parts of any size has the tokens of the whole. */
TEST(parts_of_a_text_have_the_tokens_of_the_whole) {
    size_t length;
    char *text = whole_file("data/chronicle.txt", &length);
    static int32_t whole[1 << 17], part[1 << 17];
    for (const Choice *const *all = all_tokenizers; *all != &tokenizer_ids.choice; all++) {
        const TokenizerKind *kind = (const TokenizerKind *)*all;
        Tokenizer *k = learned(kind, 0, text, length);
        Passage p = {"text", text, length};
        Error e = {0};
        long count, n = 0, found;
        CHECK(tokenizer_encode(k, "text", text, length, whole, &count, &e));
        size_t at = 0, size = 1;
        while (at < length) {
            CHECK(tokenizer_encode_part(k, &p, &at, size, part, &found, &e), "%s", e.text);
            CHECK(n + found <= count && !memcmp(whole + n, part, (size_t)found * sizeof *part),
                  "token %ld", n);
            size = size * 2 % 997;
            n += found;
        }
        CHECK(n == count, "%ld tokens, want %ld", n, count);
        tokenizer_free(k);
    }
    free(text);
}

/* Tokens drawn at random among those that may follow make UTF-8, whatever the model would choose.
 * The vocabulary has bytes and merges that are parts of characters. */
TEST(tokens_that_may_follow_continue_utf8) {
    static char text[12000], written[200000 + 2 * TOKEN_BYTES];
    size_t length = 0;
    for (uint32_t i = 0; i < 2900; i++) /* of all byte lengths, many of them rare */
        length += (size_t)utf8_encode(1 + i % 7 * (i % 5 ? 0x1D3 : 0x4E01), text + length);
    Tokenizer *k[] = {learned(&tokenizer_bpe, 700, text, length),
                      learned(&tokenizer_byte, 0, text, length)};
    for (int i = 0; i < 2; i++) {
        static real scores[1000];
        int32_t ids[8] = {0};
        long n = 0, characters = 0, parts = 0;
        size_t bytes = 0;
        for (uint64_t draw = 0; characters < 40000; draw++) {
            for (int32_t id = 0; id < k[i]->size + 2; id++)
                scores[id] =
                    (real)random_uniform(random_key(7, (uint64_t)i), draw * 1000 + (uint64_t)id);
            next_tokens_hide(&(NextTokens){k[i], NO_PAD, NO_PAD, NO_PAD}, ids, n, k[i]->size + 2,
                             scores);
            int32_t best = 0;
            for (int32_t id = 1; id < k[i]->size + 2; id++)
                if (scores[id] > scores[best]) best = id;
            if (n == 8) {
                memmove(ids, ids + 1, 7 * sizeof *ids);
                n--;
            }
            ids[n++] = best;
            bytes += tokenizer_decode(k[i], &best, 1, written + bytes);
            bool unfinished = tokenizer_unfinished(k[i], ids, n, NULL) > 0;
            parts += unfinished;
            if (unfinished && bytes < sizeof written - TOKEN_BYTES) continue;
            Error e = {0};
            CHECK(utf8_check("text", written, bytes, &e), "%s", e.text);
            characters += (long)utf8_count(written, bytes);
            bytes = 0;
        }
        CHECK(parts > 1000, "%ld tokens end inside a character", parts);
    }
    tokenizer_free(k[0]);
    tokenizer_free(k[1]);
}

RUN_TESTS
