/* The loss of each token of a text. */
#include "formats/json.h"
#include "run/watch.h"
#include <math.h>
#include <stdlib.h>

void costs_print_text(FILE *out, const Tokenizer *k, const int32_t *id, long count) {
    char *text = malloc((size_t)count * TOKEN_BYTES + 1);
    if (!text) error_no_memory("the text of %ld tokens", count);
    size_t bytes = tokenizer_decode(k, id, count, text);
    for (size_t i = 0; i < bytes; i++)
        if (!text[i])
            text[i] = '\xFF'; /* is printed as U+FFFD, as other bytes that are not UTF-8 */
    json_print(out, text);
    free(text);
}

void costs_open(Costs *c, const Tokenizer *k) {
    *c = (Costs){.tokenizer = k};
    c->tokens = open_memstream(&c->text[0], &c->bytes[0]);
    c->nats = open_memstream(&c->text[1], &c->bytes[1]);
    if (!c->tokens || !c->nats) error_no_memory("the tokens of a text");
}

void costs_add(Costs *c, int32_t id, double nats) {
    c->loss = c->ids ? c->loss + nats : nats;
    c->id[c->ids++] = id;
    if (tokenizer_unfinished(c->tokenizer, c->id, c->ids, NULL) && c->ids < UTF8_MAX) return;
    const char *separator = ftell(c->nats) > 0 ? ", " : "";
    fputs(separator, c->tokens);
    costs_print_text(c->tokens, c->tokenizer, c->id, c->ids);
    fprintf(c->nats, isfinite(c->loss) ? "%s%.3f" : "%snull", separator, c->loss);
    c->ids = 0;
}

void costs_write(Costs *c, FILE *out) {
    if (fclose(c->tokens) != 0 || fclose(c->nats) != 0) error_no_memory("the tokens of a text");
    fprintf(out, ", \"tokens\": [%s], \"nats\": [%s]", c->text[0], c->text[1]);
    free(c->text[0]);
    free(c->text[1]);
}
