#include "base/append.h"
#include "base/utf8.h"
#include "check/directories.h"
#include "check/gradcheck/tape_runner.h"
#include "check/grading/plan.h"
#include "check/sandbox.h"
#include "formats/json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 16, HELLO = 1 << 20 };

bool functions_use(Plan *p, const char *command, Error *e) {
    int from, to, words = 0;
    if (sscanf(command, "%d,%d", &from, &to) == 2) {
        p->attached = child_attach(from, to, &p->limits);
        p->keep[0] = from, p->keep[1] = to;
        return true;
    }
    p->program = arena_alloc(&p->arena, (WORDS + 1) * sizeof *p->program);
    for (char *word = strtok(plan_text(p, command, NULL), " "); word && words < WORDS;
         word = strtok(NULL, " "))
        p->program[words++] = word;
    return words || error_set(e, STATUS_USAGE, "--program: found none, need a command");
}

static void become(void *context, long i) {
    const Plan *p = context;
    (void)i;
    const SandboxNeeds needs = {.interpreter = p->readable, .writable = child_directory()};
    if (p->folder) sandbox_enter(p->folder, &needs);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1); /* the cases run side by side */
    child_become(p->program);
}

Child *functions_start(const Plan *p, const ChildLimits *limits) {
    enum { MAX_WRITTEN = 1 << 25, PARTS = 32 };
    ChildLimits own = *limits;
    own.folder = p->folder;
    own.folder_bytes = p->folder ? directory_free_bytes(p->folder) / PARTS : 0;
    if (own.folder_bytes > MAX_WRITTEN) own.folder_bytes = MAX_WRITTEN;
    return p->attached ? p->attached : child_start(0, &own, become, (void *)(uintptr_t)p);
}

/* ---- Its cases ---- */

static const double to_come = 0; /* the values of an input that follow the line */

static bool read_shape(Json *j, Shape *s) {
    uint64_t size;
    for (json_enter(j, '['); json_element(j); s->size[s->rank++] = (long)size) {
        if (s->rank == MAX_RANK) return json_fail(j, "found more than %d axes", MAX_RANK);
        if (!json_natural(j, &size)) return false;
        if (size > JOB_CHANGES)
            return json_fail(j, "found size %ju, need at most %d", (uintmax_t)size, JOB_CHANGES);
    }
    long count;
    if (!j->failed && (!shape_fits(s->rank, s->size, sizeof(real), &count) || count > JOB_CHANGES))
        return json_fail(j, "found more than %d elements", JOB_CHANGES);
    return !j->failed;
}

static bool read_number(Json *j, double *x) {
    const char *at = j->text + j->at;
    char *end;
    if (!json_skip(j)) return false;
    *x = strtod(at, &end);
    return (end > at && isfinite(*x)) || json_fail(j, "found no number");
}

static bool read_input(Json *j, Plan *p, CheckInput *in) {
    JsonString key, text;
    for (json_enter(j, '{'); json_member(j, &key);) {
        if (strcmp(key.text, "name") == 0 && json_string(j, &text)) {
            utf8_make_printable(text.text, "");
            in->name = plan_text(p, text.text, NULL);
        } else if (strcmp(key.text, "shape") == 0) {
            read_shape(j, &in->shape);
        } else if (strcmp(key.text, "low") == 0) {
            read_number(j, &in->low);
        } else if (strcmp(key.text, "high") == 0) {
            read_number(j, &in->high);
        } else {
            if (strcmp(key.text, "values") == 0) in->values = &to_come;
            in->constant |= strcmp(key.text, "constant") == 0;
            json_skip(j);
        }
    }
    if (j->failed) return false;
    if (!in->name) return json_fail(j, "found an input without a name");
    long count;
    bool fits = shape_fits(in->shape.rank, in->shape.size, sizeof(double), &count);
    if (!fits || count > JOB_CHANGES)
        return json_fail(j, "found an input of more than %d elements", JOB_CHANGES);
    bool bounded = in->low != 0 || in->high != 0;
    if (bounded && in->low >= in->high)
        return json_fail(j, "found low %g and high %g", in->low, in->high);
    return true;
}

