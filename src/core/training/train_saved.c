/* The settings of a run in its files: the notes of checkpoints and weights, and what a run takes
 * from them. */
#include "base/append.h"
#include "training/train_config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool *given(TrainConfig *r, const Setting *s) {
    return &r->given[s - train_settings];
}

/* The setting's name in the metadata of a checkpoint. */
static const char *note_key(const Setting *s, char out[NOTE_KEY]) {
    if (s->saved == SAVED_IN_WEIGHTS) return setting_key(s, out);
    snprintf(out, NOTE_KEY, RECIPE "%s", s->name);
    return out;
}

bool train_config_counts(const TrainConfig *r, const Setting *s) {
    return s->saved != SAVED_NOWHERE && setting_check_effect(train_settings, r, s, &(Error){0});
}

void train_config_notes(const TrainConfig *r, ConfigNotes *out) {
    out->count = 0;
    for (const Setting *s = train_settings; s->name; s++) {
        if (s->saved == SAVED_NOWHERE || s->saved == SAVED_IN_WEIGHTS) continue;
        int n = out->count++;
        out->note[n] = (Metadata){note_key(s, out->key[n]), setting_text(s, r, out->value[n])};
    }
}

/* ---- Checkpoints ---- */

/* Takes one setting of a checkpoint, unless the user gave another value that it may have; otherwise
 * appends to `others`. A checkpoint that lacks the setting leaves it to the user or its default. */
static bool resume_setting(TrainConfig *r, const Setting *s, const Safetensors *checkpoint,
                           char others[ERROR_TEXT], Error *e) {
    TrainConfig before = *r;
    char key[NOTE_KEY], what[400], found[SETTING_VALUE], want[SETTING_VALUE];
    const char *text = safetensors_metadata(checkpoint, note_key(s, key)),
               *where = checkpoint->path;
    if (!text) return true;
    r->taken[s - train_settings] = true;
    if (s->offset == offsetof(TrainConfig, schedule.steps))
        r->planned_steps = strtol(text, NULL, 10);
    if (s->saved == SAVED_CHANGEABLE && *given(r, s)) return true;
    if (s->type == SETTING_TEXT) text = train_config_keep(r, strdup(text), e);
    if (!text) return false;
    snprintf(what, sizeof what, "%.200s: metadata: %s", where, key);
    if (!setting_read(s, r, text, what, STATUS_BAD_DATA, e)) return false;
    const char *old = setting_text(s, &before, found), *new = setting_text(s, r, want);
    if (*given(r, s) && strcmp(old, new) != 0)
        text_append(others, ERROR_TEXT, "; --%s: found %s, need %s", s->name, old,
                    *new ? new : "none");
    *given(r, s) = false;
    return true;
}

/* A setting that this version does not have. */
static bool check_removed(const Safetensors *checkpoint, Error *e) {
    for (int i = 0; i < checkpoint->metadata_count; i++) {
        const char *key = checkpoint->metadata[i].key, *name = key + strlen(RECIPE);
        if (strncmp(key, RECIPE, strlen(RECIPE)) != 0 || setting_find(train_settings, name))
            continue;
        return error_set(e, STATUS_BAD_DATA,
                         "%s: metadata: found the setting %s, which this version does not have",
                         checkpoint->path, ESCAPED(name));
    }
    return true;
}

bool train_config_resume(TrainConfig *r, const Safetensors *checkpoint, Error *e) {
    char others[ERROR_TEXT] = "", changeable[ERROR_TEXT] = "";
    const char *task = safetensors_metadata(checkpoint, "task"), *where = checkpoint->path;
    if (!task) return error_set(e, STATUS_BAD_DATA, "%s: metadata: found no task, need it", where);
    if (!check_removed(checkpoint, e)) return false;
    if (r->task && strcmp(r->task, task) != 0)
        text_append(others, sizeof others, "; task: found %s, need %s", r->task, task);
    r->task = train_config_keep(r, strdup(task), e);
    if (!r->task) return false;
    for (const Setting *s = train_settings; s->name; s++) {
        /* A file may move, but not change: the checkpoint has its checksum. */
        if (s->saved == SAVED_CHANGEABLE && s->type != SETTING_TEXT &&
            setting_check_effect(train_settings, r, s, &(Error){0}))
            text_append(changeable, sizeof changeable, "%s, ", s->name);
        if (s->saved != SAVED_NOWHERE && !resume_setting(r, s, checkpoint, others, e)) return false;
    }
    if (r->from && !*r->from) r->from = NULL;
    if (r->train && !*r->train) r->train = NULL;
    if (!*others) return true;
    return error_set(e, STATUS_OTHER_MODEL,
                     "%s: made with other options: %s (may change: %sthreads)", where, others + 2,
                     changeable);
}

