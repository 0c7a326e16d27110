/* generate: decodes with a trained model: answers to sequences, or the continuation of a text.
 *
 *     ./generate runs/lm --chat
 *     ./generate runs/lm --prompt "The mill"
 *     echo ABC | ./generate runs/copy */
#include "base/options.h"
#include "decoding/beam.h"
#include "decoding/saved_run.h"
#include "decoding/score.h"
#include "decoding/stream.h"
#include "run/chat.h"
#include "run/score_show.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct Settings {
    const char *prompt, *stop, *score;
    long length, count, beam, n_best;
    double length_penalty;
    Sampler sampler;
    bool show, show_score, greedy, has_temperature, talks;
    ChatOptions talk;
} s = {.count = 1, .length_penalty = 0.6, .sampler = {.top_p = 1, .repetition_penalty = 1}};

#define AT(type, field) SETTING(type, struct Settings, field)
#define DECODES         .of = "!score"
static const Setting table[] = {
    {"Input"},
    {"prompt", "TEXT", NULL, "text to answer or to continue", AT(TEXT, prompt),
     "each line of stdin", DECODES},
    {"Conversation"},
    {"chat", NULL, NULL, "answer each line as the text's conversations do", AT(FLAG, talks),
     .of = "!prompt !score"},
    {"user", "LABEL", NULL, "what stands before the user's lines", AT(TEXT, talk.user),
     "as in the text: User:", .of = "chat"},
    {"bot", "LABEL", NULL, "what stands before the answers", AT(TEXT, talk.bot),
     "as in the text: Bot:", .of = "chat"},
    {"Decoding"},
    {"length", "N", "[1,1000000]",
     "tokens to write; maximum length of an answer. In a text beyond the context, a token depends "
     "on the "
     "last half to whole context: the window moves by half of it",
     AT(INTEGER, length), "400; answers: the model's maximum", DECODES},
    {"stop", "TEXT", NULL, "end before this text", AT(TEXT, stop), "none", DECODES},
    {"temperature", "X", "[0,1000]", "temperature of the softmax; 0: greedy",
     AT(REAL, sampler.temperature), "0.8; 0 for answers, unless an option draws", DECODES},
    {"greedy", NULL, NULL, "choose the likeliest token", AT(FLAG, greedy), DECODES},
    {"top-k", "N", "[0,16777216]", "draw from the k likeliest tokens; 0: from all",
     AT(INTEGER, sampler.top_k), DECODES},
    {"top-p", "P", "(0,1]",
     "draw from the fewest likeliest tokens that have probability P together",
     AT(REAL, sampler.top_p), DECODES},
    {"min-p", "P", "[0,1]", "draw from tokens at least P times as probable as the likeliest",
     AT(REAL, sampler.min_p), DECODES},
    {"repetition-penalty", "X", "[0.01,100]",
     "divide positive scores of earlier tokens by X, multiply others",
     AT(REAL, sampler.repetition_penalty), .of = "!beam !score"},
    {"count", "N", "[1,4096]", "draw N texts at once, as with the seeds SEED, SEED + 1, …",
     AT(INTEGER, count), .of = "!show-probabilities !score"},
    {"Beam search"},
    {"beam", "N", "[1,65536]", "keep the N likeliest texts at every token", AT(INTEGER, beam),
     "none", DECODES},
    {"length-penalty", "A", "[0,10]", "divide the log-probability of n tokens by ((5 + n) / 6)^A",
     AT(REAL, length_penalty), .of = "beam"},
    {"n-best", "K", "[1,65536]", "print the K best texts and their scores", AT(INTEGER, n_best),
     "the best text", .of = "beam"},
    {"Probabilities"},
    {"show-probabilities", NULL, NULL, "print the likeliest next tokens; * is the chosen one",
     AT(FLAG, show), .of = "!beam !score"},
    {"score", "FILE", NULL,
     "print the loss on a text, or on lines of source, tab and target; operands after RUN are more "
     "files",
     AT(TEXT, score), "none"},
    {"show", NULL, NULL, "with --score: print each token with its loss, or the wrong answers",
     AT(FLAG, show_score), .of = "score"},
    {0},
};

