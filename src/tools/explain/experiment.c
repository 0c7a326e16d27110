/* Experiments share their output, and small models of their own. */
#include "explain/experiment.h"
#include "base/random.h"
#include "formats/json.h"
#include "kernels/arrays.h"
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

/* ---- Training ---- */

Tensor *lab_data(Lab *l, Shape shape, const real *data) {
    return tape_leaf(l->tape, shape, (real *)data, NULL);
}

Tensor *lab_normals(Lab *l, Shape shape, uint64_t which) {
    Tensor *x = tape_constant(l->tape, shape);
    uint64_t key = random_key(l->seed, STREAM_EXPERIMENT + which);
    lab_want(l, true);
    for (long i = 0; i < shape_count(shape); i++)
        x->data[i] = (real)random_normal(key, (uint64_t)i);
    return x;
}

void lab_weight(Lab *l, Tensor *leaf, const char *name, Shape shape, double deviation) {
    Init init = {INIT_NORMAL, deviation};
    lab_want(l, parameters_add(&l->weights, name, shape, init, leaf, &l->error));
}

void lab_begin(Lab *l) {
    l->optimizer = optim_default(&optimizer_adamw);
    lab_want(l, parameters_allocate(&l->weights, true, &l->error));
    lab_want(l, optim_start(&l->optimizer, &l->weights, &l->error));
    parameters_init(&l->weights, l->seed);
}

void lab_end(Lab *l) {
    tape_reset(l->tape);
    optim_stop(&l->optimizer);
    parameters_free(&l->weights);
}

static int training_steps(const Lab *l, int steps) {
    return l->shorter ? steps / l->shorter : steps;
}

void lab_train(Lab *l, int steps, double rate, LossOf *record, void *model) {
    for (int step = 0; step < training_steps(l, steps); step++) {
        Tensor *loss = record(l, model, (uint64_t)step);
        lab_want(l, true);
        parameters_clear_grad(&l->weights);
        tape_backward(l->tape, loss);
        lab_want(l, true);
        parameters_zero_unreached(&l->weights);
        optim_step(&l->optimizer, &l->weights, rate, 1);
        tape_reset(l->tape);
    }
}

/* ---- Readers ---- */

/* The scores of a batch: [answers, symbols] */
static Tensor *read_batch(Lab *l, Reader *r, uint64_t batch) {
    uint64_t key = random_key(l->seed, STREAM_EXPERIMENT);
    r->draw(r, key, batch * (uint64_t)r->tokens);
    return tape_reshape(l->tape, r->scores(l, r), SHAPE(r->tokens * r->group, r->symbols));
}

static Tensor *reader_loss(Lab *l, void *reader, uint64_t step) {
    Reader *r = reader;
    return tape_cross_entropy(l->tape, read_batch(l, r, step), r->answer, -1, 0);
}

double lab_read(Lab *l, Reader *r, int steps, int judged) {
    double right = 0, all = 0;
    lab_train(l, steps, 0.01, reader_loss, r);
    for (int batch = 0; batch < judged; batch++) {
        Tensor *y = read_batch(l, r, (uint64_t)(steps + batch));
        lab_want(l, true);
        for (int token = 0; token < r->tokens; token++) {
            int agree = 0;
            for (int i = token * r->group; i < (token + 1) * r->group; i++)
                agree += kernel_argmax(r->symbols, y->data + i * r->symbols) == r->answer[i];
            right += agree == r->group;
            all += r->answer[token * r->group] >= 0;
        }
        tape_reset(l->tape);
    }
    return 100 * right / all;
}

void one_attention_add(Lab *l, OneAttention *a, int symbols, int outputs, int width, int sequences,
                       int length) {
    int tokens = sequences * length;
    for (int s = 0; s < sequences; s++) {
        a->start[s] = s * length;
        a->length[s] = length;
    }
    for (int i = 0; i < tokens; i++) a->place[i] = i % length;
    a->sequences = (Sequences){sequences, a->start, a->length, a->length, tokens, length};
    lab_weight(l, &a->embedding, "embedding", SHAPE(symbols, width), 1);
    lab_weight(l, &a->positions, "positions", SHAPE(length, width), 1);
    lab_weight(l, &a->query, "query", SHAPE(width, width), 1 / sqrt(width));
    lab_weight(l, &a->key, "key", SHAPE(width, width), 1 / sqrt(width));
    lab_weight(l, &a->value, "value", SHAPE(width, width), 1 / sqrt(width));
    lab_weight(l, &a->out, "out", SHAPE(outputs, width), 1 / sqrt(width));
}

Tensor *one_attention(Lab *l, OneAttention *a, const int32_t *symbols, AttentionSteps *steps) {
    Tape *t = l->tape;
    const Sequences *s = &a->sequences;
    Reach reach = {s, s, a->causal};
    Tensor *x =
        tape_embedding(t, &a->embedding, s->total_rows, symbols, 1, &a->positions, a->place);
    Tensor *q = tape_linear(t, x, &a->query, NULL, ACT_NONE, NULL),
           *k = tape_linear(t, x, &a->key, NULL, ACT_NONE, NULL),
           *v = tape_linear(t, x, &a->value, NULL, ACT_NONE, NULL);
    Tensor *z =
        steps ? nn_plain_attention(t, &(Scoring){&attention_dot}, q, k, v, a->heads, &reach, steps)
              : tape_attention(t, q, k, v, a->heads, &reach);
    return tape_linear(t, z, &a->out, NULL, ACT_NONE, NULL);
}
