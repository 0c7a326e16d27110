/* Prints what a trained model attends to in a text. */
#include "explain/screen.h"
#include "explain/steps.h"
#include <string.h>

static void show_heads(const Records *r, const Record *record, long wanted) {
    const Tensor *a = record->node->out;
    long n = a->shape.size[1], m = a->shape.size[2];
    const Labels *rows = record_labels(r, record->axes.of[1]);
    const Labels *columns = record_labels(r, record->axes.of[2]);
    for (long head = 1; head <= a->shape.size[0]; head++) {
        char title[PARAMETER_NAME + 32];
        if (wanted && head != wanted) continue;
        snprintf(title, sizeof title, "%s, head %ld", record->module, head);
        map_print(&(Map){title, n, m, "query", "key", rows ? rows->of : NULL,
                         columns ? columns->of : NULL, a->data + (head - 1) * n * m, 0, 1});
        putchar('\n');
    }
}

/* Prints all attentions, in the order of computation. */
static bool show_run(const Records *r, const StepOptions *o, Error *e) {
    const char *module = o->module ? o->module : "";
    long shown = 0;
    for (long i = 0; i < r->count; i++) {
        const Record *record = &r->of[i];
        char name[RECORD_NAME];
        if (strcmp(record_name(r, record->node->out, name), "A") != 0) continue;
        if (strncmp(record->module, module, strlen(module)) != 0) continue;
        show_heads(r, record, o->head);
        shown++;
    }
    return shown || error_set(e, STATUS_USAGE,
                              "--module: found \"%s\", need a part of the model "
                              "with attention: encoder.layers.0",
                              ESCAPED(module));
}

bool explain_run(const StepOptions *o, Error *e) {
    Pass p;
    Records r;
    bool ok = pass_open(&p, &o->pass, e);
    if (ok) {
        pass_records(&p, &r);
        ok = pass_has_head(&p, o->head, e) && show_run(&r, o, e);
    }
    pass_close(&p);
    return ok;
}
