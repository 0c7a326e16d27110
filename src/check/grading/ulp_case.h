/* A check case at which both builds compute the same thing: from inputs and an upstream gradient that
 * floats hold. */
#ifndef GRADING_ULP_CASE_H
#define GRADING_ULP_CASE_H

#include "base/arena.h"
#include "check/gradcheck/check_run.h"
#include "check/gradcheck/gradcheck.h"

enum { ULP_RESULTS = CHECK_INPUTS + 1 };

/* What a run of a case computes: y, then the gradients of its inputs. */
typedef struct UlpResults {
    int parts;
    struct UlpResult {
        char name[REPORT_NAME];
        Shape shape;
        long count;
        int input; /* -1: y */
        real *value;
    } part[ULP_RESULTS];
} UlpResults;

/* A case at its point. */
typedef struct UlpCase {
    CheckPoint point;
    CheckRun run;
    Arena *arena;
    real *dy;
    long outputs;
    bool backward; /* an input takes a gradient */
} UlpCase;

/* The case at the point that the seed draws, rounded. All memory is the arena's but the tape, which is to
 * be freed. */
void ulp_case_open(UlpCase *s, Arena *arena, const char *op, const CheckCase *c, uint64_t seed);

/* Room for what the case computes. */
UlpResults ulp_results(const UlpCase *s);

/* Runs forward and backward. */
void ulp_compute(UlpCase *s, UlpResults *r);

/* What the gradients hold after a backward. */
void ulp_take_gradients(const UlpCase *s, UlpResults *r);

#endif
