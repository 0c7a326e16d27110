/* The walk on a terminal: its contents, then matrices, formulas and sums; or in reverse, with
 * gradients. */
#include "explain/steps.h"
#include "base/append.h"
#include "explain/screen.h"
#include "formats/json.h"
#include "training/optimizer.h"
#include <math.h>
#include <string.h>

/* ---- Steps ---- */

/* Whether the record only arranges the numbers of another. */
static bool rearranges(const Node *n) {
    return n->op->view || n->op == &op_contiguous;
}

/* A step is a record that is more than other records' numbers in another order. */
static bool is_step(const Show *s, const Node *n) {
    return nn_trace_name_of(&s->records->trace, n->out) || !rearranges(n);
}

static bool begins(const char *text, const char *with) {
    return !with || strncmp(text, with, strlen(with)) == 0;
}

/* Without --step and --module the first layer is chosen, and what is in none. */
static bool is_chosen(const Show *s, const Record *record, bool everywhere) {
    const StepOptions *o = s->options;
    char name[RECORD_NAME], index[24];
    const Node *n = record->node;
    if (o->backward && !record_reached(n)) return false;
    if (!begins(record->module, o->module)) return false;
    bool outside = n->index < s->first_layer || n->index > s->last_layer;
    bool here = o->module || everywhere || outside || begins(record->module, s->layer);
    if (!o->step) return here && is_step(s, n);
    snprintf(index, sizeof index, "%ld", n->index);
    if (strcmp(o->step, index) == 0) return true;
    return here && (strcmp(o->step, record_name(s->records, n->out, name)) == 0 ||
                    strcmp(o->step, n->op->name) == 0);
}

static long choose(Show *s, bool everywhere) {
    long count = 0;
    for (long i = 0; i < s->records->count; i++) {
        s->chosen[i] = is_chosen(s, &s->records->of[i], everywhere);
        count += s->chosen[i];
    }
    return count;
}

/* The index of the i-th record in the order of the walk. */
static long in_order(const Show *s, long i) {
    return s->options->backward ? s->records->count - 1 - i : i;
}

/* ---- Text of a step ---- */

/* "matmul(a = Q, b = K^T)" */
static const char *call_text(const Show *s, const Node *n, char out[TEXT]) {
    char input[RECORD_INPUT], name[RECORD_NAME];
    const char *comma = "";
    if (rearranges(n)) {
        while (rearranges(n) && n->in[0]->maker) n = n->in[0]->maker;
        snprintf(out, TEXT, "numbers of %s", step_name(s, n->out, name));
        return out;
    }
    snprintf(out, TEXT, "%s(", n->op->name);
    for (int k = 0; k < n->inputs; k++) {
        if (!n->in[k]) continue;
        const char *letter = record_input(n, k, input);
        const char *operand = step_name(s, n->in[k], name);
        text_append(out, TEXT, "%s%s%s%s", comma, letter, *letter ? " = " : "", operand);
        comma = ", ";
    }
    text_append(out, TEXT, ")");
    return out;
}

/* Prints formulas, as many on a line as fit. */
static void print_formula(const Node *n, bool backward) {
    enum { INDENT = 4 };
    char all[RECORD_FORMULA], line[RECORD_FORMULA] = "", *rest = NULL;
    record_formula(n, backward, all);
    for (char *f = strtok_r(all, "\n", &rest); f; f = strtok_r(NULL, "\n", &rest)) {
        bool fits = INDENT + strlen(line) + 3 + strlen(f) < (size_t)terminal_of(stdout).width;
        if (*line && !fits) {
            step_say(INDENT, "%s", line);
            *line = 0;
        }
        text_append(line, sizeof line, "%s%s", *line ? "; " : "", f);
    }
    if (*line) step_say(INDENT, "%s", line);
}

/* "  20 A              [4,3,3]   Row i: …"; on a narrow terminal the sentence is a line of its own.
 */
