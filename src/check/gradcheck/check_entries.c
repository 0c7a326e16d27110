#include "check/gradcheck/check_entries.h"
#include "check/gradcheck/check_entry.h"
#include "check/gradcheck/check_lines.h"
#include "check/gradcheck/rounding.h"
#include <math.h>

/* Where the first sweep does not confirm the gradient, others start lower: the function may be wild at the scale of x. */
enum { LOWER = 9, SWEEPS = 4 };

/* What a line is like on the right. */
typedef struct Side {
    Sweep *sweep; /* one a cotangent */
    bool still;
} Side;

/* An input's entries, and what they are judged by. */
typedef struct Judge {
    Entries *e;
    Arena arena; /* for as long as they are judged */
    Lines lines;
    double *scale; /* of each cotangent: its largest derivative over all coordinates */
    Side *right;   /* of each line at hand, once a kink has been looked for */
} Judge;

static Entry *entry_of(const Judge *j, const Line *line, long q) {
    return &j->e->entry[q * j->e->coordinates + line->coordinate];
}

static Line *end_of_lines(const Judge *j) {
    return j->lines.line + j->lines.count;
}

/* Outputs that move evenly over large steps, on either side, and not at all over the smallest move in steps of their
 * own, as (1e8 + x)² - 1e16 does: between two of them a rest is no proof of a derivative of 0, and the slope over many
 * is none of another value. Once seen this stays, for still smaller steps only rest again. (Beside a relu's kink there
 * is rest too, but one side rests over large steps as well.) */
static void weigh(const Line *line, Entry *entry, const Entry *found) {
    bool resolved = isfinite(entry->numeric) && entry->estimate <= 1e-3 * fabs(entry->numeric);
    bool at_rest = line->still && line->both_move && check_entry_confirms(found);
    entry->in_steps |= at_rest && resolved && entry->state == ENTRY_WRONG;
    if (entry->in_steps) {
        entry->estimate = fabs(entry->numeric - entry->analytic);
        entry->state = ENTRY_UNCLEAR;
    } else if (check_entry_more_credible(found, entry)) {
        *entry = *found;
    }
}

/* What the newest sweep of each line that is wanted found. */
static void take_results(Judge *j) {
    for (Line *line = j->lines.line; line < end_of_lines(j); line++)
        for (long q = 0; line->wanted && q < j->e->cotangents; q++) {
            Entry *entry = entry_of(j, line, q), found = *entry;
            const Sweep *s = &line->sweep[q];
            found.numeric = s->value, found.estimate = s->error;
            found.rounding = s->rounding, found.step = s->step;
            check_entry_judge(&found, j->scale[q], j->lines.noise.floor);
            weigh(line, entry, &found);
        }
}

/* Whether the coordinate's largest gradient, which is proved, leaves no more of a 0 than this. */
static bool is_left_of(const Entry *entry, double largest) {
    return fabs(entry->analytic) <= rounding_room(ROUNDINGS_OF_A_RUN, (double)REAL_EPSILON, largest) &&
           fabs(entry->numeric) <= SWEEP_TRUST * entry->estimate;
}

/* What all entries of a coordinate say together. Flat entries prove nothing by themselves: beside one that is
 * proved they are harmless, and not worth a remark where they are what rounding leaves of it. True if it is up to what the
 * output is far away. */
static bool judge_coordinate(Judge *j, const Line *line) {
    EntryState *state = &j->e->state[line->coordinate];
    bool proved = false, moves = false, flat_gradient = false, flat = false;
    double largest = 0;
    *state = ENTRY_PROVED;
    for (long q = 0; q < j->e->cotangents; q++) {
        const Entry *entry = entry_of(j, line, q);
        if (entry->state > *state) *state = entry->state;
        if (entry->state != ENTRY_PROVED) continue;
        proved = true, moves |= entry->analytic != 0;
        largest = fmax(largest, fabs(entry->analytic));
    }
    for (long q = 0; q < j->e->cotangents; q++) {
        const Entry *entry = entry_of(j, line, q);
        if (entry->state != ENTRY_FLAT) continue;
        flat_gradient |= entry->analytic != 0 || entry->numeric != 0;
        flat |= !is_left_of(entry, largest);
    }
    j->e->doubt[line->coordinate] = *state != ENTRY_UNCLEAR ? DOUBT_NONE
                                    : line->crossed         ? DOUBT_KINK
                                                            : DOUBT_NOISE;
    if (*state != ENTRY_FLAT) return false;
    if (!(flat_gradient ? moves : proved)) return true;
    if (!flat) *state = ENTRY_PROVED;
    return false;
}

/* The coordinates of the lines that are wanted. */
static void judge_coordinates(Judge *j) {
    for (Line *line = j->lines.line; line < end_of_lines(j); line++)
        line->wanted = line->wanted && judge_coordinate(j, line);
    lines_look_far(&j->lines);
    for (Line *line = j->lines.line; line < end_of_lines(j); line++) {
        if (!line->wanted) continue;
        if (line->constant)
            j->e->state[line->coordinate] = ENTRY_PROVED;
        else if (!j->lines.run->c->flat)
            j->e->state[line->coordinate] = ENTRY_UNCLEAR, j->e->doubt[line->coordinate] = DOUBT_FLAT;
    }
}

/* Wants the lines whose gradient is not confirmed. False: all are. */
static bool want_doubtful(Judge *j) {
    bool any = false;
    for (Line *line = j->lines.line; line < end_of_lines(j); line++)
        any |= line->wanted = j->e->state[line->coordinate] > ENTRY_KINK;
    return any;
}

