/* The settings of a training run: what is made from their table. */
#include "training/train_config.h"
#include "base/file.h"
#include "base/utf8.h"
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum Kind { HEADING, FLAG, INTEGER, NATURAL, REAL, CHOICE, TEXT } Kind;

/* The runs on which a setting has an effect; in others it is refused. */
typedef enum AppliesTo {
    ALL_RUNS,
    LM,
    DATA,
    VOCABULARY,
    SYMBOLS,
    ADD,
    PAIRS,
    HELD_OUT,
    DOT,
    ADAMW,
    MUON,
    MOMENTUM,
    FALLING,
    LINEAR,
    WARMUP,
    NOT_QUIET
} AppliesTo;

/* --resume uses the checkpoint's value, accepts another one, or finds none in the checkpoint. */
typedef enum OnResume { FIXED, CHANGEABLE, UNSAVED } OnResume;

typedef struct Setting {
    const char *name, *argument, *allowed, *help;
    Kind kind;
    size_t offset;
    AppliesTo applies;
    OnResume resume;
    const char *computed; /* the default in words, where it depends on other settings */
    bool newer;           /* earlier checkpoints lack it: its default */
} Setting;

#define TASKS           "copy|reverse|sort|add|dates|pairs|lm|grammar"
#define AT(kind, field) kind, offsetof(TrainConfig, field)
#define COUNT           "[1,2147483647]"
#define COUNT_OR_0      "[0,2147483647]"
static const Setting settings[] = {
#include "training/settings.def"
};
/* The last row, --seed, is an option of every program. */
enum { ALL_ROWS = sizeof settings / sizeof *settings, SEED = ALL_ROWS - 1, ROWS = SEED };
_Static_assert((int)ALL_ROWS <= (int)TRAIN_SETTINGS, "TRAIN_SETTINGS is too small");

static bool is_lm(const TrainConfig *r) {
    const TaskKind *kind = r->task ? task_kind(r->task) : NULL;
    return kind && kind->text;
}

static bool is_saved(int i) {
    return settings[i].kind != HEADING && settings[i].resume != UNSAVED;
}

/* The setting as an option whose value is in r. */
static Option option_of(TrainConfig *r, int i) {
    const Setting *s = &settings[i];
    char *at = (char *)r + s->offset;
    Option o = {s->name, s->argument, s->allowed, s->help, .given = s->kind ? &r->given[i] : NULL};
    switch (s->kind) {
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

/* ---- Command line and --config file ---- */

/* The default, as the help prints it. */
static const char *default_label(int i, char out[OPTION_TEXT]) {
    const Setting *s = &settings[i];
    TrainConfig sequences = train_config_defaults(false, PRESET_PAPER),
                lm = train_config_defaults(true, PRESET_MODERN);
    Option a = option_of(&sequences, i), b = option_of(&lm, i);
    char first[OPTION_TEXT], second[OPTION_TEXT];
    if (s->computed || s->kind == HEADING || s->kind == FLAG) return s->computed ? s->computed : "";
    const char *one = option_text(&a, first), *other = option_text(&b, second);
    bool same = strcmp(one, other) == 0;
    snprintf(out, OPTION_TEXT, "%s%s%s", one, same ? "" : "; lm ", same ? "" : other);
    return out;
}

/* A line of a --config file: a name, then blanks or an equals sign, then a value. Skips empty lines and those
 * that begin with #. */
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
        if (!settings[i].kind || strcmp(settings[i].name, line) != 0 || strcmp(line, "config") == 0) continue;
        if (r->given[i]) return true; /* the command line overrides */
        char what[400];
        Option o = option_of(r, i);
        snprintf(what, sizeof what, "%s: %s", where, line);
        return (r->given[i] = option_read(&o, text, what, STATUS_USAGE, e));
    }
    return error_set(e, STATUS_USAGE, "%s: found \"%s\", need the name of an option, see --help", where,
                     ESCAPED(line));
}

/* Takes a text over, for train_config_free. NULL: there was no memory for it. */
static char *keep_text(TrainConfig *r, char *text, Error *e) {
    if (!text) error_set(e, STATUS_NO_MEMORY, "memory: the settings of a run");
    return text ? (r->text[r->texts++] = text) : NULL;
}

