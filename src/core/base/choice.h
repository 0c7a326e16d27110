/* A choice: one of the kinds of something, for example of positions. One constant struct, which
 * begins with a Choice, holds what a kind does; a list names all kinds of one thing and ends with
 * NULL. A configuration holds a pointer to the kind.
 *
 *     typedef struct Positions { Choice choice; void (*row)(…); … } Positions;
 *     extern const Positions positions_learned, …;
 *     extern const Choice *const all_positions[];
 *
 * Options, their help and their messages take the words from the list: base/setting.h. */
#pragma once

typedef struct Choice {
    const char *name;  /* the word of options and files: "learned" */
    const char *reads; /* settings that have an effect with this kind: "beta1 beta2"; NULL: none */
} Choice;
