#include "check/gradcheck/check_lines.h"
#include <math.h>
#include <string.h>

/* Steps of a sweep. Each is half the previous one. */
enum { STEPS = 21, THIRD = STEPS / 3 };

/* Runs that are done together: at most RUNS, with at most NUMBERS output numbers, but at least those
 * of one line. */
enum { RUNS = 256, NUMBERS = 1 << 16 };

/* ---- Runs ---- */

/* Moves the line's coordinate to x in the run that was asked for last. */
static void move(Lines *l, const Line *line, double x) {
    const PointInput *in = &l->run->point->in[l->e->input];
    const real *direction = l->e->direction;
    if (!direction) check_run_change(l->run, l->e->input, line->element, x);
    for (long i = 0; i < (direction ? in->stored : 0); i++)
        check_run_change(l->run, l->e->input, i, (double)(in->value[i] + (real)x * direction[i]));
}

/* Asks for the two runs of a group's lines that are under way. */
static void ask(Lines *l, Line *head) {
    bool any = false;
    head->run = -1;
    for (const Line *line = head; line; line = line->next) any |= line->under_way;
    if (!any || head->follows) return;
    head->run = l->run->asked;
    for (int side = 0; side < 2; side++) {
        check_run_ask(l->run);
        for (const Line *line = head; line; line = line->next)
            if (line->under_way) move(l, line, line->to[side]);
    }
}

/* Whether a run of a group moved an output that none of its lines moves alone. */
static bool strays(const Lines *l, const Line *head, const real *y) {
    for (long i = 0; i < l->e->outputs; i++) {
        bool known = y[i] == l->noise.here[i];
        for (const Line *line = head; line && !known; line = line->next) known = line->moves[i];
        if (!known) return true;
    }
    return false;
}

/* Takes the outputs of a line's two runs. */
typedef void Take(Lines *l, Line *line, const real *first, const real *second);

/* Gives the two runs to the lines of a group. Lines that are not independent part, and repeat the
 * step. */
static void take_group(Lines *l, Line *head, Take *take) {
    const real *first = check_run_output(l->run, head->run);
    const real *second = check_run_output(l->run, head->run + 1);
    bool part = head->next && (strays(l, head, first) || strays(l, head, second));
    long run = head->run;
    for (Line *line = head, *next; line; line = next) {
        next = line->next;
        line->run = run;
        if (line->under_way && !part) take(l, line, first, second);
        if (!part) continue;
        line->next = NULL;
        line->follows = false;
    }
}

/* Runs every line that is under way at its two places. False: none is. */
static bool run_lines(Lines *l, Take *take) {
    bool any = false;
    for (long first = 0, end = 0; first < l->count; first = end) {
        while (end < l->count && l->run->asked < l->at_once) ask(l, &l->line[end++]);
        if (!l->run->asked) continue;
        any = true;
        check_run_all(l->run, NULL);
        for (Line *line = l->line + first; line < l->line + end; line++)
            if (line->run >= 0 && !line->follows) take_group(l, line, take);
    }
    return any;
}

/* Adds a line to the group whose lines move the outputs of `moved`, unless it moves one of them. */
static bool joins(const Lines *l, Line *last, Line *line, bool *moved) {
    for (long i = 0; i < l->e->outputs; i++)
        if (moved[i] && line->moves[i]) return false;
    for (long i = 0; i < l->e->outputs; i++) moved[i] |= line->moves[i];
    line->follows = true;
    last->next = line;
    return true;
}

/* Whether a line's first step has shown which outputs it moves: one across a kink shows none. */
static bool may_group(const Line *line) {
    return line->under_way && !line->follows && !line->crossed;
}

/* Groups the lines that have moved different outputs: they share their next runs. */
static void group_lines(Lines *l) {
    EACH_LINE(l, head) {
        Line *last = head;
        if (!may_group(head)) continue;
        memcpy(l->moved, head->moves, (size_t)l->e->outputs);
        for (Line *line = head + 1; line < l->line + l->count; line++)
            if (may_group(line) && joins(l, last, line, l->moved)) last = line;
    }
}

