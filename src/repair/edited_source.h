/* A source with all edits in it, of which each run takes one: so it is compiled once. */
#ifndef REPAIR_EDITED_SOURCE_H
#define REPAIR_EDITED_SOURCE_H

#include "repair/edits.h"
#include <stdio.h>

/* Which edit a run takes, and with what: the variable `repair_trial` of the edited source, which declares it by the same words.
 *
 *     edit      0: none; else 1 + its number
 *     piece     of any but EDIT_TEXT: 1 + the piece's number; else 0
 *     value     1 + numbers in the piece's pool, the factors of a product; 0: the number 1
 *     form      what each is taken as (REPAIR_FORMED): itself, what divides, 1 - v, 1 + v, 1 - v v, whether v > 0
 *     target    of EDIT_ADDED: 1 + a number in the pool
 *     instead   of EDIT_VALUE: 0 stands there; of EDIT_FACTOR: the product stands in the term's place; of EDIT_GUARD: the
 *               condition does not hold; of EDIT_ADDED: the target is set to 0, or with 2 the factors are applied to it
 *     only      0: any time that the piece runs; else it is one amount that is added, the `only`th time alone; -1: never
 *     record    NULL, or what the first `room` times that the piece runs had, `fields` numbers each: what the edit stands around,
 *               and the pool's values,
 *     reads     those of bit i alone: a value may not be there to be read
 *     picked    the product,
 *     compared  the first two of its factors: EDIT_GUARD asks with an amount of 0 for the first, 1 whether it is less than the
 *               second, 2 whether it is no more, 3 whether they are the same,
 *     array     the array of value[0], and
 *     ran       how often the piece has run: while it runs */
enum { REPAIR_VALUES = 5, REPAIR_READS = 64 };
#define REPAIR_TRIAL_MEMBERS                                                                                 \
    int edit, piece, value[5], form[5], target, instead;                                                     \
    long only, ran, room, fields;                                                                            \
    unsigned long long reads;                                                                                \
    double amount, picked, compared[2], *record;                                                             \
    const void *array;
typedef struct RepairTrial {
    REPAIR_TRIAL_MEMBERS
} RepairTrial;
#define REPAIR_TRIAL "repair_trial"

/* v in that form. */
enum { FORM_ITSELF, FORM_BELOW, FORM_REST, FORM_MORE, FORM_REST_OF_SQUARE, FORM_POSITIVE, REPAIR_FORMS };
#define REPAIR_FORMED(form, v)                                                                               \
    ((form) == 0   ? (v)                                                                                     \
     : (form) == 1 ? 1 / (v)                                                                                 \
     : (form) == 2 ? 1 - (v)                                                                                 \
     : (form) == 3 ? 1 + (v)                                                                                 \
     : (form) == 4 ? 1 - (v) * (v)                                                                           \
                   : (v) > 0)

/* Writes it. Each EDIT_TEXT stands in a line of its own, and so do all other edits of a piece together, and each value of its
 * pool, but those that are left out: edit_of_line[i] is the number of what stands in line i + 1, an edit's, or behind those a
 * piece's, or behind those a value's; or -1; to be freed. What is left out of a pool is not a number. Returns the number of lines
 * up to the last of them. */
long edited_source_write(const Edits *all, const bool *left_out, FILE *out, int **edit_of_line);

/* How many numbers there are: so long is left_out. */
long edited_source_numbers(const Edits *all);

/* What was wrong where a trial is right, in words. */
const char *edit_what(const Edit *e, const RepairTrial *t);

/* The piece that a trial changes, as it is and as it becomes; the line that it stands in. */
enum { REPAIR_SHOWN = 160 };
int edited_source_show(const Edits *all, const RepairTrial *t, char is[REPAIR_SHOWN],
                       char becomes[REPAIR_SHOWN]);

#endif
