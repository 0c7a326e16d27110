/* The walk on a terminal: its contents, then matrices, formulas and sums; forward, or in reverse
 * with gradients. */
#include "explain/steps.h"
#include "base/append.h"
#include "base/terminal.h"
#include "explain/screen.h"
#include "training/optimizer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 40 };
#define LEARNING_RATE 0.001

/* ---- Steps ---- */

/* A step is a record that is more than other records' numbers in another order. */
static bool is_step(const Records *r, const Node *n) {
    if (nn_trace_name_of(r->trace, n->out)) return true;
    return !step_rearranges(n);
}

static bool is_chosen(const Show *s, const Record *record) {
    const StepOptions *o = s->options;
    char name[RECORD_NAME], index[24];
    const Node *n = record->node;
    if (o->backward && !record_reached(n)) return false;
    if (o->module && strncmp(record->module, o->module, strlen(o->module)) != 0) return false;
    bool outside = n->index < s->first_layer || n->index > s->last_layer;
    bool here = o->module || s->everywhere || outside ||
                strncmp(record->module, s->layer, strlen(s->layer)) == 0;
    if (!o->step) return here && is_step(s->records, n);
    snprintf(index, sizeof index, "%ld", n->index);
    if (strcmp(o->step, index) == 0) return true;
    return here && (strcmp(o->step, record_name(s->records, n->out, name)) == 0 ||
                    strcmp(o->step, n->op->name) == 0);
}

/* The i-th record in the order of the walk. */
static const Record *record_at(const Show *s, long i) {
    const Records *r = s->records;
    return &r->of[s->options->backward ? r->count - 1 - i : i];
}

/* Prints formulas, as many on a line as fit. */
static void print_formula(const char *formula) {
    enum { INDENT = 4 };
    char line[RECORD_FORMULA] = "";
    while (*formula) {
        size_t length = strcspn(formula, "\n");
        bool fits = strlen(line) + length + INDENT + 3 < (size_t)terminal_of(stdout).width;
        if (*line && !fits) {
            step_say(INDENT, "%s", line);
            *line = 0;
        }
        text_append(line, sizeof line, "%s%.*s", *line ? "; " : "", (int)length, formula);
        formula += length + (formula[length] == '\n');
    }
    if (*line) step_say(INDENT, "%s", line);
}

static void print_forward_step(const Show *s, const Record *record) {
    Node *n = record->node;
    char name[RECORD_NAME], call[TEXT], formula[RECORD_FORMULA];
    step_say(0, "%ld %s = %s, %s", n->index, step_name(s, n->out, name), step_call(s, n, call),
             shape_text(n->out->shape));
    if (!step_rearranges(n)) print_formula(record_formula(n, false, formula));
    step_print_values(s, n->out);
    step_print_forward_cell(s, n);
}

static void print_difference(const Show *s, Node *n) {
    long cell = n->op->view ? -1 : step_cell_or_largest(s, n->out, n->out->grad);
    char text[TEXT];
    if (cell < 0) return;
    step_element(s, n->out, cell, text);
    if (!isfinite(n->out->data[cell])) {
        step_say(4, "dL/d %s: 0; the value is -inf, set by the mask, and cannot be pushed", text);
        return;
    }
    Sweep found = backward_difference(n, cell);
    step_say(4, "dL/d %s: %.10g; by differences %.10g, with an error of about %.1e", text,
             (double)n->out->grad[cell] + 0.0, found.value + 0.0, found.error);
}

/* A gradient that has one part alone is shown where it arrives. */
static void print_additions(const Show *s, Node *n) {
    const StepOptions *o = s->options;
    char name[RECORD_NAME], part[48] = "";
    for (int k = 0; k < n->inputs; k++) {
        if (!backward_reaches(n, k)) continue;
        const Tensor *x = n->in[k];
        Arena arena = {0};
        long visited, parts = record_parts(s->records, x, n->index, &visited);
        if (parts > 1) snprintf(part, sizeof part, ", part %ld of %ld", visited, parts);
        step_say(2, "adds to dL/d %s, %s%s", step_name(s, x, name), shape_text(x->shape),
                 parts > 1 ? part : "");
        const real *added = backward_part(&arena, n, k);
        if (!n->op->view && (o->full || o->step || !x->maker)) step_print_matrix(s, x, added);
        if (!n->op->view) step_print_added_cell(s, n, k, added);
        arena_free(&arena);
    }
}

