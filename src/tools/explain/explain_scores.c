/* scores: "The two most commonly used attention functions are additive attention, and dot-product
 * attention. … While the two are similar in theoretical complexity, dot-product attention is much
 * faster and more space-efficient in practice, since it can be implemented using highly optimized
 * matrix multiplication code" (3.2.1).
 *
 *     dot         s_ij = q_i·k_j / √d_k                      one matrix product
 *     additive    s_ij = Σ_c w_c tanh(q_ic + k_jc)           one tanh for every pair and component
 *
 * The same small model learns to copy with each, from the same batches. */
#include "base/clock.h"
#include "explain/lesson.h"
#include "explain/show.h"
#include <math.h>

enum { SYMBOLS = 16, LONGEST = 3, STEPS = 360, JUDGED = 300, KINDS = 2 };
static const AttentionKind *const kinds[KINDS] = {&attention_dot, &attention_additive};

static const Table table = {"scores",
                            "Which score learns better, and which is faster?",
                            "dot       s_ij = q_i.k_j / sqrt(d_k)\n"
                            "additive  s_ij = sum_c w_c tanh(q_ic + k_jc)",
                            {{"attention", "attention", 9, AS_TEXT},
                             {"parameters", "parameters", 10, 0},
                             {"accuracy", "tokens %", 8, 2},
                             {"exact", "answers %", 9, 2},
                             {"ms_per_step", "ms a step", 9, 2}}};

/* Trains one model. *percent gets its right held-out tokens; *seconds: the time that training
 * takes. */
static bool learn(const ExplainOptions *o, const AttentionKind *kind, double *percent,
                  double *seconds, Error *e) {
    Lesson l;
    double tokens, answers, begin = clock_seconds();
    bool ok = lesson_begin(&l, "copy", SYMBOLS, LONGEST, STEPS, kind, o->seed, e) &&
              lesson_train(&l, STEPS, e);
    double took = clock_seconds() - begin;
    ok = ok && lesson_judge(&l, JUDGED, &tokens, &answers, e);
    if (ok) {
        *percent = 100 * tokens;
        show_row(o, &table,
                 (Cell[]){TEXT(kind->choice.name), NUMBER(l.model->parameters.elements),
                          NUMBER(*percent), NUMBER(100 * answers), NUMBER(1e3 * took / STEPS)});
        *seconds = took;
    }
    lesson_end(&l);
    return ok;
}

bool explain_scores(const ExplainOptions *o, Error *e) {
    double percent[KINDS], seconds[KINDS];
    show_start(o, &table,
               "Models of one layer learn to copy sequences of up to %d of %d symbols in %d steps. "
               "The table shows held-out tokens that are right when the model reads the right "
               "answer, whole answers that are right when it reads its own, and time.",
               LONGEST, SYMBOLS, STEPS);
    for (int kind = 0; kind < KINDS; kind++)
        if (!learn(o, kinds[kind], &percent[kind], &seconds[kind], e)) return false;
    return show_found(o, &table, NULL, 0,
                      "Dot-product attention gets %.2f %% of the tokens right and additive "
                      "attention %.2f %%, which takes %.1f times as long a step.",
                      percent[0], percent[1], seconds[1] / seconds[0]);
}
