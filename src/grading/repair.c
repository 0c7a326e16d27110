#include "grading/repair.h"
#include "base/clock.h"
#include "base/file.h"
#include "grading/repair_candidates.h"
#include "grading/student_op.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most bytes of a source, times that it is compiled, places that a candidate is tried in, and candidates that
 * the checker is asked about, and of these at one piece. */
enum { SOURCE = 1 << 18, COMPILED = 12, PLACES = 16, JUDGED = 8, OF_PIECE = 2 };

/* Most candidates of each kind that are kept as they mend some of the wrong gradients. */
enum { KEPT = 400, KEPT_AT_ONCE = 40 };

/* Of the seconds that a case may take, as many as that are taken by the search, and by products of more than the usual number of
 * factors. */
static const double search_share = 0.8, products_share = 0.15;

typedef struct Search {
    const CheckPlan *plan;
    const char *source, *headers;
    CaseReport *report;
    long count;

    Arena arena;
    char *text;
    CSource c;
    Edits edits;
    bool *left_out; /* [edits + pieces] (edited_source.h) */
    char file[PATH_ROOM], library[PATH_ROOM];
    CheckPlan edited; /* with the edited library, and the operation's cases alone */
    TrialPlace place[PLACES];
    int places;
    Candidates tried;
    TrialResult best;       /* that was confirmed; it mends nothing: none was */
    TrialResult kept[KEPT]; /* that mend less than all */
    long keeps;
    double until; /* when it is given up */
} Search;

/* ---- The edited source ---- */

/* Leaves out the edits in the lines that the compiler speaks of. False: it speaks of none. */
static bool leave_out(Search *s, const char *errors, const int *edit_of_line, long lines) {
    bool any = false;
    const char *name = strrchr(s->file, '/') + 1;
    for (const char *at = errors; (at = strstr(at, name)); at += strlen(name)) {
        long line = strtol(at + strlen(name) + 1, NULL, 10);
        const char *end = at + strcspn(at, "\n"), *error = strstr(at, "error:");
        if (!error || error > end || line < 1 || line > lines || edit_of_line[line - 1] < 0) continue;
        any |= !s->left_out[edit_of_line[line - 1]];
        s->left_out[edit_of_line[line - 1]] = true;
    }
    return any;
}

static bool compile(Search *s) {
    /* As many errors as fit, a line each: so gcc is asked for them, and so clang. */
    static const char *const quiet[][3] = {{"-fno-diagnostics-show-caret"},
                                           {"-fno-caret-diagnostics", "-ferror-limit=0"}};
    int which = 0;
    for (int time = 0; time < COMPILED; time++) {
        char errors[STUDENT_ERRORS] = "";
        int *edit_of_line = NULL;
        FILE *out = fopen(s->file, "w");
        if (!out) return false;
        long lines = edited_source_write(&s->edits, s->left_out, out, &edit_of_line);
        bool written = fclose(out) == 0;
        StudentSource source = {.source = s->file,
                                .library = s->library,
                                .beside = s->source,
                                .quiet = quiet[which],
                                .errors = errors};
        bool done = written && student_compile(&source, 1, s->headers);
        bool again = written && !done && leave_out(s, errors, edit_of_line, lines);
        free(edit_of_line);
        if (!done && !which && strstr(errors, "unknown argument")) which = 1, again = true;
        if (done || !again) return done;
    }
    return false;
}

static bool read_source(Search *s) {
    Error e = {0};
    size_t size;
    if (!file_read(s->source, SOURCE, &s->text, &size, &e)) return false;
    if (!c_source_read(&s->c, s->text, s->report[0].op, &s->arena)) return false;
    if (!edits_read(&s->edits, &s->c)) return false;
    s->left_out = arena_alloc(&s->arena, (size_t)(s->edits.edits + s->c.pieces + 1) * sizeof *s->left_out);
    return s->edits.edits > 0 && compile(s);
}

/* ---- Where it is tried ---- */

static const CaseReport *report_of(const Search *s, const char *name) {
    for (long i = 0; i < s->count; i++)
        if (strcmp(s->report[i].name, name) == 0) return &s->report[i];
    return NULL;
}

static bool is_wrong(const CaseReport *r) {
    for (int i = 0; i < r->inputs; i++)
        if (r->in[i].verdict == FAIL && r->in[i].wrong) return true;
    return false;
}

/* The smallest in which something is wrong goes first. */
static int by_size(const void *a, const void *b) {
    const TrialPlace *p = a, *q = b;
    long one = p->wrong ? p->outputs + p->gradients : 1 << 30,
         two = q->wrong ? q->outputs + q->gradients : 1 << 30;
    return (one > two) - (one < two);
}