/* The first of the options that draw tokens, or NULL. */
static const char *drawing_option(void) {
    const Sampler *a = &s.sampler;
    const struct {
        bool given;
        const char *name;
    } all[] = {{a->temperature > 0, "--temperature"},
               {s.count > 1, "--count"},
               {a->top_k > 0, "--top-k"},
               {a->top_p < 1, "--top-p"},
               {a->min_p > 0, "--min-p"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].given) return all[i].name;
    return NULL;
}

/* Refuses options that contradict each other or have no effect. */
static bool check_options(const Options *o, Error *e) {
    s.has_temperature = options_given(o, "temperature");
    bool greedy = s.greedy || (s.has_temperature && s.sampler.temperature == 0);
    const char *draws = drawing_option();
    if (!options_check_effects(o, e)) return false;
    if (s.n_best > s.beam)
        return error_set(e, STATUS_USAGE, "--n-best: found more than --beam, need at most as many");
    if (s.stop && (!*s.stop || strlen(s.stop) > MAX_STOP))
        return error_set(e, STATUS_USAGE,
                         "--stop: found no character or too many, need 1 to %d bytes", MAX_STOP);
    if (!s.score && o->operands > 1)
        return error_set(e, STATUS_USAGE, "\"%s\": found one operand too many, need RUN",
                         ESCAPED(o->operand[1]));
    if (!draws || !(s.beam || greedy)) return true;
    return error_set(e, STATUS_USAGE, "%s: found %s, need one of the two", draws,
                     s.beam ? "--beam" : "greedy decoding");
}

/* ---- The run ---- */

/* An open run, ready to decode. */
typedef struct Run {
    SavedRun saved;
    Tape *tape;
    bool lm, text; /* a language model; whose texts have no end */
    bool talks; /* at a terminal, with a language model: a line continues what was said before … */
    int32_t *said; /* … [said_count] */
    long said_count;
    /* Set for each prompt: */
    Decoder decoder;
    const int32_t
        *echo; /* [echoed] what is written before each text: the prompt of a language model */
    long echoed, prompted; /* prompted: tokens before each text in the decoder */
    Stream *stream;        /* [s.count] */
    bool alone, begun;     /* the one text is written as its tokens come; a token was chosen */
} Run;

static void run_close(Run *r) {
    tape_free(r->tape);
    free(r->said);
    saved_run_close(&r->saved);
}

static bool run_open(Run *r, const char *name, uint64_t seed, Error *e) {
    if (!saved_run_open(&r->saved, name, false, e)) return false;
    if (strncmp(name, r->saved.directory, strlen(r->saved.directory)) != 0)
        fprintf(stderr, "generate: %s: the run in %s\n", ESCAPED(name),
                ESCAPED(r->saved.directory));
    r->tape = tape_new();
    r->lm = config_is_lm(&r->saved.model->config);
    r->text = r->lm && !r->saved.lines;
    s.sampler.seed = seed;
    bool texts = r->lm && !s.beam && !s.show && !s.talks;
    if (!s.has_temperature && !s.greedy && (texts || drawing_option())) s.sampler.temperature = 0.8;
    if (s.talks) return true;
    if (!s.length && !r->text) s.length = r->saved.model->config.max_length;
    if (!s.length) s.length = s.show ? 1 : 400;
    return true;
}

/* ---- Texts ---- */

/* Begins a text on `out` with the echo, in which no stop text ends it. */
static Stream begin_text(const Run *r, FILE *out) {
    Stream stream = {r->saved.tokenizer, NULL, out};
    long echoed = out ? r->echoed : 0;
    for (long i = 0; i < echoed; i++) stream_take(&stream, r->echo[i]);
    stream.stop = s.stop;
    return stream;
}

/* Writes echo and text to `out`, until it stops; true: it does. */
static bool write_text(const Run *r, const int32_t *ids, long n, FILE *out) {
    Stream stream = begin_text(r, out);
    for (long i = 0; i < n; i++)
        if (!stream_take(&stream, ids[i])) return true;
    stream_end(&stream);
    return false;
}

