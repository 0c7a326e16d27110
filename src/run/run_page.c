#include "run/run_page.h"
#include "run/metrics.h"
#include "run/page.h"
#include "text/tokenizer.h"
#include "training/train_config.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- Tokens ---- */

/* The texts of a model's tokens. */
typedef struct Words {
    Tokenizer *tokenizer;
    const char **token; /* [count] */
    char *bytes;        /* of the tokens */
    long count;
} Words;

/* The id in a note; -1: none. */
static long id_in(const Safetensors *notes, const char *key) {
    const char *text = safetensors_metadata(notes, key);
    return text ? strtol(text, NULL, 10) : -1;
}

/* The bytes of each token, and "begin", "end" and "pad" for the ids above the tokenizer's. */
static bool read_words(Words *w, const Safetensors *notes, Error *e) {
    enum { ABOVE = 3 };
    const char *vocabulary = safetensors_metadata(notes, "vocabulary");
    long begin = id_in(notes, "begin_id"), end = id_in(notes, "end_id");
    if (!vocabulary)
        return error_set(e, STATUS_BAD_DATA, "%s: metadata: found no vocabulary, need it", notes->path);
    const Tokenizer *k = w->tokenizer = tokenizer_parse(notes->path, vocabulary, e);
    if (!k) return false;
    w->count = k->size + ABOVE;
    w->token = malloc((size_t)w->count * sizeof *w->token);
    char *bytes = w->bytes = malloc((size_t)k->size * (TOKEN_BYTES + 1));
    if (!w->token || !bytes)
        return error_set(e, STATUS_NO_MEMORY, "memory: the texts of %ld tokens", w->count);
    for (int32_t id = 0; id < w->count; id++) {
        w->token[id] = id == begin ? "begin" : id == end ? "end" : "pad";
        if (id >= k->size) continue;
        w->token[id] = bytes;
        size_t n = tokenizer_decode(k, &id, 1, bytes);
        if (strlen(bytes) < n) strcpy(bytes, "\\x00"); /* a byte that ends texts of C */
        bytes += strlen(bytes) + 1;
    }
    return true;
}

/* ---- Title and figures ---- */

static const char *note_or(const Page *p, const char *key, const char *otherwise) {
    const char *text = safetensors_metadata(p->notes, key);
    return text ? text : otherwise;
}

static void begin(const Page *p, FILE *out) {
    enum { LINE = 1024 };
    const RunTables *t = p->tables;
    const Frames *f = p->frames;
    char title[LINE], status[LINE] = "";
    const char *task = safetensors_metadata(p->notes, "task"), *text = note_or(p, NOTE_TEXT, "");
    bool trained = task && !(f->count && *f->step < 0);
    snprintf(title, LINE, "%s%s", trained ? "Training a Transformer: " : "Attention of ",
             trained ? task : p->directory);
    if (!trained)
        snprintf(status, LINE, "The tokens that each token of a sentence attends to.");
    else if (t->metrics.rows)
        snprintf(status, LINE,
                 "%s step %.0f of %s. Attention and answers are shown at %d of %ld evaluations. %s%s%s",
                 isnan(run_tables_last(t, "final_loss")) ? "In training, at" : "Ended after",
                 run_tables_last(t, "step"), note_or(p, NOTE_STEPS, "?"), f->count, t->metrics.rows, text,
                 *text ? ". " : "", note_or(p, NOTE_REMARK, ""));
    page_begin(title, status, out);
}

__attribute__((format(printf, 3, 4))) static void figure(FILE *out, const char *name, const char *format,
                                                         ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    page_fact(name, text, out);
}

static void count(FILE *out, const char *name, double count) {
    char text[NUMBER_ROOM];
    page_fact(name, number_text(text, (long)count), out);
}

