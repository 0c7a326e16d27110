#include "check/gradcheck/check_lines.h"
#include "check/gradcheck/entries.h"
#include "check/gradcheck/rounding.h"
#include <math.h>

/* Where rounding hides the derivative, steps that are 2^HIGHER of the first ones may show it, as
 * of 10¹⁰ + x. They may show another function: what they confirm is right, what they deny is not
 * wrong. */
enum { HIGHER = 17 };

/* The entries of one input and the data that judges them. */
typedef struct Judge {
    Entries *e;
    Arena arena; /* freed after the judgement */
    Lines lines;
    bool undefined; /* an output at the point is no number: nor need a gradient be one */
    double proof;   /* the relative error up to which the numeric derivative proves another */
    double *scale;  /* of each cotangent: its largest derivative over all coordinates */
} Judge;

/* ---- An entry ---- */

/* Numbers below this have few digits or none: rounding may leave anything of them. */
#define SMALLEST                                                                                   \
    (sizeof(real) == sizeof(double) ? DBL_MIN / DBL_EPSILON : (double)FLT_MIN / (double)FLT_EPSILON)

/* An output, or a gradient, is a sum of terms as large as the largest output, each rounded by
 * `floor`: so many roundings may add up, in a gradient and in the difference of two outputs. */
enum { TERMS = 1024, TERMS_OF_A_DIFFERENCE = 4 * TERMS };

/* Whether the gradient is 0, and rounding leaves up to `most` of large terms in the analytic
 * one. */
static bool is_left_of_terms(const Entry *e, double most) {
    return fabs(e->numeric) <= SWEEP_TRUST * e->estimate && fabs(e->analytic) <= most;
}

/* Whether rounding explains the error of the numeric derivative. */
static bool is_hidden(const Entry *e, double floor) {
    return e->estimate <= SWEEP_TRUST * e->rounding &&
           e->estimate * e->step <= TERMS_OF_A_DIFFERENCE * floor;
}

/* The allowed error of a right entry: the tolerance. Where the numeric derivative is known much
 * better, the sharp tolerance, or the rounding of a right gradient if that is larger: its terms
 * may be as large as `scale`, or the output. */
static double room_of(const Entry *e, double size, double scale, double floor) {
    bool sharp = SWEEP_TRUST * e->estimate <= CHECK_SHARP / 10 * size;
    double tolerance = sharp ? CHECK_SHARP : CHECK_TOLERANCE;
    double rounded = rounding_room(ROUNDINGS_OF_A_RUN, (double)REAL_EPSILON, scale) + TERMS * floor;
    return fmin(fmax(tolerance * size, rounded), CHECK_TOLERANCE * size);
}

/* The state of an entry whose two numbers differ by `off`; the larger one has this size. scale:
 * the largest derivative for the same cotangent. */
static EntryState state_of(const Judge *j, const Entry *e, double off, double size, double scale) {
    double floor = j->lines.noise.floor;
    bool close = off <= room_of(e, size, scale, floor), within = off <= SWEEP_TRUST * e->estimate;
    bool is_number = isfinite(e->analytic) || (isinf(e->analytic) && !isfinite(e->numeric));
    if (!is_number) return j->undefined ? ENTRY_UNCLEAR : ENTRY_WRONG;
    if (!isfinite(e->numeric)) return ENTRY_UNCLEAR;
    /* Both are 0, but for numbers that have lost their digits. */
    if (size <= SMALLEST && e->estimate <= SMALLEST) return ENTRY_PROVED;
    if (close && e->estimate <= CHECK_TOLERANCE * size) return ENTRY_PROVED;
    if (!close && !within) return is_left_of_terms(e, TERMS * floor) ? ENTRY_FLAT : ENTRY_WRONG;
    /* Nothing contradicts the entry. It is proved if it is known well beside the largest
     * derivative. */
    if (SWEEP_TRUST * e->estimate <= j->proof * scale) return ENTRY_PROVED;
    return size <= SMALLEST || is_hidden(e, floor) ? ENTRY_FLAT : ENTRY_UNCLEAR;
}