/* Writes one of several texts, and its score where --n-best asks for it. */
static void write_one(const Run *r, long i, double score, const int32_t *ids, long n) {
    if (r->text && i > 0) puts("---");
    if (s.n_best) printf(r->text ? "%.4f\n" : "%.4f\t", score);
    write_text(r, ids, n, stdout);
    putchar('\n');
}

/* The text that is printed, *bytes and a NUL, to be freed; NULL: no memory. */
static char *text_of(const Run *r, const int32_t *ids, long n, size_t *bytes) {
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes);
    if (!out) return NULL;
    write_text(r, ids, n, out);
    fclose(out);
    return text;
}

/* Prints the likeliest next tokens with bars, and which is chosen. */
static void show_probabilities(const Run *r, int32_t chosen) {
    enum { SHOWN = 10, BAR = 40 };
    Scores c = decoder_scores(&r->decoder, 0);
    double *p = r->decoder.probability;
    decode_probabilities(&s.sampler, &c, p);
    if (r->begun) putchar('\n');
    for (long shown = 0; shown < SHOWN && shown < c.count; shown++) {
        char text[TOKEN_BYTES + 1];
        int32_t best = 0;
        for (int32_t id = 1; id < c.count; id++)
            if (p[id] > p[best]) best = id;
        if (p[best] <= 0) break;
        tokenizer_decode(r->saved.tokenizer, &best, 1, text);
        printf("%c %6.2f %%  ", best == chosen ? '*' : ' ', 100 * p[best]);
        for (int i = 0; i < BAR; i++) fputs(i < lround(BAR * p[best]) ? "█" : " ", stdout);
        if (best == r->saved.end_id)
            puts("  [end]");
        else
            printf("  \"%s\"\n", ESCAPED(text));
        p[best] = -1;
    }
}

/* Takes a token as soon as it is chosen. */
static bool hear(void *run, long i, int32_t id) {
    Run *r = run;
    if (s.show) show_probabilities(r, id);
    if (!r->begun)
        for (long k = 0; k < s.count; k++) r->stream[k] = begin_text(r, r->alone ? stdout : NULL);
    r->begun = true;
    if (r->decoder.ended[i]) return false; /* by its end token, which is no text */
    bool on = stream_take(&r->stream[i], id);
    return stdout_flush() && on;
}

static void write_all(const Run *r) {
    const Decoder *d = &r->decoder;
    for (long i = 0; i < s.count; i++)
        write_one(r, i, 0, decoder_ids(d, i) + r->prompted, d->tokens[i] - r->prompted);
}

static bool sample(Run *r, Error *e) {
    Decoder *d = &r->decoder;
    r->stream = calloc((size_t)s.count, sizeof *r->stream);
    if (!r->stream) return error_set(e, STATUS_NO_MEMORY, "memory: the texts");
    r->alone = s.count == 1 && !s.show;
    bool ok = decoder_run(d, &s.sampler, hear, r, e);
    if (r->alone && (r->begun || ok)) {
        stream_end(r->stream);
        putchar('\n');
    }
    if (ok && s.count > 1) write_all(r);
    free(r->stream);
    if (ok && r->talks) {
        free(r->said);
        r->said = d->ids;
        r->said_count = d->tokens[0];
        d->ids = NULL;
    }
    return ok;
}

static bool has_stop(void *run, const int32_t *ids, long n) {
    return write_text(run, ids, n, NULL);
}

/* Different tokens may write the same text. */
static bool same_text(void *run, const int32_t *a, long a_tokens, const int32_t *b, long b_tokens) {
    size_t one_bytes, other_bytes;
    char *one = text_of(run, a, a_tokens, &one_bytes),
         *other = text_of(run, b, b_tokens, &other_bytes);
    bool same = one && other && one_bytes == other_bytes && memcmp(one, other, one_bytes) == 0;
    free(one);
    free(other);
    return same;
}

static bool search(Run *r, Error *e) {
    long found = 0, texts = s.n_best ? s.n_best : 1;
    Hypothesis *best = calloc((size_t)texts, sizeof *best);
    BeamOptions options = {s.length_penalty, texts, s.stop ? has_stop : NULL, same_text, r};
    if (!best) return error_set(e, STATUS_NO_MEMORY, "memory: the hypotheses");
    bool ok = beam_search(&r->decoder, &options, best, &found, e);
    for (long i = 0; i < found; i++) {
        if (ok) write_one(r, i, best[i].score, best[i].ids, best[i].n);
        free(best[i].ids);
    }
    free(best);
    return ok;
}

