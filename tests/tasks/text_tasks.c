/* add, dates, pairs and grammar: rows are what the tasks say they are, training never sees what is held out, and the
 * entropy of the grammar is that of its sentences. */
#include "base/random.h"
#include "folder.h"
#include "task_helpers.h"
#include "tasks/written_task.h"
#include <time.h>

enum { TEXT = 64 * TOKEN_BYTES };

/* Source and target of a row as text; begin and end stand where they belong. */
static void read_row(const Task *task, BatchRow row, char source[TEXT], char target[TEXT]) {
    CHECK(row.S >= 1 && row.S <= task->max_S && row.T >= 2 && row.T <= task->max_T, "%ld, %ld", row.S, row.T);
    CHECK(row.target_in[0] == task->begin_id && row.target_out[row.T - 1] == task->end_id);
    CHECK(!memcmp(row.target_in + 1, row.target_out, (size_t)(row.T - 1) * sizeof(int32_t)));
    tokenizer_decode(task->tokenizer, row.source, row.S, source);
    tokenizer_decode(task->tokenizer, row.target_out, row.T - 1, target);
}

/* Calls check for training rows of `steps` batches and for all held-out ones. */
static void each_row(const Task *task, int steps,
                     void (*check)(const Task *task, bool held_out, const char *source, const char *target)) {
    char source[TEXT], target[TEXT];
    Batch *b = batch_for(task, 64);
    for (int step = 0; step < steps; step++) {
        task_training_batch(task, (uint64_t)step, 0, 64, b);
        for (long r = 0; r < b->rows; r++)
            read_row(task, batch_row(b, r), source, target), check(task, false, source, target);
    }
    long first = 0;
    for (long count; (count = task_held_out_batch(task, first, 64, b)); first += count)
        for (long r = 0; r < count; r++)
            read_row(task, batch_row(b, r), source, target), check(task, true, source, target);
    CHECK(first == task->held_out);
    batch_free(b);
}

/* ---- add ---- */

static long lengths[10];

static void check_sum(const Task *task, bool held_out, const char *source, const char *target) {
    unsigned long a, b, sum = 0, place = 1;
    int n = 0, digits;
    CHECK(sscanf(source, "%lu%n+%lu", &a, &digits, &b) == 2, "%s", source);
    for (; target[n]; n++, place *= 10) sum += (unsigned long)(target[n] - '0') * place;
    CHECK(sum == a + b && (n == 1 || target[n - 1] != '0'), "%s -> %s", source, target);
    char again[64];
    snprintf(again, sizeof again, "%lu+%lu", a, b);
    CHECK(!strcmp(source, again), "%s", source);
    CHECK(task_written_held_out(task, (uint64_t)a << 32 | b) == held_out, "%s", source);
    lengths[digits]++;
}

TEST(sums_are_sums_and_sides_disjoint) {
    for (long most = 1; most <= 9; most += 4) {
        TaskOptions o = task_defaults();
        o.digits = most;
        Task *task = opened("add", o);
        memset(lengths, 0, sizeof lengths);
        each_row(task, 100, check_sum);
        for (long d = 1; d < 10; d++)
            CHECK(d <= most ? labs(lengths[d] - 7400 / most) < 400 : !lengths[d], "%ld of %ld digits",
                  lengths[d], d);
        task_free(task);
    }
}

/* ---- dates ---- */

static char date_side[200][12][31]; /* 1: training, 2: held out */
static long forms_seen;

