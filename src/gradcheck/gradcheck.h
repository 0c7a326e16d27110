/* Gradients proved by differences. The identity that is tested, for every input x, output y and cotangent c:
 *
 *     backward's dx_j  =  Σ_i c_i ∂y_i/∂x_j  =  lim_{h→0} Σ_i c_i (y_i(x + h e_j) - y_i(x - h e_j)) / 2h
 *
 * To be read in this order: check_case.h (where), check_point and check_run (an operation at a point),
 * numeric_derivative (the limit), check_entries (the two sides compared), check_properties (what holds without a
 * limit), gradcheck (all of it); then diagnosis and pattern_* (what a mistake looks like), gradcheck_text and curve.
 *
 * The two sides are compared entry by entry: every coordinate of every input, with random signed cotangents and, where the case
 * is small, with each one-hot cotangent too, which makes it the whole Jacobian matrix.
 *
 * The numeric derivative knows its own error (numeric_derivative.h), so there are three verdicts:
 *
 *     PASS          every entry agrees, and could not have agreed if it were wrong by more than the tolerance
 *     FAIL          an entry differs by more than the tolerance and by more than the numeric derivative's error;
 *                   or a property that holds exactly for every gradient is broken (check_properties.h)
 *     INCONCLUSIVE  the numeric derivative is too uncertain to say: the reason says why
 *
 * A kink (relu at 0, max at a tie) has no derivative. It is found by the branches that operations take at x - h,
 * x and x + h, and where an operation does not tell them, by one-sided derivatives that differ. A nearby
 * kink shrinks the step. On a kink the gradient must lie between the one-sided derivatives, and the entry is
 * reported as a kink.
 *
 * In single precision the same checks run with a tolerance to match; proofs are for double. */
#ifndef GRADCHECK_GRADCHECK_H
#define GRADCHECK_GRADCHECK_H

#include "gradcheck/check_case.h"

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
    REPORT_NAME = 64,
    REPORT_WORD = 32,
    REPORT_TEXT = 256,
    REPORT_INPUTS = CHECK_INPUTS + 1,
    CURVE_POINTS = 48
};

/* Copies text into an array of a report, as much as it holds. */
#define REPORT_SET(to, from) snprintf(to, sizeof(to), "%.*s", (int)sizeof(to) - 1, from)

/* A central difference at one step: how far it is from the best numeric derivative, relative to it. */
typedef struct CurvePoint {
    double step, error;
} CurvePoint;

/* What was found about one input of one case. */
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

    /* The first coordinate that lies on a kink, where there are any: its place in the shape's order, the output that is
     * looked at (-1: the sum with a random cotangent), and the derivatives from below and above. */
    long kink, kink_output;
    double kink_below, kink_above;

    /* The worst entry: of the gravest kind the one with the largest error. */
    long element; /* its place in the shape's order */
    long output;  /* of a one-hot cotangent; -1: a random cotangent */
    double analytic, numeric;
    double estimate; /* of the error of numeric */
    double error;    /* relative */
    double step;

    char pattern[REPORT_WORD]; /* of FAIL: the mistake that explains all errors, "unknown" if none does */
    char reason[REPORT_TEXT];  /* of FAIL and INCONCLUSIVE, in words; "" where nothing is known */

    CurvePoint curve[CURVE_POINTS]; /* of the worst entry, where it was asked for */
    int curve_points;
} InputReport;

typedef struct CaseReport {
    char op[REPORT_NAME], name[REPORT_NAME];
    Verdict verdict; /* the worst of the inputs', and of the properties */
    int inputs;
    InputReport in[REPORT_INPUTS];
    char property[REPORT_WORD];  /* the first property that is broken (check_properties.h); "" if none is */
    char diagnosis[REPORT_WORD]; /* of FAIL: the pattern or property that says most; "unknown" if none fits */
    char trouble[REPORT_TEXT];   /* how; or what else went wrong with the case as a whole */
    long outputs;                /* elements of the output */
    bool whole_jacobian;
    bool kinks; /* the case promises kinks */
    bool
        by_reference; /* judged by values that are known to be right (`analytic` against `numeric`), not by differences */
    int moved;        /* how many points were given up because they lay on a kink */
    long evaluations; /* forward runs */

    /* What was to be judged, whatever came of it: known of a case that comes from a table, not of files. */
    bool planned;
    bool added; /* by the checker, beside those that somebody wrote */
    int wanted; /* gradients */
    char want[REPORT_INPUTS][REPORT_NAME];
    double points; /* what all of it is worth to a grader */
} CaseReport;

/* Relative error up to which a gradient passes. */
double gradcheck_tolerance(void);

/* Checks one case of an operation at the points that `seed` draws. */
void gradcheck_case(const char *op, const CheckCase *c, uint64_t seed, CaseReport *report);

typedef struct CheckOptions {
    uint64_t seed;
    bool
        differences; /* they alone, without the properties (check_properties.h): for a function that takes long */
    bool curves;     /* draws the curve of each input's worst entry */
    /* Where the case runs (check_host.h), and another such process that has run nothing; NULL: here, and none. */
    struct CheckHost *host, *fresh;
    const CheckCase *
        reference; /* the same case with another build, which runs here: what forward has to give; NULL: none */
} CheckOptions;

/* Checks the case as the options say. */
void gradcheck_case_with(const char *op, const CheckCase *c, const CheckOptions *how, CaseReport *report);

/* "PASS", "INCONCLUSIVE" or "FAIL". */
const char *gradcheck_verdict_text(Verdict v);

#endif
