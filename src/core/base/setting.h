/* A setting is a named member of a struct. Command lines and files give it a value. One row of a
 * table describes it; a table ends with {0}.
 *
 *     static struct Values { double lr; int norm; bool json; } values = {.lr = 1e-3};
 *     static const Setting table[] = {
 *         {"Training"},
 *         {"lr", "X", "(0,inf)", "peak learning rate", SETTING(REAL, struct Values, lr)},
 *         {"norm", NULL, "post|pre", "place of the norms", SETTING(CHOICE, struct Values, norm)},
 *         {"json", .help = "print one JSON object per line", SETTING(FLAG, struct Values, json)},
 *         {0},
 *     };
 *
 * The table determines command lines (base/options.h), help, checks, --config files, checkpoints
 * and weight files. */
#pragma once

#include "base/choice.h"
#include "base/error.h"
#include <stddef.h>
#include <stdint.h>

/* The form of a value and the type of its member. */
typedef enum SettingType {
    SETTING_HEADING, /* of the help */
    SETTING_FLAG,    /* bool; the option takes no value */
    SETTING_TRUTH,   /* bool: "false" or "true" */
    SETTING_INTEGER, /* int or long: decimal, also 1e3, in the interval `allowed`; or the word
                        `none`, which is -1 */
    SETTING_NATURAL, /* uint64_t: decimal */
    SETTING_REAL,    /* double: decimal and finite, in the interval `allowed`; or the word `none`,
                        which is INFINITY */
    SETTING_CHOICE,  /* int or enum: the index of a word of `allowed` */
    SETTING_KIND, /* pointer to a struct that begins with a Choice, one of `kinds`; the word `none`
                     is NULL */
    SETTING_TEXT  /* const char *: any UTF-8, not copied */
} SettingType;

/* The files that hold a setting. */
typedef enum Saved {
    SAVED_NOWHERE,
    SAVED_IN_WEIGHTS,    /* and in checkpoints */
    SAVED_IN_CHECKPOINT, /* a resumed run keeps it */
    SAVED_CHANGEABLE     /* in checkpoints; --resume may change it */
} Saved;

typedef struct Setting {
    const char *name;     /* "d-model" */
    const char *argument; /* the value's name in the help: "N"; NULL: the help shows the words */
    const char *allowed;  /* "[1,64]"; "(0,inf)", without its ends; "post|pre" */
    const char *help;     /* a clause; NULL: no option */
    SettingType type;
    size_t offset, size;  /* of the member */
    const char *fallback; /* the default in words; NULL: the value before anything is read */
    Saved saved;
    /* The settings that this one needs, by name, separated by blanks. It has an effect if each NAME
     * is set or is a kind that reads it, and if each !NAME is not set. NULL: it needs none. */
    const char *of;
    const Choice *const *kinds; /* ends with NULL */
    const char *none;
    const char *key; /* its name in weight files; NULL: `name` with '_' for '-' */
    bool basic;      /* --help shows it, --help all shows all */
} Setting;

#define SETTING(type, structure, member)                                                           \
    SETTING_##type, offsetof(structure, member), sizeof(((structure *)0)->member)

/* The row of this name; NULL: there is none. */
const Setting *setting_find(const Setting *table, const char *name);

/* Reads a value into the struct, from any source. False with `status`: "WHERE: found "x", need an
 * integer in [1,64]". */
bool setting_read(const Setting *s, void *values, const char *text, const char *where,
                  Status status, Error *e);

/* The value as text that reads back as the same value: in `out`, or the setting's own text. */
enum { SETTING_VALUE = 64 };
const char *setting_text(const Setting *s, const void *values, char out[SETTING_VALUE]);

/* Copies the value from one struct to another; a text is shared. */
void setting_copy(const Setting *s, void *to, const void *from);

/* Writes the default as help prints it: the value in one struct, and after "; NAME " the value in
 * another, if they differ. Returns out. */
const char *setting_default(const Setting *s, const void *one, const char *name, const void *other,
                            char out[SETTING_VALUE]);

/* Its name in weight files: "d_model". Returns out. */
enum { SETTING_KEY = 32 };
const char *setting_key(const Setting *s, char out[SETTING_KEY]);

/* Whether the kind reads the setting of this name. */
bool choice_reads(const Choice *kind, const char *name);

/* Whether the setting has an effect on a run with these values. False with STATUS_USAGE and what it
 * needs:
 * "--beta1: found --optimizer sgd, need adamw or muon". */
bool setting_check_effect(const Setting *table, const void *values, const Setting *s, Error *e);

/* Both describe the allowed values: setting_allowed as "[1,64]" or "post|pre", setting_wanted as
 * "an integer in [1,64]" or "one of post|pre". Return out. A table that allows no value is a
 * bug. */
enum { SETTING_WORDS = 300, SETTING_WANTED = SETTING_WORDS + 20 };
const char *setting_allowed(const Setting *s, char out[SETTING_WORDS]);
const char *setting_wanted(const Setting *s, char out[SETTING_WANTED]);
