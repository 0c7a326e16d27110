/* ./bench decode: tokens a second that a model decodes, beside the time of reading its weights once, the least that a
 * token can take. */
#include "base/pool.h"
#include "bench/bench.h"
#include "decoding/decode.h"
#include "kernels/vector.h"

/* Decodes `more` tokens after a prompt of `prompt` tokens, or `batch` answers of `more` tokens. */
typedef struct Decoding {
    const Case *c;
    Model *model;
    Tape *tape;
    int32_t *ids, *out;
    long *start, *length; /* of sources and answers */
    long batch, prompt, more;
    Error error;
} Decoding;

static void decode(void *decoding) {
    enum { NO_END = -2 }; /* no token: answers have the maximum length */
    Decoding *d = decoding;
    Sampler greedy = {0};
    if (d->error.status) return;
    if (d->c->lm)
        decode_continue(d->tape, d->model, &greedy, d->ids, d->prompt, d->more, NULL, NULL, &d->error);
    else
        decode_answers(d->tape, d->model, &greedy, d->batch, d->start, d->ids, 0, NO_END, d->more, d->out,
                       d->length, &d->error);
}

static volatile real sink; /* keeps the sum from being optimised away */

/* Sums the weights, with as many sums as hide the latency of an addition. One thread reads. */
static void read_weights(void *decoding) {
    enum { SUMS = 8 };
    const Parameters *p = &((const Decoding *)decoding)->model->parameters;
    Vector sum[SUMS] = {{0}};
    for (long i = 0; i + SUMS * LANES <= p->size; i += SUMS * LANES)
#pragma GCC unroll 8
        for (int s = 0; s < SUMS; s++) sum[s] += vector_load(p->value + i + s * LANES);
    for (int s = 0; s < SUMS; s++) sink = sum[s][0];
}

static bool measure(Decoding *d, const char *what, const BenchOptions *o, Error *e) {
    Timing t = bench_time(decode, d, o->seconds, 3),
           reading = bench_time(read_weights, d, o->seconds / 10, 3);
    if (d->error.status) return error_set(e, d->error.status, "%s", d->error.text);
    double each = t.median / (double)d->more;
    BENCH_PRINT(o, {"case", d->c->name}, {"decodes", what}, {"batch", NULL, (double)d->batch, 0},
                {"tokens", NULL, (double)d->more, 0}, {"ms_per_token", NULL, each * 1e3, 4},
                {"tokens_per_s", NULL, (double)d->batch / each, 0},
                {"of_reading", NULL, t.best / (double)d->more / reading.best, 2},
                {"threads", NULL, pool_threads(), 0});
    return true;
}

static bool measure_text(Decoding *d, const BenchOptions *o, Error *e) {
    d->batch = 1;
    d->prompt = 1, d->more = d->c->T - 1;
    if (!measure(d, "text within context", o, e)) return false;
    d->prompt = d->c->T, d->more = d->c->T;
    return measure(d, "text beyond context", o, e);
}

static bool measure_answers(Decoding *d, const BenchOptions *o, Error *e) {
    d->more = d->c->T;
    d->batch = 1;
    if (!measure(d, "an answer", o, e)) return false;
    d->batch = d->c->batch;
    return measure(d, "answers", o, e);
}

static bool measure_case(const Case *c, const BenchOptions *o, Error *e) {
    ModelConfig config = case_config(c);
    size_t most = (size_t)(c->batch * (c->S + 2 * c->T));
    Arena arena = {0};
    Decoding d = {.c = c,
                  .model = model_new(&config, false, 1, e),
                  .tape = tape_new(),
                  .ids = case_ids(&arena, c, (long)most, 0),
                  .out = arena_alloc(&arena, most * sizeof *d.out),
                  .start = arena_alloc(&arena, ((size_t)c->batch + 1) * sizeof *d.start),
                  .length = arena_alloc(&arena, (size_t)c->batch * sizeof *d.length)};
    for (long i = 0; i <= c->batch; i++) d.start[i] = i * c->S;
    bool ok = d.model && (c->lm ? measure_text(&d, o, e) : measure_answers(&d, o, e));
    tape_free(d.tape);
    model_free(d.model);
    arena_free(&arena);
    return ok;
}

bool bench_decode(const char *name, const BenchOptions *o, Error *e) {
    static const char *const usual[] = {"chars", "baby", "copy"};
    for (size_t i = 0; i < (name ? 1 : sizeof usual / sizeof *usual); i++) {
        const Case *c = bench_case(name ? name : usual[i], e);
        if (!c || !measure_case(c, o, e)) return false;
    }
    return true;
}
