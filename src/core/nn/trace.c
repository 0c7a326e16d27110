#include "nn/trace.h"
#include "autograd/op.h"
#include <string.h>

const AttentionTrace *nn_trace_find(const Trace *trace, const char *name) {
    const AttentionTrace *a = trace->first;
    while (a && strcmp(a->name, name) != 0) a = a->next;
    return a;
}

AttentionTrace *nn_trace_add(Trace *trace, const Tensor *x, const char *name, long sequences) {
    AttentionTrace *a = node_memory(x->maker, sizeof *a);
    *a = (AttentionTrace){.name = name, .sequences = sequences};
    a->steps = node_memory(x->maker, (size_t)sequences * sizeof *a->steps);
    *(trace->last ? &trace->last->next : &trace->first) = a;
    trace->last = a;
    return a;
}

const TensorTrace *nn_trace_name_of(const Trace *trace, const Tensor *x) {
    const TensorTrace *t = trace->tensors;
    while (t && t->x != x) t = t->next;
    return t;
}

void nn_trace_name(Trace *trace, Tape *tape, Tensor *x, const char *name, Axes axes) {
    if (!trace || nn_trace_name_of(trace, x)) return;
    TensorTrace *t = node_memory(tape->last, sizeof *t);
    *t = (TensorTrace){x, name, axes, trace->tensors};
    trace->tensors = t;
}
