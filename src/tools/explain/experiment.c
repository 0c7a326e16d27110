/* Experiments share their output, and small models of their own. */
#include "explain/experiment.h"
#include "base/random.h"
#include "formats/json.h"
#include <stdarg.h>
#include <string.h>

enum { SENTENCE = 1024, NUMBER_TEXT = 64 };

void lab_want(Lab *l, bool ok) {
    if (ok && !tape_failed(l->tape, &l->error)) return;
    error_fatal(l->error.status, "%s", l->error.text);
}

void lab_run(Lab *l) {
    l->tape = tape_new();
    l->experiment->run(l);
    tape_free(l->tape);
}

/* ---- Output ---- */

/* Texts align to the left, numbers to the right. A column without room on the line begins a further
 * line, in the head as in the rows. Blanks at the end of a line are not printed. */
static void print_line(const Column *column, const char *const *texts) {
    enum { GAP = 2, INDENT = 4 };
    int width = terminal_of(stdout).width, printed = 0, at = 0;
    for (int i = 0; column[i].key; i++) {
        const Column *c = &column[i];
        int length = (int)strlen(texts[i]), cell = c->width > length ? c->width : length;
        int begin = i ? at + GAP : 0;
        if (i && begin + c->width > width) {
            putchar('\n');
            printed = 0;
            begin = INDENT;
        }
        at = begin + cell;
        if (!length) continue;
        int text = c->decimals == AS_TEXT ? begin : at - length;
        printed += printf("%*s%s", text - printed, "", texts[i]);
    }
    putchar('\n');
}

void lab_start(const Lab *l, const char *format, ...) {
    const Experiment *e = l->experiment;
    const char *head[MAX_COLUMNS];
    char text[SENTENCE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (l->json) return;
    print_wrapped(e->question, 0);
    putchar('\n');
    print_wrapped(e->formula, 4);
    putchar('\n');
    print_wrapped(text, 0);
    putchar('\n');
    for (int i = 0; e->column[i].key; i++) head[i] = e->column[i].head;
    print_line(e->column, head);
}

static void print_object(const Experiment *e, const Cell *cell) {
    printf("{\"experiment\": \"%s\"", e->name);
    for (int i = 0; e->column[i].key; i++) {
        if (e->column[i].decimals == AS_TEXT)
            json_text(stdout, e->column[i].key, cell[i].text);
        else
            json_number(stdout, e->column[i].key, cell[i].number);
    }
    puts("}");
}

void lab_row(const Lab *l, const Cell *cell) {
    const Column *column = l->experiment->column;
    char number[MAX_COLUMNS][NUMBER_TEXT];
    const char *texts[MAX_COLUMNS];
    for (int i = 0; column[i].key; i++) {
        bool is_text = column[i].decimals == AS_TEXT, is_power = column[i].decimals == AS_POWER;
        texts[i] = is_text ? cell[i].text : number[i];
        int decimals = is_power ? 1 : column[i].decimals;
        if (isnan(cell[i].number))
            texts[i] = "-";
        else if (!is_text)
            snprintf(number[i], NUMBER_TEXT, is_power ? "%.*e" : "%.*f", decimals, cell[i].number);
    }
    if (l->json)
        print_object(l->experiment, cell);
    else
        print_line(column, texts);
    fflush(stdout);
}

void lab_map(const Lab *l, const Map *map, const char *description) {
    if (l->json) return;
    putchar('\n');
    map_print(map);
    if (description) print_wrapped(description, 0);
}

void lab_array(const Lab *l, const char *name, const real *values, long count) {
    if (!l->json) return;
    printf("{\"experiment\": \"%s\"", l->experiment->name);
    json_text(stdout, "array", name);
    json_reals(stdout, "values", values, count);
    puts("}");
}

void lab_found(const Lab *l, const char *format, ...) {
    char text[SENTENCE] = "Found: ";
    size_t begin = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + begin, sizeof text - begin, format, arguments);
    va_end(arguments);
    if (l->json) {
        printf("{\"experiment\": \"%s\"", l->experiment->name);
        json_text(stdout, "found", text + begin);
        puts("}");
        return;
    }
    putchar('\n');
    print_wrapped(text, 0);
}

/* ---- A few weights ---- */

Tensor *lab_data(Lab *l, Shape shape, const real *data) {
    return tape_leaf(l->tape, shape, (real *)data, NULL);
}

Tensor *lab_random(Lab *l, Shape shape) {
    Tensor *x = tape_constant(l->tape, shape);
    uint64_t key = random_key(l->seed, STREAM_EXPERIMENT + l->draws++);
    lab_want(l, true);
    for (long i = 0; i < shape_count(shape); i++)
        x->data[i] = (real)(sqrt(3) * (2 * (double)random_uniform(key, (uint64_t)i) - 1));
    return x;
}

Tensor *lab_linear(Lab *l, Tensor *x, Tensor *W) {
    return tape_linear(l->tape, x, W, NULL, ACT_NONE, NULL);
}

void lab_weight(Lab *l, Tensor *leaf, const char *name, Shape shape, double deviation) {
    Init init = {INIT_NORMAL, deviation};
    lab_want(l, parameters_add(&l->weights, name, shape, init, leaf, &l->error));
}

void lab_train(Lab *l, int steps, double rate, LossOf *record, void *model) {
    Optimizer adam = optim_default(&optimizer_adamw);
    lab_want(l, parameters_allocate(&l->weights, true, &l->error));
    lab_want(l, optim_start(&adam, &l->weights, &l->error));
    parameters_init(&l->weights, l->seed);
    for (long step = 0; step < (l->shorter ? steps / l->shorter : steps); step++) {
        Tensor *loss = record(l, model, step);
        lab_want(l, true);
        parameters_clear_grad(&l->weights);
        tape_backward(l->tape, loss);
        lab_want(l, true);
        parameters_zero_unreached(&l->weights);
        optim_step(&adam, &l->weights, rate, 1);
        tape_reset(l->tape);
    }
    optim_stop(&adam);
}

void lab_end(Lab *l) {
    tape_reset(l->tape);
    parameters_free(&l->weights);
}
