/* The choices of a training run, in one table. */
#include "training/train_config.h"
#include "base/file.h"
#include "base/utf8.h"
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum Kind { HEADING, FLAG, INTEGER, NATURAL, REAL, CHOICE, TEXT } Kind;

/* Which runs heed a choice. To give it in another is a mistake of whoever gives it. */
typedef enum Heeds { EVERY_RUN, LM, SEQUENCES, ADAMW, SGD, COSINE, WARMING_UP, TALKING } Heeds;

/* What becomes of it when a run is gone on with: it stays, it may be given anew, or it is not recorded at all. */
typedef enum Lasts { STAYS, MAY_CHANGE, NOT_KEPT } Lasts;

typedef struct Choice {
    const char *name, *argument, *allowed, *help;
    Kind kind;
    size_t offset;
    const char *sequences, *lm; /* defaults; NULL: computed, and `computed` says how */
    const char *computed;
    Heeds heeds;
    Lasts lasts;
} Choice;

#define AT(kind, field) kind, offsetof(TrainConfig, field)
#define BOTH(value)     value, value
static const Choice choices[] = {
    {"Task"},
    {"text", "FILE", NULL, "lm: the text to learn, UTF-8", AT(TEXT, data.text), BOTH("data/chronicle.txt"),
     .heeds = LM, .lasts = MAY_CHANGE},
    {"newline", NULL, "keep|unix", "lm: line ends as they are, or each CR LF one LF",
     AT(CHOICE, data.unix_newlines), BOTH("keep"), .heeds = LM},
    {"context", "N", "[1,1048576]", "lm: characters that the model sees", AT(INTEGER, data.context),
     BOTH("64"), .heeds = LM},
    {"tail", "P", "[0,1)", "lm: part of the text held out, its end; 0: learn and judge all of it",
     AT(REAL, data.tail), BOTH("0.1"), .heeds = LM},
    {"symbols", "N", "[2,20000]", "copy, reverse, sort: different symbols", AT(INTEGER, data.symbols),
     BOTH("61"), .heeds = SEQUENCES},
    {"max-length", "N", "[1,4096]", "copy, reverse, sort: longest sequence", AT(INTEGER, data.max_length),
     BOTH("16"), .heeds = SEQUENCES},
    {"held-out", "N", "[1,10000]", "copy, reverse, sort: sequences to judge by", AT(INTEGER, data.held_out),
     BOTH("1000"), .heeds = SEQUENCES},
    {"Model"},
    {"layers", "N", CONFIG_RANGE(CONFIG_MOST_LAYERS), "N, of the encoder and of the decoder",
     AT(INTEGER, layers), "2", "4"},
    {"heads", "N", CONFIG_RANGE(CONFIG_MOST_WIDTH), "h, attention heads", AT(INTEGER, heads), BOTH("4")},
    {"d-model", "N", CONFIG_RANGE(CONFIG_MOST_WIDTH), "width of the model", AT(INTEGER, d_model),
     BOTH("128")},
    {"d-ff", "N", CONFIG_RANGE(CONFIG_MOST_WIDTH), "width of the feed-forward layers", AT(INTEGER, d_ff),
     .computed = "4 d-model"},
    {"norm", NULL, "post|pre", "where the layer norms stand", AT(CHOICE, norm), "post", "pre"},
    {"positions", NULL, "sinusoidal|learned", "positional encoding", AT(CHOICE, positions), "sinusoidal",
     "learned"},
    {"attention", NULL, "dot|additive|plain", "score of query and key; plain: dot, step by step",
     AT(CHOICE, attention), BOTH("dot")},
    {"activation", NULL, "relu|gelu", "of the feed-forward layers", AT(CHOICE, activation), "relu", "gelu"},
    {"output", NULL, "tied|untied", "output matrix: the embedding's, or its own", AT(CHOICE, untied),
     BOTH("tied")},
    {"dropout", "P", "[0,1)", "P_drop", AT(REAL, dropout), BOTH("0")},
    {"label-smoothing", "E", "[0,1]", "of the training loss", AT(REAL, label_smoothing), "0.1", "0"},
    {"Training"},
    {"steps", "N", "[0,2147483647]", "updates to make; a cosine ends there, also of a run that goes on",
     AT(INTEGER, steps), BOTH("1000"), .lasts = MAY_CHANGE},
    {"batch", "N", "[1,16777216]", "sequences at a time", AT(INTEGER, batch), "64", "12"},
    {"accumulate", "N", "[1,1048576]", "batches of an update", AT(INTEGER, accumulate), BOTH("1")},
    {"optimizer", NULL, "adamw|sgd", "what makes the updates", AT(CHOICE, optimizer), BOTH("adamw")},
    {"schedule", NULL, "noam|cosine|constant", "learning rate over time", AT(CHOICE, schedule),
     BOTH("cosine")},
    {"lr", "X", "(0,inf)", "highest learning rate; noam: a factor", AT(REAL, lr),
     .computed = "0.002; noam 1"},
    {"min-lr", "X", "[0,inf)", "cosine: last learning rate", AT(REAL, min_lr), BOTH("0"), .heeds = COSINE},
    {"warmup", "N", "[0,2147483647]", "steps until the highest rate", AT(INTEGER, warmup),
     .computed = "a fifth, at most 200", .heeds = WARMING_UP},
    {"beta1", "X", "[0,1)", "adamw: memory of the gradient", AT(REAL, beta1), BOTH("0.9"), .heeds = ADAMW},
    {"beta2", "X", "[0,1)", "adamw: memory of its square", AT(REAL, beta2), "0.98", "0.99", .heeds = ADAMW},
    /* A float's square that is smaller than 1e-40 or so is lost; epsilon stands in for its root. */
    {"epsilon", "X", "[1e-20,inf)", "adamw: floor of the root", AT(REAL, epsilon), BOTH("1e-09"),
     .heeds = ADAMW},
    {"momentum", "X", "[0,1)", "sgd", AT(REAL, momentum), BOTH("0.9"), .heeds = SGD},
    {"weight-decay", "X", "[0,inf)", "of matrices", AT(REAL, weight_decay), "0", "0.1"},
    {"clip", "X", "[0,inf)", "longest gradient; 0: any", AT(REAL, clip), BOTH("1")},
    {"eval-every", "N", "[1,2147483647]", "steps between evaluations", AT(INTEGER, eval_every),
     .computed = "a tenth of steps", .lasts = MAY_CHANGE},
    {"Output"},
    {"run", "DIR", NULL, "where model and metrics go", AT(TEXT, run), .computed = "runs/TASK",
     .lasts = NOT_KEPT},
    {"resume", "DIR", NULL, "go on with the run in DIR where it stopped", AT(TEXT, resume),
     .lasts = NOT_KEPT},
    {"config", "FILE", NULL, "read choices from a file: a line each, NAME VALUE", AT(TEXT, config),
     .lasts = NOT_KEPT},
    {"force", .help = "replace the run that is in DIR", AT(FLAG, force), .lasts = NOT_KEPT},
    {"checkpoint-every", "N", "[0,2147483647]", "steps between checkpoints; 0: by time alone",
     AT(INTEGER, checkpoint_every), BOTH("0"), .lasts = MAY_CHANGE},
    {"checkpoint-minutes", "X", "(0,inf)", "time between checkpoints", AT(REAL, checkpoint_minutes),
     BOTH("10"), .lasts = MAY_CHANGE},
    {"samples", "N", "[0,1000]", "decoded sequences to show at the end", AT(INTEGER, samples), BOTH("5"),
     .heeds = TALKING, .lasts = NOT_KEPT},
    {"json", .help = "print one JSON object an evaluation", AT(FLAG, json), .lasts = NOT_KEPT},
    {"quiet", .help = "no progress, no samples", AT(FLAG, quiet), .lasts = NOT_KEPT},
    {"dry-run", .help = "say what memory a run would take, and stop", AT(FLAG, dry_run), .lasts = NOT_KEPT},
};
enum { ROWS = sizeof choices / sizeof *choices };

