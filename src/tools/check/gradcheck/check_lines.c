#include "check/gradcheck/check_lines.h"
#include <math.h>
#include <string.h>

/* Steps of a sweep. Each is half the previous one. */
enum { STEPS = 21, THIRD = STEPS / 3 };

/* Runs that are done together: at most RUNS, with at most NUMBERS output numbers, but at least those
 * of one line. */
enum { RUNS = 256, NUMBERS = 1 << 16 };

#define EACH_LINE(l, name) for (Line *name = (l)->line; name < (l)->line + (l)->count; name++)

/* ---- Runs ---- */

/* Asks for a run with the line's coordinate at x. */
static long ask_at(Lines *l, const Line *line, double x) {
    const PointInput *in = &l->run->point->in[l->e->input];
    const real *direction = l->e->direction;
    long run = check_run_ask(l->run);
    if (!direction) check_run_change(l->run, l->e->input, line->element, x);
    for (long i = 0; i < (direction ? in->stored : 0); i++)
        check_run_change(l->run, l->e->input, i, (double)(in->value[i] + (real)x * direction[i]));
    return run;
}

/* Takes the outputs of a line's two runs. */
typedef void Take(Lines *l, Line *line, const real *first, const real *second);

/* Runs every line that is under way at its two places. False: none is. */
static bool run_lines(Lines *l, Take *take) {
    bool any = false;
    for (long first = 0, end = 0; first < l->count; first = end) {
        while (end < l->count && l->run->asked < l->at_once) {
            Line *line = &l->line[end++];
            if (!line->under_way) continue;
            line->run = ask_at(l, line, line->to[0]);
            ask_at(l, line, line->to[1]);
        }
        if (!l->run->asked) continue;
        any = true;
        check_run_all(l->run, NULL);
        for (Line *line = l->line + first; line < l->line + end; line++)
            if (line->under_way)
                take(l, line, check_run_output(l->run, line->run),
                     check_run_output(l->run, line->run + 1));
    }
    return any;
}

/* ---- Sweeps ---- */

/* Returns the end of the outputs with a nonzero weight in cotangent q; they begin at *first. */
static long end_of_outputs(const Entries *e, long q, long *first) {
    bool one_hot = e->whole && q > 0;
    *first = one_hot ? q - 1 : 0;
    return one_hot ? q : e->outputs;
}

/* The noise of cotangent q's sum over the outputs, or over those that `moves` has. Where noise is
 * large, an output that never moves has none. */
static double blur_of(const Lines *l, const bool *moves, long q) {
    double blur = 0;
    long i, end = end_of_outputs(l->e, q, &i);
    for (; i < end; i++)
        if (!moves || moves[i])
            blur = hypot(blur, (double)l->e->cotangent[q * l->e->outputs + i] * l->noise.change[i]);
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
    for (long i = 0; i < e->outputs; i++) {
        /* equal infinities are equal */
        l->slope[i] = a[i] == b[i] ? 0 : ((double)a[i] - (double)b[i]) / span;
        if (line->moves) line->moves[i] |= a[i] != l->noise.here[i] || b[i] != l->noise.here[i];
    }
    for (long q = 0; q < e->cotangents; q++) {
        Sweep *s = line_sweep(l, line, side, q);
        double slope = 0, blur = line->moves ? blur_of(l, line->moves, q) : l->blur[q];
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
        if (line->moves) memset(line->moves, 0, (size_t)l->e->outputs);
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
    l->blur = arena_alloc(arena, cotangents * sizeof *l->blur);
    l->nowhere = arena_alloc(arena, cotangents * sizeof *l->nowhere);
    l->slope = arena_alloc(arena, outputs * sizeof *l->slope);
    l->line = arena_alloc(arena, (size_t)l->count * sizeof *l->line);
    for (long i = 0; i < l->count; i++) {
        Line *line = &l->line[i];
        *line = (Line){.coordinate = i, .wanted = true};
        line->sweep = arena_alloc(arena, SIDES * cotangents * sizeof *line->sweep);
        line->moves = e->steps ? arena_alloc(arena, outputs) : NULL;
        if (e->direction) continue;
        line->element = check_entries_element(e, i);
        line->at = (double)run->point->in[e->input].value[line->element];
    }
    check_noise(&l->noise, run, e->input, arena);
    for (long i = 0; i < (e->steps ? e->outputs : 0); i++)
        l->noise.change[i] = fmax(l->noise.change[i], e->steps[i]);
    l->end = run->evaluations + runs;
    for (long q = 0; q < e->cotangents; q++) {
        long i, end = end_of_outputs(e, q, &i);
        l->blur[q] = blur_of(l, NULL, q);
        for (; i < end; i++) l->nowhere[q] |= !isfinite(l->noise.here[i]);
    }
}
