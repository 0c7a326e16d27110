#include "check/gradcheck/check_lines.h"
#include "check/gradcheck/entries.h"
#include "check/gradcheck/rounding.h"
#include <math.h>
#include <stdlib.h>

/* A stage helps entries of one kind. */
typedef enum Help {
    DOUBTFUL,
    /* Derivatives hidden by rounding: the large steps may show another function, so what they confirm
     * is right, and what they deny is not wrong. */
    HIDDEN,
    AT_ZERO, /* smaller steps have digits there */
} Help;

/* The sweeps of a line, each as long as the earlier ones do not confirm its gradient. */
typedef struct Stage {
    double part; /* of the first step */
    int sides;
    Help help;
} Stage;

static const Stage stages[] = {
    {1, MIDDLE + 1, DOUBTFUL},
    {0x1p-18, MIDDLE + 1, DOUBTFUL}, /* x² + 10⁻⁶ sin(10⁷ x) looks like x² from large steps */
    {0x1p17, MIDDLE + 1, HIDDEN},
    {0.25, SIDES, DOUBTFUL},
    {0x1p-36, MIDDLE + 1, AT_ZERO}, /* to larger steps x / (|x| + 10⁻¹²) is a jump */
    {0x1p-54, MIDDLE + 1, AT_ZERO},
};
enum { STAGES = sizeof stages / sizeof *stages };

/* The entries of one input and the data that judges them. */
typedef struct Judge {
    Entries *e;
    Arena arena; /* freed after the judgement */
    Lines lines;
    bool undefined; /* an output at the point is no number: nor need a gradient be one */
    double proof;   /* the relative error up to which the numeric derivative proves another */
    double *scale;  /* of each cotangent: its largest derivative over all coordinates */
    double largest; /* of all scales */
} Judge;

/* ---- An entry ---- */

/* Numbers below this have few digits or none: rounding may leave anything of them. */
#define SMALLEST                                                                                   \
    (sizeof(real) == sizeof(double) ? DBL_MIN / DBL_EPSILON : (double)FLT_MIN / (double)FLT_EPSILON)

/* An output, or a gradient, is a sum of terms as large as the largest output, each rounded by
 * `floor`: so many roundings may add up, in a gradient and in the difference of two outputs. */
enum { TERMS = 1024 };

/* Whether rounding explains the error of the numeric derivative. */
static bool is_hidden(const Entry *e, double floor) {
    return e->estimate * e->step <= TERMS * floor;
}

/* The allowed error of a right entry: the tolerance. Where the numeric derivative is known much
 * better, the sharp tolerance, or the rounding of a right gradient if that is larger: its terms
 * may be as large as `scale`, or the output. */
static double allowed_error(const Entry *e, double size, double scale, double floor) {
    bool sharp = SWEEP_TRUST * e->estimate <= CHECK_SHARP / 10 * size;
    double tolerance = sharp ? CHECK_SHARP : CHECK_TOLERANCE;
    double rounded = ROUNDINGS_OF_A_RUN * (double)REAL_EPSILON * scale + TERMS * floor;
    return fmin(fmax(tolerance * size, rounded), CHECK_TOLERANCE * size);
}

/* Sets the entry's state by the first rule that holds, and its error. */
static void judge_entry(const Judge *j, Entry *e, double scale) {
    double analytic = fabs(e->analytic), numeric = fabs(e->numeric), floor = j->lines.noise.floor;
    double size = fmax(analytic, numeric), off = fabs(e->analytic - e->numeric);
    double error = SWEEP_TRUST * e->estimate;
    double part = fmax(TERMS * (double)REAL_EPSILON, j->e->rounding), lost = part * j->largest;
    bool is_number = isfinite(e->analytic) || (isinf(e->analytic) && !isfinite(e->numeric));
    bool agrees = off <= fmax(allowed_error(e, size, scale, floor), fmax(lost, SMALLEST)),
         differs = !agrees && !(off <= error);
    e->error = error <= CHECK_SHARP * size ? off / size : off / fmax(size, scale);
    if (off <= lost) e->error = fmin(e->error, off / j->largest);
    if (off == 0 || size <= SMALLEST) e->error = 0;
#define ENTRY_RULE(name, condition, to, reason, needed)                                            \
    if (condition) {                                                                               \
        e->state = ENTRY_##to;                                                                     \
        return;                                                                                    \
    }
#include "check/gradcheck/rules.def"
}

static bool confirms(const Entry *e) {
    return e->state == ENTRY_PROVED || e->state == ENTRY_KINK;
}

/* Whether a later result replaces the known one: it does if it is more certain, or contradicts the
 * known one. A result that is only less certain excuses nothing, but proves what was unclear. */
static bool is_more_credible(const Entry *found, const Entry *known) {
    if (!isfinite(known->numeric)) return true;
    if (confirms(found) != confirms(known) && known->state != ENTRY_WRONG) return confirms(found);
    double contradiction = fabs(found->numeric - known->numeric);
    return found->estimate < known->estimate ||
           contradiction > SWEEP_TRUST * (found->estimate + known->estimate);
}

/* ---- All entries of an input ---- */

