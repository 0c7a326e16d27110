#include "check/gradcheck/check_lines.h"
#include <math.h>
#include <string.h>

/* Steps of a sweep. Each is half the previous one. */
enum { STEPS = 20 };

/* Current lines: at most MAX_LINES, and at most CAPACITY output numbers on both sides together,
 * but at least one line. */
enum { CAPACITY = 1 << 16, MAX_LINES = 128 };

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

/* Returns the end of the outputs with a nonzero weight in cotangent q; they begin at *first. */
static long end_of_outputs(const Entries *e, long q, long *first) {
    bool one_hot = e->whole && q > 0;
    *first = one_hot ? q - 1 : 0;
    return one_hot ? q : e->outputs;
}

static void sum_up(Lines *l) {
    const Entries *e = l->e;
    for (long q = 0; q < e->cotangents; q++) {
        long i, end = end_of_outputs(e, q, &i);
        for (; i < end; i++) {
            l->blur[q] =
                hypot(l->blur[q], (double)e->cotangent[q * e->outputs + i] * l->noise.change[i]);
            l->nowhere[q] |= !isfinite(l->noise.here[i]);
        }
    }
}

/* ---- Sweeps ---- */

/* Returns the first step, a power of two near |x| / 8. */
static double first_step(const Line *line) {
    double size = isfinite(line->at) ? fmax(fabs((double)line->at), 1) : 1;
    return ldexp(1, ilogb(size) - 3);
}

/* Smaller steps lose too many digits of x ± step. */
static double last_step(const Line *line) {
    return 32 * (double)REAL_EPSILON * (isfinite(line->at) ? fabs((double)line->at) : 0);
}

static void start_sweeps(const Lines *l, Line *line, int order) {
    for (long q = 0; q < l->e->cotangents; q++) sweep_start(&line->sweep[q], order);
}

/* The output is not finite at the point nor a step away; smaller steps will not change that. */
static bool is_nowhere(const Lines *l, const Line *line, long q) {
    return l->nowhere[q] && !line->crossed && line->sweep[q].levels == 0;
}

/* The estimate is sharp and confirms the gradient: more steps would change no verdict. */
static bool confirms(const Lines *l, const Line *line, long q) {
    const Sweep *s = &line->sweep[q];
    double analytic = l->e->entry[q * l->e->coordinates + line->coordinate].analytic;
    return sweep_settled(s, CHECK_SHARP / (20 * SWEEP_TRUST)) &&
           fabs(analytic - s->value) <= CHECK_SHARP / 2 * fabs(s->value);
}

static bool all_settled(const Lines *l, const Line *line) {
    for (long q = 0; q < l->e->cotangents; q++) {
        if (is_nowhere(l, line, q) || confirms(l, line, q)) continue;
        if (!sweep_settled(&line->sweep[q], 64 * (double)REAL_EPSILON)) return false;
    }
    return true;
}

/* The noise of cotangent q's sum over the outputs. Where it is large, an output that never moves
 * has none. */
static double blur_of(const Lines *l, const Line *line, long q) {
    double blur = 0;
    if (!line->moves) return l->blur[q];
    long i, end = end_of_outputs(l->e, q, &i);
    for (; i < end; i++)
        if (line->moves[i])
            blur = hypot(blur, (double)l->e->cotangent[q * l->e->outputs + i] * l->noise.change[i]);
    return blur;
}

/* Gives every cotangent's sweep the difference between the outputs at the points `span` apart. */
static void add_differences(Lines *l, Line *line, const real *above, const real *below,
                            double span) {
    const Entries *e = l->e;
    for (long i = 0; i < e->outputs; i++) {
        double a = (double)above[i], b = (double)below[i];
        l->slope[i] = a == b ? 0 : (a - b) / span; /* equal infinities are equal */
        if (line->moves)
            line->moves[i] |= above[i] != l->noise.here[i] || below[i] != l->noise.here[i];
    }
    for (long q = 0; q < e->cotangents; q++) {
        double slope = 0;
        long i, end = end_of_outputs(e, q, &i);
        for (; i < end; i++) slope += (double)e->cotangent[q * e->outputs + i] * l->slope[i];
        /* Outside the domain: smaller steps start a new sweep. */
        if (!isfinite(slope))
            sweep_start(&line->sweep[q], line->sweep[q].order);
        else
            sweep_add(&line->sweep[q], line->step, slope, blur_of(l, line, q) / line->step);
    }
}

