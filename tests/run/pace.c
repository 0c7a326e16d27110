/* The number of steps that fit into a time, on machines that are made up: their speed changes while no rate depends on it. */
#include "run/pace.h"
#include "run/samples.h"
#include "test.h"

enum { MOST = 100000, LIMIT = 60 /* seconds */ };

/* A run on a machine whose step takes `seconds` until `change`, and then `then`; an evaluation takes 20 steps, what follows
 * the last one 100. Step 50 is suspended for so long. Returns the seconds that it takes; `rates` are those that the steps
 * had. */
static double run_on(const ScheduleKind *kind, double seconds, double change, double then, double suspended,
                     Trainer *t, Pace *p, double rates[MOST]) {
    double now = 0;
    *p = (Pace){.end = LIMIT, .step = seconds, .evaluation = 20 * seconds, .after = 100 * seconds};
    long steps = pace_steps(p, now, 0, 0);
    *t = (Trainer){
        .eval_every = steps / 10,
        .schedule = {kind, .rate = 1, .warmup = steps / 20, .steps = steps, .d_model = 8}};
    pace_start(p, now);
    for (; t->state.step < t->schedule.steps && t->state.step < MOST; pace_follow(p, t, now)) {
        double speed = now < change ? seconds : then;
        rates[t->state.step] = schedule_rate(&t->schedule, t->state.step + 1);
        t->state.step++;
        now += speed;
        if (t->state.step == 50) now += suspended;
        if (t->state.step % t->eval_every == 0) now += 20 * speed, pace_evaluated(p, 20 * speed);
    }
    return now + 100 * (LIMIT < change ? seconds : then);
}

/* Within 5 % of the time, whenever the speed changes, and the same rates as a run that has these plans from its start. */
TEST(the_time_is_kept_and_the_run_can_be_repeated) {
    static const ScheduleKind *const kinds[] = {&schedule_linear, &schedule_cosine, &schedule_constant,
                                                &schedule_noam};
    static const double changes[][2] = {{1e9, 0},   {3, 0.02},  {3, 0.005},  {8, 0.02},
                                        {8, 0.008}, {30, 0.02}, {30, 0.005}, {50, 0.02}};
    static double rates[MOST];
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
            Trainer t;
            Pace p;
            Error e = {0};
            double taken = run_on(kinds[k], 0.01, changes[i][0], changes[i][1], 0, &t, &p, rates);
            CHECK(taken > 57 && taken < 63, "%s, change %zu: %.1f s", kinds[k]->choice.name, i, taken);
            CHECK(t.state.step == t.schedule.steps, "%ld of %ld", t.state.step, t.schedule.steps);
            CHECK(schedule_check_plans(&t.schedule, &e), "%s", e.text);
            for (long step = 1; step <= t.schedule.steps; step++)
                CHECK(schedule_rate(&t.schedule, step) == rates[step - 1], "%s, change %zu: step %ld of %ld",
                      kinds[k]->choice.name, i, step, t.schedule.steps);
        }
}

/* Two plans go through the first one's rates at other speeds: 20 steps until step 10, then 50 until step 30, now 40. */
TEST(plans_stretch_the_schedule) {
    Schedule first = {&schedule_linear, .rate = 1, .min_rate = 0.1, .warmup = 2, .steps = 20},
             s = first;
    s.plans = "10:20,30:50", s.steps = 40;
    CHECK_NEAR(schedule_rate(&s, 10), schedule_rate(&first, 10), 0);
    CHECK_NEAR(schedule_rate(&s, 30), schedule_rate(&first, 15), 1e-15);
    CHECK_NEAR(schedule_rate(&s, 36), schedule_rate(&first, 18), 1e-15);
    CHECK_NEAR(schedule_rate(&s, 40), schedule_rate(&first, 20), 1e-15);
}

/* The time for which the process was suspended does not count. */
TEST(a_suspension_moves_the_end) {
    static double rates[MOST];
    Trainer t;
    Pace p;
    double taken = run_on(&schedule_linear, 0.01, 1e9, 0, 100, &t, &p, rates);
    CHECK(taken > 157 && taken < 163, "%.1f s", taken);
    CHECK(!t.schedule.plans, "%s", t.schedule.plans);
}

TEST(a_time_that_is_too_short_makes_ten_steps) {
    Pace p = {.end = 1, .step = 10, .after = 5};
    CHECK(pace_steps(&p, 0, 0, 0) == 10 && pace_steps(&p, 50, 0, 3) == 10);
}

/* Answers to longer sources follow the last step where a task has them and the positions need no training. */
TEST(longer_answers_are_foreseen) {
    static const struct {
        const char *task;
        const Positions *positions;
        long max_T;
    } cases[] = {{"copy", &positions_sinusoidal, 25},
                 {"copy", &positions_learned, 0},
                 {"add", &positions_rotary, 7},
                 {"dates", &positions_sinusoidal, 0}};
    for (int i = 0; i < 4; i++) {
        Error e = {0};
        TaskOptions o = task_defaults();
        Task *task = task_open(cases[i].task, &o, &e);
        CHECK(task, "%s", e.text);
        ModelConfig c = config_seq2seq((int)task->vocab_size, 40, task->pad_id);
        c.positions = cases[i].positions;
        Model *m = model_without_memory(&c, false, &e);
        CHECK(m, "%s", e.text);
        Task *longer = samples_longer_task(&(Trainer){.task = task, .model = m}, &o);
        CHECK((longer ? longer->max_T : 0) == cases[i].max_T && (!longer || longer->held_out == 400),
              "case %d: %ld", i, longer ? longer->max_T : 0);
        task_free(longer), task_free(task), model_free(m);
    }
}

RUN_TESTS