/* ---- Sweeps ---- */

/* Returns the end of the outputs with a nonzero weight in cotangent q; they begin at *first. */
static long end_of_outputs(const Entries *e, long q, long *first) {
    bool one_hot = e->whole && q > 0;
    *first = one_hot ? q - 1 : 0;
    return one_hot ? q : e->outputs;
}

/* The noise of cotangent q's sum over the outputs. One that the line does not move hides a change of
 * its last digit. */
static double blur_of(const Lines *l, const bool *moves, long q) {
    const double *change = l->noise.change;
    double blur = 0;
    long i, end = end_of_outputs(l->e, q, &i);
    for (; i < end; i++) {
        double digit = fmin(change[i], (double)REAL_EPSILON * fabs((double)l->noise.here[i]));
        double dy = (double)l->e->cotangent[q * l->e->outputs + i];
        blur = hypot(blur, dy * (moves[i] ? change[i] : digit));
    }
    return blur;
}

static double size_at(const Line *line) {
    return isfinite(line->at) ? fmax(fabs(line->at), 1) : 1;
}

/* Smaller steps lose too many digits of x ± step. */
static bool is_last(const Line *line) {
    return isfinite(line->at) && line->step <= 32 * (double)REAL_EPSILON * fabs(line->at);
}

static void start_side(const Lines *l, Line *line, int side) {
    for (long q = 0; q < l->e->cotangents; q++)
        sweep_start(line_sweep(l, line, side, q), side == MIDDLE ? CENTRAL : ONE_SIDED);
}

/* Whether more steps change no verdict on an entry: its output is not finite at the point nor a step
 * away, or the estimate is sharp and confirms the gradient, or no estimate gets better. */
static bool is_settled(const Lines *l, const Line *line, long q) {
    const Sweep *s = line_sweep(l, line, MIDDLE, q);
    double analytic = l->e->entry[q * l->e->coordinates + line->coordinate].analytic;
    if (l->nowhere[q] && !line->crossed && s->levels == 0) return true;
    if (sweep_settled(s, CHECK_SHARP / (20 * SWEEP_TRUST)) &&
        fabs(analytic - s->value) <= CHECK_SHARP / 2 * fabs(s->value))
        return true;
    for (int side = MIDDLE; side < l->sides; side++)
        if (!sweep_settled(line_sweep(l, line, side, q), 64 * (double)REAL_EPSILON)) return false;
    return true;
}

static bool is_line_settled(const Lines *l, const Line *line) {
    for (long q = 0; q < l->e->cotangents; q++)
        if (!is_settled(l, line, q)) return false;
    return true;
}

/* Gives every cotangent's sweep of a side the difference between outputs that are `span` apart. */
static void add_differences(Lines *l, Line *line, int side, const real *a, const real *b,
                            double span) {
    const Entries *e = l->e;
    bool grouped = line->next || line->follows;
    for (long i = 0; i < e->outputs; i++) {
        /* equal infinities are equal */
        bool equal = a[i] == b[i] || (grouped && !line->moves[i]);
        l->slope[i] = equal ? 0 : ((double)a[i] - (double)b[i]) / span;
        line->moves[i] |= !grouped && (a[i] != l->noise.here[i] || b[i] != l->noise.here[i]);
    }
    for (long q = 0; q < e->cotangents; q++) {
        Sweep *s = line_sweep(l, line, side, q);
        double slope = 0, blur = blur_of(l, line->moves, q);
        long i, end = end_of_outputs(e, q, &i);
        for (; i < end; i++) slope += (double)e->cotangent[q * e->outputs + i] * l->slope[i];
        if (isfinite(slope))
            sweep_add(s, line->step, slope, blur / line->step);
        else
            sweep_start(s, s->order); /* outside of the domain: smaller steps start a new sweep */
    }
}