static void add_place(Search *s, const CheckItem *item, uint64_t seed, int attempt) {
    TrialPlace *p = &s->place[s->places];
    if (s->places == PLACES) return;
    *p = (TrialPlace){.plan = &s->edited, .item = item, .seed = seed, .attempt = attempt};
    s->places += trial_place_measure(p, &s->arena);
}

/* Each case that somebody wrote, at two points; of those that the checker added such as are wrong where none of the others is. */
static bool find_places(Search *s) {
    const CheckPlan *p = &s->edited;
    for (int added = 0; added < 2; added++) {
        for (long i = 0; i < p->items; i++) {
            const CaseReport *r = report_of(s, p->item[i].name);
            if (!r || p->item[i].added != added || p->item[i].index < 0 || (added && !is_wrong(r))) continue;
            add_place(s, &p->item[i], p->seed, r->moved);
            add_place(s, &p->item[i], p->seed + 1, r->moved);
        }
        qsort(s->place, (size_t)s->places, sizeof *s->place, by_size);
        for (int i = 0; i < s->places; i++) s->tried.wrong |= s->place[i].wrong;
        if (s->tried.wrong) return true;
    }
    return false;
}

/* ---- Which one it is ---- */

/* Keeps the trials that mend the same in all places. */
static bool try_everywhere(Search *s) {
    if (clock_seconds() > s->until) return false;
    for (int i = 0; i < s->places && s->tried.trials > 0; i++)
        s->tried.trials = trials_run(&s->place[i], s->tried.trial, s->tried.trials, s->plan->at_once);
    return s->tried.trials > 0;
}

/* Whether a report's part is the gradient of one of these inputs. */
static bool is_among(const Search *s, unsigned inputs, const InputReport *in) {
    const CheckInput *input = s->place[0].item->c.in;
    for (int k = 0; k < CHECK_INPUTS && input[k].name; k++)
        if ((inputs >> k & 1) && strcmp(in->name + 1, input[k].name) == 0) return true;
    return false;
}

typedef struct Judgement {
    const Search *s;
    unsigned mended; /* what the trials say */
    bool right;
} Judgement;

static void take_judgement(void *context, const CaseReport *r) {
    Judgement *j = context;
    if (r->added) return;
    const CaseReport *before = report_of(j->s, r->name);
    j->right &= r->inputs > 0 && before && (!r->property[0] || strcmp(r->property, before->property) == 0);
    for (int i = 0; i < r->inputs; i++)
        j->right &= r->in[i].verdict != FAIL || !is_among(j->s, j->mended, &r->in[i]);
}

/* Whether the checker agrees, and finds no other property broken. */
static bool is_confirmed(const Search *s, const TrialResult *t) {
    Judgement j = {s, t->mended, true};
    CheckPlan p = s->edited;
    p.trial = &t->trial;
    plan_run(&p, take_judgement, &j);
    return j.right;
}

/* number: of the change among those that are said */
static void say(Search *s, const TrialResult *t, int number) {
    Repair r = {.all = t->mended == s->tried.wrong};
    const CheckInput *input = s->place[0].item->c.in;
    char is[REPAIR_SHOWN], becomes[REPAIR_SHOWN];
    r.line = edited_source_show(&s->edits, &t->trial, is, becomes);
    REPORT_SET(r.what, edit_what(&s->edits.edit[t->trial.edit - 1], &t->trial));
    REPORT_SET(r.is, is);
    REPORT_SET(r.becomes, becomes);
    for (int k = 0; k < CHECK_INPUTS && input[k].name; k++)
        if (t->mended >> k & 1) snprintf(r.gradient[r.mended++], REPORT_NAME, "d%.60s", input[k].name);
    for (long i = 0; i < s->count; i++)
        if (is_wrong(&s->report[i])) s->report[i].repair[number] = r;
}

/* The likeliest of each kind. */
static void keep_some(Search *s) {
    int count = 0;
    for (long i = 0; i < s->tried.trials && s->keeps < KEPT && count < KEPT_AT_ONCE; i++)
        if (s->tried.trial[i].mended != s->tried.wrong) s->kept[s->keeps++] = s->tried.trial[i], count++;
}

