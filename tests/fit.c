/* Products that give what a gradient lacks (grading/repair_fit.h), of sites that are made up: what is needed is computed from the
 * product that has to be found, by the same sums that define a site. */
#include "base/random.h"
#include "grading/repair_fit.h"
#include "test.h"

enum { RUNS = 7, VALUES = 6, ROOM = 100 };
static Site site;
static TrialResult found[ROOM];

/* The site with random values at hand; value 5 is the same in all runs, value 6 has an other name: it is value 1. */
static void make_site(void) {
    site = (Site){.trial = {.edit = 3, .piece = 2}, .runs = RUNS, .fields = 1 + VALUES, .readable = ~0ULL};
    for (long i = 0; i < RUNS; i++) {
        double *row = &site.record[i * site.fields];
        for (int v = 0; v <= VALUES; v++)
            row[v] = (double)random_uniform(random_key(1, (uint64_t)v), (uint64_t)(v == 5 ? 0 : i)) + 0.5;
        row[6] = row[1];
        for (int q = 0; q < SITE_SUMS; q++)
            site.response[q][i] = (double)random_uniform(random_key(2, (uint64_t)q), (uint64_t)i) - 0.5;
    }
}

/* `amount` of a product is needed, in the place of what stands there if that is so. */
static void need(double amount, int a, int b, int below, bool instead, bool times) {
    for (int q = 0; q < SITE_SUMS; q++) {
        site.need[q] = 0, site.allowed[q] = 1e-7;
        for (long i = 0; i < RUNS; i++) {
            const double *row = &site.record[i * site.fields];
            double product = amount * row[a] * row[b] / row[below] * (times ? row[0] : 1);
            site.need[q] += site.response[q][i] * (product - (instead ? row[0] : 0));
        }
    }
}

/* a times b in a form. */
static void need_form(int form, int a, int b) {
    for (int q = 0; q < SITE_SUMS; q++) {
        site.need[q] = 0, site.allowed[q] = 1e-7;
        for (long i = 0; i < RUNS; i++) {
            const double *row = &site.record[i * site.fields], v = row[b];
            double in_form = form == FORM_REST       ? 1 - v
                             : form == FORM_MORE     ? 1 + v
                             : form == FORM_POSITIVE ? (v > 0 ? 1 : 0)
                                                     : 1 - v * v;
            site.need[q] += site.response[q][i] * row[a] * in_form;
        }
    }
}

static long search_graded(FitKind kind, int degree, int grade) {
    Products p = {
        .site = &site, .kind = kind, .degree = degree, .grade = grade, .factors = VALUES, .until = 1e300};
    for (int v = 0; v < VALUES; v++) p.factor[v] = 1 + v;
    return fit_products(&p, found, ROOM);
}

static long search(FitKind kind, int degree) {
    return search_graded(kind, degree, 0);
}

/* The one product that was found. */
static void check_found(long count, int a, int b, int below, double amount, bool instead) {
    const RepairTrial *t = &found[0].trial;
    CHECK(count == 1 && t->edit == 3 && t->piece == 2, "%ld found", count);
    CHECK(t->value[0] == a && t->value[1] == b && t->value[2] == below && !t->value[3], "%d %d %d",
          t->value[0], t->value[1], t->value[2]);
    CHECK(!t->form[0] && !t->form[1] && t->form[2] == FORM_BELOW);
    CHECK(t->amount == amount && t->instead == instead, "%g", t->amount);
}

static void products_are_found(void) {
    make_site();
    need(-2, 1, 4, 3, false, false);
    check_found(search(FIT_ADDED, 3), 1, 4, 3, -2, false);
    CHECK(search(FIT_ADDED, 2) == 0 && search(FIT_INSTEAD, 3) == 0 && search(FIT_TIMES, 3) == 0);
    need(1. / 3, 2, 2, 5, false, false);
    check_found(search(FIT_ADDED, 3), 2, 2, 5, 1. / 3, false);
    need(1, 1, 4, 3, true, false);
    check_found(search(FIT_INSTEAD, 3), 1, 4, 3, 1, true);
    need(1, 2, 4, 1, true, true);
    check_found(search(FIT_TIMES, 3), 2, 4, 1, 0, false);
}

