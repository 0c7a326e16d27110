/* The cases that a program lists: PROTOCOL.md has the line. A C file sends the same line, with what
 * only its cases have, such as layouts (serve.c). */
#include "base/append.h"
#include "base/utf8.h"
#include "check/grading/plan.h"
#include "formats/json.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_LINE = 1 << 20 };

const ListedMember listing_input[] = {{"low", LISTED_NUMBER, offsetof(CheckInput, low)},
                                      {"high", LISTED_NUMBER, offsetof(CheckInput, high)},
                                      {"away_from", LISTED_NUMBER, offsetof(CheckInput, away_from)},
                                      {"margin", LISTED_NUMBER, offsetof(CheckInput, margin)},
                                      {"layout", REPEATED, offsetof(CheckInput, layout)},
                                      {"same_as", CHECK_INPUTS, offsetof(CheckInput, same_as)},
                                      {"distinct", LISTED_FLAG, offsetof(CheckInput, distinct)},
                                      {"constant", LISTED_FLAG, offsetof(CheckInput, constant)},
                                      {0}};
const ListedMember listing_case[] = {{"points", LISTED_NUMBER, offsetof(CheckCase, points)},
                                     {"flat", LISTED_FLAG, offsetof(CheckCase, flat)},
                                     {"kinks", LISTED_FLAG, offsetof(CheckCase, kinks)},
                                     {0}};

static const double to_come = 0; /* the values of an input that follow the line */

/* Takes the value of a member: one of the table, or one that does not matter. */
static bool read_member(Json *j, const ListedMember *m, const char *key, void *to) {
    const char *at = j->text + j->at;
    char *end;
    while (m->key && strcmp(m->key, key) != 0) m++;
    char *member = (char *)to + m->offset;
    if (!json_skip(j)) return false;
    double x = strtod(at, &end);
    bool is_number = end > at && isfinite(x);
    if (m->key && m->kind == LISTED_FLAG) *(bool *)member = strchr("0fn", *at) == NULL;
    if (!m->key || m->kind == LISTED_FLAG) return true;
    if (!is_number) return json_fail(j, "found no number");
    if (m->kind == LISTED_NUMBER) {
        *(double *)(void *)member = x;
        return true;
    }
    if (x < 0 || x > m->kind) return json_fail(j, "found %g, need at most %d", x, m->kind);
    *(int *)(void *)member = (int)x;
    return true;
}

static bool read_shape(Json *j, Shape *s) {
    uint64_t size;
    for (json_enter(j, '['); json_element(j);) {
        if (s->rank == MAX_RANK) return json_fail(j, "found more than %d axes", MAX_RANK);
        if (!json_natural(j, &size)) return false;
        if (size > JOB_CHANGES)
            return json_fail(j, "found size %ju, need at most %d", (uintmax_t)size, JOB_CHANGES);
        s->size[s->rank++] = (long)size;
    }
    long count;
    if (j->failed) return false;
    return (shape_fits(s->rank, s->size, sizeof(real), &count) && count <= JOB_CHANGES) ||
           json_fail(j, "found an input of more than %d elements", JOB_CHANGES);
}

/* A text of the plan, which is printable. */
static const char *read_text(Json *j, Plan *p) {
    JsonString text;
    if (!json_string(j, &text)) return "";
    utf8_make_printable(text.text, "");
    return plan_text(p, text.text, NULL);
}

/* Reads input k of a case. */
static bool read_input(Json *j, Plan *p, int k, CheckInput *in) {
    JsonString key;
    for (json_enter(j, '{'); json_member(j, &key);) {
        if (strcmp(key.text, "name") == 0)
            in->name = read_text(j, p);
        else if (strcmp(key.text, "shape") == 0)
            read_shape(j, &in->shape);
        else if (!read_member(j, listing_input, key.text, in))
            return false;
        if (strcmp(key.text, "values") == 0) in->values = &to_come;
    }
    if (j->failed) return false;
    if (!in->name) return json_fail(j, "found an input without a name");
    if (in->same_as > k) return json_fail(j, "found input %d as a later one", k);
    return in->low <= in->high || json_fail(j, "found low %g and high %g", in->low, in->high);
}

static bool read_inputs(Json *j, Plan *p, CheckInput in[CHECK_INPUTS]) {
    int inputs = 0;
    for (json_enter(j, '['); json_element(j); inputs++) {
        if (inputs == CHECK_INPUTS) return json_fail(j, "found more than %d inputs", CHECK_INPUTS);
        if (!read_input(j, p, inputs, &in[inputs])) return false;
    }
    return !j->failed;
}

/* "x [3,5], w [5,4]" */
static void name_by_inputs(PlanItem *item) {
    char name[4 * REPORT_NAME] = "";
    for (const CheckInput *in = item->c.in; in < item->c.in + CHECK_INPUTS && in->name; in++)
        text_append(name, sizeof name, "%s%s %s", *name ? ", " : "", in->name,
                    shape_text(in->shape));
    REPORT_SET(item->name, name);
}

