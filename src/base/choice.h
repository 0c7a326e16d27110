/* A choice: one of the kinds of something, for example of positions. What a kind does is one constant struct, which begins
 * with a Choice; a list names all kinds of one thing and ends with NULL. A configuration holds a pointer to the kind.
 *
 *     typedef struct Positions { Choice choice; void (*row)(…); … } Positions;
 *     extern const Positions positions_learned, …;
 *     extern const Choice *const all_positions[];
 *
 * Options, their help and their messages take the words from the list: base/options.h. */
#pragma once

typedef struct Choice {
    const char *name; /* the word of options and files: "learned" */
} Choice;