static void print_entry(const Show *s, Node *n) {
    enum { NAME = 20, SHAPE = 10 };
    char name[RECORD_NAME], head[RECORD_NAME + 64];
    const char *sentence = record_sentence(s->records, n);
    snprintf(head, sizeof head, "%4ld %s", n->index, step_name(s, n->out, name));
    printf("%-*s%s%-*s", NAME, head, strlen(head) < NAME ? "" : " ", SHAPE,
           shape_text(n->out->shape));
    bool fits = NAME + SHAPE + (int)strlen(sentence) < terminal_of(stdout).width;
    if (!fits) putchar('\n');
    print_wrapped(sentence, fits ? 0 : 6);
}

static void print_forward(const Show *s, Node *n) {
    char name[RECORD_NAME], call[TEXT];
    Arena arena = {0};
    real *values = arena_alloc(&arena, (size_t)shape_count(n->out->shape) * sizeof *values);
    tensor_copy_out(n->out, values);
    step_say(0, "%ld %s = %s, %s", n->index, step_name(s, n->out, name), call_text(s, n, call),
             shape_text(n->out->shape));
    if (!rearranges(n)) print_formula(n, false);
    step_print_matrix(s, n->out, values);
    step_print_sum(s, n, -1);
    arena_free(&arena);
}

static void print_difference(const Show *s, Node *n) {
    long cell = n->op->view ? -1 : step_cell(s, n->out, n->out->grad);
    char text[TEXT];
    if (cell < 0) return;
    step_element(s, n->out, cell, text);
    if (!isfinite(n->out->data[cell])) {
        step_say(4, "dL/d %s: 0; the value is -inf, set by the mask, and cannot be pushed", text);
        return;
    }
    Sweep found = record_difference(n, cell);
    step_say(4, "dL/d %s: %.8g; by differences %.8g, error %.0e", text,
             (double)n->out->grad[cell] + 0.0, found.value + 0.0, found.error);
}

/* Prints what the record adds to the gradients of its operands. A gradient that has one part alone
 * is shown where it arrives. */
static void print_additions(const Show *s, Node *n) {
    for (int k = 0; k < n->inputs; k++) {
        char name[RECORD_NAME], part[48] = "";
        const Tensor *x = n->in[k];
        long visited;
        if (!record_adds(n, k)) continue;
        Arena arena = {0};
        long parts = record_parts(s->records, x, n->index, &visited);
        if (parts > 1) snprintf(part, sizeof part, ", part %ld of %ld", visited, parts);
        step_say(2, "adds to dL/d %s, %s%s", step_name(s, x, name), shape_text(x->shape), part);
        if (!n->op->view) {
            step_print_matrix(s, x, record_part(&arena, n, k));
            step_print_sum(s, n, k);
        }
        arena_free(&arena);
    }
}

static void print_backward(const Show *s, Node *n) {
    char name[RECORD_NAME], call[TEXT], sum[48] = "";
    long visited, parts = record_parts(s->records, n->out, 0, &visited);
    step_name(s, n->out, name);
    if (parts > 1) snprintf(sum, sizeof sum, ", a sum of %ld parts", parts);
    step_say(0, "%ld dL/d %s, %s%s, of %s = %s", n->index, name, shape_text(n->out->shape), sum,
             name, call_text(s, n, call));
    step_print_matrix(s, n->out, n->out->grad);
    print_difference(s, n);
    if (!s->brief || !rearranges(n)) print_formula(n, true);
    if (s->brief) return;
    if (*record_keeps(n)) step_say(4, "%s", record_keeps(n));
    print_additions(s, n);
}

/* ---- All ---- */

static void print_tokens(const char *side, const PassText *x) {
    enum { MAX_TOKENS = 40 };
    int width = terminal_of(stdout).width, column = printf("%s:", side);
    for (long i = 0; i < x->count && i < MAX_TOKENS; i++) {
        char label[LABEL_TEXT];
        int columns = label_of(label, x->labels.of[i], MAX_LABEL);
        columns += 2 + snprintf(NULL, 0, "%d", (int)x->id[i]);
        bool breaks = column + columns > width;
        printf("%s%s=%d", breaks ? "\n  " : " ", label, (int)x->id[i]);
        column = (breaks ? 1 : column) + columns;
    }
    puts(x->count > MAX_TOKENS ? "\n  ..." : "");
}

