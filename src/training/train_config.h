/* The configuration of a training run. settings.def has a row for each setting: name, range,
 * help, the runs it applies to, and whether it may change with --resume. The command line, its help, the
 * checks, --config files and checkpoints are made from it. */
#ifndef TRAINING_TRAIN_CONFIG_H
#define TRAINING_TRAIN_CONFIG_H

#include "base/options.h"
#include "formats/safetensors.h"
#include "training/trainer.h"

enum { TRAIN_SETTINGS = 64, TRAIN_TEXTS = 8, TRAIN_SEEDS = 1000 }; /* at most */

/* --preset: the paper's settings, nanoGPT's, and newer ones. */
typedef enum Preset { PRESET_PAPER, PRESET_GPT, PRESET_MODERN } Preset;

typedef struct TrainConfig {
    const char *task;
    TaskOptions data; /* with the seed of everything */

    /* Section 3: the model */
    long layers, heads, d_model, d_ff;
    int preset, norm, norm_kind, positions, attention, qk_norm, activation, untied, init_output;
    double dropout, attention_dropout, label_smoothing;

    /* Section 5: its training */
    long steps, batch, accumulate, warmup;
    int optimizer, schedule;
    double lr, matrix_lr, min_lr, decay, beta1, beta2, epsilon, momentum, weight_decay, clip;

    /* Output */
    long eval_every, checkpoint_every, keep_checkpoints, samples;
    double checkpoint_minutes, minutes;
    const char *run, *resume, *config;
    bool force, json, quiet, dry_run;
    long seeds; /* runs to make, with as many seeds */

    long planned_steps; /* the checkpoint's --steps */

    bool given[TRAIN_SETTINGS]; /* by row of the table: set by the user, not by a default */
    char *text[TRAIN_TEXTS];    /* texts that strings point into: a --config file, a checkpoint's values */
    int texts;
    char directory[256]; /* the default of `run` */
} TrainConfig;

/* Reads the command line of `train` and the file of its --config, which the command line overrides. False:
 * stop, by way of options_exit, after an error with STATUS_USAGE or of file_read, or after --help. To be
 * freed, also after failure, with train_config_free; strings point into argv. */
bool train_config_parse(TrainConfig *r, int argc, char **argv, Error *e);
void train_config_free(TrainConfig *r);

/* The defaults of a task with a preset, without those that depend on other settings. */
TrainConfig train_config_defaults(bool lm, Preset preset);

/* The defaults that depend on the text's length: of an lm, and of preset modern. */
void train_config_fit_text(TrainConfig *r);
/* The defaults that depend on the number of passes through the text. */
void train_config_fit_steps(TrainConfig *r);

#define PRESETS_HELP                                                                                         \
    "Presets\n"                                                                                              \
    "  paper   post-norm, sinusoidal positions, ReLU, label smoothing; AdamW without\n"                      \
    "          weight decay, cosine schedule\n"                                                              \
    "  gpt     as nanoGPT: pre-norm, learned positions, GELU; AdamW with weight\n"                           \
    "          decay, cosine schedule from 0.001 to 0.0001; characters\n"                                    \
    "  modern  pre-norm, rotary positions, --qk-norm on, GELU, --init-output zero;\n"                        \
    "          Muon, linear schedule; byte pairs; sizes and dropout by the length of\n"                      \
    "          the text and the number of passes through it\n"

/* Fills in the defaults. STATUS_USAGE: settings contradict each other, or have no effect. */
bool train_config_complete(TrainConfig *r, Error *e);

/* Whether the user or the checkpoint to resume gave a value to the field of r. */
bool train_config_is_set(const TrainConfig *r, const void *field);

/* Sets the number of steps and the defaults that depend on it. */
void train_config_set_steps(TrainConfig *r, long steps);

/* Settings as notes of a file: "recipe.lr" and its value. Points into itself and to the configuration's texts. */
enum { NOTE_KEY = 40 };
typedef struct ConfigNotes {
    Metadata note[TRAIN_SETTINGS];
    int count;
    char key[TRAIN_SETTINGS][NOTE_KEY], value[TRAIN_SETTINGS][OPTION_TEXT];
} ConfigNotes;

/* The settings that a checkpoint saves, or those of them that have an effect on this run. */
void train_config_notes(const TrainConfig *r, bool effective, ConfigNotes *out);

/* Takes the settings of a checkpoint, and copies them. A setting given by the user stays if it may change; otherwise
 * STATUS_OTHER_MODEL lists all that differ. STATUS_BAD_DATA: a setting is missing or not valid. */
bool train_config_resume(TrainConfig *r, const Safetensors *checkpoint, Error *e);

/* The model, and a trainer without model and memory. */
ModelConfig train_config_model(const TrainConfig *r, const Task *task);
Trainer train_config_trainer(const TrainConfig *r, const Task *task);

#endif
