/* Shared by the properties of check_properties.h, and internal to them. */
#ifndef GRADCHECK_PROPERTY_H
#define GRADCHECK_PROPERTY_H

#include "check/gradcheck/check_run.h"
#include "check/gradcheck/report.h"

/* Everything a run computes, copied: one array an input's gradient, and the output as the last. */
typedef struct PropertyResults {
    real *value[CHECK_INPUTS + 1];
} PropertyResults;

typedef struct Properties {
    CheckRun *run;
    Arena *arena;
    Shape shape; /* of the output */
    long outputs, nodes;
    double floor; /* what rounding leaves of a gradient that is 0 as the difference of large terms */
    real *zero, *one, *other, *both; /* cotangents; both = one + other */
    CheckHost *fresh;                /* a process that has run nothing; NULL: there is none */
    uint64_t seed;
    char *text; /* how a property is broken, of REPORT_TEXT */
} Properties;

/* The gradients as they are, and the output y. */
PropertyResults property_copy(Properties *p, const real *y);

/* A run from the start, with all gradients `fill` before backward. */
PropertyResults property_run(Properties *p, const real *dy, real fill);

/* Writes "WHAT: gradient of x at [0,1] is 3, want 4" and returns false if found + offset is not want, to
 * rounding, or exactly: to the bit. */
bool property_same(Properties *p, PropertyResults found, PropertyResults want, double offset, bool exactly,
                   const char *what);

/* The properties that concern what is around an operation; `one` is what a run with the cotangent `one`
 * gives. */
bool property_any_layout(Properties *p, PropertyResults one);
bool property_inside_a_graph(Properties *p, PropertyResults one);
bool property_passed_twice(Properties *p, PropertyResults one);
bool property_two_on_a_tape(Properties *p, PropertyResults one);
bool property_beside_constants(Properties *p, PropertyResults one);
bool property_any_process(Properties *p, PropertyResults one);

#endif