/* ---- Beginning from another run ---- */

static const char *metadata_of(void *file, const char *name) {
    return safetensors_metadata(file, name);
}

/* Takes the model's settings. */
static bool take_model(TrainConfig *r, const Safetensors *run, Error *e) {
    char others[ERROR_TEXT] = "", found[SETTING_VALUE], want[SETTING_VALUE];
    TrainConfig theirs = *r;
    if (!config_parse(&theirs.model, run->path, metadata_of, (void *)run, e)) return false;
    if (config_is_lm(&theirs.model) != train_config_is_lm(r))
        return error_set(e, STATUS_USAGE,
                         "--from: %s: found the kind %s, need another for the task %s", run->path,
                         config_kind(&theirs.model), r->task);
    for (const Setting *s = train_settings; s->name; s++) {
        if (s->saved != SAVED_IN_WEIGHTS) continue;
        const char *old = setting_text(s, r, found), *new = setting_text(s, &theirs, want);
        if (*given(r, s) && strcmp(old, new) != 0)
            text_append(others, sizeof others, "%s--%s: found %s, need %s", *others ? "; " : "",
                        s->name, old, new);
        setting_copy(s, r, &theirs);
        r->taken[s - train_settings] = true;
    }
    if (!train_config_is_set(r, &r->data.context)) {
        r->data.context = theirs.model.max_length;
        r->taken[setting_find(train_settings, "context") - train_settings] = true;
    }
    return !*others ||
           error_set(e, STATUS_OTHER_MODEL, "%s: made with other options: %s", run->path, others);
}

static bool take_vocabulary(TrainConfig *r, const Safetensors *run, Error *e) {
    const Setting *tokenizer = setting_find(train_settings, "tokenizer"),
                  *size = setting_find(train_settings, "vocab-size");
    if (*given(r, size))
        return error_set(e, STATUS_USAGE, "--vocab-size: found --from, need one of the two");
    const char *vocabulary = safetensors_metadata(run, "vocabulary");
    if (!vocabulary)
        return error_set(e, STATUS_BAD_DATA, "%s: metadata: found no vocabulary, need it",
                         run->path);
    Tokenizer *k = tokenizer_parse(run->path, vocabulary, e);
    if (!k) return false;
    const TokenizerKind *asked = *given(r, tokenizer) ? r->data.tokenizer : k->kind;
    r->data.tokenizer = k->kind;
    tokenizer_free(k);
    if (asked != r->data.tokenizer)
        return error_set(e, STATUS_OTHER_MODEL,
                         "%s: made with other options: --tokenizer: found %s, need %s", run->path,
                         asked ? asked->choice.name : tokenizer->none,
                         r->data.tokenizer->choice.name);
    r->taken[tokenizer - train_settings] = r->taken[size - train_settings] = true;
    return (r->data.vocabulary = train_config_keep(r, strdup(vocabulary), e));
}

bool train_config_begin_from(TrainConfig *r, const Safetensors *run, Error *e) {
    const char *task = safetensors_metadata(run, "task");
    if (!r->task && !task)
        return error_set(e, STATUS_BAD_DATA, "%s: metadata: found no task, need it", run->path);
    if (!r->task) r->task = train_config_keep(r, strdup(task), e);
    if (!r->task) return false;
    return take_model(r, run, e) && take_vocabulary(r, run, e);
}