static void print_backward_step(const Show *s, const Record *record) {
    Node *n = record->node;
    const Derivation *d = backward_derivation(n->op);
    char name[RECORD_NAME], call[TEXT], formula[RECORD_FORMULA];
    long visited, parts = record_parts(s->records, n->out, 0, &visited);
    step_name(s, n->out, name);
    step_say(0, "%ld dL/d %s, %s, of %s = %s", n->index, name, shape_text(n->out->shape), name,
             step_call(s, n, call));
    if (parts > 1) step_say(2, "the sum of %ld parts", parts);
    step_print_matrix(s, n->out, n->out->grad);
    print_difference(s, n);
    print_formula(record_formula(n, true, formula));
    if (d && *d->keeps) step_say(4, "%s", d->keeps);
    print_additions(s, n);
}

/* ---- Contents ---- */

static void print_tokens(const char *side, const PassText *x) {
    enum { MAX_TOKENS = 40 };
    Terminal t = terminal_of(stdout);
    int column = printf("%s:", side);
    for (long i = 0; i < x->count && i < MAX_TOKENS; i++) {
        char label[LABEL_TEXT];
        int columns = label_of(label, x->labels.of[i], MAX_LABEL);
        int width = 2 + columns + snprintf(NULL, 0, "%d", (int)x->id[i]);
        bool breaks = column + width > t.width;
        printf("%s%s=%d", breaks ? "\n  " : " ", label, (int)x->id[i]);
        column = (breaks ? 1 : column) + width;
    }
    puts(x->count > MAX_TOKENS ? "\n  ..." : "");
}

/* "embedding" and "encoder.layers.0" of longer names. */
static int part_length(const char *module) {
    const char *layers = strstr(module, ".layers.");
    if (!layers) return (int)strlen(module);
    size_t number = strlen(".layers.");
    return (int)(layers - module) + (int)(number + strcspn(layers + number, "."));
}

/* A line of the contents for records that are not shown, up to the next that is. Returns how many
 * they are. */
static long print_gap(const Show *s, long first) {
    char modules[MAX_NAMES][PARAMETER_NAME], last[PARAMETER_NAME] = "", text[TEXT] = "";
    long end = first, steps = 0;
    int count = 0;
    for (; end < s->records->count && !is_chosen(s, record_at(s, end)); end++) {
        const Record *r = record_at(s, end);
        steps += is_step(s->records, r->node);
        int length = part_length(r->module);
        bool is_new = (int)strlen(last) != length || strncmp(last, r->module, (size_t)length) != 0;
        if (!is_new || !is_step(s->records, r->node) || count == MAX_NAMES) continue;
        snprintf(last, sizeof last, "%.*s", length, r->module);
        snprintf(modules[count++], PARAMETER_NAME, "%s", last);
    }
    bool inside = count == 1 && strncmp(modules[0], s->layer, strlen(modules[0])) == 0;
    if (steps == 0 || inside) return end - first;
    text_append(text, TEXT, "%s", modules[0]);
    if (count > 1) text_append(text, TEXT, " to %s", modules[count - 1]);
    step_say(2, "... %ld step%s of %s", steps, PLURAL(steps), text);
    return end - first;
}

/* "  20 A              [4,3,3]   Row i: …"; on a narrow terminal the sentence is a line of its own.
 */
static void print_entry(const char *name, const char *shape, const char *sentence) {
    enum { NAME = 20, SHAPE = 10 };
    printf("%-*s%s%-*s", NAME, name, strlen(name) < NAME ? "" : " ", SHAPE, shape);
    if (NAME + SHAPE + (int)strlen(sentence) < terminal_of(stdout).width) {
        puts(sentence);
        return;
    }
    putchar('\n');
    print_wrapped(sentence, 6);
}

static void print_contents(const Show *s) {
    const Records *r = s->records;
    const StepOptions *o = s->options;
    const ModelConfig *c = &r->model->config;
    char name[RECORD_NAME];
    step_say(0, "%s, d_model %d, %d heads of d_k %ld; head %ld is shown",
             o->pass.run ? o->pass.run : "random weights", c->d_model, c->heads, config_d_k(c),
             o->head);
    const PassText *source = &s->pass->source;
    if (source->count && source->id != s->pass->target.id) print_tokens("source", source);
    print_tokens("tokens", &s->pass->target);
    if (o->backward) step_say(0, "backward from L = %.6g", (double)*records_loss(r)->data);
    for (long i = 0; i < r->count; i++) {
        if (!is_chosen(s, record_at(s, i))) {
            i += print_gap(s, i) - 1;
            continue;
        }
        const Node *n = record_at(s, i)->node;
        char head[RECORD_NAME + 64];
        snprintf(head, sizeof head, "%4ld %s%s", n->index, o->backward ? "dL/d " : "",
                 step_name(s, n->out, name));
        print_entry(head, shape_text(n->out->shape), record_sentence(r, n));
    }
}

