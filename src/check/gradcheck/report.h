/* The findings of a gradient check: for a case, and for each of its inputs. */
#ifndef GRADCHECK_REPORT_H
#define GRADCHECK_REPORT_H

#include "autograd/check_case.h"

typedef enum Verdict {
    PASS,
    INCONCLUSIVE,
    FAIL
} Verdict; /* by gravity: the worst of several is the greatest */

/* Why a coordinate is unclear. */
typedef enum Doubt {
    DOUBT_NONE,
    DOUBT_FLAT,  /* the gradient is below the noise floor of the output */
    DOUBT_KINK,  /* every usable step crosses a kink */
    DOUBT_NOISE, /* the estimates do not settle: noise, or a function that is not smooth */
} Doubt;

enum {
    REPORT_NAME = 128,
    REPORT_WORD = 32,
    REPORT_TEXT = 256,
    REPORT_FULL = 3072,
    REPORT_INPUTS = CHECK_INPUTS + 1,
    EXPLANATIONS = 4
};

/* Copies text into an array of a report, as much as it holds. */
#define REPORT_SET(to, from) snprintf(to, sizeof(to), "%.*s", (int)sizeof(to) - 1, from)

/* Properties that hold exactly for every gradient (check_properties.h), in the order of their checks: the
 * first broken one says most. */
typedef enum Property {
    PROPERTY_FORWARD,
    PROPERTY_READ_ONLY,
    PROPERTY_REPEATABLE,
    PROPERTY_SAVED_VALUES,
    PROPERTY_ZERO,
    PROPERTY_ACCUMULATES,
    PROPERTY_STORES_FRESH,
    PROPERTY_LINEAR,
    PROPERTY_ANY_LAYOUT,
    PROPERTY_INSIDE_A_GRAPH,
    PROPERTY_PASSED_TWICE,
    PROPERTY_TWO_ON_A_TAPE,
    PROPERTY_BESIDE_CONSTANTS,
    PROPERTY_ANY_PROCESS,
    PROPERTIES
} Property;

/* A pattern that fits a wrong gradient (diagnosis.h). */
typedef struct Explanation {
    char pattern[REPORT_WORD], reason[REPORT_TEXT];
    int order;     /* of the pattern: the first says most */
    uint64_t form; /* the same for reasons that differ only in numbers */
    bool sure;     /* it predicts every number, and not only which are wrong */
} Explanation;

/* The findings about one input of one case. */
typedef struct InputReport {
    char name[REPORT_NAME]; /* of the gradient: dx */
    Shape shape;
    Verdict verdict;
    long coordinates; /* elements in memory */
    long alone;       /* of them, moved alone: all, or where there are too many a sample; then all are moved
                                 * together as well, along a random direction */
    long wrong, unclear, kinks; /* of them */
    long sloped;                /* coordinates with a gradient that is not 0 */
    long flat;   /* coordinates with a gradient too small to be seen beside the output's size */
    Doubt doubt; /* why a coordinate is unclear: the gravest reason */

    /* The first coordinate that lies on a kink, where there are any: its place in the shape's order, the
     * output that is looked at (-1: the sum with a random cotangent), and the derivatives from below and
     * above. */
    long kink, kink_output;
    double kink_below, kink_above;

    /* The worst entry: of the gravest kind the one with the largest error. */
    long element; /* its place in the shape's order */
    long output;  /* of a one-hot cotangent; -1: a random cotangent */
    double analytic, numeric;
    double estimate; /* of the error of numeric */
    double error;    /* relative */
    double step;

    char map[REPORT_TEXT]; /* of FAIL: which elements are wrong; "" if all are, or none is alone */
    char full
        [REPORT_FULL]; /* of FAIL: the smallest case like this one that fails, with all its numbers; "" if it has
                                  too many */
    long full_size;    /* numbers of that case */
    char pattern[REPORT_WORD]; /* of FAIL: the mistake that explains all errors, "unknown" if none does */
    char reason[REPORT_TEXT];  /* of FAIL and INCONCLUSIVE, in words; "" where nothing is known */
    uint64_t form;             /* of the reason, where it is one of these */
    Explanation explanation[EXPLANATIONS]; /* all that fit, in the order of the patterns */
    int explanations;
} InputReport;

typedef struct CaseReport {
    char op[REPORT_NAME], name[REPORT_NAME];
    Verdict verdict; /* the worst of the inputs', and of the properties */
    int inputs;
    InputReport in[REPORT_INPUTS];
    bool judged;    /* its gradients are, all of them */
    int properties; /* so many were looked at; how each is broken, "" where it holds */
    char broken[PROPERTIES][REPORT_TEXT];
    char property[REPORT_WORD];  /* the name of the first that is broken; "" if none is */
    char diagnosis[REPORT_WORD]; /* of FAIL: the pattern or property that says most; "unknown" if none fits */
    char trouble[REPORT_TEXT];   /* how; or what else went wrong with the case as a whole */
    long outputs;                /* elements of the output */
    bool recorded;               /* the output takes a gradient */
    bool whole_jacobian;
    bool kinks; /* the case promises kinks */
    bool
        at_ends; /* its gradients are right at the drawn point, and wrong with values at the ends of their ranges */
    bool
        by_reference; /* judged by values that are known to be right (`analytic` against `numeric`), not by differences */
    bool endless;     /* its time ran out in few runs */
    int moved;        /* how many points were given up: on a kink, or where an input does not count */
    long evaluations; /* forward runs */

    /* The plan, whatever came of it: known for a case from a table, not for files. */
    bool planned;
    bool like;  /* its forward was to be another's */
    bool added; /* by the checker, beside those that somebody wrote */
    int wanted; /* gradients */
    char want[REPORT_INPUTS][REPORT_NAME];
    double points; /* what all of it is worth to a grader */
} CaseReport;

#endif