static void check_date(const Task *task, bool held_out, const char *source, const char *target) {
    int year, month, day, n;
    (void)task;
    CHECK(sscanf(target, "%4d-%2d-%2d%n", &year, &month, &day, &n) == 3 && n == 10 && !target[n], "%s",
          target);
    struct tm t = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_hour = 12};
    time_t seconds = timegm(&t);
    struct tm back = *gmtime(&seconds);
    CHECK(back.tm_mon == month - 1 && back.tm_mday == day && year >= 1900 && year < 2100, "%s", target);
    /* The source has one of the forms, as the C library writes them. */
    static const char *const forms[] = {
        "the %@ of %B %Y", "the %@ of %B, %Y", "%B %e, %Y", "%B %@, %Y", "%e %B %Y",          "%@ %B %Y",
        "%A, %e %B %Y",    "%A, %B %e, %Y",    "%e %b %Y",  "%b %e, %Y", "%e-%b-%Y",          "%e.%#.%Y",
        "%d.%m.%Y",        "%d/%m/%Y",         "%Y/%m/%d",  "%Y %b %e",  "%A the %@ of %B %Y"};
    bool found = false;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char format[64] = "", text[64] = "", *to = format;
        const char *end = day == 1 || day == 21 || day == 31 ? "st"
                          : day == 2 || day == 22            ? "nd"
                          : day == 3 || day == 23            ? "rd"
                                                             : "th";
        for (const char *at = forms[i]; *at; at++)
            if (at[0] == '%' && at[1] == '@')
                to += sprintf(to, "%d%s", day, end), at++;
            else if (at[0] == '%' && at[1] == 'e')
                to += sprintf(to, "%d", day), at++;
            else if (at[0] == '%' && at[1] == '#')
                to += sprintf(to, "%d", month), at++;
            else
                *to++ = *at;
        *to = 0;
        strftime(text, sizeof text, format, &back);
        if (strcmp(text, source) == 0) found = true, forms_seen |= 1L << i;
    }
    CHECK(found, "%s -> %s", source, target);
    char *side = &date_side[year - 1900][month - 1][day - 1];
    CHECK(!*side || *side == 1 + held_out, "%s is on both sides", target);
    *side = (char)(1 + held_out);
}

TEST(dates_are_dates_and_sides_disjoint) {
    Task *task = opened("dates", task_defaults());
    each_row(task, 400, check_date);
    CHECK(forms_seen == (1L << 17) - 1, "forms %lx", (unsigned long)forms_seen);
    task_free(task);
}

/* ---- pairs ---- */

static Task *pairs_of(const char *text, const TokenizerKind *kind, Error *e) {
    make_folder();
    static char path[256];
    snprintf(path, sizeof path, "%s/pairs.tsv", folder);
    FILE *f = fopen(path, "wb");
    if (!f || fputs(text, f) < 0 || fclose(f)) exit(1);
    TaskOptions o = task_defaults();
    o.pairs = path, o.tokenizer = kind, o.validation = 0.25;
    Task *task = task_open("pairs", &o, e);
    char *shown = e->status ? strstr(e->text, "pairs.tsv") : NULL;
    if (shown) memmove(e->text, shown, strlen(shown) + 1);
    return task;
}

static char side_of[8]; /* of the source's letter */
static int rows_seen;

static void check_pair(const Task *task, bool held_out, const char *source, const char *target) {
    (void)task;
    bool blanks = *source == ' ';
    source += blanks;
    int i = source[0] - 'a';
    CHECK(i >= 0 && i < 8 && !strcmp(source + 1, blanks ? " 无可 mill  " : " 无可 mill"), "%s", source);
    CHECK((target[0] == source[0] || target[0] == source[0] - 32) && !strcmp(target + 1, "é the\\"), "%s",
          target);
    CHECK(!side_of[i] || side_of[i] == 1 + held_out, "%s is on both sides", source);
    side_of[i] = (char)(1 + held_out);
    rows_seen |= 1 << (2 * i + (target[0] != source[0]));
}

/* Eight sources with two targets each: two sources are held out, with all of their pairs, by every tokenizer. Blanks at
 * the ends make no other source. */