/* What both sides of a line say together. */
static void take_kink(Judge *j, const Line *line, const Sweep *right) {
    for (long q = 0; q < j->e->cotangents; q++) {
        Entry *entry = entry_of(j, line, q), found = *entry;
        const Sweep *a = &right[q], *b = &line->sweep[q];
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
        check_entry_judge(&found, fmax(j->scale[q], size), j->lines.noise.floor);
        if (kink && found.state < ENTRY_KINK) {
            found.state = ENTRY_KINK;
            found.below = b->value;
            found.above = a->value;
        }
        weigh(line, entry, &found);
    }
}

static Side *new_sides(Judge *j) {
    Side *side = arena_alloc(&j->arena, (size_t)j->lines.room * sizeof *side);
    for (long i = 0; i < j->lines.room; i++)
        side[i].sweep = arena_alloc(&j->arena, (size_t)j->e->cotangents * sizeof *side[i].sweep);
    return side;
}

/* Where differences on both sides do not confirm the gradient, each side by itself: if the two derivatives
 * differ, the point is on a kink, and any value between them is a gradient. */
static void try_kinks(Judge *j) {
    const double part = 0.25;
    Lines *l = &j->lines;
    if (!j->right) j->right = new_sides(j);
    lines_sweep_one_side(l, part, 1);
    for (long i = 0; i < l->count; i++) {
        Side *right = &j->right[i];
        Sweep *other = right->sweep;
        *right = (Side){l->line[i].sweep, l->line[i].still};
        l->line[i].sweep = other;
    }
    lines_sweep_one_side(l, part, -1);
    for (long i = 0; i < l->count; i++) {
        l->line[i].still &= j->right[i].still;
        if (l->line[i].wanted) take_kink(j, &l->line[i], j->right[i].sweep);
    }
}

/* An entry that is off by less than the tolerance is wrong only if the numeric derivative is as exact as it says. Outputs
 * that move in steps of their own may be even enough over many of them to look exact: other steps then find another
 * value. */
static void confirm_small_errors(Judge *j) {
    static const double other[] = {0.7, 0.037};
    for (Line *line = j->lines.line; line < end_of_lines(j); line++) {
        line->wanted = false;
        for (long q = 0; q < j->e->cotangents; q++)
            line->wanted |= check_entry_small_error(entry_of(j, line, q));
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        lines_sweep_both_sides(&j->lines, other[i]);
        for (Line *line = j->lines.line; line < end_of_lines(j); line++)
            for (long q = 0; line->wanted && q < j->e->cotangents; q++) {
                Entry *entry = entry_of(j, line, q);
                double off = fabs(entry->analytic - entry->numeric);
                if (check_entry_small_error(entry) &&
                    !(fabs(line->sweep[q].value - entry->numeric) <= off / 8))
                    entry->state = ENTRY_PROVED;
            }
    }
}

/* The scale is known when all coordinates have a derivative. */
static void set_scales(Judge *j) {
    const Entries *e = j->e;
    for (long q = 0; q < e->cotangents; q++) {
        Entry *row = e->entry + q * e->coordinates;
        for (long i = 0; i < e->coordinates; i++)
            if (row[i].estimate <= fabs(row[i].numeric))
                j->scale[q] = fmax(j->scale[q], fabs(row[i].numeric));
        for (long i = 0; i < e->coordinates; i++)
            if (row[i].state != ENTRY_KINK) check_entry_judge(&row[i], j->scale[q], j->lines.noise.floor);
    }
}

static void open_judge(Judge *j, CheckRun *run, Entries *e) {
    *j = (Judge){.e = e};
    lines_open(&j->lines, run, e, &j->arena);
    j->scale = arena_alloc(&j->arena, (size_t)e->cotangents * sizeof *j->scale);
    for (long i = 0; i < e->cotangents * e->coordinates; i++) {
        e->entry[i].state = ENTRY_WRONG;
        e->entry[i].numeric = NAN;
        e->entry[i].estimate = INFINITY;
    }
}

/* The lines at hand, whose first sweeps are done. */
static void judge_lines(Judge *j) {
    confirm_small_errors(j);
    for (Line *line = j->lines.line; line < end_of_lines(j); line++)
        line->wanted = true, line->crossed = false;
    judge_coordinates(j);
    for (int lower = 1; lower < SWEEPS && want_doubtful(j); lower++) {
        lines_sweep_both_sides(&j->lines, ldexp(1, -LOWER * lower));
        take_results(j);
        judge_coordinates(j);
    }
    if (!want_doubtful(j)) return;
    try_kinks(j);
    judge_coordinates(j);
}

/* The same once more, after derivatives of other lines have been found. */
static void judge_lines_again(Judge *j) {
    confirm_small_errors(j);
    want_doubtful(j);
    for (Line *line = j->lines.line; line < end_of_lines(j); line++)
        line->crossed = j->e->doubt[line->coordinate] == DOUBT_KINK;
    judge_coordinates(j);
}

void check_entries(CheckRun *run, Entries *e) {
    Judge j;
    if (!e->coordinates) return;
    open_judge(&j, run, e);
    for (long first = 0; first < e->coordinates; first += j.lines.room) {
        lines_set(&j.lines, first);
        lines_sweep_both_sides(&j.lines, 1);
        take_results(&j);
    }
    set_scales(&j);
    for (long first = 0; first < e->coordinates; first += j.lines.room) {
        lines_set(&j.lines, first);
        judge_lines(&j);
    }
    /* Derivatives found on the way may be larger than all before: what is small beside them is proved. */
    set_scales(&j);
    for (long first = 0; first < e->coordinates; first += j.lines.room) {
        lines_set(&j.lines, first);
        judge_lines_again(&j);
    }
    arena_free(&j.arena);
}