static void print_head(const Show *s) {
    const StepOptions *o = s->options;
    const ModelConfig *c = &s->records->model->config;
    const PassText *source = &s->pass->source, *target = &s->pass->target;
    step_say(0, "%s, d_model %d, %d heads of d_k %ld; head %ld is shown",
             o->pass.run ? o->pass.run : "random weights", c->d_model, c->heads, config_d_k(c),
             o->head);
    if (source->count && source->id != target->id) print_tokens("source", source);
    print_tokens("tokens", target);
    if (o->backward)
        step_say(0, "backward from L = %.6g%s", (double)*records_loss(s->records)->data,
                 s->brief ? "; of wide gradients the row with the largest, all with --full" : "");
}

/* "embedding" and "encoder.layers.0" of longer names. */
static int part_length(const char *module) {
    const char *layers = strstr(module, ".layers.");
    if (!layers) return (int)strlen(module);
    size_t number = strlen(".layers.");
    return (int)(layers - module) + (int)(number + strcspn(layers + number, "."));
}

/* Prints a line for the records from the i-th on that are not shown, unless they are other parts of
 * the shown layer. Returns the number of the next that is. */
static long print_gap(const Show *s, long i) {
    char first[PARAMETER_NAME] = "", last[PARAMETER_NAME] = "";
    long steps = 0;
    for (; i < s->records->count && !s->chosen[in_order(s, i)]; i++) {
        const Record *r = &s->records->of[in_order(s, i)];
        if (!is_step(s, r->node)) continue;
        snprintf(last, sizeof last, "%.*s", part_length(r->module), r->module);
        if (steps++ == 0) strcpy(first, last);
    }
    bool is_one = strcmp(first, last) == 0;
    if (steps && !(is_one && begins(s->layer, first)))
        step_say(2, "... %ld step%s of %s%s%s", steps, PLURAL(steps), first, is_one ? "" : " to ",
                 is_one ? "" : last);
    return i;
}

/* Prints all chosen steps, with blank lines between them; with lines for the others between. */
static void print_steps(const Show *s, bool gaps, bool blank,
                        void (*print)(const Show *s, Node *n)) {
    bool is_later = !s->options->step;
    for (long i = 0; i < s->records->count; i++) {
        if (gaps) i = print_gap(s, i);
        if (i == s->records->count) break;
        if (!s->chosen[in_order(s, i)]) continue;
        if (blank && is_later) putchar('\n');
        is_later = true;
        print(s, s->records->of[in_order(s, i)].node);
    }
}

static void print_all(const Show *s) {
    static const char *const next[] = {
        "Next, the sum behind a number: ./explain --step S --cell 0,1",
        "the way back from the loss: ./explain --backward",
        "a layer of the decoder: ./explain --module decoder.layers.0",
        "the fifteen characters of a verse: ./explain --characters",
        "why scores are scaled: ./explain scaling"};
    const StepOptions *o = s->options;
    if (!o->step) print_head(s);
    if (o->backward) {
        print_steps(s, !o->step, true, print_backward);
        return;
    }
    if (!o->step) print_steps(s, true, false, print_entry);
    print_steps(s, false, true, print_forward);
    if (o->pass.run || o->step || o->module) return;
    putchar('\n');
    for (size_t i = 0; i < sizeof next / sizeof *next; i++) step_say(0, "%s", next[i]);
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
        Node *n = r->of[in_order(s, i)].node;
        long cell = step_cell(s, n->out, NULL);
        if (all ? o->backward && !record_reached(n) : !s->chosen[n->index]) continue;
        record_json(r, n->index, o->backward);
        if (cell >= 0 && !o->backward) record_json_sum(r, n->index, -1, cell);
        if (!o->backward) continue;
        if (cell >= 0 && !n->op->view && isfinite(n->out->data[cell]))
            record_json_difference(r, n->index, cell);
        for (int k = 0; k < n->inputs; k++)
            if (record_adds(n, k) && step_cell(s, n->in[k], NULL) >= 0)
                record_json_sum(r, n->index, k, step_cell(s, n->in[k], NULL));
    }
}

