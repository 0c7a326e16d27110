/* The number of steps that fit into a time, on machines that are made up: their speed changes while no rate depends on it. */
#include "run/pace.h"
#include "run/samples.h"
#include "test.h"

enum { MOST = 100000 };

/* A run on a machine whose step takes `seconds` until `change`, and then `then`; an evaluation takes 20 steps, what follows
 * the last one 100. Returns the seconds that it takes; `rates` are those that the steps had. */
static double run_on(const ScheduleKind *kind, double seconds, double change, double then, double limit,
                     Trainer *t, double rates[MOST]) {
    Pace p = {.end = limit, .step = seconds, .evaluation = 20 * seconds, .after = 100 * seconds};
    double now = 0;
    long steps = pace_steps(&p, now, 0, 0);
    *t = (Trainer){
        .steps = steps,
        .eval_every = steps / 10,
        .schedule = {kind, .rate = 1, .decay = 0.7, .warmup = steps / 20, .steps = steps, .d_model = 8}};
    pace_start(&p, now);
    for (; t->state.step < t->steps && t->state.step < MOST; pace_follow(&p, t, now)) {
        double speed = now < change ? seconds : then;
        rates[t->state.step] = schedule_rate(&t->schedule, t->state.step + 1);
        t->state.step++;
        now += speed;
        if (t->state.step % t->eval_every == 0) now += 20 * speed, pace_evaluated(&p, 20 * speed);
    }
    return now + 100 * (limit < change ? seconds : then);
}

/* Within 5 % of the time where the speed changes before the rate falls, and the same rates as a run that has this number of
 * steps from its start. */
TEST(the_time_is_kept_and_the_run_can_be_repeated) {
    static const ScheduleKind *const kinds[] = {&schedule_linear, &schedule_cosine, &schedule_constant,
                                                &schedule_noam};
    static const double changes[][2] = {{1e9, 0}, {3, 0.02}, {3, 0.005}, {8, 0.02}, {8, 0.008}};
    static double rates[MOST];
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
            Trainer t;
            double taken = run_on(kinds[k], 0.01, changes[i][0], changes[i][1], 60, &t, rates);
            bool may_follow = kinds[k] != &schedule_cosine || changes[i][0] > 60;
            if (may_follow)
                CHECK(taken > 57 && taken < 63, "%s, change %zu: %.1f s", kinds[k]->choice.name, i, taken);
            CHECK(t.state.step == t.steps, "%ld of %ld", t.state.step, t.steps);
            for (long step = 1; step <= t.steps; step++)
                CHECK(schedule_rate(&t.schedule, step) == rates[step - 1], "%s, change %zu: step %ld of %ld",
                      kinds[k]->choice.name, i, step, t.steps);
        }
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