TEST(pairs_from_a_file) {
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    char text[1000] = "\xEF\xBB\xBF\r\n";
    for (int i = 0; i < 16; i++)
        sprintf(text + strlen(text), i < 8 ? "%c 无可 mill\t%cé the\\%s" : " %c 无可 mill  \t%cé the\\%s",
                'a' + i % 8, (i < 8 ? 'a' : 'A') + i % 8, i == 15 ? "" : ends[i % 3]);
    for (const Choice *const *all = all_tokenizers; *all != &tokenizer_word.choice; all++) {
        Error e = {0};
        Task *task = pairs_of(text, (const TokenizerKind *)*all, &e);
        CHECK(task && task->held_out == 4, "%s", e.text);
        if (!task) return;
        CHECK(strstr(task->remark, "skipped a byte-order mark") &&
                  strstr(task->remark, ": left out 1 blank line\n"),
              "%s", task->remark);
        memset(side_of, 0, sizeof side_of), rows_seen = 0;
        each_row(task, 20, check_pair);
        CHECK(rows_seen == (1 << 16) - 1, "%x", (unsigned)rows_seen);
        task_free(task);
    }
}

/* byte takes pairs of any bytes; the other tokenizers name the encoding. */
TEST(pairs_that_are_not_utf8) {
    static const char latin[] = "caf\xE9 noir\tblack coffee\nth\xE9\ttea\nlait\tmilk\nsucr\xE9\tsweet\n";
    for (const Choice *const *all = all_tokenizers; *all; all++) {
        const TokenizerKind *kind = (const TokenizerKind *)*all;
        Error e = {0};
        Task *task = pairs_of(latin, kind, &e);
        CHECK(!task == !kind->any_bytes, "%s: %s", kind->choice.name, e.text);
        CHECK(task || strstr(e.text, "byte 3: found 0xE9, need UTF-8 text or --tokenizer byte; this may be "
                                     "ISO-8859-1: iconv -f"),
              "%s", e.text);
        task_free(task);
    }
}