static bool read_config(TrainConfig *r, Error *e) {
    enum { LONGEST = 1 << 20 };
    size_t size;
    char where[300], *line;
    if (!file_read(r->config, LONGEST, &line, &size, e)) return false;
    if (!utf8_check(r->config, keep_text(r, line, e), size, e)) return false;
    if (utf8_mark(line, size)) fprintf(stderr, "train: %s: skipped a byte-order mark\n", r->config);
    line += utf8_mark(line, size);
    for (long number = 1; line; number++) {
        char *end = strchr(line, '\n');
        if (end) *end = 0;
        snprintf(where, sizeof where, "%.250s: line %ld", r->config, number);
        if (!config_line(r, where, line, e)) return false;
        line = end ? end + 1 : NULL;
    }
    return true;
}

/* Operands after `lm --text FILE` are more texts, a path a line. */
static bool add_texts(TrainConfig *r, char **path, int count, Error *e) {
    if (strcmp(r->task, "lm") != 0 || !r->data.text)
        return error_set(e, STATUS_USAGE, "\"%s\": found one operand too many, need %s", ESCAPED(*path),
                         TASKS);
    size_t bytes = strlen(r->data.text) + 1;
    for (int i = 0; i < count; i++) bytes += strlen(path[i]) + 1;
    char *all = malloc(bytes);
    if (!keep_text(r, all, e)) return false;
    char *end = all + sprintf(all, "%s", r->data.text);
    for (int i = 0; i < count; i++) end += sprintf(end, "\n%s", path[i]);
    r->data.text = all;
    return true;
}

static const char *purpose(char out[512]) {
    int used = snprintf(out, 512, "Trains a Transformer in the directory runs/TASK. Tasks:");
    for (const TaskKind *kind = task_kinds; kind->name && used < 512; kind++)
        used += snprintf(out + used, 512 - (size_t)used, "%s %s (%s)", kind == task_kinds ? "" : ",",
                         kind->name, kind->summary);
    return out;
}

bool train_config_parse(TrainConfig *r, int argc, char **argv, Error *e) {
    *r = (TrainConfig){0};
    Option table[ROWS + 1] = {0};
    char label[ROWS][OPTION_TEXT], about[512];
    for (int i = 0; i < ROWS; i++) {
        table[i] = option_of(r, i);
        if (settings[i].kind) table[i].otherwise = default_label(i, label[i]);
    }
    Options options = {"train",
                       TASKS,
                       purpose(about),
                       table,
                       "Ctrl-C ends training early: the model is saved and evaluated, the exit status is\n"
                       "130, and --resume continues the run. A second Ctrl-C, at least a second later,\n"
                       "ends the program at once.\n\n" PRESETS_HELP,
                       .most = argc};
    if (!options_parse(&options, argc, argv, e)) return false;
    if (options.operands) r->task = options.operand[0];
    if (options.operands > 1 && !add_texts(r, options.operand + 1, options.operands - 1, e)) return false;
    r->data.seed = options.seed, r->given[SEED] = options.seed_given;
    return !r->config || read_config(r, e);
}

void train_config_free(TrainConfig *r) {
    for (int i = 0; i < r->texts; i++) free(r->text[i]);
}

/* ---- Validity ---- */

/* Whether a setting has an effect on the run; if not, what the run is and what it would have to be. */
static bool applies(const TrainConfig *r, AppliesTo to, const char **found, const char **need) {
    bool lm = strcmp(r->task, "lm") == 0, pairs = strcmp(r->task, "pairs") == 0;
    bool data = lm || pairs;
    bool sgd = r->optimizer == OPTIM_SGD, linear = r->schedule == SCHEDULE_LINEAR;
    const TaskKind *kind = task_kind(r->task);
    const struct {
        bool applies;
        const char *found, *need;
    } rules[] = {
        [ALL_RUNS] = {true, "", ""},
        [LM] = {lm, r->task, "lm"},
        [DATA] = {data, r->task, "lm or pairs"},
        [VOCABULARY] = {data && tokenizer_kinds[r->data.tokenizer]->least,
                        data ? "--tokenizer byte" : r->task, data ? "another" : "lm or pairs"},
        [SYMBOLS] = {kind && kind->answer, r->task, "copy, reverse or sort"},
        [ADD] = {strcmp(r->task, "add") == 0, r->task, "add"},
        [PAIRS] = {pairs, r->task, "pairs"},
        [HELD_OUT] = {!lm && !pairs, r->task, "a task that draws its data"},
        [DOT] = {r->attention == ATTENTION_DOT, "another --attention", "dot"},
        [ADAMW] = {!sgd, "--optimizer sgd", "adamw or muon"},
        [MUON] = {r->optimizer == OPTIM_MUON, "another --optimizer", "muon"},
        [MOMENTUM] = {r->optimizer != OPTIM_ADAMW, "--optimizer adamw", "sgd or muon"},
        [FALLING] = {linear || r->schedule == SCHEDULE_COSINE, "another --schedule", "cosine or linear"},
        [LINEAR] = {linear, "another --schedule", "linear"},
        [WARMUP] = {r->schedule != SCHEDULE_CONSTANT, "--schedule constant", "noam, cosine or linear"},
        [NOT_QUIET] = {!r->quiet, "--quiet", "one of the two"},
    };
    *found = rules[to].found, *need = rules[to].need;
    return rules[to].applies;
}

