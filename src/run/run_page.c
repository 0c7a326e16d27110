#include "run/run_page.h"
#include "pictures/label.h"
#include "run/metrics.h"
#include "run/run_curves.h"
#include "text/tokenizer.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { FIGURES = 24, FIGURE_TEXT = 256, OPTIONS = 64, LINE = 1024 };

/* A page being made, and the texts that it points into. */
typedef struct RunPage {
    Page page;
    RunTables tables;
    RunPictures pictures;
    FramesPage frames;
    Tokenizer *tokenizer;
    const char **token; /* [tokens] */
    char *bytes;        /* of the tokens */
    long tokens;
    PageFact figure[FIGURES], option[OPTIONS];
    char figure_text[FIGURES][FIGURE_TEXT], title[LINE], status[LINE], note[LINE];
} RunPage;

/* ---- Tokens ---- */

/* The id in a note; NO_TOKEN: none. */
static long id_in(const Safetensors *notes, const char *key) {
    const char *text = safetensors_metadata(notes, key);
    return text ? strtol(text, NULL, 10) : -1;
}

/* The bytes of each token, and "begin", "end" and "pad" for the ids above the tokenizer's. */
static bool read_tokens(RunPage *p, const Safetensors *notes, Error *e) {
    enum { ABOVE = 3 };
    const char *vocabulary = safetensors_metadata(notes, "vocabulary");
    long begin = id_in(notes, "begin_id"), end = id_in(notes, "end_id");
    if (!vocabulary)
        return error_set(e, STATUS_BAD_DATA, "%s: metadata: found no vocabulary, need it", notes->path);
    p->tokenizer = tokenizer_parse(notes->path, vocabulary, e);
    if (!p->tokenizer) return false;
    const Tokenizer *k = p->tokenizer;
    p->tokens = k->size + ABOVE;
    p->token = malloc((size_t)p->tokens * sizeof *p->token);
    char *bytes = p->bytes = malloc((size_t)k->size * (TOKEN_BYTES + 1));
    if (!p->token || !bytes)
        return error_set(e, STATUS_NO_MEMORY, "memory: the texts of %ld tokens", p->tokens);
    for (int32_t id = 0; id < p->tokens; id++) {
        p->token[id] = id == begin ? "begin" : id == end ? "end" : "pad";
        if (id >= k->size) continue;
        p->token[id] = bytes;
        size_t n = tokenizer_decode(k, &id, 1, bytes);
        if (strlen(bytes) < n) strcpy(bytes, "\\x00"); /* a byte that ends texts of C */
        bytes += strlen(bytes) + 1;
    }
    p->page.token = p->token, p->page.text = begin < 0;
    return true;
}

/* ---- Figures ---- */

__attribute__((format(printf, 3, 4))) static void add_figure(RunPage *p, const char *name, const char *format,
                                                             ...) {
    int i = p->page.figure_count++;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(p->figure_text[i], FIGURE_TEXT, format, arguments);
    va_end(arguments);
    p->figure[i] = (PageFact){name, p->figure_text[i]};
}

static void add_count(RunPage *p, const char *name, double count) {
    char text[NUMBER_ROOM];
    add_figure(p, name, "%s", number_text(text, (long)count));
}

/* The last evaluation: of all held-out data at the end of a run. */
static void add_figures(RunPage *p, const Safetensors *notes) {
    const char *unknown = safetensors_metadata(notes, NOTE_UNKNOWN);
    const RunTables *t = &p->tables;
    double all = run_tables_last(t, "final_loss"), exact = run_tables_last(t, "val_exact");
    double loss = isnan(all) ? run_tables_last(t, "val_loss") : all,
           accuracy = run_tables_last(t, isnan(all) ? "val_accuracy" : "final_accuracy");
    if (t->metrics.rows == 0) return;
    if (t->characters > 0) {
        add_figure(p, "held-out nats/char", "%.4f", loss);
        add_figure(p, "held-out bits/char", "%.4f", loss / log(2));
        add_figure(p, "perplexity a token", "%.2f", exp(loss * t->characters));
    } else
        add_figure(p, "held-out loss", "%.4f", loss);
    if (unknown && strtod(unknown, NULL) > 0)
        add_figure(p, "not comparable", "%.1f %% of the characters are [UNK]", 100 * strtod(unknown, NULL));
    add_figure(p, "held-out accuracy", "%.2f %%", 100 * accuracy);
    if (!isnan(exact)) add_figure(p, "exact answers", "%.2f %%", 100 * exact);
    add_count(p, "parameters", run_tables_last(t, "params"));
    add_count(p, "training tokens", run_tables_last(t, "tokens"));
    add_figure(p, "seconds", "%.1f", run_tables_last(t, "seconds"));
    for (int i = 0; i < notes->metadata_count && p->page.figure_count < FIGURES; i++) {
        const char *key = notes->metadata[i].key;
        if (strncmp(key, NOTE_SHARES, strlen(NOTE_SHARES)) == 0)
            add_figure(p, key + strlen(NOTE_SHARES), "%s", notes->metadata[i].value);
    }
}

