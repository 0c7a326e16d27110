/* The walk on a terminal: its contents, then matrices, formulas and sums; or in reverse, with
 * gradients. */
#include "base/append.h"
#include "explain/screen.h"
#include "explain/walk.h"
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
static bool is_step(const Tour *w, const Node *n) {
    return nn_trace_name_of(&w->records.trace, n->out) || !rearranges(n);
}

static bool begins(const char *text, const char *with) {
    return !with || strncmp(text, with, strlen(with)) == 0;
}

/* Without --step and --module the first layer is chosen, and what is in none. */
static bool is_chosen(const Tour *w, const Record *record, bool everywhere) {
    const WalkOptions *o = w->options;
    char name[RECORD_NAME], index[24];
    const Node *n = record->node;
    if (o->backward && !record_reached(n)) return false;
    if (!begins(record->module, o->module)) return false;
    bool outside = n->index < w->first_layer || n->index > w->last_layer;
    bool here = o->module || everywhere || outside || begins(record->module, w->layer);
    if (!o->step) return here && is_step(w, n);
    snprintf(index, sizeof index, "%ld", n->index);
    if (strcmp(o->step, index) == 0) return true;
    bool is_named = strcmp(o->step, record_name(&w->records, n->out, name)) == 0;
    return here && (is_named || strcmp(o->step, n->op->name) == 0);
}

/* The index of the i-th record in the order of the walk. */
static long in_order(const Tour *w, long i) {
    return w->options->backward ? w->records.count - 1 - i : i;
}

/* ---- Text of a step ---- */