/* Reads a case: {"function": …, "inputs": […]}. */
static bool read_case(Json *j, Plan *p, PlanItem *item) {
    JsonString key, text;
    int inputs = 0;
    for (json_enter(j, '{'); json_member(j, &key);) {
        if (strcmp(key.text, "function") == 0 && json_string(j, &text)) {
            utf8_make_printable(text.text, "");
            snprintf(item->op, sizeof item->op, "%s", text.text);
        } else if (strcmp(key.text, "inputs") == 0) {
            for (json_enter(j, '['); json_element(j); inputs++) {
                if (inputs == CHECK_INPUTS)
                    return json_fail(j, "found more than %d inputs", CHECK_INPUTS);
                if (!read_input(j, p, &item->c.in[inputs])) return false;
            }
        } else {
            item->c.flat |= strcmp(key.text, "flat") == 0;
            json_skip(j);
        }
    }
    return !j->failed;
}

/* Takes the arrays of a case's inputs with values. */
static bool take_values(Program *program, Plan *p, PlanItem *item, Error *e) {
    for (CheckInput *in = item->c.in; in < item->c.in + CHECK_INPUTS; in++) {
        Array a;
        if (!in->values) continue;
        if (!protocol_array(program, in->name, &a, e)) return false;
        bool fits = array_expect_shape(&a, in->shape, e);
        double *x = arena_alloc(&p->arena, (size_t)(a.count + 1) * sizeof *x);
        if (fits) array_to_double(&a, x);
        array_free(&a);
        if (!fits) return false;
        in->values = x;
    }
    return true;
}

/* "x [3,5], w [5,4]" */
static void name_case(PlanItem *item) {
    item->name[0] = 0;
    for (const CheckInput *in = item->c.in; in < item->c.in + CHECK_INPUTS && in->name; in++)
        text_append(item->name, sizeof item->name, "%s%.40s %s", *item->name ? ", " : "", in->name,
                    shape_text(in->shape));
}

static bool read_cases(Program *program, Plan *p, const char *name, char *line, Error *e) {
    Json j = json_over("the program's first line", line, strlen(line), e);
    JsonString key;
    for (json_enter(&j, '{'); json_member(&j, &key);) {
        if (strcmp(key.text, "cases") != 0) {
            json_skip(&j);
            continue;
        }
        for (json_enter(&j, '['); json_element(&j);) {
            if (p->items == PLAN_CASES_MAX)
                return json_fail(&j, "found more than %d cases", PLAN_CASES_MAX);
            PlanItem *item = plan_item(p, name, "", (int)p->items);
            if (!read_case(&j, p, item)) return false;
            name_case(item);
        }
    }
    if (!json_end(&j)) return false;
    for (long i = 0; i < p->items; i++)
        if (!take_values(program, p, &p->item[i], e)) return false;
    return p->items || error_set(e, STATUS_BAD_DATA, "the program has no cases");
}

/* Adds the cases of `heard`, those of each function followed by others made from them. */
static void add_heard(Plan *p, const Plan *heard) {
    long first = p->items;
    for (const PlanItem *h = heard->item, *end = h + heard->items; h < end; h++) {
        plan_item(p, h->op, h->name, h->index)->c = h->c;
        if (h + 1 < end && strcmp(h[1].op, h->op) == 0) continue;
        if (!p->teachers) plan_add_made(p, first);
        first = p->items;
    }
}

bool functions_hello(Program *program, Plan *heard, const char *name, Error *e) {
    char *line = malloc(HELLO);
    if (!line) error_no_memory("a program's first line");
    program->awaited = "nothing";
    bool ok = protocol_line(program, line, HELLO);
    if (!ok && !program->end.printed)
        error_set(e, STATUS_BAD_DATA, "the program's first line has more than %d bytes", HELLO - 1);
    ok = ok && read_cases(program, heard, name, line, e);
    free(line);
    return ok;
}

