/* The configuration of a training run, made from the table of settings. */
#include "training/train_config.h"
#include "base/append.h"
#include "base/file.h"
#include "base/runs.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The row of this name; NULL: there is none. */
static const Setting *row_of(const char *name) {
    for (const Setting *s = train_settings; s->name; s++)
        if (s->type != SETTING_HEADING && strcmp(s->name, name) == 0) return s;
    return NULL;
}

static bool is_saved(const Setting *s) {
    return s->type != SETTING_HEADING && s->saved != SAVED_NOWHERE;
}

static bool *given(TrainConfig *r, const Setting *s) {
    return &r->given[s - train_settings];
}

/* ---- Command line and --config file ---- */

/* The default, as the help prints it. */
static const char *default_label(const Setting *s, char out[OPTION_TEXT]) {
    TrainConfig sequences = train_config_defaults(false, PRESET_PAPER),
                lm = train_config_defaults(true, PRESET_MODERN);
    if (s->computed) return s->computed;
    if (s->type == SETTING_HEADING || s->type == SETTING_FLAG) return "";
    return setting_default(s, &sequences, "lm", &lm, out);
}

/* A line of a --config file: a name, then blanks or an equals sign, then a value. Skips empty lines, those that begin
 * with #, and settings of the command line. */
static bool config_line(TrainConfig *r, const bool *by_user, const char *where, char *line, Error *e) {
    line += strspn(line, " \t");
    for (size_t n = strlen(line); n && strchr(" \t\r", line[n - 1]);) line[--n] = 0;
    if (!*line || *line == '#') return true;
    char *value = line + strcspn(line, " \t=");
    for (char *c = line; c < value; c++)
        if (*c == '_') *c = '-';
    char *text = value + strspn(value, " \t=");
    *value = 0;
    if (strcmp(line, "task") == 0) {
        if (!r->task) r->task = text;
        return true;
    }
    const Setting *s = strcmp(line, "config") == 0 ? NULL : row_of(line);
    if (s) {
        char what[400];
        Option o = setting_option(s, r);
        if (by_user[s - train_settings]) return true;
        snprintf(what, sizeof what, "%s: %s", where, line);
        if (*given(r, s)) return error_set(e, STATUS_USAGE, "%s: found twice, need it once", what);
        return (*given(r, s) = option_read(&o, text, what, STATUS_USAGE, e));
    }
    const char *name[TRAIN_SETTINGS], *nearest;
    int names = 0;
    for (s = train_settings; s->name; s++)
        if (s->type != SETTING_HEADING && strcmp(s->name, "config") != 0) name[names++] = s->name;
    nearest = suggest_option(line, name, names);
    return error_set(e, STATUS_USAGE, "%s: found \"%s\", need the name of an option%s%s, see --help", where,
                     ESCAPED(line), nearest ? "; the nearest is " : "", nearest ? nearest : "");
}

static bool read_config(TrainConfig *r, Error *e) {
    enum { LONGEST = 1 << 20 };
    size_t size;
    char where[300], *line;
    bool by_user[TRAIN_SETTINGS];
    memcpy(by_user, r->given, sizeof by_user);
    if (!file_read(r->config, LONGEST, &line, &size, e)) return false;
    if (!utf8_check(r->config, train_config_keep(r, line, e), size, e)) return false;
    if (utf8_mark(line, size)) fprintf(stderr, "train: %s: skipped a byte-order mark\n", r->config);
    line += utf8_mark(line, size);
    for (long number = 1; line; number++) {
        char *end = strchr(line, '\n');
        if (end) *end = 0;
        snprintf(where, sizeof where, "%.250s: line %ld", r->config, number);
        if (!config_line(r, by_user, where, line, e)) return false;
        line = end ? end + 1 : NULL;
    }
    return true;
}

static const char *purpose(char out[512]) {
    snprintf(out, 512, "Trains a Transformer in the directory runs/TASK. Tasks:");
    for (const TaskKind *kind = task_kinds; kind->name; kind++)
        text_append(out, 512, "%s %s (%s)", kind == task_kinds ? "" : ",", kind->name, kind->summary);
    return out;
}

