#include "check/gradcheck/check_entry.h"
#include "check/gradcheck/numeric_derivative.h"
#include "check/gradcheck/rounding.h"
#include <math.h>

/* Numbers below this are made of few digits, or of none: what rounding leaves of them may be anything. */
#define SMALLEST                                                                                             \
    (sizeof(real) == sizeof(double) ? DBL_MIN / DBL_EPSILON : (double)FLT_MIN / (double)FLT_EPSILON)

/* The analytic gradient is rounded as well: where it is 0 as the difference of large terms, something is left
 * of them. */
static bool is_rounding(const Entry *e, double floor) {
    return fabs(e->numeric) <= SWEEP_TRUST * e->estimate && fabs(e->analytic) <= 1024 * floor;
}

/* The allowed error of a right entry. If the numeric derivative is known better than the tolerance, the sharper
 * tolerance holds. The rest is the gradient's own rounding: that of terms as large as the largest derivative or
 * the output. */
static double room_of(const Entry *e, double size, double scale, double floor) {
    bool sharp = SWEEP_TRUST * e->estimate <= CHECK_SHARP / 10 * size;
    double tolerance = sharp ? CHECK_SHARP : CHECK_TOLERANCE;
    return fmin(
        fmax(tolerance * size, rounding_room(ROUNDINGS_OF_A_RUN, (double)REAL_EPSILON, scale) + 1024 * floor),
        CHECK_TOLERANCE * size);
}

long check_entries_element(const Entries *e, long j) {
    return e->place ? e->place[j] : j;
}

void check_entry_judge(Entry *e, double scale, double floor) {
    double d = fabs(e->analytic - e->numeric), size = fmax(fabs(e->analytic), fabs(e->numeric));
    bool resolved = SWEEP_TRUST * e->estimate <= 1e-9 * size;
    e->error = d == 0 ? 0 : d / (resolved ? size : fmax(size, scale));
    bool close = d <= room_of(e, size, scale, floor), within = d <= SWEEP_TRUST * e->estimate;
    if (isnan(e->analytic) || (isinf(e->analytic) && isfinite(e->numeric)))
        e->state = ENTRY_WRONG;
    else if (!isfinite(e->numeric))
        e->state = ENTRY_UNCLEAR;
    else if (size <= SMALLEST && e->estimate <= SMALLEST)
        e->state = ENTRY_PROVED, e->error = 0; /* both are 0, but for numbers that have lost their digits */
    else if (close && e->estimate <= CHECK_TOLERANCE * size)
        e->state = ENTRY_PROVED;
    else if (!close && !within)
        e->state = is_rounding(e, floor) ? ENTRY_FLAT : ENTRY_WRONG;
    else if (SWEEP_TRUST * e->estimate <= CHECK_TOLERANCE * scale)
        e->state = ENTRY_PROVED;
    else if (size <= SMALLEST ||
             (e->estimate <= SWEEP_TRUST * e->rounding && e->estimate * e->step <= 4096 * floor))
        e->state = ENTRY_FLAT;
    else
        e->state = ENTRY_UNCLEAR;
}

bool check_entry_small_error(const Entry *e) {
    double size = fmax(fabs(e->analytic), fabs(e->numeric));
    return e->state == ENTRY_WRONG && fabs(e->analytic - e->numeric) <= CHECK_TOLERANCE * size;
}

bool check_entry_confirms(const Entry *e) {
    return e->state == ENTRY_PROVED || e->state == ENTRY_KINK;
}

bool check_entry_more_credible(const Entry *found, const Entry *known) {
    if (!isfinite(known->numeric)) return true;
    double contradiction = fabs(found->numeric - known->numeric);
    bool contradicts = contradiction > SWEEP_TRUST * (found->estimate + known->estimate);
    if (check_entry_small_error(known) && found->estimate >= known->estimate) return contradicts;
    if (check_entry_confirms(found) != check_entry_confirms(known)) return check_entry_confirms(found);
    return found->estimate < known->estimate || contradicts;
}
