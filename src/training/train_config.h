/* A config: everything that is chosen about a training run. One table, in recipe.c, has a row for each choice: its
 * name, range and help, its default for sequence tasks and for language models, who heeds it, and whether it may
 * change when a run is gone on with. From it come the command line and its help, the defaults, the refusals, the lines
 * of a --config file, and what a checkpoint records. */
#ifndef TRAINING_TRAIN_CONFIG_H
#define TRAINING_TRAIN_CONFIG_H

#include "base/options.h"
#include "formats/safetensors.h"
#include "training/trainer.h"

enum { TRAIN_CHOICES = 48 }; /* at most */

typedef struct TrainConfig {
    const char *task;
    TaskOptions data; /* its seed is the seed of everything */

    /* Section 3: the model */
    long layers, heads, d_model, d_ff;
    int norm, positions, attention, activation, untied;
    double dropout, label_smoothing;

    /* Section 5: its training */
    long steps, batch, accumulate, warmup;
    int optimizer, schedule;
    double lr, min_lr, beta1, beta2, epsilon, momentum, weight_decay, clip;

    /* What is watched and kept */
    long eval_every, checkpoint_every, samples;
    double checkpoint_minutes;
    const char *run, *resume, *config;
    bool force, json, quiet, dry_run;

    long planned_steps; /* of the checkpoint, whatever --steps says */

    bool given[TRAIN_CHOICES];   /* by row of the table: who chose it is not the table */
    char *config_text;           /* the file that strings point into */
    char *task_text, *text_text; /* task, data.text of a checkpoint */
    char directory[256];         /* where nobody chose one */
} TrainConfig;

/* Reads the command line of `train`, and the file that its --config names; what the command line says counts. False:
 * stop, by way of options_exit. Then either e has STATUS_USAGE or what file_read fails with, or the help was asked for
 * and printed. To be freed, also after failure, with train_config_free; strings point into argv. */
bool train_config_parse(TrainConfig *r, int argc, char **argv, Error *e);
void train_config_free(TrainConfig *r);

/* Fills in what nobody chose, and refuses with STATUS_USAGE what cannot be together or would have no effect. */
bool train_config_complete(TrainConfig *r, Error *e);

/* The choices that a checkpoint records, "recipe.lr" and its value, or those of them that have an effect on this run. To be
 * freed with train_config_notes_free. NULL: STATUS_NO_MEMORY. */
Metadata *train_config_notes(const TrainConfig *r, bool effective, int *count, Error *e);
void train_config_notes_free(Metadata *notes, int count);

/* The command that makes the same run, of the choices that are not as they usually are; for the caller to free. NULL:
 * STATUS_NO_MEMORY. */
char *train_config_command(const TrainConfig *r, Error *e);

/* Takes over the choices that a checkpoint records, by way of find(context, "recipe.lr"), whose strings are copied.
 * What was given before counts where it may change; every other difference is listed: STATUS_OTHER_MODEL. STATUS_BAD_DATA:
 * a choice is missing or none that the option takes. `where` is the run that r->resume names. */
bool train_config_resume(TrainConfig *r, const char *where,
                         const char *(*find)(void *context, const char *key), void *context, Error *e);

/* The model that is asked for, and how it is trained: all of a trainer but its memory. */
ModelConfig train_config_model(const TrainConfig *r, const Task *task);
Trainer train_config_trainer(const TrainConfig *r, const Task *task);

#endif