/* Calls page_fact for the notes that begin so. */
static void noted(const Page *p, const char *prefix, FILE *out) {
    size_t n = strlen(prefix);
    for (int i = 0; i < p->notes->metadata_count; i++) {
        const Metadata *note = &p->notes->metadata[i];
        if (strncmp(note->key, prefix, n) == 0) page_fact(note->key + n, note->value, out);
    }
}

/* Those of the last evaluation: of all held-out data at the end of a run. */
static void figures(const Page *p, FILE *out) {
    const RunTables *t = p->tables;
    double loss = run_tables_last(t, "final_loss"), accuracy = run_tables_last(t, "final_accuracy"),
           exact = run_tables_last(t, "val_exact");
    if (t->metrics.rows == 0) return;
    if (isnan(loss)) loss = run_tables_last(t, "val_loss"), accuracy = run_tables_last(t, "val_accuracy");
    fputs("<dl class=\"figures\">\n", out);
    if (t->characters > 0) {
        figure(out, "held-out nats/char", "%.4f", loss);
        figure(out, "held-out bits/char", "%.4f", loss / log(2));
        figure(out, "perplexity a token", "%.2f", exp(loss * t->characters));
    } else
        figure(out, "held-out loss", "%.4f", loss);
    if (t->unknown > 0)
        figure(out, "not comparable", "%.3g %% of the characters are [UNK]", 100 * t->unknown);
    figure(out, "held-out accuracy", "%.2f %%", 100 * accuracy);
    if (!isnan(exact)) figure(out, "exact answers", "%.2f %%", 100 * exact);
    count(out, "parameters", run_tables_last(t, "params"));
    count(out, "training tokens", run_tables_last(t, "tokens"));
    figure(out, "seconds", "%.1f", run_tables_last(t, "seconds"));
    fputs("</dl>\n", out);
}

/* ---- The page ---- */

static void curves(const Page *p, FILE *out) {
    char note[512];
    RunPictures pictures;
    curves_draw(p->tables, p->notes, &pictures);
    snprintf(note, sizeof note, "%s%s", note_or(p, NOTE_LOSS, ""),
             p->tables->steps.rows
                 ? " A point of a training curve is the mean of the steps since the point before."
                 : "");
    page_curves(pictures.picture, pictures.count, note, out);
}

static void write_page(FILE *out, const void *page) {
    const Page *p = page;
    const char *command = safetensors_metadata(p->notes, NOTE_COMMAND);
    begin(p, out);
    figures(p, out);
    curves(p, out);
    page_answers(p, out);
    page_maps(p, out);
    fputs("<section>\n<h2>Options</h2>\n<dl class=\"facts\">\n", out);
    noted(p, RECIPE, out);
    fputs("</dl>\n", out);
    if (command) page_element("<p>Command that repeats this run:</p>\n<pre>", command, "</pre>\n", out);
    fputs("</section>\n", out);
    page_data(p, out);
    page_end(out);
}

bool page_write(const Page *p, const char *path, Error *e) {
    return file_print(path, write_page, p, e);
}

bool page_of_frames(const Safetensors *notes, const Frames *frames, const char *directory, const char *path,
                    Error *e) {
    RunTables tables = {0};
    Frames own = {0};
    Words words = {0};
    Page p = {directory, notes, &tables, frames ? frames : &own, NULL};
    bool ok = read_words(&words, notes, e) && run_tables_read(&tables, directory, notes, e) &&
              (frames || frames_read(&own, notes, words.count, e));
    p.token = words.token;
    ok = ok && page_write(&p, path, e);
    run_tables_free(&tables);
    frames_free(&own);
    tokenizer_free(words.tokenizer);
    free(words.token), free(words.bytes);
    return ok;
}

bool page_of_run(const char *directory, const char *path, Error *e) {
    char frames[PATH_ROOM];
    Safetensors file = {0};
    bool ok = directory_file(frames, directory, "frames.safetensors", STATUS_NO_INPUT, e) &&
              safetensors_read(&file, frames, e) && page_of_frames(&file, NULL, directory, path, e);
    safetensors_free(&file);
    return ok;
}
