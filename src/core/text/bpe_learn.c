/* Learning merges. An array of places holds the tokens of all distinct words, linked to their
 * neighbours in the word. Each pair of tokens has its count and a list of its places, so that the
 * cost of a merge is the places that it changes. A heap holds the pairs. Its counts may be too high
 * but never too low: once both tokens of a pair exist, merges only remove places of it. */
#include "text/bpe.h"
#include <stdlib.h>

typedef struct Place {
    int32_t token, before, after; /* neighbours in the word; -1: none */
    int32_t pair;                 /* that begins here; -1: none */
    int32_t next, previous;       /* places of that pair */
    long count;                   /* of the word */
} Place;

typedef struct Pair {
    Merge merge;
    long count;
    int32_t first; /* of its places; -1: none */
} Pair;

typedef struct Learner {
    Place *place;
    Pair *pair;
    long pairs, capacity;
    Dictionary number; /* of a pair, by the bytes of its merge */
    struct Ranked {
        long count;
        int32_t pair;
    } * heap; /* [ranked] of `capacity` */
    long ranked;
    int32_t *at; /* places of one pair */
} Learner;

/* ---- The heap: the most frequent pair first, of equals the smaller ids ---- */

static bool comes_before(const Learner *l, struct Ranked a, struct Ranked b) {
    const Merge *x = &l->pair[a.pair].merge, *y = &l->pair[b.pair].merge;
    if (a.count != b.count) return a.count > b.count;
    return x->left != y->left ? x->left < y->left : x->right < y->right;
}

static void sift_down(Learner *l, struct Ranked item) {
    long i = 0;
    while (2 * i + 1 < l->ranked) {
        long child = 2 * i + 1;
        if (child + 1 < l->ranked && comes_before(l, l->heap[child + 1], l->heap[child])) child++;
        if (!comes_before(l, l->heap[child], item)) break;
        l->heap[i] = l->heap[child];
        i = child;
    }
    l->heap[i] = item;
}

static void push(Learner *l, int32_t pair) {
    struct Ranked item = {l->pair[pair].count, pair};
    long i = l->ranked++;
    for (; i > 0 && comes_before(l, item, l->heap[(i - 1) / 2]); i = (i - 1) / 2)
        l->heap[i] = l->heap[(i - 1) / 2];
    l->heap[i] = item;
}

/* Takes out the most frequent pair; -1: none occurs twice. A top whose count is too high sinks to
 * its place first. */
static int32_t take_best(Learner *l) {
    while (l->ranked) {
        struct Ranked top = l->heap[0];
        long count = l->pair[top.pair].count;
        if (count < top.count) {
            sift_down(l, (struct Ranked){count, top.pair});
            continue;
        }
        if (count < 2) return -1;
        if (--l->ranked) sift_down(l, l->heap[l->ranked]); /* the last takes the top's place */
        return top.pair;
    }
    return -1;
}

/* ---- Places ---- */

static bool grow(Learner *l, Error *e) {
    long capacity = l->capacity ? 2 * l->capacity : 4096;
    Pair *pair = realloc(l->pair, (size_t)capacity * sizeof *pair);
    if (pair) l->pair = pair;
    struct Ranked *heap = realloc(l->heap, (size_t)capacity * sizeof *heap);
    if (heap) l->heap = heap;
    if (!pair || !heap)
        return error_set(e, STATUS_NO_MEMORY, "memory: %ld pairs of tokens", capacity);
    for (long i = 0; i < l->pairs; i++) l->number.entry[i].text = (const char *)&pair[i].merge;
    l->capacity = capacity;
    return true;
}

/* The pair's index in l->pair, where a new pair gets the next one; -1: no memory. The dictionary
 * points to the merge of a pair. So the pair is written as a new one before it is looked up. */
static int32_t index_of(Learner *l, Merge merge, Error *e) {
    if (l->pairs == l->capacity && !grow(l, e)) return -1;
    Pair *next = &l->pair[l->pairs];
    *next = (Pair){merge, .count = 0, .first = -1};
    long i = dictionary_add(&l->number, (const char *)&next->merge, sizeof next->merge, e);
    if (i == l->pairs) l->pairs++;
    return (int32_t)i;
}