bool train_config_is_set(const TrainConfig *r, const void *field) {
    size_t offset = (size_t)((const char *)field - (const char *)r);
    for (int i = 0; i < ALL_ROWS; i++)
        if (settings[i].kind && settings[i].offset == offset)
            return r->given[i] || (r->resume && is_saved(i));
    return false;
}

void train_config_set_steps(TrainConfig *r, long steps) {
    long usual = r->schedule == SCHEDULE_LINEAR ? steps / 20 : steps / 5,
         most = r->preset == PRESET_GPT ? 100 : 200;
    r->steps = steps;
    if (!train_config_is_set(r, &r->warmup))
        r->warmup = usual < most || r->schedule == SCHEDULE_LINEAR ? usual : most;
    if (!train_config_is_set(r, &r->eval_every)) r->eval_every = steps >= 10 ? steps / 10 : 1;
    train_config_fit_steps(r);
}

static void fill_in(TrainConfig *r) {
    static const size_t size[] = {
        [FLAG] = sizeof(bool),   [INTEGER] = sizeof(long), [NATURAL] = sizeof(uint64_t),
        [REAL] = sizeof(double), [CHOICE] = sizeof(int),   [TEXT] = sizeof(char *)};
    if (!train_config_is_set(r, &r->preset)) r->preset = is_lm(r) ? PRESET_MODERN : PRESET_PAPER;
    TrainConfig usual = train_config_defaults(is_lm(r), (Preset)r->preset);
    for (int i = 0; i < ROWS; i++) {
        char *at = (char *)r + settings[i].offset;
        bool is_text = settings[i].kind == TEXT && *(const char **)at;
        if (settings[i].kind != HEADING && !is_text && !train_config_is_set(r, at))
            memcpy(at, (char *)&usual + settings[i].offset, size[settings[i].kind]);
    }
    if (is_lm(r)) train_config_fit_text(r);
    bool gated = r->activation == ACT_SWIGLU - ACT_RELU; /* as many weights with two thirds of the width */
    if (!train_config_is_set(r, &r->d_ff)) r->d_ff = gated ? (8 * r->d_model + 47) / 48 * 16 : 4 * r->d_model;
    if (!train_config_is_set(r, &r->lr) && r->schedule == SCHEDULE_NOAM) r->lr = 1;
    if (!train_config_is_set(r, &r->min_lr) && r->min_lr > r->lr) r->min_lr = 0;
    if (!train_config_is_set(r, &r->momentum))
        r->momentum = optim_default((OptimizerKind)r->optimizer).momentum;
    train_config_set_steps(r, r->steps);
    snprintf(r->directory, sizeof r->directory, "runs/%.200s", r->task);
    if (!train_config_is_set(r, &r->run)) r->run = r->resume ? r->resume : r->directory;
}

static bool check(const TrainConfig *r, Error *e) {
    const char *found, *need;
    for (int i = 0; i < ROWS; i++)
        if (r->given[i] && !applies(r, settings[i].applies, &found, &need))
            return error_set(e, STATUS_USAGE, "--%s: found %s%s, need %s", settings[i].name,
                             found == r->task ? "the task " : "", found, need);
    if (r->warmup > r->steps && r->schedule != SCHEDULE_CONSTANT && !r->resume)
        return error_set(e, STATUS_USAGE, "--warmup: found %ld, need at most the %ld of --steps", r->warmup,
                         r->steps);
    if (r->min_lr > r->lr)
        return error_set(e, STATUS_USAGE, "--min-lr: found %g, need at most the %g of --lr", r->min_lr,
                         r->lr);
    if (r->d_ff > CONFIG_MOST_WIDTH) /* the computed default */
        return error_set(e, STATUS_USAGE, "--d-model: found %ld, need at most %d, or a --d-ff of its own",
                         r->d_model, CONFIG_MOST_WIDTH / 4);
    return true;
}