static void take_both_sides(Lines *l, Line *line, double up, double down) {
    const uint64_t *branches = l->run->result.branches + line->run;
    line->crossed = branches[0] != l->noise.branches || branches[1] != l->noise.branches;
    if (line->crossed)
        start_sweeps(l, line, CENTRAL);
    else
        add_differences(l, line, check_run_output(l->run, line->run),
                        check_run_output(l->run, line->run + 1),
                        isfinite(line->at) ? up - down : 2 * line->step);
}

static void take_one_side(Lines *l, Line *line, double there) {
    uint64_t branches = l->run->result.branches[line->run];
    if (branches != line->before) start_sweeps(l, line, ONE_SIDED);
    line->before = branches;
    add_differences(l, line, check_run_output(l->run, line->run), l->noise.here,
                    there - (double)line->at);
}

/* The coordinate one step away, rounded to real. */
static double at_step(const Line *line, int side) {
    return (double)(real)((double)line->at + side * line->step);
}

void lines_sweep(Lines *l, double part, int side) {
    int order = side ? ONE_SIDED : CENTRAL;
    for (Line *line = l->line; line < l->line + l->count; line++) {
        line->under_way = line->wanted;
        line->step = part * first_step(line);
        line->before = 0;
        if (line->moves) memset(line->moves, 0, (size_t)l->e->outputs);
        if (line->wanted) start_sweeps(l, line, order);
    }
    for (int i = 0; i < STEPS; i++) {
        for (Line *line = l->line; line < l->line + l->count; line++) {
            line->under_way &= line->step > last_step(line) && (i == 0 || !all_settled(l, line));
            if (!line->under_way) continue;
            line->run = ask_at(l, line, at_step(line, side ? side : 1));
            if (!side) ask_at(l, line, at_step(line, -1));
        }
        if (!l->run->asked) return;
        check_run_all(l->run, NULL);
        for (Line *line = l->line; line < l->line + l->count; line++) {
            if (!line->under_way) continue;
            if (side)
                take_one_side(l, line, at_step(line, side));
            else
                take_both_sides(l, line, at_step(line, 1), at_step(line, -1));
            line->step /= 2;
        }
    }
}

/* ---- Far away ---- */

/* Compares the outputs of a run with those at the point, up to rounding: w x / w may differ from
 * x. A run that overflows or leaves the domain says nothing. */
static void look(const Lines *l, Line *line, long run) {
    const real *y = check_run_output(l->run, run), *here = l->noise.here;
    bool same = true;
    for (long i = 0; i < l->e->outputs; i++) {
        if (y[i] == here[i]) continue;
        if (!isfinite(y[i])) return;
        same &= fabs((double)y[i] - (double)here[i]) <= l->noise.change[i];
    }
    line->constant &= same;
}

void lines_look_far(Lines *l) {
    for (Line *line = l->line; line < l->line + l->count; line++) line->constant = line->wanted;
    for (double far = 0.7; far < 1e6; far *= 16) {
        for (Line *line = l->line; line < l->line + l->count; line++) {
            double size = fmax(fabs((double)line->at), 1);
            if (!line->constant) continue;
            line->run = ask_at(l, line, (double)line->at - far * size);
            ask_at(l, line, (double)line->at + far * size);
        }
        if (!l->run->asked) return;
        check_run_all(l->run, NULL);
        for (Line *line = l->line; line < l->line + l->count; line++)
            if (line->constant) {
                look(l, line, line->run);
                look(l, line, line->run + 1);
            }
    }
}

/* ---- Steps ---- */

/* The largest change of an output between two runs, or from the point where `from` is NULL. */
static double change_of(const Lines *l, const real *y, const real *from) {
    double largest = 0;
    if (!from) from = l->noise.here;
    for (long i = 0; i < l->e->outputs; i++)
        largest = fmax(largest, fabs((double)y[i] - (double)from[i]));
    return largest;
}