/* Keeps the likeliest of those that mend what the best so far does, and more. True: it mends all. */
static bool choose(Search *s) {
    if (!try_everywhere(s)) return false;
    candidates_sort(&s->tried);
    keep_some(s);
    /* What passes by accident, as where memory is not cleared, does so at one place in many ways: no more than two of these. */
    int refuted[JUDGED], count = 0;
    for (long i = 0; i < s->tried.trials && count < JUDGED && clock_seconds() < s->until; i++) {
        const TrialResult *t = &s->tried.trial[i];
        int piece = s->edits.edit[t->trial.edit - 1].part[0].piece, same = 0;
        for (int k = 0; k < count; k++) same += refuted[k] == piece;
        bool more = t->mended != s->best.mended && (s->best.mended & ~t->mended) == 0;
        if (same == OF_PIECE || !more) continue;
        if (is_confirmed(s, t)) {
            s->best = *t;
            return t->mended == s->tried.wrong;
        }
        refuted[count++] = piece;
    }
    return false;
}

/* Of what is wrong the largest place that is no larger than it takes to tell products apart; else the smallest. */
static const TrialPlace *place_of_sites(const Search *s) {
    enum { ENOUGH = 200 };
    const TrialPlace *best = &s->place[0];
    for (int i = 1; i < s->places; i++) {
        const TrialPlace *p = &s->place[i];
        if (p->wrong && p->outputs + p->gradients <= ENOUGH) best = p;
    }
    return best;
}

/* The more factors, the more products fit by chance: they are believed only where nothing simpler fits. */
static void choose_product(Search *s) {
    enum { USUAL = 3 };
    candidates_find_sites(&s->tried);
    if (!candidates_measure(&s->tried, place_of_sites(s), s->plan->at_once))
        candidates_measure(&s->tried, &s->place[0], s->plan->at_once);
    for (int degree = 1; degree <= REPAIR_VALUES && clock_seconds() < s->until; degree++) {
        s->tried.trials = 0;
        double soon = clock_seconds() + products_share * s->plan->limits.seconds;
        candidates_products(&s->tried, s->plan, degree, degree > USUAL ? fmin(s->until, soon) : s->until);
        if (choose(s)) return;
    }
}

/* Where no change mends all gradients: the best, and changes that mend others. */
static void say_all(Search *s) {
    unsigned left = s->tried.wrong & ~s->best.mended;
    int said = 0, judged = 0;
    if (s->best.mended) say(s, &s->best, said++);
    s->tried.trials = s->keeps;
    if (s->keeps) memcpy(s->tried.trial, s->kept, (size_t)s->keeps * sizeof *s->kept);
    candidates_sort(&s->tried);
    for (long i = 0; said && i < s->keeps && left && said < REPAIRS && judged < JUDGED; i++) {
        const TrialResult *t = &s->tried.trial[i];
        if (!(t->mended & left) || (t->mended & ~left) || clock_seconds() > s->until) continue;
        judged++;
        if (!is_confirmed(s, t)) continue;
        say(s, t, said++);
        left &= ~t->mended;
    }
}

/* The plan with the items of one operation. */
static void take_items(Search *s, const char *op) {
    const CheckPlan *p = s->plan;
    s->edited = *p;
    s->edited.library = s->library, s->edited.seeds = 1, s->edited.curves = false;
    s->edited.item = arena_alloc(&s->arena, (size_t)p->items * sizeof *p->item);
    s->edited.items = 0;
    for (long i = 0; i < p->items; i++)
        if (strcmp(p->item[i].op, op) == 0) s->edited.item[s->edited.items++] = p->item[i];
}

void repair_find(const CheckPlan *p, const char *source, const char *folder, const char *headers,
                 CaseReport *report, long count) {
    Search s = {.plan = p, .source = source, .headers = headers, .report = report, .count = count};
    s.until = clock_seconds() + search_share * p->limits.seconds;
    bool wrong = false;
    for (long i = 0; i < count; i++) wrong |= is_wrong(&report[i]);
    if (!wrong) return;
    snprintf(s.file, sizeof s.file, "%s/edited.c", folder);
    snprintf(s.library, sizeof s.library, "%s/edited.so", folder);
    take_items(&s, report[0].op);
    if (read_source(&s) && find_places(&s)) {
        s.tried.edits = &s.edits, s.tried.left_out = s.left_out;
        candidates_simple(&s.tried);
        bool found = choose(&s);
        if (!found) candidates_guards(&s.tried), found = choose(&s);
        if (!found) choose_product(&s);
        say_all(&s);
    }
    edits_free(&s.edits);
    c_source_free(&s.c);
    free(s.text);
    candidates_free(&s.tried);
    arena_free(&s.arena);
}