/* Sets the entry's state and error. */
static void judge_entry(const Judge *j, Entry *e, double scale) {
    double off = fabs(e->analytic - e->numeric), size = fmax(fabs(e->analytic), fabs(e->numeric));
    bool resolved = SWEEP_TRUST * e->estimate <= CHECK_SHARP * size;
    e->state = state_of(j, e, off, size, scale);
    e->error = 0;
    if (off == 0 || (e->state == ENTRY_PROVED && size <= SMALLEST && e->estimate <= SMALLEST))
        return;
    e->error = off / (resolved ? size : fmax(size, scale));
}

static bool confirms(const Entry *e) {
    return e->state == ENTRY_PROVED || e->state == ENTRY_KINK;
}

/* Whether a result from smaller steps replaces the known one: it does if it confirms the
 * gradient, is more certain, or contradicts the known one. A result that is only less certain
 * excuses nothing. */
static bool is_more_credible(const Entry *found, const Entry *known) {
    if (!isfinite(known->numeric)) return true;
    double contradiction = fabs(found->numeric - known->numeric);
    bool contradicts = contradiction > SWEEP_TRUST * (found->estimate + known->estimate);
    double size = fmax(fabs(known->analytic), fabs(known->numeric));
    bool small_error = fabs(known->analytic - known->numeric) <= CHECK_TOLERANCE * size;
    if (known->state == ENTRY_WRONG && small_error && found->estimate >= known->estimate)
        return contradicts;
    if (confirms(found) != confirms(known)) return confirms(found);
    return found->estimate < known->estimate || contradicts;
}

/* ---- All entries of an input ---- */

/* If the first sweep does not confirm the gradient, later ones start at steps that are 2^-LOWER
 * of the last's: the function may vary so fast that larger steps show another one, as those of
 * x² + 10⁻⁶ sin(10⁷ x) show x². */
enum { LOWER = 9, SWEEPS = 3 };

static Entry *entry_of(const Judge *j, const Line *line, long q) {
    return &j->e->entry[q * j->e->coordinates + line->coordinate];
}

static Line *end_of_lines(const Judge *j) {
    return j->lines.line + j->lines.count;
}

/* Whether steps of x that are larger than the first may show a derivative that smaller ones do
 * not. */
static bool may_be_hidden(const Judge *j, const Entry *e) {
    bool hidden = j->e->steps || is_hidden(e, j->lines.noise.floor);
    return hidden && e->state != ENTRY_PROVED;
}

/* Takes the results of the newest sweep of each wanted line; from large steps those alone that
 * confirm a gradient. */
static void take_results(Judge *j, bool large) {
    for (Line *line = j->lines.line; line < end_of_lines(j); line++)
        for (long q = 0; q < j->e->cotangents; q++) {
            if (!line->wanted) break;
            Entry *entry = entry_of(j, line, q), found = *entry;
            const Sweep *s = &line->sweep[q];
            found.numeric = s->value;
            found.estimate = s->error;
            found.rounding = s->rounding;
            found.step = s->step;
            judge_entry(j, &found, j->scale[q]);
            bool known = SWEEP_TRUST * found.estimate <= j->proof * fabs(found.numeric);
            if (large && found.state == ENTRY_PROVED && known && may_be_hidden(j, entry))
                *entry = found;
            else if (!large && is_more_credible(&found, entry))
                *entry = found;
        }
}

/* Combines all entries of a coordinate into its state. Flat entries alone prove nothing. Beside
 * a proved entry they are harmless, and they are not reported if its rounding error explains
 * them. True if only the output far away can decide. */
