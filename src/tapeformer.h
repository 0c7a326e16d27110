/* tapeformer: a Transformer and the autograd under it, as a library. Your programs and operations
 * include this header. It has a line for each function. The headers that it includes document
 * units, errors and ownership.
 *
 *     #include <tapeformer.h>              cc my.c $(pkg-config --cflags --libs tapeformer)
 *     in single precision, as models train; in double, as gradients are checked: tapeformer-double
 *
 * Every exported name begins with the prefix of its kind:
 *
 *     error_ shape_ pool_                  messages, shapes, threads
 *     tensor_ tape_ node_ op_ ops_         tensors, the tape, operations
 *     gradcheck_ report_                   gradients proved by differences; words of a report
 *     config_ model_ parameters_ nn_ tokens_   the Transformer
 *     positions_ norm_ attention_ activation_ init_   its choices
 *     task_ batch_ optim_ optimizer_ schedule_ trainer_   training
 *     decode_ tokenizer_                   text and answers
 *     array_ safetensors_                  files
 *     all_                                 the kinds of a choice
 *
 * A function that can fail through no fault of its caller takes an Error, fills it in and returns
 * false or NULL. A programmer's mistake prints one line and ends the process, unless the caller has
 * set a handler: error_on_fatal. */
#ifndef TAPEFORMER_H
#define TAPEFORMER_H