/* The seed is every program's; it is chosen and kept like the others. */
static const Choice seed_choice = {"seed", NULL, NULL, NULL, AT(NATURAL, data.seed), BOTH("1")};
enum { SEED = ROWS, ALL_ROWS };
_Static_assert((int)ALL_ROWS <= (int)TRAIN_CHOICES, "a row more than a config can note as given");

static const Choice *choice(int i) {
    return i == SEED ? &seed_choice : &choices[i];
}

static bool is_lm(const TrainConfig *r) {
    return r->task && strcmp(r->task, "lm") == 0;
}

static bool kept(int i) {
    return choice(i)->kind != HEADING && choice(i)->lasts != NOT_KEPT;
}

/* The choice as an option whose value is in r. */
static Option option_of(TrainConfig *r, int i) {
    const Choice *c = choice(i);
    char *at = (char *)r + c->offset;
    Option o = {c->name, c->argument, c->allowed, c->help, .given = c->kind ? &r->given[i] : NULL};
    switch (c->kind) {
    case HEADING: break;
    case FLAG: o.flag = (bool *)at; break;
    case INTEGER: o.integer = (long *)at; break;
    case NATURAL: o.natural = (uint64_t *)at; break;
    case REAL: o.real = (double *)at; break;
    case CHOICE: o.choice = (int *)at; break;
    case TEXT: o.text = (const char **)at; break;
    }
    return o;
}

