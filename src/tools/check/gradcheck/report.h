/* The findings of a gradient check: for a case, and for each of its inputs. */
#pragma once

#include "check/gradcheck/job.h"

typedef enum Verdict {
    PASS,
    INCONCLUSIVE,
    FAIL
} Verdict; /* by gravity: the worst of several is the greatest */

/* Why a coordinate is unclear. */
typedef enum Doubt {
    DOUBT_NONE,
    DOUBT_FLAT,  /* the gradient is too small to show in the output */
    DOUBT_KINK,  /* every usable step crosses a kink */
    DOUBT_NOISE, /* the estimates do not settle: noise, or a function that is not smooth */
} Doubt;
extern const char *const report_doubt[];

enum {
    REPORT_NAME = 256,
    REPORT_WORD = 32,
    REPORT_TEXT = 512,
    REPORT_FULL = 3072,
    REPORT_INPUTS = CHECK_INPUTS + 1,
    EXPLANATIONS = 4
};

/* Copies text into an array of a report. If it does not fit it ends in "…". */
#define REPORT_SET(to, from) report_set(to, sizeof(to), from)
void report_set(char *to, size_t size, const char *from);

/* Properties that hold exactly for every gradient, and what the table says of them. */
typedef enum Property {
#define PROPERTY(constant, name, meaning, functions, function) PROPERTY_##constant,
#include "check/gradcheck/properties.def"
    PROPERTIES
} Property;
extern const struct PropertyWords {
    const char *name, *meaning;
    bool of_functions; /* checked also of functions that return gradients */
} report_property[PROPERTIES];

/* Mistakes, and their names. */
typedef enum Pattern {
#define PATTERN(constant, name) PATTERN_##constant,
#include "check/gradcheck/patterns.def"
    PATTERNS
} Pattern;
extern const char *const report_pattern[PATTERNS];

/* A pattern that predicts a wrong gradient (comparison.h). */
typedef struct Explanation {
    Pattern pattern; /* the first of the table tells most */
    char reason[REPORT_TEXT];
    uint64_t form;  /* equal for reasons that differ only in numbers */
    bool sure;      /* predicts every number; else only which numbers are wrong */
    unsigned needs; /* what must be known to find it (comparison.h) */
    double factor;  /* of PATTERN_CONSTANT_FACTOR */
} Explanation;

/* The findings about one input of one case. Counts are of coordinates: elements in memory. */
typedef struct InputReport {
    char name[REPORT_NAME]; /* of the gradient: dx */
    Shape shape;
    Verdict verdict;
    long coordinates;
    /* Moved alone: all, or a sample of many; then all are also moved together along a random
     * direction. */
    long alone;
    long wrong, unclear, kinks;
    long sloped; /* their gradient is not 0, or rightly 0 as that of a function that moves in steps
                  */
    long flat;   /* their gradient is too small to show beside the output */
    int digits;  /* forward rounds to about so many; 0: to those of a real */
    Doubt doubt; /* the gravest reason why a coordinate is unclear */

    /* The first coordinate on a kink: its place in the shape's order, the output (-1: the sum with
     * a random cotangent), and the derivatives from below and above. */
    long kink, kink_output;
    double kink_below, kink_above;

    /* The worst entry: of the gravest kind the one with the largest error. */
    long element; /* its place in the shape's order */
    long output;  /* of a one-hot cotangent; -1: a random cotangent */
    double analytic, numeric;
    double estimate; /* of the error of numeric */
    double error;    /* relative */
    double step;

    /* Set if the verdict is FAIL. */
    char map[REPORT_TEXT];  /* the wrong elements; "": all, or only their sum */
    char full[REPORT_FULL]; /* the smallest case like this one that fails, in numbers; "": it has
                               too many */
    long full_size;         /* how many */
    Explanation explanation[EXPLANATIONS]; /* all that fit, in the order of the patterns */
    int explanations;
    unsigned known;           /* of the gradient: what explanations may need */
    Pattern pattern;          /* the mistake that explains all errors */
    uint64_t form;            /* of the reason */
    double factor;            /* of the pattern */
    char reason[REPORT_TEXT]; /* also of INCONCLUSIVE; "": unknown */
} InputReport;

typedef struct NamedShape {
    char name[REPORT_WORD];
    Shape shape;
} NamedShape;

typedef struct CaseReport {
    char op[REPORT_NAME], name[REPORT_NAME];
    Verdict verdict; /* the worst of inputs and properties */
    int inputs;
    InputReport in[REPORT_INPUTS];
    bool judged;    /* all gradients have a verdict */
    int properties; /* checked so far; broken[k] says how property k is broken, "": it holds */
    char broken[PROPERTIES][REPORT_TEXT];
    /* How the property is broken, or the case as a whole failed; may have several lines. */
    char trouble[REPORT_FULL];
    long outputs; /* elements of the output */
    int parts;    /* tensors that the output is made of (job.h) */
    Shape part[JOB_PARTS];
    NamedShape shape[REPORT_INPUTS]; /* of the inputs, and of the output: the last with a name */
    bool recorded;                   /* the output takes a gradient */
    bool kinks, flat;                /* the case promises kinks; saturation */
    bool at_ends;                    /* right at the drawn point, wrong at the ends of the ranges */
    bool by_reference; /* `numeric` is a value known to be right, not a difference quotient */
    bool untested; /* its gradients are all 0, and right; another case decides on them (agreement.c)
                    */
    bool endless;  /* the time ran out in few runs */
    int moved;     /* points given up: on a kink, or where an input has no effect */
    long evaluations; /* forward runs */

    /* The plan of a case from a table; it does not depend on the findings. */
    bool planned;
    bool functions; /* which return gradients */
    bool like;      /* the output is compared with a reference's */
    bool added;     /* by the checker */
    int wanted;     /* gradients */
    char want[REPORT_INPUTS][REPORT_NAME];
    double points;
} CaseReport;

/* ---- Words of reports ---- */

/* The first broken property; PROPERTIES: none. */
Property report_broken(const CaseReport *r);

/* Sets pattern, reason and factor of a wrong gradient to those of an explanation; NULL: to none. */
void report_explain_by(InputReport *r, const Explanation *x);

/* Takes the explanations of the same gradient in a smaller case, if the first is sure and its own
 * are not. A case that knows all that an explanation needs has refuted it. */
void report_explain_better(InputReport *r, const InputReport *smaller);

/* "PASS", "INCONCLUSIVE" or "FAIL". */
const char *gradcheck_verdict_text(Verdict v);

/* "[1,2]": the index of the i-th element of shape s, written into text; "" for a scalar. "x[1,2]":
 * the element. */
enum { INDEX_TEXT = 128 };
const char *gradcheck_index_text(char text[INDEX_TEXT], Shape s, long i);
const char *gradcheck_element_text(char text[INDEX_TEXT], const char *name, Shape s, long i);

/* "y[1,2]": element i of the output; "y1[0,2]" of the second of several parts. */
const char *report_output_text(char text[INDEX_TEXT], const Shape *part, int parts, long i);

/* The number of significant digits, at least `least`, by which two printed numbers differ if they
 * are different. */
int report_digits(double a, double b, int least);