bool train_config_complete(TrainConfig *r, Error *e) {
    if (!r->task) return error_set(e, STATUS_USAGE, "found 0 operands, need " TASKS ", see --help");
    if (r->resume && r->run) return error_set(e, STATUS_USAGE, "--run: found --resume, need one of the two");
    const char *other = r->resume ? "--resume" : train_config_is_set(r, &r->steps) ? "--steps" : NULL;
    if (r->minutes > 0 && other)
        return error_set(e, STATUS_USAGE, "--minutes: found %s, need one of the two", other);
    if (r->resume && r->seeds > 1)
        return error_set(e, STATUS_USAGE, "--seeds: found --resume, need one of the two");
    fill_in(r);
    return check(r, e);
}

/* ---- Checkpoints ---- */

static const char *key_of(int i, char out[NOTE_KEY]) {
    snprintf(out, NOTE_KEY, "recipe.%s", settings[i].name);
    return out;
}

void train_config_notes(const TrainConfig *r, bool effective, ConfigNotes *out) {
    const char *found, *need;
    TrainConfig copy = *r;
    out->count = 0;
    for (int i = 0; i < ALL_ROWS; i++) {
        if (!is_saved(i) || (effective && !applies(r, settings[i].applies, &found, &need))) continue;
        int n = out->count++;
        Option o = option_of(&copy, i);
        out->note[n] = (Metadata){key_of(i, out->key[n]), option_text(&o, out->value[n])};
    }
}

/* Appends to the list, as far as it fits. */
__attribute__((format(printf, 2, 3))) static void append(char list[ERROR_TEXT], const char *format, ...) {
    va_list arguments;
    size_t used = strlen(list);
    va_start(arguments, format);
    vsnprintf(list + used, ERROR_TEXT - used, format, arguments);
    va_end(arguments);
}

bool train_config_resume(TrainConfig *r, const Safetensors *checkpoint, Error *e) {
    char others[ERROR_TEXT] = "", changeable[ERROR_TEXT] = "";
    const char *task = safetensors_metadata(checkpoint, "task"), *where = checkpoint->path;
    if (!task) return error_set(e, STATUS_BAD_DATA, "%s: metadata: found no task, need it", where);
    if (r->task && strcmp(r->task, task) != 0) append(others, "; task: found %s, need %s", r->task, task);
    r->task = keep_text(r, strdup(task), e);
    if (!r->task) return false;
    TrainConfig usual = train_config_defaults(is_lm(r), is_lm(r) ? PRESET_GPT : PRESET_PAPER);
    for (int i = 0; i < ALL_ROWS; i++) {
        if (!is_saved(i)) continue;
        TrainConfig given = *r;
        char key[NOTE_KEY], what[400], found[OPTION_TEXT], want[OPTION_TEXT], label[OPTION_TEXT];
        Option otherwise = option_of(&usual, i);
        const char *text = safetensors_metadata(checkpoint, key_of(i, key));
        if (!text && settings[i].newer) text = option_text(&otherwise, label);
        if (!text) return error_set(e, STATUS_BAD_DATA, "%s: metadata: found no %s, need it", where, key);
        Option before = option_of(&given, i), o = option_of(r, i);
        snprintf(what, sizeof what, "%.200s: metadata: %s", where, key);
        if (o.integer == &r->steps) r->planned_steps = strtol(text, NULL, 10);
        if (settings[i].resume == CHANGEABLE) append(changeable, "%s, ", settings[i].name);
        if (settings[i].resume == CHANGEABLE && r->given[i]) continue;
        if (o.text && !(text = keep_text(r, strdup(text), e))) return false;
        if (!option_read(&o, text, what, STATUS_BAD_DATA, e)) return false;
        const char *old = option_text(&before, found), *new = option_text(&o, want);
        if (r->given[i] && strcmp(old, new) != 0)
            append(others, "; --%s: found %s, need %s", settings[i].name, old, new);
        r->given[i] = false;
    }
    return !*others ||
           error_set(e, STATUS_OTHER_MODEL, "%s: made with other options: %s (may change: %sthreads)", where,
                     others + 2, changeable);
}