static bool read_case(Json *j, Plan *p, PlanItem *item) {
    JsonString key;
    for (json_enter(j, '{'); json_member(j, &key);) {
        if (strcmp(key.text, "function") == 0) {
            REPORT_SET(item->op, read_text(j, p));
        } else if (strcmp(key.text, "case") == 0) {
            item->c.name = read_text(j, p);
            REPORT_SET(item->name, item->c.name);
        } else if (strcmp(key.text, "inputs") == 0) {
            read_inputs(j, p, item->c.in);
        } else if (!read_member(j, listing_case, key.text, &item->c)) {
            return false;
        }
    }
    if (!*item->name) name_by_inputs(item);
    return !j->failed;
}

/* Takes the arrays of a case's inputs with values, of at most *left elements. */
static bool take_values(Program *program, Plan *p, PlanItem *item, long *left, Error *e) {
    for (CheckInput *in = item->c.in; in < item->c.in + CHECK_INPUTS; in++) {
        Array a;
        if (!in->values) continue;
        if (!npy_receive(&a, in->name, *left, program_take, program, e)) return false;
        bool fits = array_expect_shape(&a, in->shape, e);
        double *x = arena_alloc(&p->arena, (size_t)(a.count + 1) * sizeof *x);
        if (fits) array_to_double(&a, x);
        *left -= a.count;
        array_free(&a);
        if (!fits) return false;
        in->values = x;
    }
    return true;
}

static bool read_cases(Program *program, Plan *p, const char *name, char *line, Error *e) {
    Json j = json_over("the program's first line", line, strlen(line), e);
    JsonString key;
    long left = JOB_GRADIENTS;
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
        }
    }
    if (!json_end(&j)) return false;
    for (long i = 0; i < p->items; i++)
        if (!take_values(program, p, &p->item[i], &left, e)) return false;
    return p->items || error_set(e, STATUS_BAD_DATA, "has no cases");
}

bool listing_take(Program *program, Plan *heard, const char *name, Error *e) {
    char *line = malloc(FIRST_LINE);
    if (!line) error_no_memory("a program's first line");
    program->awaited = "nothing";
    bool ok = program_line(program, line, FIRST_LINE);
    if (!ok && !program->end.printed)
        error_set(e, STATUS_BAD_DATA, "the first line has more than %d bytes", FIRST_LINE - 1);
    ok = ok && read_cases(program, heard, name, line, e);
    free(line);
    return ok;
}

/* Adds the cases of `heard`, those of each function followed by others made from them. */
static void add_heard(Plan *p, const Plan *heard) {
    long first = p->items;
    for (const PlanItem *h = heard->item; h < heard->item + heard->items; h++) {
        plan_item(p, h->op, h->name, h->index)->c = h->c;
        if (h + 1 < heard->item + heard->items && strcmp(h[1].op, h->op) == 0) continue;
        if (!p->given) plan_add_made(p, first);
        first = p->items;
    }
}

/* Why there are no cases. A program in another language has the last word itself. */
static void say_why(const Plan *p, const Program *program, const Error *e, PlanItem *bad) {
    const ChildEnd *end = &program->end;
    char text[CHILD_TEXT];
    if (e->status) {
        REPORT_SET(bad->trouble, e->text);
    } else if (end->fate == CHILD_TIMED_OUT && plan_is_foreign(p)) {
        snprintf(bad->trouble, REPORT_TEXT,
                 "the program sent no first line, which lists the cases, in %g s",
                 p->limits.seconds);
    } else {
        bool asked = plan_is_foreign(p) && end->printed;
        child_last_line(bad->trouble, sizeof bad->trouble, asked ? end->printed : "");
        bool loading = end->number != STATUS_BUG && end->fate != CHILD_NOT_BORN;
        if (!bad->trouble[0])
            snprintf(bad->trouble, sizeof bad->trouble, "%s%s", child_text(text, end, &p->limits),
                     loading ? " while it was loaded" : "");
    }
    utf8_make_printable(bad->trouble, "");
}

void listing_add(Plan *p, Child *child, const char *name) {
    Error e = {0};
    Plan heard = {.arena = p->arena}; /* names and values are the plan's */
    Program program = {.child = child};
    if (!child) program.end = (ChildEnd){.fate = CHILD_NOT_BORN, .printed = ""};
    bool ok = child && listing_take(&program, &heard, name, &e);
    p->arena = heard.arena;
    if (ok)
        add_heard(p, &heard);
    else
        say_why(p, &program, &e, plan_item(p, name, e.status ? "cases" : "loading", -1));
    if (child) child_stop(child);
    free(heard.item);
}