static Entry *entry_of(const Judge *j, const Line *line, long q) {
    return &j->e->entry[q * j->e->coordinates + line->coordinate];
}

/* Whether steps of x that are larger than the first may show a derivative that smaller ones do
 * not. */
static bool may_be_hidden(const Judge *j, const Entry *e) {
    if (j->e->steps) return e->state != ENTRY_PROVED;
    return is_hidden(e, j->lines.noise.floor) && !confirms(e) && e->state != ENTRY_WRONG;
}

/* Whether a stage may decide on a doubtful coordinate. */
static bool may_help(const Judge *j, const Stage *stage, const Line *line) {
    if (stage->help == AT_ZERO) return !j->e->direction && fabs(line->at) < stage->part;
    if (stage->help == DOUBTFUL) return true;
    for (long q = 0; q < j->e->cotangents; q++)
        if (may_be_hidden(j, entry_of(j, line, q))) return true;
    return false;
}

/* Takes the central derivative of the newest sweep. */
static void take_middle(Judge *j, const Line *line, long q, bool hidden) {
    Entry *entry = entry_of(j, line, q), found = *entry;
    const Sweep *s = line_sweep(&j->lines, line, MIDDLE, q);
    found.numeric = s->value;
    found.estimate = s->error;
    found.step = s->step;
    judge_entry(j, &found, j->scale[q]);
    bool known = SWEEP_TRUST * found.estimate <= j->proof * fabs(found.numeric);
    if (hidden ? found.state == ENTRY_PROVED && known && may_be_hidden(j, entry)
               : is_more_credible(&found, entry))
        *entry = found;
}

/* Takes the derivatives from either side where the central one does not confirm the gradient. If
 * they differ, the point is on a kink, and any value between them is a gradient. */
static void take_kink(Judge *j, const Line *line, long q) {
    Entry *entry = entry_of(j, line, q), found = *entry;
    const Sweep *a = line_sweep(&j->lines, line, ABOVE, q),
                *b = line_sweep(&j->lines, line, BELOW, q);
    if (entry->state < ENTRY_KINK || !isfinite(a->value) || !isfinite(b->value)) return;
    double low = fmin(a->value, b->value), high = fmax(a->value, b->value);
    double error = a->error + b->error, size = fmax(fabs(low), fabs(high));
    found.on_kink = high - low > SWEEP_TRUST * error + CHECK_TOLERANCE * size;
    found.estimate = error;
    found.step = fmin(a->step, b->step);
    found.numeric = fmin(fmax(found.analytic, low), high); /* the nearest that is allowed */
    found.below = b->value;
    found.above = a->value;
    judge_entry(j, &found, fmax(j->scale[q], size));
    if (found.on_kink && found.state < ENTRY_KINK) found.state = ENTRY_KINK;
    if (is_more_credible(&found, entry)) *entry = found;
}

/* Sets the scales, and judges all entries by them. A coarse forward has one scale: it shows little
 * of derivatives that are small beside the largest. */
static void set_scales(Judge *j) {
    const Entries *e = j->e;
    for (long q = 0; q < e->cotangents; q++) {
        const Entry *row = e->entry + q * e->coordinates;
        for (long i = 0; i < e->coordinates; i++)
            if (row[i].estimate <= fabs(row[i].numeric))
                j->scale[q] = fmax(j->scale[q], fabs(row[i].numeric));
        j->largest = fmax(j->largest, j->scale[q]);
    }
    for (long q = 0; q < e->cotangents; q++) {
        Entry *row = e->entry + q * e->coordinates;
        if (e->steps) j->scale[q] = j->largest;
        for (long i = 0; i < e->coordinates; i++)
            if (row[i].state != ENTRY_KINK) judge_entry(j, &row[i], j->scale[q]);
    }
}

/* Combines all entries of a coordinate into its state. Flat ones are harmless beside a proved one.
 * True if only the output far away can decide. */
static bool judge_coordinate(Judge *j, const Line *line) {
    EntryState *state = &j->e->state[line->coordinate];
    Doubt *doubt = &j->e->doubt[line->coordinate];
    bool proved = false, moves = false, is_0 = true, kink = false;
    *state = ENTRY_PROVED;
    for (long q = j->e->cotangents - 1; q >= 0; q--) {
        const Entry *entry = entry_of(j, line, q);
        kink |= entry->state == ENTRY_KINK;
        if (q == 0 && j->e->whole && kink) continue; /* a sum over kinks, each with its own side */
        if (entry->state > *state) *state = entry->state;
        proved |= entry->state == ENTRY_PROVED;
        moves |= entry->state == ENTRY_PROVED && entry->analytic != 0;
        is_0 &= entry->state != ENTRY_FLAT || (entry->analytic == 0 && entry->numeric == 0);
    }
    *doubt = DOUBT_NONE;
    if (*state == ENTRY_UNCLEAR) *doubt = line->crossed ? DOUBT_KINK : DOUBT_NOISE;
    if (*state != ENTRY_FLAT) return false;
    if (!(is_0 ? proved : moves)) return true;
    *state = ENTRY_PROVED;
    return false;
}

