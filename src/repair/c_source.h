/* A C file as a student writes one, taken apart as far as it takes to change an expression in it: tokens, functions, the names
 * that are in scope, and the expressions of each statement. What is not understood is left as it is. */
#ifndef REPAIR_C_SOURCE_H
#define REPAIR_C_SOURCE_H

#include "base/arena.h"
#include <stdbool.h>

typedef enum TokenKind { TOKEN_NAME, TOKEN_NUMBER, TOKEN_TEXT, TOKEN_SIGN } TokenKind;

/* Comments and lines of the preprocessor are none. */
typedef struct Token {
    TokenKind kind;
    int begin, length; /* in the text */
    int line;          /* from 1 */
} Token;

/* What an expression or a declared name is. */
typedef enum Base { BASE_UNKNOWN, BASE_INTEGER, BASE_NUMBER, BASE_RECORD } Base;
typedef struct Type {
    Base base;
    int depth; /* of pointers and arrays in front of it */
    bool constant;
    int record; /* of BASE_RECORD: the token that names it */
} Type;

/* A name and where it is in scope: tokens [from, to). A member of a struct is so everywhere, behind . and -> alone. */
typedef struct Name {
    int token;
    Type type;
    int from, to;
    int record; /* number of the struct that it is a member of; 0: none */
} Name;

/* Functions and the body's braces. */
typedef struct Function {
    int name, open, close;
    bool used;     /* by the operation that is asked for, itself or by way of others */
    bool backward; /* it runs in backward alone: `grad` stands in it, or only such functions mention it */
} Function;

/* An expression that stands by itself: a statement's, or one between commas there, a condition, an initial value. Tokens
 * [begin, end). */
typedef enum PieceKind { PIECE_STATEMENT, PIECE_VALUE, PIECE_CONDITION } PieceKind;
typedef struct Piece {
    PieceKind kind;
    int begin, end;
    int shown, shown_end; /* tokens of what is shown of it: a declared name stands before its value */
    int function;
    Type type; /* of a value's name */
} Piece;

/* for (PIECE; PIECE; PIECE), numbers of pieces, the first of which declares an integer or sets one. */
typedef struct Loop {
    int start, condition, step;
    int variable; /* token of its name */
} Loop;

/* #define NAME or NAME(…), with the text behind it: places in the source's text. */
typedef struct Macro {
    int name, length, begin, end;
    bool called;
} Macro;

/* Most tokens in all and of a piece, pieces, functions, and what may stand in each other. */
enum { MOST_TOKENS = 20000, MOST_IN_PIECE = 120, MOST_PIECES = 600, MOST_FUNCTIONS = 200, MOST_NESTED = 100 };

typedef struct CSource {
    Arena *arena;
    const char *text;
    Token *token;
    Name *name;
    Function *function;
    Piece *piece;
    Loop *loop;
    Macro *macro;
    long tokens, names, functions, pieces, loops, macros;
    int records;
    long room[6]; /* of these arrays */
} CSource;

/* Takes the text apart, which stays where it is; what belongs to it is from malloc, to be freed. `op` is the operation whose
 * functions are used. False: it is too large to be changed. */
bool c_source_read(CSource *s, const char *text, const char *op, Arena *arena);
void c_source_free(CSource *s);

/* Whether token i is this name or sign, or one of these, with NULL behind the last; and whether tokens [begin, end) have it. */
bool token_is(const CSource *s, int i, const char *word);
bool token_is_any(const CSource *s, int i, const char *const *words);
bool tokens_have(const CSource *s, int begin, int end, const char *word);
bool tokens_same(const CSource *s, int i, int k);

/* Whether tokens [begin, end) are the same as others; and whether no line of the preprocessor stands between them. */
bool tokens_match(const CSource *s, int begin, int end, int other, int other_end);
bool tokens_unbroken(const CSource *s, int begin, int end);

/* Whether there is something between token i and the one before it. */
bool token_is_apart(const CSource *s, int i);

/* The place of the bracket that closes the one at token i, or `end`. */
int token_closing(const CSource *s, int i, int end);

/* A number or an integer, and not what points to one. */
bool type_is_number(Type t);
bool type_is_integer(Type t);

/* What the name at token i, behind . or -> a member's, is known as at token `where`; NULL: not in scope there. */
const Name *c_source_find(const CSource *s, int i, int where);
Type c_source_type(const CSource *s, int i, int where);
bool token_is_member(const CSource *s, int i);

/* The macro that the name at token i is, with brackets behind it if `called`; NULL: none. One that is called is a number if it
 * reads or writes an element of an array, and else what its first argument is. */
const Macro *c_source_macro(const CSource *s, int i, bool called);
bool macro_has(const CSource *s, const Macro *m, const char *text);

/* Whether a declaration begins at token i, and the type that it begins with; *i moves behind that. */
bool c_source_declares(const CSource *s, int *i, int end, Type *type);

/* Tokens [begin, end) as they stand in the text, but in one line and without comments. */
char *c_source_text(const CSource *s, int begin, int end);

/* For the parts of the reader: a new last element of an array, 0 to 5 in the order above. */
void *c_source_grow(CSource *s, int which);
void c_source_tokens(CSource *s);

#endif