#ifdef __cplusplus
extern "C" {
#endif

#include "autograd/op.h"
#include "base/pool.h"
#include "check/gradcheck/gradcheck.h"
#include "decoding/decode.h"
#include "formats/safetensors.h"
#include "nn/model_file.h"
#include "nn/nn.h"
#include "ops/ops.h"
#include "tasks/task.h"
#include "text/tokenizer.h"
#include "training/trainer.h"

/* clang-format off */

/* ---- Errors, shapes, threads ---- */

/* fills e, returns false; the first cause stays */
bool error_set(Error *e, Status status, const char *format, ...);
/* prints `bug: …`, ends with status 70 */
__attribute__((noreturn)) void error_bug(const char *format, ...);
FatalHandler error_on_fatal(FatalHandler handler); /* replaces that; handler may longjmp */
long shape_count(Shape s);                  /* elements: Π size_i, 1 for a scalar */
int shape_axis(const char *op, Shape s, int axis); /* axis in [0, rank); negative: from the end */
Shape shape_broadcast(const char *op, Shape a, Shape b); /* the shape to which a and b broadcast */
const char *shape_text(Shape s);            /* "[2,3]", for messages */
void pool_set_threads(int threads);         /* threads from now on, ≥ 1 */
int pool_threads(void);                     /* their number now */

/* ---- Tensors: strided views of real numbers. Nobody frees them ---- */

Tensor tensor_over(real *data, Shape s);    /* a contiguous tensor over the caller's memory */
bool tensor_contiguous(const Tensor *x);    /* row-major without gaps */
void tensor_copy_out(const Tensor *x, real *out); /* x in row-major order, whatever its strides */
/* x's strides in `to`, 0: repeated */
void tensor_broadcast_strides(Shape x, const long *stride, Shape to, long *out);
/* operands over one shape, row by row */
Walk tensor_walk(Shape shape, int operands, const long *const stride[]);
bool tensor_walk_row(Walk *w);              /* goes to the next row; false after the last */

/* ---- The tape: records operations, runs them, and runs backward through them ---- */

Tape *tape_new(void);                       /* an empty tape; for tape_free */
void tape_free(Tape *t);                    /* with all that was made on it */
void tape_reset(Tape *t);                   /* forgets all; memory stays for the next step */
/* over the caller's memory; grad NULL: constant */
Tensor *tape_leaf(Tape *t, Shape s, real *data, real *grad);
Tensor *tape_constant(Tape *t, Shape s);    /* zeros in the tape's memory, to fill at once */
void tape_backward(Tape *t, Tensor *loss);  /* adds ∂loss/∂x to every leaf's grad */
void tape_backward_from(Tape *t, Tensor *y, const real *dy); /* adds Σ_i dy_i ∂y_i/∂x */
bool tape_failed(const Tape *t, Error *e);  /* true: memory has run out since the last reset */
/* the first node with a NaN, before backward */
const struct Node *tape_first_non_finite(const Tape *t);

/* tape_add, tape_matmul, tape_softmax, …: one function for each operation; ops/ops.def has the
 * formulas. */

/* ---- Your own operation: an Op with forward, backward and cases, and what records it ---- */

/* a node, with its output */
Node *tape_node(Tape *t, const Op *op, Shape out, int inputs, Tensor *const in[]);
/* a view of in */
Node *tape_view(Tape *t, const Op *op, Tensor *in, Shape out, const long *stride, long offset);
void *node_attr(Node *n, size_t bytes);     /* its attributes, zeroed, n->attr */
void *node_memory(Node *n, size_t bytes);   /* zeroed memory until reset */
real *node_array(Node *n, long count);      /* reals saved for backward; NULL: no memory */
Tensor *tape_forward(Node *n);               /* runs forward; the output */

/* ---- Gradient checks, which prove in double: PASS 0, INCONCLUSIVE 1, FAIL 2 ---- */

Verdict gradcheck_op(const Op *op, FILE *out); /* every case of an operation, and why it fails */
Verdict gradcheck_function(const char *name, Tensor *(*f)(Tape *t, Tensor **x),
                           const CheckInput *in, FILE *out);     /* a function of tape operations */
/* one case, as numbers */
void gradcheck_case(const char *op, const CheckCase *c, uint64_t seed, CaseReport *report);
double gradcheck_tolerance(void);           /* relative error up to which a gradient passes */

/* ---- The Transformer ---- */

/* the paper's, N = 2, d_model = 128 */
ModelConfig config_seq2seq(int vocab_size, int max_length, int pad_id);
/* decoder-only, N = 4, d_model = 128 */
ModelConfig config_language_model(int vocab_size, int max_length);
/* false: no such model is possible */
bool config_check(const ModelConfig *c, Status status, Error *e);
/* weights drawn; for model_free */
Model *model_new(const ModelConfig *c, bool training, uint64_t seed, Error *e);
void model_free(Model *m);
/* .safetensors */
bool model_save(const Model *m, const char *path, const Metadata *note, int count, Error *e);
/* and the notes saved with it */
Model *model_load(const char *path, bool training, Notes *notes, Error *e);
const char *model_notes_find(const Notes *n, const char *key); /* NULL: there is none */
void model_notes_free(Notes *n);
/* room for packed token sequences */
bool tokens_new(Tokens *x, long sequences, long rows, Error *e);
void tokens_free(Tokens *x);
/* s: ids[start[s]] … start[s+1] */
void tokens_pack(Tokens *x, long sequences, const long *start, const int32_t *ids);
Tensor *nn_hidden(Forward *f);              /* the stacks: [target tokens, d_model] */
Tensor *nn_logits(const Forward *f, Tensor *hidden); /* hidden Eᵀ: [target tokens, vocab_size] */
/* mean cross-entropy, labels smoothed */
Tensor *nn_loss(const Forward *f, Tensor *hidden, const int32_t *targets);
void parameters_clear_grad(Parameters *p);  /* before backward: discards all gradients */
void parameters_zero_unreached(Parameters *p); /* after it: gradients not reached become 0 */

/* ---- Training: 5.1 to 5.4 ---- */

TaskOptions task_defaults(void);
/* "copy", "lm", …: see all_tasks; for task_free */
Task *task_open(const char *name, const TaskOptions *o, Error *e);
void task_free(Task *task);
void batch_clear(Batch *b);                 /* in your own task: removes all rows */
BatchRow batch_add(Batch *b, long S, long T); /* a further row, to be written */
/* its target, shifted right */
void batch_teach(BatchRow row, int32_t begin, const int32_t *answer, int32_t end);
Optimizer optim_default(const OptimizerKind *kind); /* section 5.3's Adam, or SGD */
bool optim_start(Optimizer *o, const Parameters *p, Error *e); /* memory for its moments */
void optim_stop(Optimizer *o);
/* one step; the gradient's norm */
double optim_step(Optimizer *o, Parameters *p, double learning_rate, double scale);
double schedule_rate(const Schedule *s, long step); /* η of step 1, 2, … */
bool trainer_start(Trainer *t, Error *e);   /* memory for steps and evaluations */
void trainer_stop(Trainer *t);
/* a batch forward, backward, one optimizer step */
bool trainer_step(Trainer *t, StepResult *result, Error *e);
/* loss and accuracy, held out */
bool trainer_evaluate(Trainer *t, long rows, Evaluation *result, Error *e);

/* ---- Text and answers ---- */

bool decode_answers(Tape *t, Model *m, const Sampler *s, long count, const long *start,
                    const int32_t *source, int32_t begin_id, int32_t end_id, long max_tokens,
                    int32_t *out, long *length, Error *e);          /* of a seq2seq model */
bool decode_continue(Tape *t, Model *m, const Sampler *s, int32_t *ids, long n, long max_new,
                     TokenListener *chosen, void *context, Error *e); /* of a language model */
Tokenizer *tokenizer_learn(const TokenizerKind *kind, long size, const Passage *passage,
                           long passages, Error *e);                /* of texts */
/* of the note "vocabulary" */
Tokenizer *tokenizer_parse(const char *where, const char *vocabulary, Error *e);
char *tokenizer_string(const Tokenizer *k, Error *e); /* that note; to be freed */
void tokenizer_free(Tokenizer *k);
bool tokenizer_encode(const Tokenizer *k, const char *where, const char *text, size_t length,
                      int32_t *ids, long *count, Error *e);                       /* text to ids */
/* ids to text */
size_t tokenizer_decode(const Tokenizer *k, const int32_t *ids, long count, char *out);

/* ---- Files ---- */

/* an array to be written */
Array array_over(const char *name, Dtype d, Shape s, const void *bytes);
void array_free(Array *a);
bool array_to_real(const Array *a, real *out, Error *e); /* its elements, whatever their type */
bool safetensors_read(Safetensors *s, const char *path, Error *e); /* named arrays and strings */
void safetensors_free(Safetensors *s);
const Array *safetensors_find(const Safetensors *s, const char *name); /* NULL: there is none */
bool safetensors_write(const char *path, const Metadata *metadata, int metadata_count,
                       const Array *tensors, int count, Error *e);

/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