void functions_add_cases(Plan *p, const char *name) {
    char text[CHILD_TEXT];
    Error e = {0};
    if (p->like) {
        functions_add_like(p);
        return;
    }
    Plan heard = {.arena = p->arena}; /* names and values are the plan's */
    Program program = {.child = functions_start(p, &p->limits)};
    if (!program.child) program.end = (ChildEnd){.fate = CHILD_NOT_BORN, .printed = ""};
    bool ok = program.child && functions_hello(&program, &heard, name, &e);
    p->arena = heard.arena;
    if (ok) {
        add_heard(p, &heard);
    } else {
        PlanItem *bad = plan_item(p, name, "loading", -1);
        const ChildEnd *end = &program.end;
        if (end->printed) child_last_line(bad->trouble, sizeof bad->trouble, end->printed);
        if (!e.status && end->fate == CHILD_TIMED_OUT && plan_is_foreign(p))
            snprintf(bad->trouble, sizeof bad->trouble,
                     "the program sent no first line, which lists the cases, in %g s",
                     p->limits.seconds);
        if (!bad->trouble[0])
            snprintf(bad->trouble, sizeof bad->trouble, "%s",
                     e.status ? e.text : child_text(text, end, &p->limits));
    }
    if (program.child) child_stop(program.child);
    free(heard.item);
}

/* ---- Cases of an operation of this project, at which functions are compared with it ---- */

/* The arguments of a case that is the operation alone, on its inputs in their order, as members of JSON. NULL: it is not. */
static const char *arguments_of(Plan *p, const Op *op, const CheckCase *c) {
    TapeRunner t = tape_runner_new(op->name, c);
    Arena arena = {0};
    CheckPoint point;
    char *text = NULL;
    size_t size;
    int next = 0;
    point_draw(&point, &arena, op->name, c, p->seed, POINT_DRAWN, 0);
    tape_runner_lay_out(&t, &point);
    tape_runner_ready(&t, &point, 0);
    tape_runner_record(&t, &point, &(JobWays){0});
    const Node *n = t.tape->last;
    bool alone = n && !n->previous && n->op == op;
    for (int k = 0; alone && k < n->inputs; k++)
        if (n->in[k]) alone = next < point.inputs && n->in[k] == t.x[0][next++];
    if (alone && next == point.inputs) {
        FILE *out = open_memstream(&text, &size);
        if (!out) error_no_memory("arguments");
        if (op->arguments) op->arguments(n, out);
        if (fclose(out) != 0 || !text) error_no_memory("arguments");
    }
    const char *found = text ? plan_text(p, text, NULL) : NULL;
    free(text);
    tape_runner_free(&t);
    arena_free(&arena);
    return found;
}

/* One tensor passed twice has no meaning for functions. NumPy refuses the maximum of no elements, and a row of -inf alone is
 * this project's to define. */
static bool takes_input(const CheckInput *in) {
    long count = shape_count(in->shape);
    for (long i = 0; in->values && i < count; i++)
        if (!isfinite(in->values[i])) return false;
    return count > 0 && !in->same_as;
}

void functions_add_like(Plan *p) {
    for (int i = 0; i < p->like->n_cases; i++) {
        CheckCase c = p->like->cases[i];
        bool fits = true;
        for (int k = 0; k < CHECK_INPUTS && c.in[k].name; k++) {
            fits &= takes_input(&c.in[k]);
            c.in[k].layout = CONTIGUOUS;
        }
        const char *arguments = fits ? arguments_of(p, p->like, &c) : NULL;
        if (!arguments) continue;
        PlanItem *item = plan_item(p, p->like->name, c.name, i);
        item->c = c, item->arguments = arguments;
    }
}

char *functions_line(const PlanItem *item) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) error_no_memory("a line");
    fprintf(out, "case {\"number\": %d, \"arguments\": {%s}", item->arguments ? 0 : item->index,
            item->arguments ? item->arguments : "");
    for (int gradients = 0; gradients < 2; gradients++) {
        const char *comma = "";
        fprintf(out, ", \"%s\": [", gradients ? "gradients" : "inputs");
        for (const CheckInput *in = item->c.in; in < item->c.in + CHECK_INPUTS && in->name; in++) {
            if (gradients && in->constant) continue;
            fputs(comma, out);
            json_print(out, in->name);
            comma = ", ";
        }
        fputc(']', out);
    }
    fprintf(out, "}\n");
    if (fclose(out) != 0 || !text) error_no_memory("a line");
    return text;
}