TEST(lines_that_are_no_pairs) {
    static char long_source[MAX_SEQUENCE + 20] = "a\tb\n\n";
    memset(long_source + 5, 'c', MAX_SEQUENCE + 1), strcat(long_source, "\td\n");
    const char *const wrong[][2] = {
        {"a\tb\nab\n", "pairs.tsv: line 2: found no tab, need a source, a tab and a target"},
        {"a\tb\n\nc\td\te\n", "pairs.tsv: line 3: found a second tab, need a source, a tab and a target"},
        {"\tb\n", "pairs.tsv: line 1: found no source, need a source, a tab and a target"},
        {"a\tb\na\t\r\n", "pairs.tsv: line 2: found no target, need a source, a tab and a target"},
        {"a\tb\na\tc\n", "pairs.tsv: found 1 different source, need at least 2"},
        {"", "pairs.tsv: found 0 different sources, need at least 2"},
        {long_source, "pairs.tsv: line 3: found 4097 tokens, need at most 4096"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Error e = {0};
        CHECK(!pairs_of(wrong[i][0], &tokenizer_char, &e));
        CHECK_ERROR(e, STATUS_BAD_DATA, wrong[i][1]);
    }
}

/* ---- grammar ---- */

/* The mean of -log p over many sentences, whose p is that of their counts, is H; and the rows say what H is of them. */
TEST(sentences_and_entropy_of_the_grammar) {
    TaskOptions o = task_defaults();
    o.held_out = 10000;
    Task *task = opened("grammar", o);
    CHECK(task_is_language_model(task) && task->entropy > 1 && task->entropy < 2, "%g", task->entropy);
    CHECK_NEAR(task->held_out_entropy, task->entropy, 0.015);

    /* Agreement in number: after a subject without a clause comes a verb of its number. */
    Batch *b = batch_for(task, 10000);
    CHECK(task_held_out_batch(task, 0, 10000, b) == 10000);
    static const char *const singular = " dog cat bird child baker king",
                             *const verbs = " sleeps sings waits dreams sees likes follows forgets that";
    long checked = 0;
    for (long r = 0; r < b->rows; r++) {
        BatchRow row = batch_row(b, r);
        char second[TOKEN_BYTES + 1], third[TOKEN_BYTES + 1];
        CHECK(row.S == 0 && row.target_in[0] == row.target_out[row.T - 1] && row.T >= 4);
        tokenizer_decode(task->tokenizer, row.target_out + 1, 1, second);
        tokenizer_decode(task->tokenizer, row.target_out + 2, 1, third);
        bool one =
            strstr(singular, second) && second[strlen(second) - 1] != 's' && strcmp(second, " children");
        if (strcmp(third, " that") == 0) continue;
        bool fits = strstr(verbs, third) && third[strlen(third) - 1] == 's';
        CHECK(one == fits, "%s%s", second, third);
        checked++;
    }
    CHECK(checked > 5000, "%ld", checked);

    /* The most frequent sentences alone: "The dog sleeps" has p = 5/9 · 6/8 · 5/9 · 8/24 · 4/9 · 5/11. */
    double p = 5. / 9 * 6 / 8 * 5 / 9 * 8 / 24 * 4 / 9 * 5 / 11, count = 0, rows = 0;
    for (uint64_t step = 0; step < 30; step++) {
        task_training_batch(task, step, 0, 10000, b);
        for (long r = 0; r < b->rows; r++, rows++) {
            BatchRow row = batch_row(b, r);
            char text[TEXT];
            if (row.T != 4) continue;
            tokenizer_decode(task->tokenizer, row.target_out, row.T, text);
            count += strcmp(text, "The dog sleeps\n") == 0;
        }
    }
    CHECK_NEAR(count / rows, p, 4 * sqrt(p / rows));
    batch_free(b), task_free(task);
}

/* Entropy of a choice with these weights, which a 0 ends. */
static double entropy_of(const double *w) {
    double sum = 0, h = 0;
    for (int i = 0; w[i] > 0; i++) sum += w[i];
    for (int i = 0; w[i] > 0; i++) h -= w[i] / sum * log(w[i] / sum);
    return h;
}

TEST(a_remark_ends_where_its_room_ends) {
    char remark[REMARK + 1] = "", line[REMARK];
    memset(line, 'x', REMARK - 1), line[REMARK - 1] = 0;
    remark[REMARK] = 'y';
    for (int i = 0; i < 3; i++) task_remark(remark, "%s", line);
    CHECK(strlen(remark) == REMARK - 1 && remark[REMARK] == 'y');
}
#define ENTROPY(...) entropy_of((double[]){__VA_ARGS__, 0})

/* H from the definition, another way: expected counts of each rule in a sentence, times what a rule's choice costs. The
 * numbers are worked out by hand from the weights in grammar.c. */
TEST(entropy_by_expected_counts) {
    Task *task = opened("grammar", task_defaults());
    /* The counts of 1 and 2 differ only through their weights; p: noun phrases that are no subject of a
     * sentence, r: relative clauses, v: verb phrases. p = v 5/9 + r/2, r = (1/4 of 1 subject) + p/7, v = 1 + r/2. */
    double a = 5. / 9, r = (0.25 + a / 7) / (1 - (a / 2 + 0.5) / 7), v = 1 + r / 2, p = v * a + r / 2;
    /* Shares of singular: of subjects 5/9; of noun phrases those chosen by P are 5/9, in object clauses 1/2. */
    double s1 = a, p1 = v * a * a + r / 4, p2 = p - p1, s2 = 1 - a;
    double h = ENTROPY(5, 4) + ENTROPY(6, 2) + p * ENTROPY(6, 1) + v * a * ENTROPY(5, 4) +
               r * ENTROPY(2, 1, 1) + v * ENTROPY(4, 5);
    /* Verbs and nouns of both numbers have the same weights; determiners have not. */
    h += v * (1 - a) * ENTROPY(5, 3, 2, 1) + (v * a + r / 2) * ENTROPY(5, 3, 2, 1);
    h += (1 + p) * ENTROPY(8, 6, 4, 3, 2, 1);
    h += s1 * ENTROPY(5, 3, 1) + s2 * ENTROPY(5, 2, 1) + p1 * ENTROPY(5, 3, 1) + p2 * ENTROPY(5, 2, 1);
    double words = 2 * (1 + p) + v * (1 - a) + v * a + r / 2 + r;
    CHECK_NEAR(task->entropy, h / (words + 1), 1e-12);
    task_free(task);
}

RUN_TESTS