/* Writes what follows ids[0 … n), of which the last `echoed` are new. */
static bool reply(Run *r, const int32_t *ids, long n, long echoed, Error *e) {
    long start[] = {0, n};
    Given given = {.prompt = ids, .prompt_tokens = n};
    if (!r->lm) given = (Given){&r->saved.begin_id, 1, 1, start, ids};
    given.next = saved_run_next(&r->saved);
    r->echo = ids + n - echoed;
    r->echoed = r->lm ? echoed : 0;
    r->prompted = given.prompt_tokens;
    r->begun = false;
    long max = r->saved.model->config.max_length + 1 - r->prompted; /* of an answer and of a line */
    if (r->text || max > s.length) max = s.length;
    long texts = s.beam ? s.beam : s.count;
    bool ok = decoder_open(&r->decoder, r->tape, r->saved.model, texts, &given, max, e) &&
              (s.beam ? search : sample)(r, e);
    decoder_close(&r->decoder);
    return ok;
}

/* ---- Prompts ---- */

/* Bytes of a prompt without a space at its end, if in the text a space begins the next word's
 * token. */
static size_t without_space(const Tokenizer *k, const Passage *p) {
    bool joins = k->kind->piece(" a", 2) == 2;
    return joins && p->length > 1 && p->text[p->length - 1] == ' ' ? p->length - 1 : p->length;
}

/* Writes what was said before, or the token that begins a line, and the n tokens of the text into
 * ids. */
static bool encode_prompt(const Run *r, const Passage *text, int32_t *ids, long *said, long *n,
                          Error *e) {
    const Tokenizer *k = r->saved.tokenizer;
    bool line = r->saved.lines;
    long max = r->saved.model->config.max_length;
    if (k->utf8 && !utf8_check(text->where, text->text, text->length, e)) return false;
    if (*said) memcpy(ids, line ? &r->saved.begin_id : r->said, (size_t)*said * sizeof *ids);
    bool breaks = *said && text->length && r->text;
    if (breaks && tokenizer_encode(k, text->where, "\n", 1, ids + *said, n, &(Error){0})) ++*said;
    if (line && memchr(text->text, '\n', text->length))
        return error_set(e, STATUS_BAD_DATA,
                         "%s: found the end of a line, need the beginning of one", text->where);
    size_t bytes = r->text ? without_space(k, text) : text->length;
    if (!tokenizer_encode(k, text->where, text->text, bytes, ids + *said, n, e)) return false;
    if (r->text || *said + *n <= max) return true;
    return error_set(e, STATUS_BAD_DATA, "%s: found %ld symbols, need at most %ld", text->where, *n,
                     max - *said);
}

/* Without a prompt a language model begins as a line of its training text begins. That beginning is
 * shown where a character goes on after it. */
static bool respond(Run *r, const Passage *text, Error *e) {
    const int32_t *opening = &r->saved.opening_id;
    long said = r->saved.lines ? 1 : r->said_count, n = 0;
    if (text->length == 0 && !said && *opening != NO_PAD)
        return reply(r, opening, 1, tokenizer_unfinished(r->saved.tokenizer, opening, 1, NULL) > 0,
                     e);
    if (text->length == 0 && !said)
        return error_set(e, STATUS_BAD_DATA, "%s: found no character, need at least one",
                         text->where);
    int32_t *ids = calloc((size_t)said + 1 + text->length, sizeof *ids);
    if (!ids) return error_set(e, STATUS_NO_MEMORY, "memory: %zu tokens", text->length);
    bool ok = encode_prompt(r, text, ids, &said, &n, e) && reply(r, ids, said + n, n, e);
    free(ids);
    return ok;
}

/* The lines of stdin. */
typedef struct Prompts {
    bool typed; /* at a terminal */
    char *line; /* read last, of so much memory */
    size_t capacity;
    long count;
} Prompts;