/* ---- The page ---- */

static const char *note_or(const Safetensors *notes, const char *key, const char *otherwise) {
    const char *text = safetensors_metadata(notes, key);
    return text ? text : otherwise;
}

/* Title and status. */
static void add_words(RunPage *p, const Safetensors *notes, const char *directory) {
    const RunTables *t = &p->tables;
    const char *task = safetensors_metadata(notes, "task");
    bool trained = task && !(p->page.frame_count && p->page.frames[0].step < 0);
    if (trained)
        snprintf(p->title, LINE, "Training a Transformer: %s", task);
    else
        snprintf(p->title, LINE, "Attention of %s", directory);
    if (t->metrics.rows)
        snprintf(p->status, LINE,
                 "%s step %.0f of %s. Attention and answers are shown at %d of %ld evaluations. %s%s%s",
                 isnan(run_tables_last(t, "final_loss")) ? "In training, at" : "Ended after",
                 run_tables_last(t, "step"), note_or(notes, NOTE_STEPS, "?"), p->page.frame_count,
                 t->metrics.rows, note_or(notes, NOTE_TEXT, ""), *note_or(notes, NOTE_TEXT, "") ? ". " : "",
                 note_or(notes, NOTE_REMARK, ""));
    snprintf(p->note, LINE, "%s%s", note_or(notes, NOTE_LOSS, ""),
             t->steps.rows ? " A point of a training curve is the mean of the steps since the point before."
                           : "");
    if (!trained) snprintf(p->status, LINE, "The tokens that each token of a sentence attends to.");
    p->page.title = p->title, p->page.status = p->status, p->page.curves_note = p->note;
}

static bool make_page(RunPage *p, const Safetensors *frames, const char *directory, Error *e) {
    Page *page = &p->page;
    if (!read_tokens(p, frames, e) || !run_tables_read(&p->tables, directory, frames, e) ||
        !frames_page(&p->frames, frames, p->tokens, page, e))
        return false;
    curves_draw(&p->tables, frames, &p->pictures);
    add_figures(p, frames);
    add_words(p, frames, directory);
    for (int i = 0; i < frames->metadata_count && page->option_count < OPTIONS; i++)
        if (strncmp(frames->metadata[i].key, NOTE_RECIPE, strlen(NOTE_RECIPE)) == 0)
            p->option[page->option_count++] =
                (PageFact){frames->metadata[i].key + strlen(NOTE_RECIPE), frames->metadata[i].value};
    page->figures = p->figure, page->options = p->option;
    page->curves = p->pictures.picture, page->curve_count = p->pictures.count;
    page->command = safetensors_metadata(frames, NOTE_COMMAND);
    return true;
}

bool page_of_frames(const Safetensors *frames, const char *directory, const char *path, Error *e) {
    RunPage *p = calloc(1, sizeof *p);
    if (!p) return error_set(e, STATUS_NO_MEMORY, "memory: %zu bytes for the page", sizeof *p);
    bool ok = make_page(p, frames, directory, e) && page_write(&p->page, path, e);
    run_tables_free(&p->tables);
    frames_page_free(&p->frames);
    tokenizer_free(p->tokenizer);
    free(p->token), free(p->bytes), free(p);
    return ok;
}

bool page_of_run(const char *directory, const char *path, Error *e) {
    char frames[PATH_ROOM];
    Safetensors file = {0};
    bool ok = directory_file(frames, directory, "frames.safetensors", STATUS_NO_INPUT, e) &&
              safetensors_read(&file, frames, e) && page_of_frames(&file, directory, path, e);
    safetensors_free(&file);
    return ok;
}
