#include "nn/trace.h"
#include "autograd/op.h"
#include <stdio.h>
#include <string.h>

const AttentionTrace *nn_trace_find(const Trace *trace, const char *name) {
    const AttentionTrace *a = trace->first;
    while (a && strcmp(a->name, name) != 0) a = a->next;
    return a;
}

const ModuleTrace *nn_trace_module(const Trace *trace, const char *name) {
    const ModuleTrace *m = trace->first_module;
    while (m && strcmp(m->name, name) != 0) m = m->next;
    return m;
}

AttentionTrace *nn_trace_add(Trace *trace, const Tensor *x, const char *name, long sequences) {
    AttentionTrace *a = node_record(x->maker, sizeof *a);
    *a = (AttentionTrace){.name = name, .sequences = sequences};
    a->steps = node_record(x->maker, (size_t)sequences * sizeof *a->steps);
    *(trace->last ? &trace->last->next : &trace->first) = a;
    trace->last = a;
    return a;
}

void nn_trace_keep(Trace *trace, const Parameters *p, const Tensor *weight, const Tensor *in,
                   const Tensor *out) {
    if (!trace) return;
    ModuleTrace *m = node_record(out->maker, sizeof *m);
    m->in = in, m->out = out;
    for (int i = 0; i < p->count; i++) {
        const char *name = p->entry[i].name; /* the module's and ".weight" */
        if (p->entry[i].part[0] == weight)
            snprintf(m->name, sizeof m->name, "%.*s", (int)(strrchr(name, '.') - name), name);
    }
    *(trace->last_module ? &trace->last_module->next : &trace->first_module) = m;
    trace->last_module = m;
}