/* Halves the distance in which the output first changes, on one side of each line. A jump
 * remains as large as the change far away, and the output rests on either side of it; a slope
 * becomes small. */
static void find_step(Lines *l, int side) {
    enum { HALVES = 14 };
    const double jump = 1e-3, rest = 1e-4, far = 7.3;
    for (int i = 0; i <= HALVES + 1; i++) {
        for (Line *line = l->line; line < l->line + l->count; line++) {
            double size = fmax(fabs((double)line->at), 1);
            if (i == 0) {
                line->inside = 0;
                line->outside = far * size;
            }
            if (!line->wanted) continue;
            double at = i == 0 || i > HALVES ? line->outside : (line->inside + line->outside) / 2;
            line->run = ask_at(l, line, (double)line->at + side * at);
            if (i > HALVES) ask_at(l, line, (double)line->at + side * (at + rest * size));
        }
        if (!l->run->asked) return;
        check_run_all(l->run, NULL);
        for (Line *line = l->line; line < l->line + l->count; line++) {
            if (!line->wanted) continue;
            const real *y = check_run_output(l->run, line->run);
            double change = change_of(l, y, NULL), middle = (line->inside + line->outside) / 2;
            if (i == 0) line->change = change;
            if (i > 0 && i <= HALVES) *(change > 0 ? &line->outside : &line->inside) = middle;
            if (i <= HALVES) continue;
            bool rests = change_of(l, check_run_output(l->run, line->run + 1), y) == 0;
            bool jumps = rests && change > fmax(jump * line->change, l->noise.floor / jump);
            line->steps += jumps;
            line->wanted = jumps || line->change == 0;
        }
    }
}

void lines_find_steps(Lines *l) {
    for (Line *line = l->line; line < l->line + l->count; line++) line->steps = 0;
    find_step(l, 1);
    find_step(l, -1);
    for (Line *line = l->line; line < l->line + l->count; line++)
        line->constant = line->wanted && line->steps > 0;
}

/* ---- Setup ---- */

void lines_open(Lines *l, CheckRun *run, const Entries *e, Arena *arena) {
    size_t outputs = (size_t)e->outputs, cotangents = (size_t)e->cotangents;
    *l = (Lines){.run = run, .e = e, .room = e->outputs ? CAPACITY / (2 * e->outputs) : MAX_LINES};
    if (l->room > MAX_LINES) l->room = MAX_LINES;
    if (l->room > e->coordinates) l->room = e->coordinates;
    if (l->room < 1) l->room = 1;
    l->blur = arena_alloc(arena, cotangents * sizeof *l->blur);
    l->nowhere = arena_alloc(arena, cotangents * sizeof *l->nowhere);
    l->slope = arena_alloc(arena, outputs * sizeof *l->slope);
    l->line = arena_alloc(arena, (size_t)l->room * sizeof *l->line);
    for (Line *line = l->line; line < l->line + l->room; line++) {
        line->sweep = arena_alloc(arena, cotangents * sizeof *line->sweep);
        line->right = arena_alloc(arena, cotangents * sizeof *line->right);
        line->moves = e->steps ? arena_alloc(arena, outputs + 1) : NULL;
    }
    check_noise(&l->noise, run, e->input, arena);
    for (long i = 0; i < (e->steps ? e->outputs : 0); i++)
        l->noise.change[i] = fmax(l->noise.change[i], e->steps[i]);
    sum_up(l);
}

void lines_set(Lines *l, long first) {
    long left = l->e->coordinates - first;
    l->count = left < l->room ? left : l->room;
    for (long i = 0; i < l->count; i++) {
        Line *line = &l->line[i];
        *line = (Line){.coordinate = first + i,
                       .sweep = line->sweep,
                       .right = line->right,
                       .moves = line->moves,
                       .wanted = true};
        if (l->e->direction) continue;
        line->element = check_entries_element(l->e, line->coordinate);
        line->at = l->run->point->in[l->e->input].value[line->element];
    }
}