static void take_step(Lines *l, Line *line, const real *above, const real *below) {
    const uint64_t *branches = l->run->result.branches + line->run;
    const real *here = l->noise.here;
    double up = line->to[0] - line->at, down = line->at - line->to[1];
    line->crossed = branches[0] != l->noise.branches || branches[1] != l->noise.branches;
    if (line->crossed)
        start_side(l, line, MIDDLE);
    else
        add_differences(l, line, MIDDLE, above, below,
                        isfinite(line->at) ? line->to[0] - line->to[1] : 2 * line->step);
    for (int side = ABOVE; side < l->sides; side++) {
        uint64_t taken = branches[side - ABOVE];
        if (taken != line->before[side - ABOVE]) start_side(l, line, side);
        line->before[side - ABOVE] = taken;
        if (side == ABOVE)
            add_differences(l, line, side, above, here, up);
        else
            add_differences(l, line, side, here, below, down);
    }
    line->step /= 2;
}

/* Skips lines that are under way, spread evenly, as far as the runs that are left do not suffice. */
static void skip_some(Lines *l, long runs_of_a_line) {
    enum { MIN = 2 };
    long many = 0, n = 0, fit = (l->end - l->run->evaluations) / runs_of_a_line;
    EACH_LINE(l, line) many += line->under_way;
    if (fit < MIN) fit = MIN;
    if (many <= fit) return;
    EACH_LINE(l, line) {
        if (!line->under_way) continue;
        line->skipped = (n + 1) * fit / many == n * fit / many;
        line->under_way = !line->skipped;
        n++;
    }
}

void lines_sweep(Lines *l, double part, int sides) {
    bool any = true;
    l->sides = sides;
    EACH_LINE(l, line) {
        line->under_way = line->wanted;
        line->step = part * ldexp(1, ilogb(size_at(line)) - 3);
        line->before[0] = line->before[1] = 0;
        if (!line->wanted) continue;
        for (int side = MIDDLE; side < sides; side++) start_side(l, line, side);
    }
    for (int i = 0; i < STEPS && any; i++) {
        EACH_LINE(l, line) {
            line->under_way &= !is_last(line) && (i == 0 || !is_line_settled(l, line));
            line->to[0] = (double)(real)(line->at + line->step);
            line->to[1] = (double)(real)(line->at - line->step);
        }
        if (i % THIRD == 0) skip_some(l, 2 * THIRD);
        any = run_lines(l, take_step);
        if (i == 0 && part == 1 && sides == 1) group_lines(l);
    }
    EACH_LINE(l, line) {
        line->next = NULL;
        line->follows = false;
    }
}

/* ---- Far away ---- */

/* Whether outputs are those at the point, up to rounding: w x / w may differ from x. A run that
 * overflows or leaves the domain says nothing. */
static bool is_same(const Lines *l, const real *y) {
    const real *here = l->noise.here;
    bool same = true;
    for (long i = 0; i < l->e->outputs; i++) {
        if (y[i] == here[i]) continue;
        if (!isfinite(y[i])) return true;
        same &= fabs((double)y[i] - (double)here[i]) <= l->noise.change[i];
    }
    return same;
}

static void look(Lines *l, Line *line, const real *above, const real *below) {
    line->under_way = line->constant = is_same(l, above) && is_same(l, below);
}

void lines_look_far(Lines *l) {
    bool any = true;
    EACH_LINE(l, line) line->under_way = line->wanted;
    skip_some(l, 12);
    EACH_LINE(l, line) if (line->under_way) line->looked = line->constant = true;
    for (double far = 0.7; far < 1e6 && any; far *= 16) {
        EACH_LINE(l, line) {
            line->to[0] = line->at + far * size_at(line);
            line->to[1] = line->at - far * size_at(line);
        }
        any = run_lines(l, look);
    }
}

/* ---- Steps ---- */

/* The sum of all changes of outputs. */
static double change_of(const Lines *l, const real *y) {
    double sum = 0;
    for (long i = 0; i < l->e->outputs; i++) sum += fabs((double)y[i] - (double)l->noise.here[i]);
    return sum;
}

