/* The configuration of a training run: command line, --config file, and validity. */
#include "training/train_config.h"
#include "base/append.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/program.h"
#include "base/runs.h"
#include "base/utf8.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool *given(TrainConfig *r, const char *name) {
    return &r->given[setting_find(train_settings, name) - train_settings];
}

void train_config_free(TrainConfig *r) {
    arena_free(&r->texts);
}

bool train_config_find(TrainConfig *r, const char **run, const char *file, Error *e) {
    char directory[PATH_CAPACITY];
    if (!runs_find(directory, *run, file, e)) return false;
    *run = arena_text(&r->texts, directory);
    return true;
}

bool train_config_is_set(const TrainConfig *r, const void *field) {
    size_t offset = (size_t)((const char *)field - (const char *)r);
    for (const Setting *s = train_settings; s->name; s++)
        if (s->type != SETTING_HEADING && s->offset == offset)
            return r->given[s - train_settings] || r->taken[s - train_settings];
    return false;
}

/* ---- --config file ---- */

static bool no_such_setting(const char *where, const char *name, Error *e) {
    return error_set(e, STATUS_USAGE,
                     "%s: found \"%s\", need the name of an option, see --help all", where,
                     ESCAPED(name));
}

/* A line of a --config file: a name, then blanks or an equals sign, then a value. Skips empty
 * lines, those that begin with #, and settings of the command line. */
static bool config_line(TrainConfig *r, const bool *by_user, const char *where, char *line,
                        Error *e) {
    line += strspn(line, " \t");
    for (size_t n = strlen(line); n && strchr(" \t\r", line[n - 1]);) line[--n] = 0;
    if (!*line || *line == '#') return true;
    char *end = line + strcspn(line, " \t="), what[400];
    const char *value = end + strspn(end, " \t=");
    *end = 0;
    for (char *c = line; *c; c++)
        if (*c == '_') *c = '-';
    const Setting *s = strcmp(line, "config") == 0 ? NULL : setting_find(train_settings, line);
    if (!s) return no_such_setting(where, line, e);
    if (by_user[s - train_settings]) return true;
    snprintf(what, sizeof what, "%s: %s", where, line);
    return (r->given[s - train_settings] = setting_read(s, r, value, what, STATUS_USAGE, e));
}

