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

void train_config_notes(const TrainConfig *r, Contents *c) {
    char key[NOTE_KEY], value[SETTING_VALUE];
    for (const Setting *s = train_settings; s->name; s++)
        if (s->saved != SAVED_NOWHERE && s->saved != SAVED_IN_WEIGHTS)
            contents_note(c, note_key(s, key), setting_text(s, r, value));
}

/* ---- Differences ---- */

/* Adds a difference between a run and what is asked of it now to a list: "--d-model 32, now 64". */
static void add_difference(char list[ERROR_TEXT], const char *name, const char *had,
                           const char *now) {
    text_append(list, ERROR_TEXT, "%s%s %s, now %s", *list ? "; " : "", name, *had ? had : "none",
                *now ? now : "none");
}

/* Takes a setting's value from another run. Lists it if the user gave another value. */
static void take(TrainConfig *r, const Setting *s, const TrainConfig *theirs,
                 char differences[ERROR_TEXT]) {
    char name[NOTE_KEY], before[SETTING_VALUE], asked[SETTING_VALUE];
    const char *had = setting_text(s, theirs, before), *now = setting_text(s, r, asked);
    snprintf(name, sizeof name, "--%s", s->name);
    if (*given(r, s) && strcmp(had, now) != 0) add_difference(differences, name, had, now);
    setting_copy(s, r, theirs);
    r->taken[s - train_settings] = true;
}

/* ---- Checkpoints ---- */

/* Takes one setting of a checkpoint, unless the user gave another value that it may have. A
 * checkpoint that lacks the setting leaves it to the user or its default. */
static bool resume_setting(TrainConfig *r, const Setting *s, const Safetensors *checkpoint,
                           char differences[ERROR_TEXT], Error *e) {
    TrainConfig theirs = *r;
    char key[NOTE_KEY], where[400];
    const char *text = safetensors_metadata(checkpoint, note_key(s, key));
    if (!text) return true;
    if (s->offset == offsetof(TrainConfig, schedule.steps))
        r->planned_steps = strtol(text, NULL, 10);
    r->taken[s - train_settings] = true;
    if (s->saved == SAVED_CHANGEABLE && *given(r, s)) return true;
    if (s->type == SETTING_TEXT) text = arena_text(&r->texts, text);
    snprintf(where, sizeof where, "%.200s: metadata: %s", checkpoint->path, key);
    if (!setting_read(s, &theirs, text, where, STATUS_BAD_DATA, e)) return false;
    take(r, s, &theirs, differences);
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

/* "lr, steps, " and so on. A file may move, but not change: the checkpoint has its checksum. */
static const char *changeable(const TrainConfig *r, char out[ERROR_TEXT]) {
    *out = 0;
    for (const Setting *s = train_settings; s->name; s++)
        if (s->saved == SAVED_CHANGEABLE && s->type != SETTING_TEXT && train_config_counts(r, s))
            text_append(out, ERROR_TEXT, "%s, ", s->name);
    return out;
}

bool train_config_resume(TrainConfig *r, const Safetensors *checkpoint, Error *e) {
    char differences[ERROR_TEXT] = "", names[ERROR_TEXT];
    const char *task = safetensors_metadata(checkpoint, "task"), *where = checkpoint->path;
    if (!task) return error_set(e, STATUS_BAD_DATA, "%s: metadata: found no task, need it", where);
    if (!check_removed(checkpoint, e)) return false;
    if (r->task && strcmp(r->task, task) != 0) add_difference(differences, "task", task, r->task);
    r->task = arena_text(&r->texts, task);
    for (const Setting *s = train_settings; s->name; s++)
        if (s->saved != SAVED_NOWHERE && !resume_setting(r, s, checkpoint, differences, e))
            return false;
    if (r->from && !*r->from) r->from = NULL;
    if (r->train && !*r->train) r->train = NULL;
    return !*differences ||
           error_set(e, STATUS_OTHER_MODEL, "%s: made with %s (may change: %sthreads)", where,
                     differences, changeable(r, names));
}

/* ---- Beginning from another run ---- */

static const char *metadata_of(void *file, const char *name) {
    return safetensors_metadata(file, name);
}

static bool made_with(const Safetensors *run, const char *differences, Error *e) {
    return !*differences ||
           error_set(e, STATUS_OTHER_MODEL, "%s: made with %s", run->path, differences);
}

/* Takes the model's settings, and its context if none is given. */
static bool take_model(TrainConfig *r, const Safetensors *run, Error *e) {
    char differences[ERROR_TEXT] = "";
    TrainConfig theirs = *r;
    if (!config_parse(&theirs.model, run->path, metadata_of, (void *)run, e)) return false;
    if (config_is_lm(&theirs.model) != train_config_is_lm(r))
        return error_set(e, STATUS_OTHER_MODEL,
                         "--from: %s: found a model of kind %s, need %s for %s", run->path,
                         config_kind(&theirs.model), train_config_is_lm(r) ? "lm" : "seq2seq",
                         r->task);
    for (const Setting *s = train_settings; s->name; s++)
        if (s->saved == SAVED_IN_WEIGHTS) take(r, s, &theirs, differences);
    theirs.data.context = theirs.model.max_length;
    if (!train_config_is_set(r, &r->data.context))
        take(r, setting_find(train_settings, "context"), &theirs, differences);
    return made_with(run, differences, e);
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
    TrainConfig theirs = {.data.tokenizer = k->kind};
    char differences[ERROR_TEXT] = "";
    tokenizer_free(k);
    take(r, tokenizer, &theirs, differences);
    r->taken[size - train_settings] = true;
    if (!made_with(run, differences, e)) return false;
    r->data.vocabulary = arena_text(&r->texts, vocabulary);
    return true;
}

bool train_config_begin_from(TrainConfig *r, const Safetensors *run, Error *e) {
    const char *task = safetensors_metadata(run, "task");
    if (!r->task && !task)
        return error_set(e, STATUS_BAD_DATA, "%s: metadata: found no task, need it", run->path);
    if (!r->task) r->task = arena_text(&r->texts, task);
    return take_model(r, run, e) && take_vocabulary(r, run, e);
}