/* Adds place i to the list of the pair that begins there, if one does. */
static bool add_place(Learner *l, int32_t i, Error *e) {
    Place *p = &l->place[i];
    if (p->after < 0) return true;
    int32_t index = index_of(l, (Merge){p->token, l->place[p->after].token}, e);
    if (index < 0) return false;
    Pair *pair = &l->pair[index];
    pair->count += p->count;
    p->pair = index;
    p->previous = -1;
    p->next = pair->first;
    if (pair->first >= 0) l->place[pair->first].previous = i;
    pair->first = i;
    return true;
}

/* Removes it from that list. */
static void remove_place(Learner *l, int32_t i) {
    Place *p = &l->place[i];
    if (p->pair < 0) return;
    Pair *pair = &l->pair[p->pair];
    pair->count -= p->count;
    if (p->next >= 0) l->place[p->next].previous = p->previous;
    if (p->previous >= 0) l->place[p->previous].next = p->next;
    if (pair->first == i) pair->first = p->next;
    p->pair = -1;
}

static int by_number(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Joins all places of a pair into a token. Places that overlap are joined from left to right. */
static bool merge_pair(Learner *l, int32_t n, int32_t token, Error *e) {
    long count = 0;
    for (int32_t i = l->pair[n].first; i >= 0; i = l->place[i].next) l->at[count++] = i;
    /* Only places of a pair of equals can overlap. */
    if (l->pair[n].merge.left == l->pair[n].merge.right)
        qsort(l->at, (size_t)count, sizeof *l->at, by_number);
    for (long k = 0; k < count; k++) {
        int32_t i = l->at[k], gone = l->place[i].after, before = l->place[i].before;
        if (l->place[i].pair != n) continue;
        if (before >= 0) remove_place(l, before);
        remove_place(l, i);
        remove_place(l, gone);
        int32_t after = l->place[gone].after;
        l->place[i].token = token;
        l->place[i].after = after;
        if (after >= 0) l->place[after].before = i;
        if ((before >= 0 && !add_place(l, before, e)) || !add_place(l, i, e)) return false;
    }
    return true;
}

static bool lay_out(Learner *l, const Dictionary *words, Error *e) {
    size_t places = 0;
    for (long w = 0; w < words->count; w++) places += words->entry[w].length;
    if (places < INT32_MAX) {
        l->place = malloc((places + 1) * sizeof *l->place);
        l->at = malloc((places + 1) * sizeof *l->at);
    }
    if (!l->place || !l->at)
        return error_set(e, STATUS_NO_MEMORY, "memory: %zu bytes of different words", places);
    int32_t first = 0;
    for (long w = 0; w < words->count; w++) {
        const Entry *word = &words->entry[w];
        int32_t n = (int32_t)word->length;
        for (int32_t i = 0; i < n; i++)
            l->place[first + i] = (Place){.token = (unsigned char)word->text[i],
                                          .before = i > 0 ? first + i - 1 : -1,
                                          .after = i + 1 < n ? first + i + 1 : -1,
                                          .pair = -1,
                                          .count = word->count};
        first += n;
    }
    for (int32_t k = 0; k < first; k++)
        if (!add_place(l, k, e)) return false;
    return true;
}

long bpe_learn(const Dictionary *words, long max, Merge *merge, Error *e) {
    Learner l = {0};
    long count = 0, ranked = 0;
    bool ok = lay_out(&l, words, e);
    while (ok && count < max) {
        while (ranked < l.pairs) push(&l, (int32_t)ranked++); /* those of the merge before */
        int32_t best = take_best(&l);
        if (best < 0) break;
        merge[count] = l.pair[best].merge;
        ok = merge_pair(&l, best, BYTE_TOKENS + (int32_t)count++, e);
    }
    dictionary_free(&l.number);
    free(l.place);
    free(l.pair);
    free(l.heap);
    free(l.at);
    return ok ? count : -1;
}
