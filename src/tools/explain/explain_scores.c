/* scores: "The two most commonly used attention functions are additive attention, and dot-product
 * attention. … While the two are similar in theoretical complexity, dot-product attention is much
 * faster and more space-efficient in practice, since it can be implemented using highly optimized
 * matrix multiplication code" (3.2.1). Additive attention takes one tanh for every pair and
 * component. The same small model learns to copy with each, from the same batches. */
#include "explain/experiment.h"

enum { STEPS = 100, JUDGED = 300, KINDS = 2 };

static void run(Lab *l) {
    static const char *const kind[KINDS] = {"dot", "additive"};
    double tokens[KINDS], seconds[KINDS];
    lab_start(l,
              "Models of one layer learn to copy sequences of up to 3 of 16 symbols in %d steps. "
              "The table shows held-out tokens that are right when the model reads the right "
              "answer, whole answers that are right when it reads its own, and time.",
              STEPS);
    for (int i = 0; i < KINDS; i++) {
        Lesson x;
        char options[80] = "copy --symbols 16 --max-length 3 --attention ";
        lesson_learn(l, &x, strcat(options, kind[i]), STEPS, false);
        tokens[i] = lesson_tokens(l, &x, JUDGED);
        seconds[i] = x.seconds;
        LAB_ROW(l, TEXT(kind[i]), NUMBER(x.trainer.model->parameters.elements), NUMBER(tokens[i]),
                NUMBER(lesson_answers(l, &x, JUDGED)),
                NUMBER(1e3 * x.seconds / (double)x.trainer.state.step));
        lesson_end(&x);
    }
    lab_found(l,
              "Dot-product attention gets %.2f %% of the tokens right and additive attention %.2f "
              "%%, which takes %.1f times as long a step.",
              tokens[0], tokens[1], seconds[1] / seconds[0]);
}

const Experiment explain_scores = {"scores",
                                   "dot-product and additive attention: accuracy and time",
                                   "Which score learns better, and which is faster?",
                                   "dot       s_ij = q_i.k_j / sqrt(d_k)\n"
                                   "additive  s_ij = sum_c w_c tanh(q_ic + k_jc)",
                                   {{"attention", "attention", 9, AS_TEXT},
                                    {"parameters", "parameters", 10, 0},
                                    {"accuracy", "tokens %", 8, 2},
                                    {"exact", "answers %", 9, 2},
                                    {"ms_per_step", "ms a step", 9, 2}},
                                   run};