/* Prints a map of each head's attention, in the order of computation. */
static bool print_maps(const Show *s, Error *e) {
    const StepOptions *o = s->options;
    long shown = 0;
    for (long i = 0; i < s->records->count; i++) {
        const Record *r = &s->records->of[i];
        const Tensor *a = r->node->out;
        char name[RECORD_NAME], title[PARAMETER_NAME + 32];
        bool is_attention = strcmp(record_name(s->records, a, name), "A") == 0;
        if (!is_attention || !begins(r->module, o->module)) continue;
        long n = a->shape.size[1], m = a->shape.size[2];
        const Labels *rows = record_labels(s->records, r->axes.of[1]),
                     *columns = record_labels(s->records, r->axes.of[2]);
        for (long head = 1; head <= a->shape.size[0]; head++) {
            if (o->head && head != o->head) continue;
            snprintf(title, sizeof title, "%s, head %ld", r->module, head);
            Map map = {title, n, m, "query", "key", .high = 1};
            map.row_labels = rows ? rows->of : NULL;
            map.column_labels = columns ? columns->of : NULL;
            map.values = a->data + (head - 1) * n * m;
            map_print(&map);
            putchar('\n');
            shown++;
        }
    }
    return shown || error_set(e, STATUS_USAGE,
                              "--module: found \"%s\", need a part of the model with attention: "
                              "encoder.layers.0",
                              ESCAPED(o->module));
}

/* Shows AdamW's first step of one weight: that of --cell, or of the largest gradient, in the first
 * matrix of the shown layer. */
static bool print_update(const Show *s, Error *e) {
    const double rate = 0.001;
    Parameters *p = &s->records->model->parameters;
    const Parameter *w = NULL;
    Optimizer o = optim_default(&optimizer_adamw);
    double scale = 1;
    for (int i = p->count - 1; i >= 0; i--)
        if (p->entry[i].shape.rank == 2 && begins(p->entry[i].name, s->layer)) w = &p->entry[i];
    if (!w) return true;
    if (!optim_start(&o, p, e)) return false;
    Tensor x = {.shape = w->shape};
    long cell = step_cell(s, &x, p->grad + w->offset), columns = w->shape.size[1];
    if (cell < 0) cell = 0;
    long index = w->offset + cell;
    double norm = optim_clip(&o, p, &scale), g = (double)p->grad[index];
    double before = (double)p->value[index];
    optim_update(&o, p, rate, scale);
    double m = (double)o.moment1[index], v = (double)o.moment2[index];
    double after = (double)p->value[index];
    optim_stop(&o);
    if (s->options->json) {
        printf("{\"update\": \"%s\", \"at\": %ld", w->name, cell);
        const char *const keys[] = {"g", "norm", "scale", "m", "v", "before", "after"};
        const double values[] = {g, norm, scale, m, v, before, after};
        for (int i = 0; i < 7; i++) json_number(stdout, keys[i], values[i]);
        puts("}");
        return true;
    }
    char name[RECORD_NAME];
    step_say(0, "\nThe update: AdamW, step 1, of w = %s[%ld,%ld]", step_name(s, w->part[0], name),
             cell / columns, cell % columns);
    step_say(2, "clip: the norm of all gradients is %.6g; %s %g: g' = %.6g·g = %.6g, g = %.6g",
             norm, scale < 1 ? "it is cut to" : "it may be up to", o.clip_norm, scale, scale * g,
             g);
    step_say(2, "moments: m = %g·0 + %g·g' = %.6g, v = %g·0 + %g·g'^2 = %.6g", o.beta1, 1 - o.beta1,
             m, o.beta2, 1 - o.beta2, v);
    step_say(2, "correction: m^ = m / (1 - %g) = %.6g, v^ = v / (1 - %g) = %.6g", o.beta1,
             m / (1 - o.beta1), o.beta2, v / (1 - o.beta2));
    step_say(2, "step: w = %.8g - %g·m^ / (sqrt(v^) + %g) = %.8g, with a weight decay of %g",
             before, rate, adamw_epsilon, after, o.weight_decay);
    return true;
}

/* ---- Options ---- */

