/* The configuration of a training run. The table in settings.c has a row for each setting. */
#pragma once

#include "base/arena.h"
#include "base/options.h"
#include "formats/safetensors.h"
#include "training/trainer.h"

enum { TRAIN_SETTINGS = 96, TRAIN_COMPARED = 8 }; /* at most */

typedef struct TrainConfig {
    const char *task;
    TaskOptions data; /* with the seed of everything */
    const char *from; /* directory of the run whose weights and tokenizer this one begins with;
                         NULL: none */

    int preset;

    /* Section 3 */
    ModelConfig model; /* what the task decides: train_config_model */
    double dropout;
    const char *train; /* fnmatch pattern: the parameters that learn; NULL: all */

    /* Section 5 */
    Optimizer optimizer; /* without its memory */
    Schedule schedule;   /* with the number of steps */
    long batch, accumulate;
    double matrix_lr;

    /* Output */
    long eval_every, checkpoint_every;
    double checkpoint_minutes, minutes;
    const char *run, *resume, *config;
    bool evaluate_all, force, json, quiet, dry_run, compare;
    char **compared; /* directories of the runs to compare, [compared_count]; part of argv */
    int compared_count;

    long planned_steps; /* the checkpoint's --steps */

    bool given[TRAIN_SETTINGS]; /* by row of the table: set by the user, not by a default */
    bool taken[TRAIN_SETTINGS]; /* set by the checkpoint to resume, or by the run of --from */
    Arena texts;         /* that strings point into: a --config file, a checkpoint's values */
    char directory[256]; /* the default of `run` */
} TrainConfig;

/* Reads the command line of `train`, and the file of its --config, which the command line
 * overrides. False: the program ends with options_exit, after --help, or after an error:
 * STATUS_USAGE or an error of file_read. The caller calls train_config_free, also after a failure.
 * Strings point into argv. */
bool train_config_parse(TrainConfig *r, int argc, char **argv, Error *e);
void train_config_free(TrainConfig *r);

/* Whether the task is a language model. */
static inline bool train_config_is_lm(const TrainConfig *r) {
    return task_names_language_model(r->task);
}

/* The table of settings, in the order of the help; ends with {0}. */
extern const Setting train_settings[];

/* The command line of the same run, without settings at their defaults; the caller frees it. NULL:
 * STATUS_NO_MEMORY. */
char *train_config_command(const TrainConfig *r, Error *e);

/* Replaces the name of a run, r->resume or r->from, by its directory, which has the file. Errors of
 * runs_find. */
bool train_config_find(TrainConfig *r, const char **run, const char *file, Error *e);

/* The defaults of a task with a preset, without those that depend on other settings. */
TrainConfig train_config_defaults(bool lm, Preset preset);

/* The defaults that depend on the length of a text that is not open yet. */
void train_config_fit_text(TrainConfig *r);

/* False with STATUS_NO_INPUT, and the option that helps, if a text or the pairs are missing: asked
 * before anything is read. */
bool train_config_find_input(const TrainConfig *r, Error *e);

/* Opens the task, which the caller frees with task_free, and fits the defaults to it. If the user
 * chose no size and --minutes suffice to read the text many times, takes a wider model with a
 * longer context. NULL: an error of task_open; about a missing file it also names the option that
 * helps. */
Task *train_config_open(TrainConfig *r, Error *e);

/* Returns how many times the training reads the text of an lm. */
double train_config_passes(const TrainConfig *r, const Task *task);

#define PRESETS_HELP                                                                               \
    "Presets\n"                                                                                    \
    "  paper   post-norm, sinusoidal positions, ReLU, label smoothing; AdamW without\n"            \
    "          weight decay, cosine schedule\n"                                                    \
    "  gpt     as nanoGPT: pre-norm, learned positions, GELU; AdamW with weight\n"                 \
    "          decay, cosine schedule from 0.001 to 0.0001; characters\n"                          \
    "  modern  pre-norm, rotary positions, --qk-norm true, GELU, --init-output zero;\n"            \
    "          Muon, linear schedule; characters or byte pairs, dropout and, with\n"               \
    "          --minutes, the width by the text and the number of passes through it\n"             \
    "  llama   as modern, with RMS norm, SwiGLU, --biases false, --qk-norm false,\n"               \
    "          byte pairs: tapeformer_hf.py takes it to transformers and llama.cpp\n"

/* Fills in the defaults. STATUS_USAGE: settings contradict each other, or have no effect. */
bool train_config_complete(TrainConfig *r, Error *e);

/* Refuses a warm-up that is longer than the steps of a new run, once these are known. */
bool train_config_check_warmup(const TrainConfig *r, Error *e);

/* Whether the user or the checkpoint to resume gave a value to the field of r. */
bool train_config_is_set(const TrainConfig *r, const void *field);

/* Sets the number of steps, or the width d_model, and the defaults that depend on it; with a task
 * that is open, also those that depend on the passes through its text. */
void train_config_set_steps(TrainConfig *r, const Task *task, long steps);
void train_config_set_width(TrainConfig *r, int d_model);

/* Whether files have this setting and it has an effect on the run. */
bool train_config_counts(const TrainConfig *r, const Setting *s);

/* Adds the settings that the weights' metadata do not say to the contents of a checkpoint: as
 * "recipe.lr" and its value. */
#define RECIPE "recipe."
enum { NOTE_KEY = 40 };
void train_config_notes(const TrainConfig *r, Contents *c);

/* Takes the settings of a checkpoint, and copies them. A setting given by the user stays if it may
 * change; otherwise STATUS_OTHER_MODEL lists all that differ. STATUS_BAD_DATA: a setting is not
 * valid, or this version has none of its name. A setting that the checkpoint lacks has its default.
 */
bool train_config_resume(TrainConfig *r, const Safetensors *checkpoint, Error *e);

/* Takes the settings of the model, the vocabulary and, if none is given, the task and the context
 * of a run to begin from: its weights, or the checkpoint of a run that began so.
 * STATUS_OTHER_MODEL: the user gave other settings of the model, another tokenizer, or a task of
 * another kind; STATUS_USAGE: he gave --vocab-size. STATUS_BAD_DATA: the file is of no run. */
bool train_config_begin_from(TrainConfig *r, const Safetensors *run, Error *e);

/* The model, with the task's vocabulary, length and padding; a trainer without model and memory. */
ModelConfig train_config_model(const TrainConfig *r, const Task *task);
Trainer train_config_trainer(const TrainConfig *r, const Task *task);
