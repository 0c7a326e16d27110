/* A setting: a named member of a struct, which command lines and files give a value. A table of settings ends with {0}.
 *
 *     static const Setting table[] = {
 *         {"norm", NULL, "post|pre", "norm after or before each sublayer", SETTING(CHOICE, ModelConfig, norm)},
 *         {0},
 *     };
 *
 * All values are read, checked and written by base/options.h. */
#pragma once

#include "base/options.h"
#include <stddef.h>

/* The type of the member and the form of its value: the destination of Option with this name. */
typedef enum SettingType {
    SETTING_HEADING,
    SETTING_FLAG,
    SETTING_TRUTH,
    SETTING_INTEGER,
    SETTING_WHOLE,
    SETTING_NATURAL,
    SETTING_REAL,
    SETTING_CHOICE,
    SETTING_KIND,
    SETTING_TEXT
} SettingType;

typedef enum Saved {
    SAVED_IN_CHECKPOINT,
    SAVED_IN_WEIGHTS,
    SAVED_IN_NEW_WEIGHTS, /* a file without it means 0, false, or the first word */
    SAVED_NOWHERE
} Saved;

struct Condition; /* training/train_config.h */

typedef struct Setting {
    const char *name, *argument, *allowed, *help; /* as in Option */
    SettingType type;
    size_t offset;
    Saved saved;
    const char *key; /* its name in weight files, if that is not the name with '_' for '-' */
    const Choice *const *kinds;
    const char *none;                  /* the word for -1 */
    const char *computed;              /* the default in words, where it depends on other settings */
    const struct Condition *condition; /* when it has an effect; NULL: always */
    const Choice *with; /* it has an effect with this kind of another setting alone; NULL: with any */
    bool may_change;    /* with --resume */
} Setting;

#define SETTING(type, structure, member) SETTING_##type, offsetof(structure, member)

/* Whether weight files have it. */
static inline bool setting_in_weights(const Setting *s) {
    return s->saved == SAVED_IN_WEIGHTS || s->saved == SAVED_IN_NEW_WEIGHTS;
}

/* The setting as an option whose value is in the struct. */
Option setting_option(const Setting *s, void *structure);

/* Copies the value from one struct to another. */
void setting_copy(const Setting *s, void *to, const void *from);

/* The default as help prints it: the value in one struct, and after "; NAME " that in another if it differs. Returns out. */
const char *setting_default(const Setting *s, void *one, const char *name, void *other,
                            char out[OPTION_TEXT]);

/* Its name in weight files: "d_model". Returns out. */
enum { SETTING_KEY = 32 };
const char *setting_key(const Setting *s, char out[SETTING_KEY]);