bool train_config_parse(TrainConfig *r, int argc, char **argv, Error *e) {
    *r = (TrainConfig){0};
    Option table[TRAIN_SETTINGS + 1] = {0};
    char label[TRAIN_SETTINGS][OPTION_TEXT], about[512], all_tasks[TASK_NAMES];
    int rows = 0;
    for (const Setting *s = train_settings; s->name; s++) {
        if (s->type != SETTING_HEADING && !s->help) continue; /* --seed */
        table[rows] = setting_option(s, r);
        table[rows].given = given(r, s);
        table[rows].otherwise = default_label(s, label[rows]);
        rows++;
    }
    Options options = {"train",
                       task_names(all_tasks, "|"),
                       purpose(about),
                       table,
                       "Ctrl-C ends training early: the model is saved and evaluated, the exit status is\n"
                       "130, and --resume continues the run. A second Ctrl-C, at least a second later,\n"
                       "ends the program at once.\n\n" PRESETS_HELP,
                       .most = argc};
    if (!options_parse(&options, argc, argv, e)) return false;
    r->compared = options.operand, r->compared_count = options.operands;
    if (r->compare) return true;
    if (!train_config_operands(r, options.operand, options.operands, e)) return false;
    *given(r, row_of("text")) = r->data.text; /* as operands, too */
    *given(r, row_of("pairs")) = r->data.pairs;
    r->data.seed = options.seed, *given(r, row_of("seed")) = options.seed_given;
    return (!r->config || read_config(r, e)) &&
           (!r->resume || train_config_find(r, &r->resume, CHECKPOINT_FILE, e));
}

/* ---- Validity ---- */

/* The setting that has this kind. */
static const Setting *row_with(const Choice *kind) {
    for (const Setting *s = train_settings; s->name; s++)
        for (int i = 0; s->kinds && s->kinds[i]; i++)
            if (s->kinds[i] == kind) return s;
    return NULL;
}

/* The condition that this run does not meet, so that the setting has no effect; without `decides`: it has one. */
static Condition unmet(const TrainConfig *r, const Setting *s) {
    Condition c = {0};
    if (s->condition) c = *s->condition;
    if (s->with) c = (Condition){.decides = row_with(s->with)->name, .need = s->with->name};
    if (!c.decides) return c;
    const Setting *decides = row_of(c.decides);
    Condition earlier = {0};
    if (decides) earlier = unmet(r, decides);
    if (earlier.decides) return earlier;
    bool holds = s->with ? *setting_option(decides, (TrainConfig *)r).kind == s->with : c.holds(r);
    return holds ? (Condition){0} : c;
}

static bool check_effect(const TrainConfig *r, const Setting *s, Error *e) {
    Condition c = unmet(r, s);
    if (!c.decides) return true;
    const Setting *decides = row_of(c.decides);
    char text[OPTION_TEXT];
    if (!decides)
        return error_set(e, STATUS_USAGE, "--%s: found the task %s, need %s", s->name, r->task, c.need);
    Option o = setting_option(decides, (TrainConfig *)r);
    bool flag = decides->type == SETTING_FLAG;
    return error_set(e, STATUS_USAGE, "--%s: found --%s%s%s, need %s", s->name, decides->name,
                     flag ? "" : " ", flag ? "" : option_text(&o, text), c.need);
}

static void fill_in(TrainConfig *r) {
    bool lm = train_config_is_lm(r);
    if (!train_config_is_set(r, &r->preset)) r->preset = lm ? PRESET_MODERN : PRESET_PAPER;
    TrainConfig usual = train_config_defaults(lm, (Preset)r->preset);
    for (const Setting *s = train_settings; s->name; s++) {
        void *at = (char *)r + s->offset;
        bool has_text = s->type == SETTING_TEXT && *(const char **)at;
        if (s->type != SETTING_HEADING && !has_text && !train_config_is_set(r, at))
            setting_copy(s, r, &usual);
    }
    if (lm) train_config_fit_text(r);
    train_config_set_width(r, r->model.d_model);
    config_derive(&r->model, lm);
    Schedule *s = &r->schedule;
    if (!train_config_is_set(r, &s->rate) && s->kind->scales) s->rate = 1;
    if (!train_config_is_set(r, &s->min_rate) && s->min_rate > s->rate) s->min_rate = 0;
    train_config_set_steps(r, NULL, s->steps);
    snprintf(r->directory, sizeof r->directory, "runs/%.200s", r->task);
    if (!train_config_is_set(r, &r->run)) r->run = r->resume ? r->resume : r->directory;
}

bool train_config_check_warmup(const TrainConfig *r, Error *e) {
    const Schedule *s = &r->schedule;
    bool known = r->minutes == 0 && !r->resume && !s->plans;
    return !known || s->warmup <= s->steps || !s->kind->warms_up ||
           error_set(e, STATUS_USAGE, "--warmup: found %ld, need at most the %ld of --steps", s->warmup,
                     s->steps);
}

static bool check(const TrainConfig *r, Error *e) {
    const Schedule *s = &r->schedule;
    for (const Setting *row = train_settings; row->name; row++)
        if (r->given[row - train_settings] && !check_effect(r, row, e)) return false;
    if (!train_config_check_warmup(r, e) || !schedule_check_plans(s, e)) return false;
    if (s->min_rate > s->rate)
        return error_set(e, STATUS_USAGE, "--min-lr: found %g, need at most the %g of --lr", s->min_rate,
                         s->rate);
    if (r->model.d_ff > CONFIG_MOST_WIDTH) /* the computed default */
        return error_set(e, STATUS_USAGE, "--d-model: found %d, need at most %d, or a --d-ff of its own",
                         r->model.d_model, CONFIG_MOST_WIDTH / 4);
    return true;
}

