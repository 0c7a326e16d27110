/* What entry points print as JSON. */
#include "base/utf8.h"
#include "formats/json.h"
#include "web/session.h"
#include <math.h>
#include <stdlib.h>

void web_print_number(const char *name, double x) {
    printf(isfinite(x) ? ", \"%s\": %.9g" : ", \"%s\": null", name, x);
}

void web_print_text(const char *name, const char *text) {
    printf(", \"%s\": ", name);
    json_print(stdout, text);
}

static void print_token(const Session *s, int32_t id) {
    char label[TOKEN_LABEL];
    const char *text = id < s->run.tokenizer->size ? tokenizer_label(s->run.tokenizer, id, label)
                       : id == s->run.begin_id     ? "<begin>"
                       : id == s->run.end_id       ? "<end>"
                                                   : "<pad>";
    json_print(stdout, text);
}

void web_print_tokens(const Session *s, const char *name, const int32_t *id, long count) {
    printf(", \"%s\": [", name);
    for (long i = 0; i < count; i++) {
        if (i) putchar(',');
        print_token(s, id ? id[i] : (int32_t)i);
    }
    putchar(']');
}

bool web_print_decoded(const Session *s, const char *name, const int32_t *id, long count, Error *e) {
    char *text = malloc((size_t)count * TOKEN_BYTES + 1);
    if (!text) return error_set(e, STATUS_NO_MEMORY, "memory: a text of %ld tokens", count);
    tokenizer_decode(s->run.tokenizer, id, count, text);
    if (name)
        web_print_text(name, text);
    else
        json_print(stdout, text);
    free(text);
    return true;
}