/* ---- Where choices come from ---- */

/* What the help calls the default. */
static const char *default_label(const Choice *c, char out[64]) {
    if (!c->sequences) return c->computed ? c->computed : "";
    bool same = strcmp(c->sequences, c->lm) == 0;
    snprintf(out, 64, "%s%s%s", c->sequences, same ? "" : "; lm ", same ? "" : c->lm);
    return out;
}

/* A line of a --config file: a name, a value, and between them blanks or an equals sign. Empty lines and those that
 * begin with # say nothing. */
static bool config_line(TrainConfig *r, const char *where, char *line, Error *e) {
    line += strspn(line, " \t");
    for (size_t n = strlen(line); n && strchr(" \t\r", line[n - 1]);) line[--n] = 0;
    if (!*line || *line == '#') return true;
    char *value = line + strcspn(line, " \t=");
    char *text = value + strspn(value, " \t=");
    *value = 0;
    if (strcmp(line, "task") == 0) {
        if (!r->task) r->task = text;
        return true;
    }
    for (int i = 0; i < ALL_ROWS; i++) {
        if (!choice(i)->kind || strcmp(choice(i)->name, line) != 0 || strcmp(line, "config") == 0) continue;
        if (r->given[i]) return true; /* the command line counts */
        char what[400];
        Option o = option_of(r, i);
        snprintf(what, sizeof what, "%s: %s", where, line);
        return (r->given[i] = option_read(&o, text, what, STATUS_USAGE, e));
    }
    return error_set(e, STATUS_USAGE, "%s: found \"%s\", need the name of an option, see --help", where,
                     ESCAPED(line));
}

static bool read_config(TrainConfig *r, Error *e) {
    enum { LONGEST = 1 << 20 };
    size_t size;
    if (!file_read(r->config, LONGEST, &r->config_text, &size, e)) return false;
    char where[300];
    if (!utf8_check(r->config, r->config_text, size, e)) return false;
    char *line = r->config_text;
    for (long number = 1; line; number++) {
        char *end = strchr(line, '\n');
        if (end) *end = 0;
        snprintf(where, sizeof where, "%.250s: line %ld", r->config, number);
        if (!config_line(r, where, line, e)) return false;
        line = end ? end + 1 : NULL;
    }
    return true;
}

/* For the help: the tasks, and what each asks for. */
static const char *purpose(char out[512]) {
    int used = snprintf(out, 512, "Trains a Transformer, into the directory runs/TASK. The tasks:");
    for (const TaskKind *kind = task_kinds; kind->name && used < 512; kind++)
        used += snprintf(out + used, 512 - (size_t)used, "%s %s (%s)", kind == task_kinds ? "" : ",",
                         kind->name, kind->summary);
    return out;
}

bool train_config_parse(TrainConfig *r, int argc, char **argv, Error *e) {
    *r = (TrainConfig){0};
    Option table[ROWS + 1] = {0};
    char label[ROWS][64], about[512];
    for (int i = 0; i < ROWS; i++) {
        table[i] = option_of(r, i);
        if (choices[i].kind) table[i].otherwise = default_label(&choices[i], label[i]);
    }
    Options options = {"train",
                       "copy|reverse|sort|lm",
                       purpose(about),
                       table,
                       "Ctrl-C ends training early. The model is saved and judged all the same; then the\n"
                       "program ends by that signal (status 130), and --resume goes on with the run. A\n"
                       "second Ctrl-C, a second later or more, ends it at once.\n",
                       .most = 1};
    if (!options_parse(&options, argc, argv, e)) return false;
    if (options.operands) r->task = options.operand[0];
    r->data.seed = options.seed, r->given[SEED] = options.seed_given;
    return !r->config || read_config(r, e);
}

