#include "grading/model_table.h"
#include "gradcheck/gradcheck_text.h"
#include <math.h>
#include <string.h>

/* The columns of errors. */
enum { DIFFERENCES, FLOAT, PORT, COLUMNS };

void model_table_heading(FILE *out, const Model *m, const PaddedBatch *b, double loss) {
    const ModelConfig *c = &m->config;
    bool lm = c->kind == KIND_LM;
    fprintf(out, "%s: %d", lm ? "lm" : "seq2seq", c->encoder_layers);
    if (!lm) fprintf(out, " + %d", c->decoder_layers);
    fprintf(out,
            " layers, d_model %d, %d heads, %ld parameters; %ld sequences, %ld target tokens; loss %.10g\n\n",
            c->d_model, c->heads, m->parameters.elements, b->rows, batch_padded_targets(b), loss);
    fprintf(out, "%-46s %8s %11s %9s %9s  %s\n", "tensor", "elements", "differences", "float", "port",
            "verdict");
}

static int column_of(const InputReport *in) {
    return strcmp(in->name, "float") == 0 ? FLOAT : strcmp(in->name, "port") == 0 ? PORT : DIFFERENCES;
}

void model_table_row(FILE *out, const CaseReport *differences, const CaseReport *values, ModelTotals *t) {
    double error[COLUMNS] = {0};
    bool any[COLUMNS] = {false};
    const CaseReport *both[] = {differences, values};
    Verdict verdict = differences->verdict > values->verdict ? differences->verdict : values->verdict;
    long kinks = 0, flat = 0, count = 0;
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < both[r]->inputs; i++) {
            const InputReport *in = &both[r]->in[i];
            int column = column_of(in);
            any[column] = true;
            count = shape_count(in->shape);
            kinks += in->kinks, flat += in->flat;
            if (in->error > error[column] || isnan(in->error)) error[column] = in->error;
            if (in->verdict == PASS && in->error > t->worst[column]) {
                t->worst[column] = in->error;
                snprintf(t->worst_at[column], sizeof t->worst_at[column], "%.64s/%.63s", values->op,
                         values->name);
            }
        }
    t->passed += verdict == PASS, t->failed += verdict == FAIL, t->inconclusive += verdict == INCONCLUSIVE;
    if (differences->inputs) {
        t->parameters++;
        t->elements += count;
        if (differences->inputs > 1) t->alone += differences->in[1].coordinates;
    }
    if (!out) return;
    fprintf(out, "%-46s ", values->name);
    if (count)
        fprintf(out, "%8ld", count);
    else
        fprintf(out, "%8s", "-");
    for (int i = 0; i < COLUMNS; i++)
        gradcheck_number(out, i == DIFFERENCES ? 11 : 9, error[i], any[i] && isfinite(error[i]));
    fprintf(out, "  %s", gradcheck_verdict_text(verdict));
    gradcheck_remarks(out, kinks, flat, 0);
}

void model_table_summary(FILE *out, const ModelTotals *t, double seconds) {
    static const char *const what[COLUMNS] = {"differences", "the float pass", "the port"};
    fprintf(out,
            "\n%ld model%s, %ld parameters of %ld elements, all of them moved together and %ld alone, in "
            "%.1f s\n",
            t->models, t->models == 1 ? "" : "s", t->parameters, t->elements, t->alone, seconds);
    for (int i = 0; i < COLUMNS; i++)
        if (t->worst[i] > 0)
            fprintf(out, "worst relative error of %s %.1e (%s)\n", what[i], t->worst[i], t->worst_at[i]);
    fprintf(out, "%ld passed, %ld failed, %ld inconclusive\n", t->passed, t->failed, t->inconclusive);
}
