/* Changes of a backward, one of which may be what it lacks: every expression in it, each name, sign, index and factor replaced,
 * left out or joined by another that is in scope. That is how most mistakes come about, whatever it is that is differentiated. */
#ifndef REPAIR_EDITS_H
#define REPAIR_EDITS_H

#include "repair/c_expression.h"

typedef enum EditKind {
    EDIT_TEXT, /* another text; where there is a @ in it, an amount decides how much, and 0 leaves all as it was */
    EDIT_INDEX, /* an integer: one of the piece's values in its place, or times it, or an amount more */
    EDIT_ARRAY, /* a pointer or array: another of its type, which is one of the piece's values */
    EDIT_VALUE, /* a number: one of the values, or with an amount of a product more; or 1 and an amount of itself */
    EDIT_FACTOR, /* a term times or divided by one of the values, or with an amount of itself more; or a product in its place */
    EDIT_TERM,   /* a sum with an amount of one of the values, or of a product, more */
    EDIT_GUARD, /* a statement runs only where one of the pool's conditions holds, or a comparison of two of its integers */
    EDIT_ADDED, /* behind a statement, or in a copied loop, such a product is added to one of the pool's targets */
} EditKind;

/* Most places that an edit changes. */
enum { EDIT_PARTS = 4 };

/* What takes the place of a piece's tokens [begin, end); of EDIT_TEXT. */
typedef struct EditPart {
    int piece, begin, end;
    const char *text;
} EditPart;

typedef struct Edit {
    EditKind kind;
    int cost;         /* the less, the likelier */
    bool forward;     /* of what forward saves */
    bool literal;     /* a constant in the source is replaced */
    Type type;        /* of what EDIT_ARRAY replaces; constant: it is only read */
    const char *what; /* what was wrong, in words */
    const char *
        statement; /* of EDIT_TEXT that adds a statement around a loop, or moves one: it, as it is to be shown */
    int from, from_end;        /* tokens: where it is moved from; -1: it is added */
    int pool;                  /* number of its pool: the piece's, or behind those a copied loop's */
    const char *head;          /* of a copied loop, for (…;…;…); NULL: there is none */
    bool before;               /* it goes behind the declared value before the piece */
    EditPart part[EDIT_PARTS]; /* of EDIT_TEXT, or the same at several places of one piece */
    int parts;
} Edit;

/* Values and arrays in scope that another piece, or this one, computes with: the piece's pool. */
typedef struct Value {
    const char *text;
    const char *
        array; /* of what is written, if it is an element: NULL there while a program runs, it is not to be written */
    Type type;
    int begin, end;           /* tokens */
    int from, to;             /* of a name that is declared and not used: where it is in scope; else 0 */
    bool size;                /* an integer that no loop changes */
    int function, name;       /* of what is written: the function that does it, and the token of the name */
    bool condition, gradient; /* gradient: what is written is an input's */
    bool possible; /* nothing reads it: an array where others are read; never one of several factors */
    bool
        written; /* a number that backward adds to or sets, or another element of its array: not to be computed with */
} Value;

enum { POOL = 96, TARGETS = 40, MOST_VALUES = 500 };
typedef struct Pool {
    const Value *value[POOL], *target[TARGETS];
    int values, targets;
} Pool;

typedef struct Edits {
    const CSource *s;
    Expression **tree; /* [pieces], NULL: not understood */
    Value *value;
    Pool *pool; /* [pieces + MOST_COPIES] */
    Edit *edit; /* from malloc */
    long values, edits, value_room, edit_room;
    long copies; /* of loops */
} Edits;

/* Finds all edits of a source, which stays where it is; its arena has what is not from malloc. To be freed. False: they are more
 * than MOST_EDITS. */
enum { MOST_EDITS = 1600, MOST_COPIES = 60 };
bool edits_read(Edits *all, const CSource *s);

/* What would be added in a loop of its own, a copy of another. All but the edits themselves, to be freed, is of `from`, which
 * stays. */