void train_config_free(TrainConfig *r) {
    free(r->config_text);
    free(r->task_text);
    free(r->text_text);
}

/* ---- What has an effect ---- */

/* What a run is that does not heed the choice, and what it would have to be; false where it heeds it. */
static bool unheeded(const TrainConfig *r, Heeds heeds, const char **found, const char **need) {
    bool lm = is_lm(r), adamw = r->optimizer == OPTIM_ADAMW;
    const struct {
        bool heeded;
        const char *found, *need;
    } rules[] = {
        [EVERY_RUN] = {true, "", ""},
        [LM] = {lm, r->task, "lm"},
        [SEQUENCES] = {!lm, r->task, "copy, reverse or sort"},
        [ADAMW] = {adamw, "--optimizer sgd", "adamw"},
        [SGD] = {!adamw, "--optimizer adamw", "sgd"},
        [COSINE] = {r->schedule == SCHEDULE_COSINE, "another --schedule", "cosine"},
        [WARMING_UP] = {r->schedule != SCHEDULE_CONSTANT, "--schedule constant", "noam or cosine"},
        [TALKING] = {!r->quiet, "--quiet", "one of the two"},
    };
    *found = rules[heeds].found, *need = rules[heeds].need;
    return !rules[heeds].heeded;
}

/* ---- What is recorded ---- */

enum { KEY = 40 };

static const char *key_of(int i, char out[KEY]) {
    snprintf(out, KEY, "recipe.%s", choice(i)->name);
    return out;
}

Metadata *train_config_notes(const TrainConfig *r, bool effective, int *count, Error *e) {
    const char *found, *need;
    TrainConfig copy = *r;
    Metadata *notes = calloc(ALL_ROWS, sizeof *notes);
    bool ok = notes != NULL;
    *count = 0;
    for (int i = 0; ok && i < ALL_ROWS; i++) {
        if (!kept(i) || (effective && unheeded(r, choice(i)->heeds, &found, &need))) continue;
        char key[KEY], value[OPTION_TEXT];
        Option o = option_of(&copy, i);
        Metadata *note = &notes[(*count)++];
        *note = (Metadata){strdup(key_of(i, key)), strdup(option_text(&o, value))};
        ok = note->key && note->value;
    }
    if (ok) return notes;
    train_config_notes_free(notes, *count);
    error_set(e, STATUS_NO_MEMORY, "memory: the choices of a run");
    return NULL;
}

void train_config_notes_free(Metadata *notes, int count) {
    for (int i = 0; notes && i < count; i++) free((char *)notes[i].key), free((char *)notes[i].value);
    free(notes);
}

/* Appends what is printed to the list, as far as it fits. */
__attribute__((format(printf, 2, 3))) static void append(char list[ERROR_TEXT], const char *format, ...) {
    va_list arguments;
    size_t used = strlen(list);
    va_start(arguments, format);
    vsnprintf(list + used, ERROR_TEXT - used, format, arguments);
    va_end(arguments);
}

