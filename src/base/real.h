/* real: the one floating-point type of the project, chosen when it is compiled.
 *
 * The same sources are built twice: float, in which models train and run, and double (REAL_DOUBLE), in which
 * gradients are checked. <tgmath.h> makes exp, sqrt, fabs, … follow the type. */
#ifndef BASE_REAL_H
#define BASE_REAL_H

#include <float.h>

#ifdef REAL_DOUBLE
typedef double real;
#define REAL_EPSILON DBL_EPSILON
#define REAL_MAX     DBL_MAX
#define REAL_NAME    "double"
#else
typedef float real;
#define REAL_EPSILON FLT_EPSILON
#define REAL_MAX     FLT_MAX
#define REAL_NAME    "float"
#endif

#endif
