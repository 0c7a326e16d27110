/* Statements as they stand beside and in each other: what each of them is made of, what it has to do with another, and where one
 * more may stand. */
#ifndef REPAIR_EDITS_UNITS_H
#define REPAIR_EDITS_UNITS_H

#include "repair/edits.h"

typedef enum UnitKind {
    UNIT_PLAIN, /* an expression */
    UNIT_VALUE, /* a declaration */
    UNIT_IF,    /* without else */
    UNIT_LOOP,  /* for, with all three parts */
    UNIT_OTHER,
} UnitKind;

/* A statement, tokens [begin, end), the semicolon or brace behind it among them. */
typedef struct Unit {
    UnitKind kind;
    int begin, end;
    int open,
        close;  /* tokens of the braces that it stands in; where there are none, before it and behind it */
    int around; /* the unit that it is part of; -1: the function */
    int first, last; /* its pieces; -1: it has none */
    int asked;       /* the piece that is a loop's condition, or another's; -1: there is none */
    bool jumps;      /* away from it: what stands behind it may not be reached */
} Unit;

typedef enum Role { ROLE_READ, ROLE_ADDED, ROLE_SET } Role;

typedef struct Units {
    Edits *all;
    const CSource *s;
    Unit *unit; /* from malloc */
    long units, room;
    const Name **own;    /* [tokens] what each name is; NULL: not known */
    unsigned char *role; /* [tokens] of each name: Role */
} Units;

/* Those of all functions that the operation uses. To be freed. */
void units_read(Units *u, Edits *all);
void units_free(Units *u);

/* The one beside it in the same braces, behind it or before it; -1: there is none. */
int unit_next(const Units *u, int unit);
int unit_before(const Units *u, int unit);

/* The first, or the last, in a loop; -1: there is none. */
int unit_inside(const Units *u, int loop, bool last);

/* Whether their order matters: one writes what the other reads or writes. */
bool units_touch(const Units *u, int a, int b);

/* Whether all that tokens [begin, end) mean is the same at token `where`. */
bool units_known(const Units *u, int begin, int end, int where);

/* Whether one that has pieces can be left out at one place, and stand at another; the change that leaves it out. */
bool unit_moves(const Units *u, int unit);
EditPart unit_left_out(const Units *u, int unit);

/* What makes a statement stand before a unit, or behind it; false: none can. */
bool unit_put_before(const Units *u, int unit, const char *statement, EditPart *part);
bool unit_put_behind(const Units *u, int unit, const char *statement, EditPart *part);

/* As it is shown: a loop or a long condition by its head; without its semicolon. */
const char *unit_shown(const Units *u, int unit);
int unit_line(const Units *u, int unit);

#endif