/* 1 - v and the like, of what is known not to change with the cotangent; with what is in proportion to it once. */
static void forms_and_grades_are_heeded(void) {
    static const int forms[] = {FORM_REST, FORM_MORE, FORM_REST_OF_SQUARE, FORM_POSITIVE};
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        make_site();
        for (long i = 0; i < RUNS; i++) site.record[i * site.fields + 3] -= 1;
        need_form(forms[k], 2, 3);
        site.grade[2] = 1;
        long count = search_graded(FIT_ADDED, 2, 1);
        const RepairTrial *t = &found[0].trial;
        CHECK(count == 1 && t->value[0] == 2 && t->value[1] == 3, "%ld: %d %d", count, t->value[0],
              t->value[1]);
        CHECK(t->form[0] == FORM_ITSELF && t->form[1] == forms[k] && t->amount == 1, "%d", t->form[1]);
        CHECK(search_graded(FIT_ADDED, 2, 0) == 0, "in proportion to the cotangent");
        site.grade[3] = 1;
        CHECK(search_graded(FIT_ADDED, 2, 1) == 0, "1 - v of a gradient");
        site.grade[2] = 0;
        CHECK(search_graded(FIT_ADDED, 2, 1) == 0);
    }
    make_site();
    need(1, 1, 4, 3, false, false);
    site.grade[1] = site.grade[4] = 1;
    CHECK(search_graded(FIT_ADDED, 3, 1) == 0, "two gradients");
}

/* a_i = amount · v_i (g_i + Σ_k<i m_ik a_k): a recursion of which the site has g without what is added, and m. */
static void recursions_are_followed(void) {
    for (int amount = 1; amount >= -1; amount -= 2) {
        double added[RUNS] = {0};
        make_site();
        site.feeds = 1, site.feed_field[0] = 2, site.grade[2] = 1;
        for (int q = 0; q < SITE_SUMS; q++) site.need[q] = 0, site.allowed[q] = 1e-7;
        for (long i = 0; i < RUNS; i++) {
            const double *row = &site.record[i * site.fields];
            double gradient = row[2];
            for (long k = 0; k < i; k++) {
                site.feed[0][i][k] = (double)random_uniform(random_key(3, (uint64_t)i), (uint64_t)k);
                gradient += site.feed[0][i][k] * added[k];
            }
            added[i] = amount * row[4] / row[5] * gradient;
            for (int q = 0; q < SITE_SUMS; q++) site.need[q] += site.response[q][i] * added[i];
        }
        long count = search_graded(FIT_ADDED, 3, 1);
        const RepairTrial *t = &found[0].trial;
        CHECK(count == 1 && t->amount == amount, "%ld found, amount %g", count, t->amount);
        CHECK(t->value[0] == 2 && t->value[1] == 4 && t->value[2] == 5 && t->form[2] == FORM_BELOW,
              "%d %d %d", t->value[0], t->value[1], t->value[2]);
        CHECK(search_graded(FIT_TIMES, 3, 1) == 0);
        site.feeds = 0;
        CHECK(search_graded(FIT_ADDED, 3, 1) == 0, "without what feeds back");
    }
}

/* An amount that nobody writes, what cannot be read, what takes too long, and nothing at all. */
static void nothing_else_is_found(void) {
    make_site();
    need(0.3712, 1, 4, 3, false, false);
    CHECK(search(FIT_ADDED, 3) == 0);
    need(1, 1, 4, 3, false, false);
    site.readable = ~(1ULL << 3);
    CHECK(search(FIT_ADDED, 3) == 0);
    site.readable = ~0ULL, site.record[3 * site.fields + 4] = NAN;
    CHECK(search(FIT_ADDED, 3) == 0);
    make_site();
    need(1, 1, 4, 3, false, false);
    Products late = {.site = &site, .degree = 3, .factors = 4, .factor = {1, 2, 3, 4}};
    CHECK(fit_products(&late, found, ROOM) == 0 && search(FIT_ADDED, 3) == 1);
    need(0, 1, 4, 3, false, false);
    CHECK(search(FIT_ADDED, 3) == 0);
    need(1, 1, 4, 3, false, false);
    site.runs = 0;
    CHECK(search(FIT_ADDED, 3) == 0);
}

TEST_MAIN({"products are found", products_are_found},
          {"forms and grades are heeded", forms_and_grades_are_heeded},
          {"recursions are followed", recursions_are_followed},
          {"nothing else is found", nothing_else_is_found})