/* Reads the next line into *text, without its end and a byte-order mark at the beginning. False at
 * the end, or with the error: STATUS_NO_INPUT for a directory, STATUS_IO. */
static bool next_prompt(Prompts *p, Passage *text, char where[40], Error *e) {
    bool marks = p->typed && isatty(STDERR_FILENO);
    if (marks) fputs("> ", stderr);
    ssize_t bytes = getline(&p->line, &p->capacity, stdin);
    if (bytes < 0 && marks) putc('\n', stderr);
    if (bytes < 0 && ferror(stdin) && errno == EISDIR)
        return error_set(e, STATUS_NO_INPUT, "stdin: found a directory, need a file");
    if (bytes < 0 && ferror(stdin))
        return error_set(e, STATUS_IO, "stdin: reading failed: %s", strerror(errno));
    if (bytes < 0) return false;
    while (bytes > 0 && strchr("\r\n", p->line[bytes - 1])) bytes--;
    size_t mark = p->count++ ? 0 : utf8_mark(p->line, (size_t)bytes);
    if (mark) fputs("stdin: skipped a byte-order mark\n", stderr);
    snprintf(where, 40, "stdin: line %ld", p->count);
    *text = (Passage){where, p->line + mark, (size_t)bytes - mark};
    return true;
}

/* Answers prompts to the end. One that cannot be read is reported, and the next is answered. */
static bool respond_to_each(Run *r, Prompts *p, Error *e) {
    bool bad = false;
    Passage text;
    char where[40];
    while (stdout_flush() && next_prompt(p, &text, where, e)) {
        bool ok = respond(r, &text, e);
        if (!ok && e->status != STATUS_BAD_DATA) return false;
        if (!ok) fprintf(stderr, "generate: %s\n", e->text);
        bad |= !ok;
        *e = (Error){0};
    }
    if (bad && !p->typed && e->status == STATUS_DONE)
        return error_set(e, STATUS_BAD_DATA, "%s", "");
    return e->status == STATUS_DONE;
}

/* A language model writes a text of its own first at a terminal, and where there is no prompt. */
static bool respond_to_all(Run *r, Prompts *p, Error *e) {
    const Passage none = {"stdin", "", 0};
    bool opens = r->saved.opening_id != NO_PAD;
    r->talks = p->typed && r->text && !s.show && !s.beam && s.count == 1;
    if (p->typed && opens && (r->talks || s.count > 1) && !respond(r, &none, e)) return false;
    if (p->typed && opens && s.count > 1) return true;
    if (p->typed)
        fprintf(
            stderr,
            r->talks
                ? "each line continues the text, an empty one lets the model go on; Ctrl-D ends\n"
                : "each line is a prompt; Ctrl-D ends\n");
    return respond_to_each(r, p, e) && (p->typed || !opens || p->count || respond(r, &none, e));
}

static void respond_to_lines(Run *r, Error *e) {
    Prompts p = {.typed = isatty(STDIN_FILENO)};
    respond_to_all(r, &p, e);
    free(p.line);
}

/* Answers are greedy, unless an option draws. */
static bool converse(Run *r, Error *e) {
    s.talk.max_answer = s.length;
    s.talk.sampler = s.sampler;
    return chat(r->tape, &r->saved, &s.talk, e);
}

int main(int argc, char **argv) {
    Error e = {0};
    Options options = {
        "generate", "RUN", "Decodes with the model that ./train saved in the directory RUN.",
        table,      &s,    .min = 1,
        .max = argc};
    if (options_parse(&options, argc, argv, &e) && check_options(&options, &e)) {
        Run r = {0};
        if (run_open(&r, options.operand[0], options.seed, &e)) {
            options.operand[0] = (char *)s.score; /* in the place of RUN */
            if (s.talks)
                converse(&r, &e);
            else if (s.score)
                score_show(r.tape, &r.saved, options.operand, options.operands, s.show_score, &e);
            else if (s.prompt)
                respond(&r, &(Passage){"--prompt", s.prompt, strlen(s.prompt)}, &e);
            else
                respond_to_lines(&r, &e);
        }
        run_close(&r);
    }
    return options_exit(options.program, &e);
}