bool train_config_complete(TrainConfig *r, Error *e) {
    char all_tasks[TASK_NAMES];
    if (r->compare) return train_config_compare(r, e);
    if (!r->task) r->task = r->data.text ? "lm" : r->data.pairs ? "pairs" : NULL;
    if (!r->task)
        return error_set(e, STATUS_USAGE, "found 0 operands, need %s, see --help",
                         task_names(all_tasks, "|"));
    if (r->resume && r->run) return error_set(e, STATUS_USAGE, "--run: found --resume, need one of the two");
    if (r->minutes > 0 && *given(r, row_of("steps")))
        return error_set(e, STATUS_USAGE, "--minutes: found --steps, need one of the two");
    if (r->minutes > 0 && *given(r, row_of("plans")))
        return error_set(e, STATUS_USAGE, "--minutes: found --plans, need one of the two");
    fill_in(r);
    return check(r, e);
}

/* ---- Checkpoints ---- */

/* The setting's name in the metadata of a checkpoint. */
static const char *note_key(const Setting *s, char out[NOTE_KEY]) {
    if (s->saved != SAVED_IN_CHECKPOINT) return setting_key(s, out);
    snprintf(out, NOTE_KEY, RECIPE "%s", s->name);
    return out;
}

static void add_note(const TrainConfig *r, const Setting *s, ConfigNotes *out) {
    int n = out->count++;
    Option o = setting_option(s, (TrainConfig *)r);
    snprintf(out->key[n], NOTE_KEY, RECIPE "%s", s->name);
    out->note[n] = (Metadata){out->key[n], option_text(&o, out->value[n])};
    out->flag[n] = o.flag;
}

void train_config_notes(const TrainConfig *r, bool effective, ConfigNotes *out) {
    out->count = 0;
    for (const Setting *s = train_settings; s->name; s++)
        if (is_saved(s) && !(effective && unmet(r, s).decides)) add_note(r, s, out);
}

void train_config_recipe(const TrainConfig *r, ConfigNotes *out) {
    out->count = 0;
    for (const Setting *s = train_settings; s->name; s++)
        if (is_saved(s) && s->saved == SAVED_IN_CHECKPOINT) add_note(r, s, out);
}

/* Takes one setting of a checkpoint, unless the user gave another value that it may have; otherwise appends to `others`. */
static bool resume_setting(TrainConfig *r, const Setting *s, const Safetensors *checkpoint,
                           char others[ERROR_TEXT], Error *e) {
    TrainConfig before = *r;
    char key[NOTE_KEY], what[400], found[OPTION_TEXT], want[OPTION_TEXT];
    Option o = setting_option(s, r), chosen = setting_option(s, &before);
    const char *text = safetensors_metadata(checkpoint, note_key(s, key)), *where = checkpoint->path;
    if (!text) return error_set(e, STATUS_BAD_DATA, "%s: metadata: found no %s, need it", where, key);
    if (o.integer == &r->schedule.steps) r->planned_steps = strtol(text, NULL, 10);
    if (s->may_change && *given(r, s)) return true;
    if (o.text && !(text = train_config_keep(r, strdup(text), e))) return false;
    snprintf(what, sizeof what, "%.200s: metadata: %s", where, key);
    if (!option_read(&o, text, what, STATUS_BAD_DATA, e)) return false;
    const char *old = option_text(&chosen, found), *new = option_text(&o, want);
    if (*given(r, s) && strcmp(old, new) != 0)
        text_append(others, ERROR_TEXT, "; --%s: found %s, need %s", s->name, old, *new ? new : "none");
    *given(r, s) = false;
    return true;
}

bool train_config_resume(TrainConfig *r, const Safetensors *checkpoint, Error *e) {
    char others[ERROR_TEXT] = "", changeable[ERROR_TEXT] = "";
    const char *task = safetensors_metadata(checkpoint, "task"), *where = checkpoint->path;
    if (!task) return error_set(e, STATUS_BAD_DATA, "%s: metadata: found no task, need it", where);
    if (r->task && strcmp(r->task, task) != 0)
        text_append(others, sizeof others, "; task: found %s, need %s", r->task, task);
    r->task = train_config_keep(r, strdup(task), e);
    if (!r->task) return false;
    for (const Setting *s = train_settings; s->name; s++) {
        /* A file may move, but not change: the checkpoint has its checksum. */
        if (s->may_change && s->type != SETTING_TEXT && !unmet(r, s).decides)
            text_append(changeable, sizeof changeable, "%s, ", s->name);
        if (is_saved(s) && !resume_setting(r, s, checkpoint, others, e)) return false;
    }
    r->planned_before = r->schedule.plans;
    if (r->schedule.steps != r->planned_steps) r->schedule.plans = NULL; /* a new end is a new schedule */
    if (r->from && !*r->from) r->from = NULL;
    if (r->train && !*r->train) r->train = NULL;
    return !*others ||
           error_set(e, STATUS_OTHER_MODEL, "%s: made with other options: %s (may change: %sthreads)", where,
                     others + 2, changeable);
}

