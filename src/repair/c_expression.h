/* An expression as a tree. */
#ifndef REPAIR_C_EXPRESSION_H
#define REPAIR_C_EXPRESSION_H

#include "repair/c_source.h"

typedef enum ExpressionKind {
    EXPRESSION_ASSIGNED, /* two parts; sign: of the assignment */
    EXPRESSION_CHOSEN,   /* a ? b : c */
    EXPRESSION_LOGIC,    /* && and ||, and of bits */
    EXPRESSION_COMPARED,
    EXPRESSION_SUM,     /* terms */
    EXPRESSION_PRODUCT, /* factors */
    EXPRESSION_SIGNED,  /* one part behind a sign or a cast */
    EXPRESSION_UNIT,    /* a name with what follows it: brackets, members, arguments, whose parts these are */
    EXPRESSION_GROUP,   /* one part in brackets */
    EXPRESSION_NUMBER,
    EXPRESSION_OTHER, /* left as it is */
} ExpressionKind;

typedef struct Expression {
    ExpressionKind kind;
    int begin, end; /* tokens */
    int joint;      /* of a part: the sign before it that joins it to the one before; -1 */
    int sign;       /* of an assignment, or of one part behind a sign; -1 */
    bool index;     /* of a part: it stands in [] */
    bool called;    /* a unit: a function */
    Type type;
    int stem; /* of a unit that ends in brackets: the token behind the pointer or array before them; else 0 */
    Type stem_type;
    struct Expression *part, *next;
} Expression;

/* NULL: it is not understood. Memory is the source's arena's. */
Expression *c_expression_read(const CSource *s, int begin, int end);

#endif