void edits_find_loops(Edits *all, const Edits *from);
void edits_free(Edits *all);

/* For the parts that find them. */
Edit *edits_add(Edits *all, EditKind kind, int cost, const char *what, int piece, int begin, int end,
                const char *text);
void edits_add_part(Edit *e, int piece, int begin, int end, const char *text); /* one more, of EDIT_TEXT */
const char *edits_text(const Edits *all, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *edits_tokens(const Edits *all, int begin, int end); /* as they stand */
const char *edits_loop_head(const Edits *all, int start); /* for (…;…;…), of the piece that it starts with */
int edits_statement_end(const CSource *s, int at); /* the token behind the statement that begins at one */
const char *edits_rest(const Edits *all, int begin, int end); /* behind others, with the blank between them */

/* Whether all names of tokens [begin, end) mean at token `where` what they mean where they stand. */
bool edits_in_scope(const CSource *s, int begin, int end, int where);

/* Whether a piece is a loop's condition: what is added there goes behind the loop. */
bool edits_end_loop(const CSource *s, int piece);

/* A loop in the source: tokens [begin, body) are `for (…;…;…)`, and the statement behind ends before `end`. */
typedef struct Span {
    int begin, body, end;
} Span;
Span edits_loop_span(const CSource *s, const Loop *l);

/* The innermost loop around a token, its head included; NULL: there is none. */
const Loop *edits_loop_around(const CSource *s, int at);

/* Whether it is a statement that stands by itself, behind another or a brace. */
bool edits_is_statement(const CSource *s, const Piece *p);

/* Texts, each once and not more than `most`. */
typedef struct Texts {
    const char *text[8];
    int count, most;
} Texts;
void edits_add_text(Texts *to, const char *text);

/* The number of the input whose gradient a statement adds to or sets; -1: of none that is known. */
int edits_gradient_of(const Edits *all, int piece);

/* Whether a piece of forward saves something: a value that goes into a member of a struct. */
bool edits_are_saved(const CSource *s, const Expression *tree);

/* The same with two names exchanged, those at tokens a and b: of variables, or of members. */
const char *edits_exchanged(const Edits *all, int begin, int end, int a, int b, bool member);

/* What is left of a sum, product or condition without one of its parts. */
const char *edits_without(const Edits *all, const Expression *e, const Expression *part);

/* Whether it is a number *p, and p stays where it is; whether a call is of a function or a macro of the file. */
bool edits_is_pointed(const CSource *s, const Expression *e);
bool edits_is_own(const CSource *s, const Expression *call);

/* The function that a token stands in, or the next one; and whether tokens have the variable of a loop, or are a gradient of an
 * input: a name, or the way to an array. */
int edits_function_of(const CSource *s, int token);
bool edits_has_loop_variable(const CSource *s, int begin, int end);
bool edits_is_gradient(const CSource *s, int begin, int end);

/* One more value, if it is another. */
void edits_add_value(Edits *all, Value v);

/* The kinds of changes, and what they are made of, which goes first. */
void edits_find_pools(Edits *all);
void edits_find_unsaid(Edits *all);                 /* values that no expression of the source has */
void edits_find_possible(Edits *all, int function); /* elements that nothing reads there: last, being many */
void edits_find_names(Edits *all, int piece);
void edits_find_statements(Edits *all);
void edits_find_moves(Edits *all);

/* Those that are looked for as long as there is room. */
void edits_find_calls(Edits *all);
void edits_find_walks(Edits *all);
void edits_find_repeated(Edits *all);

/* Of a condition, a part of one, or a choice in a piece. */
void edits_of_comparison(Edits *all, int piece, const Expression *e);
void edits_of_logic(Edits *all, int piece, const Expression *e);
void edits_of_condition(Edits *all, int piece, const Expression *e);
void edits_of_choice(Edits *all, int piece, const Expression *e);

#endif