static bool read_cell(Show *s, const char *text, Error *e) {
    char end;
    s->row = s->column = -1;
    if (!text) return true;
    int read = sscanf(text, "%ld,%ld%c", &s->row, &s->column, &end);
    if (read == 2 && s->row >= 0 && s->column >= 0) return true;
    return error_set(e, STATUS_USAGE, "--cell: found \"%s\", need ROW,COLUMN, from 0",
                     ESCAPED(text));
}

/* Whether --cell is an element of a shown matrix. */
static bool check_cell(const Show *s, Error *e) {
    bool found = s->row < 0;
    for (long i = 0; i < s->records->count; i++) {
        const Node *n = s->records->of[i].node;
        if (!s->chosen[i]) continue;
        found |= step_cell(s, n->out, NULL) >= 0;
        int inputs = s->options->backward ? n->inputs : 0;
        for (int k = 0; k < inputs; k++) found |= n->in[k] && step_cell(s, n->in[k], NULL) >= 0;
    }
    return found ||
           error_set(e, STATUS_USAGE, "--cell: found %s, need an element of a matrix that is shown",
                     s->options->cell);
}

/* Adds a word to a list, unless it is there. */
static void add_word(char list[TEXT], const char *word) {
    char entry[RECORD_NAME + 4];
    snprintf(entry, sizeof entry, " %s,", word);
    if (!strstr(list, entry)) text_append(list, TEXT, "%s ", entry + 1);
}

/* Why nothing is chosen. */
static bool nothing_chosen(const Show *s, Error *e) {
    const StepOptions *o = s->options;
    char steps[TEXT] = " ", modules[TEXT] = " ", name[RECORD_NAME], part[PARAMETER_NAME];
    for (long i = 0; i < s->records->count; i++) {
        const Record *r = &s->records->of[i];
        snprintf(part, sizeof part, "%.*s", part_length(r->module), r->module);
        add_word(modules, part);
        if (!begins(r->module, o->module) || !is_step(s, r->node)) continue;
        add_word(steps, record_name(s->records, r->node->out, name));
        add_word(steps, r->node->op->name);
    }
    bool is_step = o->step && strlen(steps) > 1;
    const char *list = is_step ? steps : modules;
    return error_set(e, STATUS_USAGE, "--%s: found \"%s\", need one of%.*s",
                     is_step ? "step" : "module", ESCAPED(is_step ? o->step : o->module),
                     (int)strlen(list) - 2, list);
}

/* The first layer of the chosen part, and where layers begin and end. */
static void find_layer(Show *s) {
    const Records *r = s->records;
    s->first_layer = r->count;
    for (long i = 0; i < r->count; i++) {
        const char *module = r->of[i].module;
        if (!strstr(module, ".layers.")) continue;
        s->last_layer = i;
        if (s->first_layer == r->count) s->first_layer = i;
        if (!*s->layer && begins(module, s->options->module))
            snprintf(s->layer, sizeof s->layer, "%.*s.", part_length(module), module);
    }
}

static bool show(Show *s, Error *e) {
    const StepOptions *o = s->options;
    int heads = s->records->model->config.heads;
    if (o->head > heads)
        return error_set(e, STATUS_USAGE, "--head: found %ld, need at most %d", o->head, heads);
    if (o->maps) return print_maps(s, e);
    find_layer(s);
    if (!read_cell(s, o->cell, e)) return false;
    if (!choose(s, false) && !choose(s, true)) return nothing_chosen(s, e);
    if (!check_cell(s, e)) return false;
    if (o->json)
        print_json(s);
    else
        print_all(s);
    return !o->backward || o->step || print_update(s, e);
}

bool explain_steps(const StepOptions *o, Error *e) {
    Pass p;
    Records *r = &p.records;
    bool ok = walk_open(&p, &o->pass, e);
    if (ok && o->step && strcmp(o->step, "merges") == 0) {
        ok = walk_print_merges(&p, o->json, e);
    } else if (ok) {
        Show s = {r, &p, o, .brief = o->backward && !o->full && !o->step && !o->cell};
        s.chosen = arena_alloc(&p.arena, (size_t)r->count);
        ok = (!o->backward || records_backward(r, e)) && show(&s, e);
    }
    walk_close(&p);
    return ok;
}