static void print_next(const Show *s) {
    const StepOptions *o = s->options;
    static const char *const next[][2] = {
        {"./explain --step S --cell 0,1", "Next, the sum behind a number"},
        {"./explain --backward", "the way back from the loss"},
        {"./explain --module decoder.layers.0", "a layer of the decoder"},
        {"./explain --characters", "the fifteen characters of a verse"},
        {"./explain scaling", "why scores are scaled"}};
    if (o->pass.run || o->step || o->module || o->backward) return;
    putchar('\n');
    for (size_t i = 0; i < sizeof next / sizeof *next; i++)
        step_say(0, "%s: %s", next[i][1], next[i][0]);
}

/* ---- The update ---- */

/* AdamW's first step of one weight: the largest gradient of the first matrix of the shown layer. */
typedef struct FirstStep {
    const Parameter *weight;
    long at;
    double norm, scale, g, m, v, before, after;
} FirstStep;

static bool find_update(const Show *s, FirstStep *u, Optimizer *o, Error *e) {
    Parameters *p = &s->records->model->parameters;
    *u = (FirstStep){.scale = 1};
    for (int i = p->count - 1; i >= 0; i--) {
        const Parameter *each = &p->entry[i];
        if (each->shape.rank == 2 && strncmp(each->name, s->layer, strlen(s->layer)) == 0)
            u->weight = each;
    }
    if (!u->weight || !optim_start(o, p, e)) return false;
    Tensor x = {.shape = u->weight->shape};
    long cell = step_cell_or_largest(s, &x, p->grad + u->weight->offset);
    u->at = cell < 0 ? 0 : cell;
    long index = u->weight->offset + u->at;
    u->norm = optim_clip(o, p, &u->scale);
    u->g = (double)p->grad[index];
    u->before = (double)p->value[index];
    optim_update(o, p, LEARNING_RATE, u->scale);
    u->m = (double)o->moment1[index];
    u->v = (double)o->moment2[index];
    u->after = (double)p->value[index];
    optim_stop(o);
    return true;
}

static bool show_update(const Show *s, Error *e) {
    Optimizer o = optim_default(&optimizer_adamw);
    FirstStep u;
    if (!find_update(s, &u, &o, e)) return e->status == STATUS_DONE;
    long columns = u.weight->shape.size[1];
    if (s->options->json) {
        printf("{\"update\": \"%s\", \"at\": %ld, \"g\": %.17g, \"norm\": %.17g, \"scale\": %.17g, "
               "\"m\": %.17g, \"v\": %.17g, \"before\": %.17g, \"after\": %.17g}\n",
               u.weight->name, u.at, u.g, u.norm, u.scale, u.m, u.v, u.before, u.after);
        return true;
    }
    char name[RECORD_NAME];
    const char *weight = step_name(s, u.weight->part[0], name);
    step_say(0, "\nThe update: AdamW, step 1, of w = %s[%ld,%ld]", weight, u.at / columns,
             u.at % columns);
    step_say(2, "clip: the norm of all gradients is %.6g; %s %g: g' = %.6g·g = %.6g, g = %.6g",
             u.norm, u.scale < 1 ? "it is cut to" : "it may be up to", o.clip_norm, u.scale,
             u.scale * u.g, u.g);
    step_say(2, "moments: m = %g·0 + %g·g' = %.6g, v = %g·0 + %g·g'^2 = %.6g", o.beta1, 1 - o.beta1,
             u.m, o.beta2, 1 - o.beta2, u.v);
    step_say(2, "correction: m^ = m / (1 - %g) = %.6g, v^ = v / (1 - %g) = %.6g", o.beta1,
             u.m / (1 - o.beta1), o.beta2, u.v / (1 - o.beta2));
    step_say(2, "step: w = %.8g - %g·m^ / (sqrt(v^) + %g) = %.8g, with a weight decay of %g",
             u.before, LEARNING_RATE, adamw_epsilon, u.after, o.weight_decay);
    return true;
}

/* ---- All ---- */

static bool read_cell(Show *s, const char *text, Error *e) {
    char end;
    s->row = s->column = -1;
    if (!text) return true;
    int read = sscanf(text, "%ld,%ld%c", &s->row, &s->column, &end);
    if (read == 2 && s->row >= 0 && s->column >= 0) return true;
    return error_set(e, STATUS_USAGE, "--cell: found \"%s\", need ROW,COLUMN, from 0",
                     ESCAPED(text));
}

/* Adds a word to a list, unless it is there. */
static void add_word(char list[TEXT], const char *word) {
    char entry[RECORD_NAME + 4];
    snprintf(entry, sizeof entry, " %s,", word);
    if (!strstr(list, entry)) text_append(list, TEXT, "%s ", entry + 1);
}

static bool any_chosen(const Show *s) {
    for (long i = 0; i < s->records->count; i++)
        if (is_chosen(s, &s->records->of[i])) return true;
    return false;
}

