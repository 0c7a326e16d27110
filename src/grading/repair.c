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

/* Edits in a library of their own: those of what stands there first, then what a loop of its own would add. */
enum { STAGES = 2 };
typedef struct Stage {
    bool tried_before, usable;
    Edits edits;
    bool *left_out; /* [edits + pieces + MOST_COPIES] (edited_source.h) */
    char library[PATH_ROOM];
    CheckPlan plan; /* with that library, and the operation's cases alone */
    Candidates tried;
} Stage;

typedef struct Found {
    Stage *stage;
    TrialResult result;
} Found;

typedef struct Search {
    const CheckPlan *plan;
    const char *source, *headers;
    CaseReport *report;
    long count;

    Arena arena;
    char *text;
    CSource c;
    char file[PATH_ROOM];
    Stage stage[STAGES], *now;
    TrialPlace place[PLACES];
    int places;
    unsigned wrong;   /* bits of the inputs whose gradients are, somewhere */
    Found best;       /* that was confirmed; it mends nothing: none was */
    Found kept[KEPT]; /* that mend less than all */
    long keeps;
    int said;     /* so many */
    double until; /* when it is given up */
} Search;

/* ---- The edited source ---- */

/* Leaves out the edits in the lines that the compiler speaks of: of an error, or, where that is in a macro, of where the macro
 * is used. False: it speaks of none. */