/* ---- Beginning from another run ---- */

static const char *metadata_of(void *file, const char *name) {
    return safetensors_metadata(file, name);
}

/* Takes the model's settings. */
static bool take_model(TrainConfig *r, const Safetensors *run, Error *e) {
    char others[ERROR_TEXT] = "", found[OPTION_TEXT], want[OPTION_TEXT];
    TrainConfig theirs = *r;
    if (!config_parse(&theirs.model, run->path, metadata_of, (void *)run, e)) return false;
    if (config_is_lm(&theirs.model) != train_config_is_lm(r))
        return error_set(e, STATUS_USAGE, "--from: %s: found the kind %s, need another for the task %s",
                         run->path, config_kind(&theirs.model), r->task);
    for (const Setting *s = train_settings; s->name; s++) {
        if (s->type == SETTING_HEADING || !setting_in_weights(s)) continue;
        Option mine = setting_option(s, r), other = setting_option(s, &theirs);
        const char *old = option_text(&mine, found), *new = option_text(&other, want);
        if (*given(r, s) && strcmp(old, new) != 0)
            text_append(others, sizeof others, "%s--%s: found %s, need %s", *others ? "; " : "", s->name, old,
                        new);
        setting_copy(s, r, &theirs);
        r->taken[s - train_settings] = true;
    }
    if (!train_config_is_set(r, &r->data.context)) {
        r->data.context = theirs.model.max_length;
        r->taken[row_of("context") - train_settings] = true;
    }
    return !*others || error_set(e, STATUS_OTHER_MODEL, "%s: made with other options: %s", run->path, others);
}

static bool take_vocabulary(TrainConfig *r, const Safetensors *run, Error *e) {
    const Setting *tokenizer = row_of("tokenizer"), *size = row_of("vocab-size");
    if (*given(r, size)) return error_set(e, STATUS_USAGE, "--vocab-size: found --from, need one of the two");
    const char *vocabulary = safetensors_metadata(run, "vocabulary");
    if (!vocabulary)
        return error_set(e, STATUS_BAD_DATA, "%s: metadata: found no vocabulary, need it", run->path);
    Tokenizer *k = tokenizer_parse(run->path, vocabulary, e);
    if (!k) return false;
    const TokenizerKind *asked = *given(r, tokenizer) ? r->data.tokenizer : k->kind;
    r->data.tokenizer = k->kind;
    tokenizer_free(k);
    if (asked != r->data.tokenizer)
        return error_set(e, STATUS_OTHER_MODEL, "%s: made with other options: --tokenizer: found %s, need %s",
                         run->path, asked ? asked->choice.name : tokenizer->none,
                         r->data.tokenizer->choice.name);
    r->taken[tokenizer - train_settings] = r->taken[size - train_settings] = true;
    return (r->data.vocabulary = train_config_keep(r, strdup(vocabulary), e));
}

bool train_config_begin_from(TrainConfig *r, const Safetensors *run, Error *e) {
    const char *task = safetensors_metadata(run, "task");
    if (!r->task && !task)
        return error_set(e, STATUS_BAD_DATA, "%s: metadata: found no task, need it", run->path);
    if (!r->task && !(r->task = train_config_keep(r, strdup(task), e))) return false;
    return take_model(r, run, e) && take_vocabulary(r, run, e);
}

/* ---- The parts of a run ---- */

ModelConfig train_config_model(const TrainConfig *r, const Task *task) {
    ModelConfig c = r->model;
    c.vocab_size = (int)task->vocab_size, c.pad_id = task->pad_id;
    c.max_length = (int)(task->max_T > task->max_S ? task->max_T : task->max_S);
    if (task->lines) c.max_length = (int)r->data.context; /* other lines may be longer */
    return c;
}

Trainer train_config_trainer(const TrainConfig *r, const Task *task) {
    Trainer t = {.task = task,
                 .optimizer = r->optimizer,
                 .schedule = r->schedule,
                 .eval_every = r->eval_every,
                 .rows = r->batch,
                 .accumulate = r->accumulate,
                 .learning = r->train,
                 .seed = r->data.seed,
                 .state = {.best_loss = INFINITY}};
    t.optimizer.matrix_rate = r->matrix_lr / r->schedule.rate;
    t.schedule.d_model = r->model.d_model;
    return t;
}
