/* real: the floating-point type of the project, chosen at compile time.
 *
 * The same sources are built twice: in float, for training, and in double (REAL_DOUBLE), for
 * checking gradients. The macros of <tgmath.h> make exp, sqrt, fabs, … follow the type. */
#pragma once

#include <float.h>

#ifdef REAL_DOUBLE
typedef double real;
typedef long double WideReal; /* for reference results */
#define REAL_EPSILON DBL_EPSILON
#define REAL_MAX     DBL_MAX
#else
typedef float real;
typedef double WideReal;
#define REAL_EPSILON FLT_EPSILON
#define REAL_MAX     FLT_MAX
#endif
