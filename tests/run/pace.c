/* --minutes: the steps that fit into a time, and the rows of the last evaluation. */
#include "run/pace.h"
#include "test.h"

/* A minute less 2 s that are over, 10 evaluations of 0.1 s, and all 400 rows of 0.01 s, or a tenth
 * of the minute for more rows; steps of 0.05 s. */
TEST(steps_fill_the_time) {
    Pace p = pace_of(100, 1);
    Task task = {.held_out = 400, .max_T = 10};
    p.step = 0.05;
    p.evaluation = 0.1;
    p.row = 0.01;
    CHECK(pace_steps(&p, &task, 102, 0, 0) == (60 - 2 - 1 - 4) * 20);
    CHECK(pace_steps(&p, &task, 102, 7, 0) == 7 + (60 - 2 - 1 - 4) * 20);
    CHECK(pace_steps(&p, &task, 102, 0, 2) == (60 - 2 - 4) * 10, "an evaluation after 2 steps");
    task.held_out = 100000;
    CHECK(pace_steps(&p, &task, 102, 0, 0) == (60 - 2 - 1 - 6) * 20);
    task.held_out = 400;
    p.answer = 0.002;
    CHECK(labs(pace_steps(&p, &task, 102, 0, 0) - (long)((60 - 2 - 1 - 4.8) * 20)) <= 1);
}

TEST(a_time_that_is_too_short_makes_ten_steps) {
    Pace p = pace_of(0, 1);
    Task task = {.held_out = 1, .max_T = 10};
    p.step = 10;
    p.row = 5;
    CHECK(pace_steps(&p, &task, 0, 0, 0) == 10 && pace_steps(&p, &task, 70, 0, 3) == 10);
    CHECK(pace_steps(&p, &task, 70, 143, 0) == 153, "after those of a finished run, too");
    CHECK(!pace_is_late(&p, 60) && pace_is_late(&p, 60.1));
    CHECK(!pace_is_late(&(Pace){0}, 1e9), "a run of steps is never late");
}

/* Without --minutes a million tokens, with them what a tenth of the time allows; at least one row
 * and at most all. */
TEST(the_last_evaluation_is_bounded) {
    Task task = {.held_out = 50000, .max_T = 64};
    Pace none = pace_of(3, 0), minute = pace_of(3, 1);
    CHECK(pace_rows(&none, &task, 0) == 15625);
    CHECK(pace_rows(&minute, &task, 0.001) == 6000 && pace_rows(&minute, &task, 1e-5) == 50000);
    CHECK(pace_rows(&minute, &task, 100) == 1);
    task.held_out = 15000;
    CHECK(pace_rows(&none, &task, 0) == 15000);
}

RUN_TESTS