bool train_config_resume(TrainConfig *r, const char *where,
                         const char *(*find)(void *context, const char *key), void *context, Error *e) {
    char others[ERROR_TEXT] = "", free_ones[ERROR_TEXT] = "";
    const char *task = find(context, "task");
    if (!task) return error_set(e, STATUS_BAD_DATA, "%s: metadata: found no task, need it", where);
    if (r->task && strcmp(r->task, task) != 0) append(others, "; task: found %s, need %s", r->task, task);
    free(r->task_text);
    r->task = r->task_text = strdup(task);
    if (!r->task) return error_set(e, STATUS_NO_MEMORY, "memory: the choices of a run");
    for (int i = 0; i < ALL_ROWS; i++) {
        if (!kept(i)) continue;
        TrainConfig given = *r;
        char key[KEY], what[400], found[OPTION_TEXT], want[OPTION_TEXT];
        const char *text = find(context, key_of(i, key));
        if (!text) return error_set(e, STATUS_BAD_DATA, "%s: metadata: found no %s, need it", where, key);
        Option before = option_of(&given, i), o = option_of(r, i);
        snprintf(what, sizeof what, "%.200s: metadata: %s", where, key);
        if (o.integer == &r->steps) r->planned_steps = strtol(text, NULL, 10);
        if (choice(i)->lasts == MAY_CHANGE) append(free_ones, "%s, ", choice(i)->name);
        if (choice(i)->lasts == MAY_CHANGE && r->given[i]) continue;
        if (o.text && !(text = r->text_text = strdup(text)))
            return error_set(e, STATUS_NO_MEMORY, "memory: the choices of a run");
        if (!option_read(&o, text, what, STATUS_BAD_DATA, e)) return false;
        const char *old = option_text(&before, found), *new = option_text(&o, want);
        if (r->given[i] && strcmp(old, new) != 0)
            append(others, "; --%s: found %s, need %s", choice(i)->name, old, new);
        r->given[i] = false;
    }
    return !*others ||
           error_set(e, STATUS_OTHER_MODEL, "%s: made by other choices: %s (may change: %sthreads)", where,
                     others + 2, free_ones);
}

/* ---- What nobody chose, and what cannot be ---- */

/* By somebody, or by the checkpoint that the run goes on from. */
static bool is_chosen(const TrainConfig *r, int i) {
    return r->given[i] || (r->resume && kept(i));
}

static void fill_in(TrainConfig *r) {
    Error never = {0};
    for (int i = 0; i < ROWS; i++) {
        const char *text = is_lm(r) ? choices[i].lm : choices[i].sequences;
        Option o = option_of(r, i);
        if (text && !is_chosen(r, i) && !option_read(&o, text, choices[i].name, STATUS_BUG, &never))
            error_bug("%s", never.text);
    }
    for (int i = 0; i < ROWS; i++) {
        if (is_chosen(r, i) || !choices[i].computed) continue;
        if (choices[i].offset == offsetof(TrainConfig, d_ff)) r->d_ff = 4 * r->d_model;
        if (choices[i].offset == offsetof(TrainConfig, lr)) r->lr = r->schedule == SCHEDULE_NOAM ? 1 : 2e-3;
        if (choices[i].offset == offsetof(TrainConfig, warmup))
            r->warmup = r->steps < 1000 ? r->steps / 5 : 200;
        if (choices[i].offset == offsetof(TrainConfig, eval_every))
            r->eval_every = r->steps >= 10 ? r->steps / 10 : 1;
        if (choices[i].offset == offsetof(TrainConfig, run)) r->run = r->resume ? r->resume : r->directory;
    }
    snprintf(r->directory, sizeof r->directory, "runs/%.200s", r->task);
}

/* A choice without effect, or against another, is a mistake of whoever made it. */
static bool check(const TrainConfig *r, Error *e) {
    const char *found, *need;
    for (int i = 0; i < ROWS; i++)
        if (r->given[i] && unheeded(r, choices[i].heeds, &found, &need))
            return error_set(e, STATUS_USAGE, "--%s: found %s%s, need %s", choices[i].name,
                             found == r->task ? "the task " : "", found, need);
    if (r->warmup > r->steps && r->schedule != SCHEDULE_CONSTANT && !r->resume)
        return error_set(e, STATUS_USAGE, "--warmup: found %ld, need at most the %ld of --steps", r->warmup,
                         r->steps);
    if (r->min_lr > r->lr)
        return error_set(e, STATUS_USAGE, "--min-lr: found %g, need at most the %g of --lr", r->min_lr,
                         r->lr);
    if (r->d_ff > CONFIG_MOST_WIDTH) /* computed: as a choice it would not be in its range */
        return error_set(e, STATUS_USAGE, "--d-model: found %ld, need at most %d, or a --d-ff of its own",
                         r->d_model, CONFIG_MOST_WIDTH / 4);
    return true;
}

bool train_config_complete(TrainConfig *r, Error *e) {
    if (!r->task)
        return error_set(e, STATUS_USAGE, "found 0 operands, need copy|reverse|sort|lm, see --help");
    if (r->resume && r->run) return error_set(e, STATUS_USAGE, "--run: found --resume, need one of the two");
    fill_in(r);
    return check(r, e);
}