/* Judges all entries, and the coordinates. */
static void judge_all(Judge *j) {
    set_scales(j);
    EACH_LINE(&j->lines, line)
    line->wanted = judge_coordinate(j, line) && !line->looked && !line->skipped;
    lines_look_far(&j->lines);
    EACH_LINE(&j->lines, line) {
        if (j->e->state[line->coordinate] != ENTRY_FLAT) continue;
        if (line->constant) j->e->state[line->coordinate] = ENTRY_PROVED;
        if (line->constant || j->lines.run->c->flat) continue;
        j->e->state[line->coordinate] = ENTRY_UNCLEAR;
        j->e->doubt[line->coordinate] = DOUBT_FLAT;
    }
}

/* Marks the lines that a stage may help as wanted. False: there are none. */
static bool want_doubtful(Judge *j, const Stage *stage) {
    bool any = false;
    EACH_LINE(&j->lines, line) {
        line->wanted = may_help(j, stage, line) && !line->skipped &&
                       j->e->state[line->coordinate] > ENTRY_KINK;
        any |= line->wanted;
    }
    return any;
}

static void open_judge(Judge *j, CheckRun *run, Entries *e, long runs) {
    *j = (Judge){.e = e};
    lines_open(&j->lines, run, e, runs, &j->arena);
    e->rounded = TERMS * j->lines.noise.floor;
    j->proof = e->steps ? CHECK_COARSE : CHECK_TOLERANCE;
    for (long i = 0; i < e->outputs; i++) j->undefined |= !isfinite(j->lines.noise.here[i]);
    j->scale = arena_alloc(&j->arena, (size_t)e->cotangents * sizeof *j->scale);
    for (long i = 0; i < e->cotangents * e->coordinates; i++) {
        e->entry[i].state = ENTRY_WRONG;
        e->entry[i].numeric = NAN;
        e->entry[i].estimate = INFINITY;
    }
}

/* Whether all gradients are 0, and none is wrong. */
static bool is_zero(const Entries *e) {
    for (long i = 0; i < e->cotangents * e->coordinates; i++)
        if (e->entry[i].analytic != 0) return false;
    for (long j = 0; j < e->coordinates; j++)
        if (e->state[j] == ENTRY_WRONG) return false;
    return !e->direction;
}

/* Proves gradients of 0 of a function that moves in steps, on as many lines as there are runs for. */
static void try_steps(Judge *j) {
    enum { RUNS_OF_A_LINE = 32 };
    const Lines *l = &j->lines;
    if (j->undefined || !is_zero(j->e)) return;
    long part = 1 + RUNS_OF_A_LINE * l->count / (1 + labs(l->end - l->run->evaluations));
    EACH_LINE(&j->lines, line) line->wanted = line->coordinate % part == 0;
    lines_find_steps(&j->lines);
    EACH_LINE(&j->lines, line) if (line->wanted && !line->constant) return;
    j->e->in_steps = true;
    for (long i = 0; i < j->e->coordinates; i++) {
        j->e->state[i] = ENTRY_PROVED;
        j->e->doubt[i] = DOUBT_NONE;
    }
}

/* Removes the coordinates that the runs did not suffice for, unless another one is wrong: then so
 * are they. */
static void drop_skipped(const Judge *j, Arena *arena) {
    Entries *e = j->e;
    long kept = 0, count = e->coordinates,
         *place = arena_alloc(arena, (size_t)count * sizeof *place);
    bool any = false;
    EACH_LINE(&j->lines, line) {
        bool doubtful = e->state[line->coordinate] > ENTRY_KINK;
        if (e->state[line->coordinate] == ENTRY_WRONG && !line->skipped) return;
        line->skipped &= doubtful;
        any |= line->skipped;
    }
    if (!any) return;
    EACH_LINE(&j->lines, line) {
        if (line->skipped) continue;
        place[kept] = check_entries_element(e, line->coordinate);
        e->state[kept] = e->state[line->coordinate];
        e->doubt[kept++] = e->doubt[line->coordinate];
    }
    for (long i = 0, to = 0; i < e->cotangents * count; i++)
        if (!j->lines.line[i % count].skipped) e->entry[to++] = e->entry[i];
    e->coordinates = kept;
    e->place = place;
}

/* Takes the results of the newest sweep of each wanted line. */
static void take_results(Judge *j, const Stage *stage) {
    EACH_LINE(&j->lines, line) {
        for (long q = 0; line->wanted && q < j->e->cotangents; q++) {
            if (stage->sides == SIDES)
                take_kink(j, line, q);
            else
                take_middle(j, line, q, stage->help == HIDDEN);
        }
    }
}

void check_entries(CheckRun *run, Entries *e, long runs, Arena *arena) {
    Judge j;
    if (!e->coordinates) return;
    open_judge(&j, run, e, runs);
    for (const Stage *stage = stages; stage < stages + STAGES; stage++) {
        if (stage > stages && !want_doubtful(&j, stage)) continue;
        lines_sweep(&j.lines, stage->part, stage->sides);
        take_results(&j, stage);
        judge_all(&j);
    }
    try_steps(&j);
    drop_skipped(&j, arena);
    arena_free(&j.arena);
}
