#include "decoding/decode.h"
#include "decoding/decoder.h"
#include <string.h>

bool decode_answers(Tape *t, Model *m, const Sampler *s, long count, const long *start, const int32_t *source,
                    int32_t begin_id, int32_t end_id, long most, int32_t *out, long *length, Error *e) {
    Decoder d;
    Given given = {&begin_id, 1, count, start, source};
    bool ok = decoder_open(&d, t, m, count, &given, most, e) && decoder_run(&d, s, end_id, NULL, NULL, e);
    for (long i = 0; ok && i < count; i++) {
        length[i] = d.tokens[i] - 1;
        memcpy(out + i * most, decoder_ids(&d, i) + 1, (size_t)length[i] * sizeof *out);
    }
    decoder_close(&d);
    return ok;
}

bool decode_continue(Tape *t, Model *m, const Sampler *s, int32_t *ids, long n, long more,
                     bool (*emit)(void *context, long sequence, int32_t id), void *context, Error *e) {
    Decoder d;
    Given given = {.prompt = ids, .prompt_tokens = n, .slide = s->slide};
    bool ok = decoder_open(&d, t, m, 1, &given, more, e) && decoder_run(&d, s, NO_PAD, emit, context, e);
    if (ok) memcpy(ids + n, decoder_ids(&d, 0) + n, (size_t)(d.tokens[0] - n) * sizeof *ids);
    decoder_close(&d);
    return ok;
}