/* "matmul(a = Q, b = K^T)" */
static const char *call_text(const Tour *w, const Node *n, char out[TEXT]) {
    char input[RECORD_INPUT], name[RECORD_NAME];
    const char *comma = "";
    if (rearranges(n)) {
        while (rearranges(n) && n->in[0]->maker) n = n->in[0]->maker;
        snprintf(out, TEXT, "numbers of %s", step_name(w, n->out, name));
        return out;
    }
    snprintf(out, TEXT, "%s(", n->op->name);
    for (int k = 0; k < n->inputs; k++) {
        if (!n->in[k]) continue;
        const char *letter = record_input(n, k, input);
        const char *operand = step_name(w, n->in[k], name);
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
static void print_entry(const Tour *w, Node *n) {
    enum { NAME = 20, SHAPE = 10 };
    char name[RECORD_NAME], head[RECORD_NAME + 64];
    const char *sentence = record_sentence(&w->records, n);
    snprintf(head, sizeof head, "%4ld %s", n->index, step_name(w, n->out, name));
    printf("%-*s%s%-*s", NAME, head, strlen(head) < NAME ? "" : " ", SHAPE,
           shape_text(n->out->shape));
    bool fits = NAME + SHAPE + (int)strlen(sentence) < terminal_of(stdout).width;
    if (!fits) putchar('\n');
    print_wrapped(sentence, fits ? 0 : 6);
}

static void print_forward(const Tour *w, Node *n) {
    char name[RECORD_NAME], call[TEXT];
    Arena arena = {0};
    real *values = arena_alloc(&arena, (size_t)shape_count(n->out->shape) * sizeof *values);
    tensor_copy_out(n->out, values);
    step_say(0, "%ld %s = %s, %s", n->index, step_name(w, n->out, name), call_text(w, n, call),
             shape_text(n->out->shape));
    if (!rearranges(n)) print_formula(n, false);
    step_print_matrix(w, n->out, values);
    step_print_sum(w, n, -1);
    arena_free(&arena);
}

static void print_difference(const Tour *w, Node *n) {
    long cell = n->op->view ? -1 : step_cell(w, n->out, n->out->grad);
    char text[TEXT];
    if (cell < 0) return;
    step_element(w, n->out, cell, text);
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
static void print_additions(const Tour *w, Node *n) {
    for (int k = 0; k < n->inputs; k++) {
        char name[RECORD_NAME], part[48] = "";
        const Tensor *x = n->in[k];
        long visited;
        if (!record_adds(n, k)) continue;
        Arena arena = {0};
        long parts = record_parts(&w->records, x, n->index, &visited);
        if (parts > 1) snprintf(part, sizeof part, ", part %ld of %ld", visited, parts);
        step_say(2, "adds to dL/d %s, %s%s", step_name(w, x, name), shape_text(x->shape), part);
        if (!n->op->view) {
            step_print_matrix(w, x, record_part(&arena, n, k));
            step_print_sum(w, n, k);
        }
        arena_free(&arena);
    }
}

static void print_backward(const Tour *w, Node *n) {
    char name[RECORD_NAME], call[TEXT], sum[48] = "";
    long visited, parts = record_parts(&w->records, n->out, 0, &visited);
    step_name(w, n->out, name);
    if (parts > 1) snprintf(sum, sizeof sum, ", a sum of %ld parts", parts);
    step_say(0, "%ld dL/d %s, %s%s, of %s = %s", n->index, name, shape_text(n->out->shape), sum,
             name, call_text(w, n, call));
    step_print_matrix(w, n->out, n->out->grad);
    print_difference(w, n);
    if (!w->brief || !rearranges(n)) print_formula(n, true);
    if (w->brief) return;
    if (*record_keeps(n)) step_say(4, "%s", record_keeps(n));
    print_additions(w, n);
}

/* ---- All ---- */

static void print_tokens(const char *side, const WalkText *x) {
    enum { MAX_TOKENS = 40 };
    long count = x->labels.count;
    int width = terminal_of(stdout).width, column = printf("%s:", side);
    for (long i = 0; i < count && i < MAX_TOKENS; i++) {
        char label[LABEL_TEXT];
        int columns = label_of(label, x->labels.of[i], MAX_LABEL);
        columns += 2 + snprintf(NULL, 0, "%d", (int)x->id[i]);
        bool breaks = column + columns > width;
        printf("%s%s=%d", breaks ? "\n  " : " ", label, (int)x->id[i]);
        column = (breaks ? 1 : column) + columns;
    }
    puts(count > MAX_TOKENS ? "\n  ..." : "");
}

static void print_head(const Tour *w) {
    const WalkOptions *o = w->options;
    const ModelConfig *c = &w->records.model->config;
    step_say(0, "%s, d_model %d, %d heads of d_k %ld; head %ld is shown",
             o->run ? o->run : "random weights", c->d_model, c->heads, config_d_k(c), o->head);
    if (w->source.labels.count && w->source.id != w->target.id) print_tokens("source", &w->source);
    print_tokens("tokens", &w->target);
    if (o->backward)
        step_say(0, "backward from L = %.6g%s", (double)*records_loss(&w->records)->data,
                 w->brief ? "; of wide gradients the row with the largest, all with --full" : "");
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
static long print_gap(const Tour *w, long i) {
    char first[PARAMETER_NAME] = "", last[PARAMETER_NAME] = "";
    long steps = 0;
    for (; i < w->records.count && !w->chosen[in_order(w, i)]; i++) {
        const Record *r = &w->records.of[in_order(w, i)];
        if (!is_step(w, r->node)) continue;
        snprintf(last, sizeof last, "%.*s", part_length(r->module), r->module);
        if (steps++ == 0) strcpy(first, last);
    }
    bool is_one = strcmp(first, last) == 0;
    if (steps && !(is_one && begins(w->layer, first)))
        step_say(2, "... %ld step%s of %s%s%s", steps, PLURAL(steps), first, is_one ? "" : " to ",
                 is_one ? "" : last);
    return i;
}

/* Prints all chosen steps, with blank lines between them; with lines for the others between. */
static void print_steps(const Tour *w, bool gaps, bool blank,
                        void (*print)(const Tour *w, Node *n)) {
    bool is_later = !w->options->step;
    for (long i = 0; i < w->records.count; i++) {
        if (gaps) i = print_gap(w, i);
        if (i == w->records.count) break;
        if (!w->chosen[in_order(w, i)]) continue;
        if (blank && is_later) putchar('\n');
        is_later = true;
        print(w, w->records.of[in_order(w, i)].node);
    }
}

static void print_all(const Tour *w) {
    static const char *const next[] = {
        "Next, the sum behind a number: ./explain --step S --cell 0,1",
        "the way back from the loss: ./explain --backward",
        "a layer of the decoder: ./explain --module decoder.layers.0",
        "the fifteen characters of a verse: ./explain --characters",
        "why scores are scaled: ./explain scaling"};
    const WalkOptions *o = w->options;
    if (!o->step) print_head(w);
    if (o->backward) {
        print_steps(w, !o->step, true, print_backward);
        return;
    }
    if (!o->step) print_steps(w, true, false, print_entry);
    print_steps(w, false, true, print_forward);
    if (o->run || o->step || o->module) return;
    putchar('\n');
    for (size_t i = 0; i < sizeof next / sizeof *next; i++) step_say(0, "%s", next[i]);
}

static void print_json(const Tour *w) {
    const Records *r = &w->records;
    const WalkOptions *o = w->options;
    bool all = !o->step && !o->module;
    if (all) {
        records_json_head(r, o->backward);
        records_json_parameters(r, o->backward);
    }
    for (long i = 0; i < r->count; i++) {
        Node *n = r->of[in_order(w, i)].node;
        long cell = step_cell(w, n->out, NULL);
        if (all ? o->backward && !record_reached(n) : !w->chosen[n->index]) continue;
        record_json(r, n->index, o->backward);
        if (cell >= 0 && !o->backward) record_json_sum(r, n->index, -1, cell);
        if (!o->backward) continue;
        if (cell >= 0 && !n->op->view && isfinite(n->out->data[cell]))
            record_json_difference(r, n->index, cell);
        for (int k = 0; k < n->inputs; k++)
            if (record_adds(n, k) && step_cell(w, n->in[k], NULL) >= 0)
                record_json_sum(r, n->index, k, step_cell(w, n->in[k], NULL));
    }
}

/* Prints a map of each head's attention, in the order of computation. */
static bool print_maps(const Tour *w, Error *e) {
    const WalkOptions *o = w->options;
    long shown = 0;
    for (long i = 0; i < w->records.count; i++) {
        const Record *r = &w->records.of[i];
        const Tensor *a = r->node->out;
        char name[RECORD_NAME], title[PARAMETER_NAME + 32];
        bool is_attention = strcmp(record_name(&w->records, a, name), "A") == 0;
        if (!is_attention || !begins(r->module, o->module)) continue;
        Map map = {title, a->shape.size[1], a->shape.size[2], "query", "key", .high = 1};
        map.row_labels = w->records.labels[r->axes.of[1]].of;
        map.column_labels = w->records.labels[r->axes.of[2]].of;
        for (long head = 1; head <= a->shape.size[0]; head++) {
            if (o->head && head != o->head) continue;
            snprintf(title, sizeof title, "%s, head %ld", r->module, head);
            map.values = a->data + (head - 1) * map.rows * map.columns;
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
static bool print_update(const Tour *w, Error *e) {
    const double rate = 0.001;
    Parameters *p = &w->records.model->parameters;
    const Parameter *weight = NULL;
    Optimizer o = optim_default(&optimizer_adamw);
    double scale = 1;
    for (int i = p->count - 1; i >= 0; i--)
        if (p->entry[i].shape.rank == 2 && begins(p->entry[i].name, w->layer))
            weight = &p->entry[i];
    if (!weight) return true;
    if (!optim_start(&o, p, e)) return false;
    Tensor x = {.shape = weight->shape};
    long cell = step_cell(w, &x, p->grad + weight->offset), columns = weight->shape.size[1];
    if (cell < 0) cell = 0;
    long index = weight->offset + cell;
    double norm = optim_clip(&o, p, &scale), g = (double)p->grad[index];
    double before = (double)p->value[index];
    optim_update(&o, p, rate, scale);
    double m = (double)o.moment1[index], v = (double)o.moment2[index];
    double after = (double)p->value[index];
    optim_stop(&o);
    if (w->options->json) {
        printf("{\"update\": \"%s\", \"at\": %ld", weight->name, cell);
        const char *const keys[] = {"g", "norm", "scale", "m", "v", "before", "after"};
        const double values[] = {g, norm, scale, m, v, before, after};
        for (int i = 0; i < 7; i++) json_number(stdout, keys[i], values[i]);
        puts("}");
        return true;
    }
    char name[RECORD_NAME];
    step_say(0, "\nThe update: AdamW, step 1, of w = %s[%ld,%ld]",
             step_name(w, weight->part[0], name), cell / columns, cell % columns);
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

static bool read_cell(Tour *w, Error *e) {
    const char *text = w->options->cell;
    char end;
    w->row = w->column = -1;
    if (!text) return true;
    int read = sscanf(text, "%ld,%ld%c", &w->row, &w->column, &end);
    if (read == 2 && w->row >= 0 && w->column >= 0) return true;
    return error_set(e, STATUS_USAGE, "--cell: found \"%s\", need ROW,COLUMN, from 0",
                     ESCAPED(text));
}

/* Whether --cell is an element of a shown matrix. */
static bool check_cell(const Tour *w, Error *e) {
    bool found = w->row < 0;
    for (long i = 0; i < w->records.count; i++) {
        const Node *n = w->records.of[i].node;
        if (!w->chosen[i]) continue;
        found |= step_cell(w, n->out, NULL) >= 0;
        int inputs = w->options->backward ? n->inputs : 0;
        for (int k = 0; k < inputs; k++) found |= n->in[k] && step_cell(w, n->in[k], NULL) >= 0;
    }
    return found ||
           error_set(e, STATUS_USAGE, "--cell: found %s, need an element of a matrix that is shown",
                     w->options->cell);
}

/* Adds a word to a list, unless it is there. */
static void add_word(char list[TEXT], const char *word) {
    char entry[RECORD_NAME + 4];
    snprintf(entry, sizeof entry, " %s,", word);
    if (!strstr(list, entry)) text_append(list, TEXT, "%s ", entry + 1);
}

/* Tells why nothing is chosen: no module has that name, or no step of the module. */
static bool nothing_chosen(const Tour *w, Error *e) {
    const WalkOptions *o = w->options;
    char steps[TEXT] = " ", modules[TEXT] = " ", name[RECORD_NAME], part[PARAMETER_NAME];
    for (long i = 0; i < w->records.count; i++) {
        const Record *r = &w->records.of[i];
        snprintf(part, sizeof part, "%.*s", part_length(r->module), r->module);
        add_word(modules, part);
        if (!begins(r->module, o->module) || !is_step(w, r->node)) continue;
        add_word(steps, record_name(&w->records, r->node->out, name));
        add_word(steps, r->node->op->name);
    }
    bool has_module = o->step && strlen(steps) > 1;
    const char *list = has_module ? steps : modules;
    return error_set(e, STATUS_USAGE, "--%s: found \"%s\", need one of%.*s",
                     has_module ? "step" : "module", ESCAPED(has_module ? o->step : o->module),
                     (int)strlen(list) - 2, list);
}

/* The first layer of the chosen part, and where layers begin and end. */
static void find_layer(Tour *w) {
    const Records *r = &w->records;
    w->first_layer = r->count;
    for (long i = 0; i < r->count; i++) {
        const char *module = r->of[i].module;
        if (!strstr(module, ".layers.")) continue;
        w->last_layer = i;
        if (w->first_layer == r->count) w->first_layer = i;
        if (!*w->layer && begins(module, w->options->module))
            snprintf(w->layer, sizeof w->layer, "%.*s.", part_length(module), module);
    }
}

/* Chooses the records that are shown: of the first layer, or else of all. */
static bool choose(Tour *w, Error *e) {
    long count = 0;
    w->chosen = arena_alloc(&w->arena, (size_t)w->records.count);
    for (int everywhere = 0; everywhere < 2 && count == 0; everywhere++)
        for (long i = 0; i < w->records.count; i++)
            count += w->chosen[i] = is_chosen(w, &w->records.of[i], everywhere);
    return count || nothing_chosen(w, e);
}

static bool show(Tour *w, Error *e) {
    const WalkOptions *o = w->options;
    int heads = w->records.model->config.heads;
    if (o->step && strcmp(o->step, "merges") == 0) return walk_print_merges(w, e);
    if (o->backward && !records_backward(&w->records, e)) return false;
    if (o->head > heads)
        return error_set(e, STATUS_USAGE, "--head: found %ld, need at most %d", o->head, heads);
    if (o->maps) return print_maps(w, e);
    find_layer(w);
    if (!read_cell(w, e) || !choose(w, e) || !check_cell(w, e)) return false;
    if (o->json)
        print_json(w);
    else
        print_all(w);
    return !o->backward || o->step || print_update(w, e);
}

bool explain_walk(const WalkOptions *o, Error *e) {
    Tour w = {.options = o, .brief = o->backward && !o->full && !o->step && !o->cell};
    bool ok = walk_run(&w, e) && show(&w, e);
    records_close(&w.records);
    saved_run_close(&w.run);
    arena_free(&w.arena);
    return ok;
}