static bool leave_out(Search *s, const char *errors, const int *edit_of_line, long lines) {
    bool any = false;
    const char *name = strrchr(s->file, '/') + 1;
    for (const char *at = errors; (at = strstr(at, name)); at += strlen(name)) {
        long line = strtol(at + strlen(name) + 1, NULL, 10);
        const char *end = at + strcspn(at, "\n"), *error = strstr(at, "error:"),
                   *used = strstr(at, "in expansion of macro");
        if (!error || (used && used < error)) error = used;
        if (!error || error > end || line < 1 || line > lines || edit_of_line[line - 1] < 0) continue;
        any |= !s->now->left_out[edit_of_line[line - 1]];
        s->now->left_out[edit_of_line[line - 1]] = true;
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
        long lines = edited_source_write(&s->now->edits, s->now->left_out, out, &edit_of_line);
        bool written = fclose(out) == 0;
        StudentSource source = {.source = s->file,
                                .library = s->now->library,
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
    return edits_read(&s->stage[0].edits, &s->c);
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
    *p = (TrialPlace){.plan = &s->now->plan, .item = item, .seed = seed, .attempt = attempt};
    s->places += trial_place_measure(p, &s->arena);
}

/* Each case that somebody wrote, at two points; of those that the checker added such as are wrong where none of the others is. */
static bool find_places(Search *s) {
    const CheckPlan *p = &s->now->plan;
    for (int added = 0; added < 2; added++) {
        for (long i = 0; i < p->items; i++) {
            const CaseReport *r = report_of(s, p->item[i].name);
            if (!r || p->item[i].added != added || p->item[i].index < 0 || (added && !is_wrong(r))) continue;
            add_place(s, &p->item[i], p->seed, r->moved);
            add_place(s, &p->item[i], p->seed + 1, r->moved);
        }
        qsort(s->place, (size_t)s->places, sizeof *s->place, by_size);
        for (int i = 0; i < s->places; i++) s->wrong |= s->place[i].wrong;
        if (s->wrong) return true;
    }
    return false;
}

/* Compiles the edits of a stage that is not yet tried. False: they cannot be. */
static bool open_stage(Search *s, int k) {
    s->now = &s->stage[k];
    if (!s->now->tried_before) {
        if (k > 0) edits_find_loops(&s->now->edits, &s->stage[0].edits);
        size_t numbers = (size_t)edited_source_numbers(&s->now->edits);
        s->now->left_out = arena_alloc(&s->arena, numbers * sizeof *s->now->left_out);
        s->now->usable = s->now->edits.edits > 0 && compile(s) && (s->wrong || find_places(s));
        s->now->tried =
            (Candidates){.edits = &s->now->edits, .left_out = s->now->left_out, .wrong = s->wrong};
        s->now->tried_before = true;
    }
    for (int i = 0; i < s->places; i++) s->place[i].plan = &s->now->plan;
    return s->now->usable;
}

/* ---- Which one it is ---- */

/* Keeps the trials that mend the same in all places. */
static bool try_everywhere(Search *s) {
    Candidates *c = &s->now->tried;
    if (clock_seconds() > s->until) return false;
    for (int i = 0; i < s->places && c->trials > 0; i++)
        c->trials = trials_run(&s->place[i], c->trial, c->trials, s->plan->at_once);
    return c->trials > 0;
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
static bool is_confirmed(const Search *s, const Found *f) {
    Judgement j = {s, f->result.mended, true};
    CheckPlan p = f->stage->plan;
    p.trial = &f->result.trial;
    plan_run(&p, take_judgement, &j);
    return j.right;
}

/* As the next of those that are said. */
static void say(Search *s, const Found *f) {
    const TrialResult *t = &f->result;
    const Edits *edits = &f->stage->edits;
    Repair r = {.all = t->mended == s->wrong};
    const CheckInput *input = s->place[0].item->c.in;
    char is[REPAIR_SHOWN], becomes[REPAIR_SHOWN];
    r.line = edited_source_show(edits, &t->trial, is, becomes);
    REPORT_SET(r.what, edit_what(&edits->edit[t->trial.edit - 1], &t->trial));
    REPORT_SET(r.is, is);
    REPORT_SET(r.becomes, becomes);
    for (int k = 0; k < CHECK_INPUTS && input[k].name; k++)
        if (t->mended >> k & 1) snprintf(r.gradient[r.mended++], REPORT_NAME, "d%.60s", input[k].name);
    for (long i = 0; i < s->count; i++)
        if (is_wrong(&s->report[i])) s->report[i].repair[s->said] = r;
    s->said++;
}

/* The likeliest of each kind. Products of more than two are too many to be believed of a part of what is wrong. */
static void keep_some(Search *s) {
    const Candidates *c = &s->now->tried;
    int count = 0;
    for (long i = 0; i < c->trials && s->keeps < KEPT && count < KEPT_AT_ONCE; i++) {
        const TrialResult *t = &c->trial[i];
        if (t->mended != s->wrong && !t->trial.value[2]) s->kept[s->keeps++] = (Found){s->now, *t}, count++;
    }
}

/* Keeps the likeliest of those that mend what the best so far does, and more. True: it mends all. */
static bool choose(Search *s) {
    if (!try_everywhere(s)) return false;
    candidates_sort(&s->now->tried);
    keep_some(s);
    /* What passes by accident, as where memory is not cleared, does so at one place in many ways: no more than two of these. */
    int refuted[JUDGED], count = 0;
    for (long i = 0; i < s->now->tried.trials && count < JUDGED && clock_seconds() < s->until; i++) {
        const Found f = {s->now, s->now->tried.trial[i]};
        const unsigned mended = f.result.mended, best = s->best.result.mended;
        int piece = s->now->edits.edit[f.result.trial.edit - 1].part[0].piece, same = 0;
        for (int k = 0; k < count; k++) same += refuted[k] == piece;
        if (same == OF_PIECE || mended == best || (best & ~mended)) continue;
        if (is_confirmed(s, &f)) {
            s->best = f;
            return mended == s->wrong;
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

/* Products of so many factors. The more, the more of them fit by chance: they are believed only where nothing simpler fits. */
static bool choose_product(Search *s, int degree) {
    enum { USUAL = 3 };
    Candidates *c = &s->now->tried;
    if (!c->site) {
        candidates_find_sites(c);
        if (!candidates_measure(c, place_of_sites(s), s->plan->at_once))
            candidates_measure(c, &s->place[0], s->plan->at_once);
    }
    c->trials = 0;
    double soon = clock_seconds() + products_share * s->plan->limits.seconds;
    candidates_products(c, s->plan, degree, degree > USUAL ? fmin(s->until, soon) : s->until);
    return choose(s);
}

static bool choose_simple(Search *s) {
    candidates_simple(&s->now->tried);
    if (choose(s)) return true;
    candidates_guards(&s->now->tried);
    return choose(s);
}

/* The plainer goes first. */
static void look(Search *s) {
    static const int first_degree[] = {0, 3, 4, 1 + REPAIR_VALUES};
    for (int i = 0; first_degree[i] <= REPAIR_VALUES; i++)
        for (int k = 0; k < STAGES; k++)
            for (int degree = first_degree[i]; degree < first_degree[i + 1]; degree++)
                if (clock_seconds() < s->until && open_stage(s, k) &&
                    (degree ? choose_product(s, degree) : choose_simple(s)))
                    return;
}

static int by_price(const void *a, const void *b) {
    const Found *p = a, *q = b;
    return (p->result.price > q->result.price) - (p->result.price < q->result.price);
}

/* Where no change mends all gradients: the best, and changes that mend the others. If some are left, nothing is said: what
 * mends a part alone of what one mistake does is that mistake in disguise. */
static void say_all(Search *s) {
    Found chosen[REPAIRS] = {s->best};
    unsigned mended = s->best.result.mended;
    int count = 1, judged = 0;
    if (!mended) return;
    qsort(s->kept, (size_t)s->keeps, sizeof *s->kept, by_price);
    for (long i = 0; i < s->keeps && mended != s->wrong && count < REPAIRS && judged < JUDGED; i++) {
        const Found *f = &s->kept[i];
        if ((f->result.mended & mended) || clock_seconds() > s->until) continue;
        judged++;
        if (is_confirmed(s, f)) chosen[count++] = *f, mended |= f->result.mended;
    }
    for (int i = 0; i < count && mended == s->wrong; i++) say(s, &chosen[i]);
}

/* The plan with the items of one operation. */
static void take_items(Search *s, const char *op, const char *folder) {
    const CheckPlan *p = s->plan;
    CheckPlan edited = *p;
    edited.seeds = 1, edited.curves = false, edited.items = 0;
    edited.item = arena_alloc(&s->arena, (size_t)p->items * sizeof *p->item);
    for (long i = 0; i < p->items; i++)
        if (strcmp(p->item[i].op, op) == 0) edited.item[edited.items++] = p->item[i];
    for (int k = 0; k < STAGES; k++) {
        snprintf(s->stage[k].library, PATH_ROOM, "%s/edited%d.so", folder, k);
        s->stage[k].plan = edited;
        s->stage[k].plan.library = s->stage[k].library;
    }
}

void repair_find(const CheckPlan *p, const char *source, const char *folder, const char *headers,
                 CaseReport *report, long count) {
    Search s = {.plan = p, .source = source, .headers = headers, .report = report, .count = count};
    s.until = clock_seconds() + search_share * p->limits.seconds;
    bool wrong = false;
    for (long i = 0; i < count; i++) wrong |= is_wrong(&report[i]);
    if (!wrong) return;
    snprintf(s.file, sizeof s.file, "%s/edited.c", folder);
    take_items(&s, report[0].op, folder);
    if (read_source(&s)) {
        look(&s);
        bool cut = clock_seconds() >= s.until;
        say_all(&s);
        for (long i = 0; i < count; i++) report[i].search_cut = cut && !s.said && is_wrong(&report[i]);
    }
    for (int k = 0; k < STAGES; k++) candidates_free(&s.stage[k].tried);
    free(s.stage[1].edits.edit);
    edits_free(&s.stage[0].edits);
    c_source_free(&s.c);
    free(s.text);
    arena_free(&s.arena);
}