/* Halves the distance in which the output first changes. */
static void halve(Lines *l, Line *line, const real *above, const real *below) {
    const real *y[2] = {above, below};
    for (int side = 0; side < 2; side++) {
        Edge *edge = &line->edge[side];
        double at = (edge->inside + edge->outside) / 2, change = change_of(l, y[side]);
        if (change > 0) edge->change = change;
        *(change > 0 ? &edge->outside : &edge->inside) = at;
    }
}

/* An output that has not changed far away rests on that side. */
static void take_far(Lines *l, Line *line, const real *above, const real *below) {
    double outside = line->to[0] - line->at;
    line->edge[0] = (Edge){0, outside, change_of(l, above)};
    line->edge[1] = (Edge){0, outside, change_of(l, below)};
    line->under_way = line->edge[0].change > 0 || line->edge[1].change > 0;
}

/* A jump remains as large as it is, and the output rests behind it. A slope becomes small. */
static void take_edges(Lines *l, Line *line, const real *above, const real *below) {
    const double least = 1e3;
    const real *y[2] = {above, below};
    line->constant = true;
    for (int side = 0; side < 2; side++) {
        const Edge *edge = &line->edge[side];
        bool jumps = edge->change > least * l->noise.floor && change_of(l, y[side]) == edge->change;
        line->constant &= jumps || edge->change == 0;
    }
}

/* Sets the next places to the middle of both edges, or behind them. */
static void set_places(Line *line, double behind) {
    for (int side = 0; side < 2; side++) {
        const Edge *edge = &line->edge[side];
        double middle = (edge->inside + edge->outside) / 2;
        double at = behind > 0 ? edge->outside + behind * size_at(line) : middle;
        line->to[side] = line->at + (side ? -at : at);
    }
}

void lines_find_steps(Lines *l) {
    enum { HALVES = 14 };
    const double far = 7.3, behind = 1e-4;
    EACH_LINE(l, line) {
        line->under_way = line->wanted;
        line->constant = false;
        line->to[0] = line->at + far * size_at(line);
        line->to[1] = line->at - far * size_at(line);
    }
    bool any = run_lines(l, take_far);
    for (int i = 0; i <= HALVES && any; i++) {
        EACH_LINE(l, line) set_places(line, i < HALVES ? 0 : behind);
        any = run_lines(l, i < HALVES ? halve : take_edges);
    }
}

/* ---- Setup ---- */

void lines_open(Lines *l, CheckRun *run, const Entries *e, long runs, Arena *arena) {
    size_t outputs = (size_t)e->outputs, cotangents = (size_t)e->cotangents;
    *l = (Lines){.run = run, .e = e, .count = e->coordinates, .at_once = RUNS};
    if (RUNS * e->outputs > NUMBERS) l->at_once = NUMBERS / e->outputs + 1;
    l->moved = arena_alloc(arena, outputs);
    l->nowhere = arena_alloc(arena, cotangents * sizeof *l->nowhere);
    l->slope = arena_alloc(arena, outputs * sizeof *l->slope);
    l->line = arena_alloc(arena, (size_t)l->count * sizeof *l->line);
    for (long i = 0; i < l->count; i++) {
        Line *line = &l->line[i];
        *line = (Line){.coordinate = i, .wanted = true};
        line->sweep = arena_alloc(arena, SIDES * cotangents * sizeof *line->sweep);
        line->moves = arena_alloc(arena, outputs);
        if (e->direction) continue;
        line->element = check_entries_element(e, i);
        line->at = (double)run->point->in[e->input].value[line->element];
    }
    check_noise(&l->noise, run, e->input, arena);
    const double *measured = e->steps ? e->steps : e->noise;
    for (long i = 0; i < (measured ? e->outputs : 0); i++)
        l->noise.change[i] = fmax(l->noise.change[i], measured[i]);
    l->end = run->evaluations + runs;
    for (long q = 0; q < e->cotangents; q++) {
        long i, end = end_of_outputs(e, q, &i);
        for (; i < end; i++) l->nowhere[q] |= !isfinite(l->noise.here[i]);
    }
}