static bool read_config(TrainConfig *r, Error *e) {
    enum { MAX_BYTES = 1 << 20 };
    size_t size;
    char where[300], *text;
    bool by_user[TRAIN_SETTINGS];
    memcpy(by_user, r->given, sizeof by_user);
    if (!file_read(r->config, MAX_BYTES, &text, &size, e)) return false;
    char *line = memcpy(arena_alloc(&r->texts, size + 1), text, size + 1);
    free(text);
    if (!utf8_check(r->config, line, size, e)) return false;
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

/* ---- Operands ---- */

/* Joins paths to the list of texts, a path a line. */
static bool add_texts(TrainConfig *r, char *const *path, int count, Error *e) {
    const char *before = r->data.text ? r->data.text : "";
    size_t bytes = strlen(before) + 1;
    for (int i = 0; i < count; i++) {
        bytes += strlen(path[i]) + 1;
        if (strchr(path[i], '\n'))
            return error_set(e, STATUS_USAGE, "\"%s\": found a line break, need a name without one",
                             ESCAPED(path[i]));
    }
    char *all = arena_alloc(&r->texts, bytes);
    char *end = all + sprintf(all, "%s", before);
    for (int i = 0; i < count; i++) end += sprintf(end, "%s%s", end > all ? "\n" : "", path[i]);
    r->data.text = all;
    return true;
}

static bool is_run(const char *name) {
    return runs_find((char[PATH_CAPACITY]){0}, name, CHECKPOINT_FILE, &(Error){0});
}

/* Takes a task and files for it, or files alone. */
static bool take_operands(TrainConfig *r, char *const *operand, int count, Error *e) {
    char tasks[TASK_NAMES], train[PROGRAM_COMMAND];
    if (count == 0) return true;
    bool is_file =
        !task_kind(operand[0]) && (access(operand[0], F_OK) == 0 || strpbrk(operand[0], "./"));
    if (is_file && is_run(operand[0]))
        return error_set(e, STATUS_USAGE,
                         "%s: found a run, need a task or a text; %s --resume %s continues it",
                         ESCAPED(operand[0]), program_command("train", train), ESCAPED(operand[0]));
    r->task = operand[0];
    if (is_file) r->task = directory_ends_in(operand[0], ".tsv") ? "pairs" : "lm";
    char *const *file = operand + !is_file;
    int files = count - !is_file;
    if (files == 0 || !task_kind(r->task)) return true; /* task_open names the tasks */
    if (train_config_is_lm(r)) return add_texts(r, file, files, e);
    bool takes_pairs = strcmp(r->task, "pairs") == 0 && !r->data.pairs;
    if (takes_pairs) r->data.pairs = file[0];
    if (takes_pairs && files == 1) return true;
    return error_set(e, STATUS_USAGE, "\"%s\": found one operand too many, need %s",
                     ESCAPED(file[takes_pairs]), task_names(tasks, "|"));
}

/* ---- Command line ---- */

/* The end of the help: the tasks. */
static const char *task_notes(char out[512]) {
    snprintf(out, 512, "Tasks\n");
    for (const Choice *const *kind = all_tasks; *kind; kind++)
        text_append(out, 512, "  %-8s %s\n", (*kind)->name, ((const TaskKind *)*kind)->summary);
    return out;
}

/* The table with the defaults of sequences and texts, where these are not described in words. */
static void describe_defaults(Setting table[TRAIN_SETTINGS + 1],
                              char text[TRAIN_SETTINGS][SETTING_VALUE]) {
    TrainConfig sequences = train_config_defaults(false, PRESET_PAPER),
                lm = train_config_defaults(true, PRESET_MODERN);
    for (int i = 0; train_settings[i].name; i++) {
        Setting *s = &table[i];
        *s = train_settings[i];
        if (s->fallback || s->type == SETTING_HEADING || s->type == SETTING_FLAG) continue;
        s->fallback = setting_default(s, &sequences, "lm", &lm, text[i]);
    }
}

bool train_config_parse(TrainConfig *r, int argc, char **argv, Error *e) {
    *r = (TrainConfig){0};
    static Setting table[TRAIN_SETTINGS + 1]; /* not on the stack, which program_start checks */
    static char defaults[TRAIN_SETTINGS][SETTING_VALUE];
    char tasks[TASK_NAMES], usage[TASK_NAMES + 16], notes[512];
    describe_defaults(table, defaults);
    snprintf(usage, sizeof usage, "%s [FILE]...", task_names(tasks, "|"));
    Options options = {
        "train",
        usage,
        "Trains a Transformer in the directory runs/TASK.",
        table,
        r,
        task_notes(notes),
        "Ctrl-C ends training early: the model is saved and evaluated, the exit status is\n"
        "130, and --resume continues the run. A second Ctrl-C, at least a second later,\n"
        "ends the program at once.\n\n" PRESETS_HELP,
        .max = argc};
    if (!options_parse(&options, argc, argv, e)) return false;
    memcpy(r->given, options.given, sizeof r->given);
    r->compared = options.operand;
    r->compared_count = options.operands;
    if (r->compare) return true;
    if (!take_operands(r, options.operand, options.operands, e)) return false;
    *given(r, "task") = r->task;
    *given(r, "text") = r->data.text; /* as operands, too */
    *given(r, "pairs") = r->data.pairs;
    *given(r, "seed") = options.seed_given;
    r->data.seed = options.seed;
    if (r->config && !read_config(r, e)) return false;
    return !r->resume || train_config_find(r, &r->resume, CHECKPOINT_FILE, e);
}

/* Checks a command line with --compare, which takes no other setting than --run, the directory of
 * its page. */
static bool check_compare(TrainConfig *r, Error *e) {
    for (const Setting *s = train_settings; s->name; s++)
        if (r->given[s - train_settings] && strcmp(s->name, "run") != 0 &&
            strcmp(s->name, "compare") != 0)
            return error_set(e, STATUS_USAGE, "--%s: found --compare, need one of the two",
                             s->name);
    if (r->compared_count < 2 || r->compared_count > TRAIN_COMPARED)
        return error_set(e, STATUS_USAGE,
                         "--compare: found %d operand%s, need the directories of 2 to %d runs",
                         r->compared_count, PLURAL(r->compared_count), TRAIN_COMPARED);
    if (!r->run) r->run = "runs";
    return true;
}

/* ---- Validity ---- */

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
    bool known = r->minutes == 0 && !r->resume;
    if (!known || s->warmup <= s->steps || !choice_reads(&s->kind->choice, "warmup")) return true;
    return error_set(e, STATUS_USAGE, "--warmup: found %ld, need at most the %ld of --steps",
                     s->warmup, s->steps);
}

static bool check(const TrainConfig *r, Error *e) {
    const Schedule *s = &r->schedule;
    for (const Setting *row = train_settings; row->name; row++)
        if (r->given[row - train_settings] && !setting_check_effect(train_settings, r, row, e))
            return false;
    if (!train_config_check_warmup(r, e)) return false;
    if (s->min_rate > s->rate)
        return error_set(e, STATUS_USAGE, "--min-lr: found %g, need at most the %g of --lr",
                         s->min_rate, s->rate);
    if (r->model.d_ff > CONFIG_MAX_WIDTH) /* the computed default */
        return error_set(e, STATUS_USAGE,
                         "--d-model: found %d, need at most %d, or a --d-ff of its own",
                         r->model.d_model, CONFIG_MAX_WIDTH / 4);
    ModelConfig m = r->model;
    m.vocab_size = m.max_length = 1; /* the task decides them */
    m.pad_id = NO_PAD;
    return config_check(&m, STATUS_USAGE, e);
}

/* Refuses two options of which a run has one. */
static bool check_pairs(TrainConfig *r, Error *e) {
    const char *const pairs[][2] = {{"run", "resume"}, {"minutes", "steps"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (*given(r, pairs[i][0]) && *given(r, pairs[i][1]))
            return error_set(e, STATUS_USAGE, "--%s: found --%s, need one of the two", pairs[i][0],
                             pairs[i][1]);
    return true;
}

bool train_config_complete(TrainConfig *r, Error *e) {
    char tasks[TASK_NAMES];
    if (r->compare) return check_compare(r, e);
    if (!r->task && r->data.text) r->task = "lm";
    if (!r->task && r->data.pairs) r->task = "pairs";
    if (!r->task)
        return error_set(e, STATUS_USAGE, "found 0 operands, need %s [FILE]..., see --help",
                         task_names(tasks, "|"));
    if (!check_pairs(r, e)) return false;
    fill_in(r);
    return check(r, e);
}

/* ---- The parts of a run ---- */

ModelConfig train_config_model(const TrainConfig *r, const Task *task) {
    ModelConfig c = r->model;
    c.vocab_size = (int)task->vocab_size;
    c.pad_id = task->pad_id;
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