static bool judge_coordinate(Judge *j, const Line *line) {
    EntryState *state = &j->e->state[line->coordinate];
    bool proved = false, moves = false, flat_gradient = false, flat = false;
    double largest = 0;
    *state = ENTRY_PROVED;
    for (long q = 0; q < j->e->cotangents; q++) {
        const Entry *entry = entry_of(j, line, q);
        if (entry->state > *state) *state = entry->state;
        if (entry->state != ENTRY_PROVED) continue;
        proved = true;
        moves |= entry->analytic != 0;
        largest = fmax(largest, fabs(entry->analytic));
    }
    for (long q = 0; q < j->e->cotangents; q++) {
        const Entry *entry = entry_of(j, line, q);
        if (entry->state != ENTRY_FLAT) continue;
        flat_gradient |= entry->analytic != 0 || entry->numeric != 0;
        flat |= fabs(entry->numeric) <= SWEEP_TRUST * entry->estimate &&
                !is_left_of_terms(entry,
                                  rounding_room(ROUNDINGS_OF_A_RUN, (double)REAL_EPSILON, largest));
    }
    j->e->doubt[line->coordinate] = DOUBT_NONE;
    if (*state == ENTRY_UNCLEAR)
        j->e->doubt[line->coordinate] = line->crossed ? DOUBT_KINK : DOUBT_NOISE;
    if (*state != ENTRY_FLAT) return false;
    if (!(flat_gradient ? moves : proved)) return true;
    if (!flat) *state = ENTRY_PROVED;
    return false;
}

/* Judges the coordinates of the wanted lines. */
static void judge_coordinates(Judge *j) {
    for (Line *line = j->lines.line; line < end_of_lines(j); line++)
        line->wanted = line->wanted && judge_coordinate(j, line);
    lines_look_far(&j->lines);
    for (Line *line = j->lines.line; line < end_of_lines(j); line++) {
        if (!line->wanted) continue;
        if (line->constant) j->e->state[line->coordinate] = ENTRY_PROVED;
        if (line->constant || j->lines.run->c->flat) continue;
        j->e->state[line->coordinate] = ENTRY_UNCLEAR;
        j->e->doubt[line->coordinate] = DOUBT_FLAT;
    }
}

/* Marks the lines whose gradient is not confirmed as wanted. False: all are confirmed. */
static bool want_doubtful(Judge *j) {
    bool any = false;
    for (Line *line = j->lines.line; line < end_of_lines(j); line++)
        any |= line->wanted = j->e->state[line->coordinate] > ENTRY_KINK;
    return any;
}

/* Marks those whose derivative rounding may hide. */
static bool want_hidden(Judge *j) {
    bool any = false;
    for (Line *line = j->lines.line; line < end_of_lines(j); line++) {
        bool hidden = false;
        for (long q = 0; q < j->e->cotangents; q++)
            hidden |= may_be_hidden(j, entry_of(j, line, q));
        line->wanted &= hidden;
        any |= line->wanted;
    }
    return any;
}

/* Judges a line by its two one-sided derivatives. */
static void take_kink(Judge *j, const Line *line) {
    for (long q = 0; q < j->e->cotangents; q++) {
        Entry *entry = entry_of(j, line, q), found = *entry;
        const Sweep *a = &line->right[q], *b = &line->sweep[q];
        if (entry->state < ENTRY_KINK || !isfinite(a->value) || !isfinite(b->value)) continue;
        double low = fmin(a->value, b->value), high = fmax(a->value, b->value);
        double error = a->error + b->error, size = fmax(fabs(low), fabs(high));
        found.estimate = error;
        found.rounding = a->rounding + b->rounding;
        found.step = fmin(a->step, b->step);
        found.numeric = fmin(fmax(found.analytic, low), high); /* the nearest that is allowed */
        if (error <= size) j->scale[q] = fmax(j->scale[q], size);
        bool kink = high - low > SWEEP_TRUST * error + CHECK_TOLERANCE * size;
        if (!kink) found.numeric = (low + high) / 2;
        judge_entry(j, &found, fmax(j->scale[q], size));
        found.on_kink = kink;
        found.below = b->value;
        found.above = a->value;
        if (kink && found.state < ENTRY_KINK) found.state = ENTRY_KINK;
        if (is_more_credible(&found, entry)) *entry = found;
    }
}

/* Tries each side by itself where central differences do not confirm the gradient. If the two
 * derivatives differ, the point is on a kink, and any value between them is a gradient. */
static void try_kinks(Judge *j) {
    const double part = 0.25;
    Lines *l = &j->lines;
    lines_sweep(l, part, 1);
    for (Line *line = l->line; line < end_of_lines(j); line++) {
        Sweep *right = line->sweep;
        line->sweep = line->right;
        line->right = right;
    }
    lines_sweep(l, part, -1);
    for (Line *line = l->line; line < end_of_lines(j); line++)
        if (line->wanted) take_kink(j, line);
}