/* Why nothing is chosen. */
static bool nothing_chosen(const Show *s, Error *e) {
    const StepOptions *o = s->options;
    char steps[TEXT] = " ", modules[TEXT] = " ", name[RECORD_NAME], part[PARAMETER_NAME];
    for (long i = 0; i < s->records->count; i++) {
        const Record *r = &s->records->of[i];
        snprintf(part, sizeof part, "%.*s", part_length(r->module), r->module);
        add_word(modules, part);
        if (o->module && strncmp(r->module, o->module, strlen(o->module)) != 0) continue;
        if (!is_step(s->records, r->node)) continue;
        add_word(steps, record_name(s->records, r->node->out, name));
        add_word(steps, r->node->op->name);
    }
    if (!o->step || strlen(steps) < 2)
        return error_set(e, STATUS_USAGE, "--module: found \"%s\", need one of%.*s",
                         ESCAPED(o->module), (int)strlen(modules) - 2, modules);
    return error_set(e, STATUS_USAGE, "--step: found \"%s\", need one of%.*s", ESCAPED(o->step),
                     (int)strlen(steps) - 2, steps);
}

/* Whether --cell is an element of a shown matrix. */
static bool check_cell(const Show *s, Error *e) {
    if (s->row < 0) return true;
    for (long i = 0; i < s->records->count; i++) {
        const Record *r = &s->records->of[i];
        if (!is_chosen(s, r)) continue;
        if (step_cell(s, r->node->out) >= 0) return true;
        if (!s->options->backward) continue;
        for (int k = 0; k < r->node->inputs; k++)
            if (r->node->in[k] && step_cell(s, r->node->in[k]) >= 0) return true;
    }
    return error_set(e, STATUS_USAGE, "--cell: found %s, need an element of a matrix that is shown",
                     s->options->cell);
}

static void find_layer(Show *s) {
    const Records *r = s->records;
    const char *wanted = s->options->module ? s->options->module : "";
    s->first_layer = r->count;
    for (long i = 0; i < r->count; i++) {
        const char *module = r->of[i].module;
        if (!strstr(module, ".layers.")) continue;
        s->last_layer = i;
        if (s->first_layer == r->count) s->first_layer = i;
        if (!*s->layer && strncmp(module, wanted, strlen(wanted)) == 0)
            snprintf(s->layer, sizeof s->layer, "%.*s.", part_length(module), module);
    }
}

static void print_json(const Show *s) {
    const Records *r = s->records;
    const StepOptions *o = s->options;
    bool all = !o->step && !o->module;
    if (all) {
        records_json_head(r, o->backward);
        records_json_parameters(r, o->backward);
    }
    for (long i = 0; i < r->count; i++) {
        const Record *record = record_at(s, i);
        Node *n = record->node;
        bool shown = all ? !o->backward || record_reached(n) : is_chosen(s, record);
        if (!shown) continue;
        record_json(r, n->index, o->backward);
        long cell = step_cell(s, n->out);
        if (cell >= 0 && !o->backward) record_json_cell(r, n->index, cell);
        if (cell >= 0 && o->backward && !n->op->view && isfinite(n->out->data[cell]))
            record_json_difference(r, n->index, cell);
        if (!o->backward) continue;
        for (int k = 0; k < n->inputs; k++)
            if (backward_reaches(n, k) && step_cell(s, n->in[k]) >= 0)
                record_json_addition(r, n->index, k, step_cell(s, n->in[k]));
    }
}

static void print_all(const Show *s) {
    bool is_later = !s->options->step;
    if (is_later) print_contents(s);
    for (long i = 0; i < s->records->count; i++) {
        const Record *record = record_at(s, i);
        if (!is_chosen(s, record)) continue;
        if (is_later) putchar('\n');
        is_later = true;
        if (s->options->backward)
            print_backward_step(s, record);
        else
            print_forward_step(s, record);
    }
    print_next(s);
}

static bool show(Show *s, Error *e) {
    const StepOptions *o = s->options;
    find_layer(s);
    if (!read_cell(s, o->cell, e)) return false;
    s->everywhere = !any_chosen(s);
    if (!any_chosen(s)) return nothing_chosen(s, e);
    if (!check_cell(s, e)) return false;
    if (o->json)
        print_json(s);
    else
        print_all(s);
    return !o->backward || o->step || show_update(s, e);
}

bool explain_steps(const StepOptions *o, Error *e) {
    Pass p;
    Records r;
    bool ok = pass_open(&p, &o->pass, e), merges = o->step && strcmp(o->step, "merges") == 0;
    if (ok && merges) {
        ok = pass_print_merges(&p, o->json, e);
    } else if (ok) {
        pass_records(&p, &r);
        ok = pass_has_head(&p, o->head, e) && (!o->backward || records_backward(&r, e)) &&
             show(&(Show){.records = &r, .pass = &p, .options = o}, e);
    }
    pass_close(&p);
    return ok;
}