/* Sets the scales once every coordinate has a derivative, and judges the entries again. A coarse
 * forward has one scale: it shows little of derivatives that are small beside the largest. */
static void set_scales(Judge *j) {
    const Entries *e = j->e;
    double largest = 0;
    for (long q = 0; q < e->cotangents; q++) {
        const Entry *row = e->entry + q * e->coordinates;
        for (long i = 0; i < e->coordinates; i++)
            if (row[i].estimate <= fabs(row[i].numeric))
                j->scale[q] = fmax(j->scale[q], fabs(row[i].numeric));
        largest = fmax(largest, j->scale[q]);
    }
    for (long q = 0; q < e->cotangents; q++) {
        Entry *row = e->entry + q * e->coordinates;
        if (e->steps) j->scale[q] = largest;
        for (long i = 0; i < e->coordinates; i++)
            if (row[i].state != ENTRY_KINK) judge_entry(j, &row[i], j->scale[q]);
    }
}

static void open_judge(Judge *j, CheckRun *run, Entries *e) {
    *j = (Judge){.e = e};
    lines_open(&j->lines, run, e, &j->arena);
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

/* Judges the current lines after their first sweeps. */
static void judge_lines(Judge *j) {
    judge_coordinates(j);
    for (int lower = 1; lower < SWEEPS; lower++) {
        if (!want_doubtful(j)) return;
        lines_sweep(&j->lines, ldexp(1, -LOWER * lower), 0);
        take_results(j, false);
        judge_coordinates(j);
    }
    if (!want_doubtful(j)) return;
    if (want_hidden(j)) {
        lines_sweep(&j->lines, ldexp(1, HIGHER), 0);
        take_results(j, true);
        judge_coordinates(j);
    }
    if (!want_doubtful(j)) return;
    try_kinks(j);
    judge_coordinates(j);
}

/* Judges them again when the derivatives of all other lines are known. */
static void judge_lines_again(Judge *j) {
    want_doubtful(j);
    for (Line *line = j->lines.line; line < end_of_lines(j); line++)
        line->crossed = j->e->doubt[line->coordinate] == DOUBT_KINK;
    judge_coordinates(j);
}

/* Whether all gradients are 0, and none is wrong. */
static bool is_zero(const Entries *e) {
    for (long i = 0; i < e->cotangents * e->coordinates; i++)
        if (e->entry[i].analytic != 0) return false;
    for (long j = 0; j < e->coordinates; j++)
        if (e->state[j] == ENTRY_WRONG) return false;
    return !e->direction;
}

/* Proves gradients of 0 of a function that moves in steps. */
static void try_steps(Judge *j) {
    long found = 0;
    if (j->undefined || !is_zero(j->e)) return;
    lines_set(&j->lines, 0);
    lines_find_steps(&j->lines);
    for (const Line *line = j->lines.line; line < end_of_lines(j); line++) found += line->constant;
    if (found < j->lines.count) return;
    j->e->in_steps = true;
    for (long i = 0; i < j->e->coordinates; i++) {
        j->e->state[i] = ENTRY_PROVED;
        j->e->doubt[i] = DOUBT_NONE;
    }
}

void check_entries(CheckRun *run, Entries *e) {
    Judge j;
    if (!e->coordinates) return;
    open_judge(&j, run, e);
    for (long first = 0; first < e->coordinates; first += j.lines.room) {
        lines_set(&j.lines, first);
        lines_sweep(&j.lines, 1, 0);
        take_results(&j, false);
    }
    set_scales(&j);
    for (long first = 0; first < e->coordinates; first += j.lines.room) {
        lines_set(&j.lines, first);
        judge_lines(&j);
    }
    /* Later sweeps may find a larger derivative; entries that are small beside it are then
     * proved. */
    set_scales(&j);
    for (long first = 0; first < e->coordinates; first += j.lines.room) {
        lines_set(&j.lines, first);
        judge_lines_again(&j);
    }
    try_steps(&j);
    arena_free(&j.arena);
}
