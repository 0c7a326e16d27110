/* A configuration as a model and a trainer. */
#include "training/train_config.h"
#include <math.h>

ModelConfig train_config_model(const TrainConfig *r, const Task *task) {
    long longest = task->max_T > task->max_S ? task->max_T : task->max_S;
    bool lm = task_is_language_model(task);
    ModelConfig c = lm ? config_language_model((int)task->vocab_size, (int)longest)
                       : config_seq2seq((int)task->vocab_size, (int)longest, task->pad_id);
    c.encoder_layers = (int)r->layers;
    c.decoder_layers = lm ? 0 : (int)r->layers;
    c.heads = (int)r->heads;
    c.d_model = (int)r->d_model;
    c.d_ff = (int)r->d_ff;
    c.norm = (NormPlace)r->norm;
    c.final_norm = c.norm == NORM_PRE;
    c.norm_kind = (NormKind)r->norm_kind;
    c.positions = (PositionKind)r->positions;
    c.qk_norm = r->qk_norm;
    c.attention = (AttentionKind)r->attention;
    c.activation = (Activation)(r->activation + ACT_RELU);
    /* 3.4: embeddings must not be small beside sinusoids of size 1. */
    c.scale_embedding = c.scale_embedding || c.positions == POSITIONS_SINUSOIDAL;
    c.tied = !r->untied;
    c.label_smoothing = r->label_smoothing;
    return c;
}

Trainer train_config_trainer(const TrainConfig *r, const Task *task) {
    return (Trainer){.task = task,
                     .optimizer = {.kind = (OptimizerKind)r->optimizer,
                                   .beta1 = r->beta1,
                                   .beta2 = r->beta2,
                                   .epsilon = r->epsilon,
                                   .momentum = r->momentum,
                                   .matrix_rate = r->matrix_lr / r->lr,
                                   .weight_decay = r->weight_decay,
                                   .clip_norm = r->clip},
                     .schedule = {.kind = (ScheduleKind)r->schedule,
                                  .rate = r->lr,
                                  .min_rate = r->min_lr,
                                  .decay = r->decay,
                                  .warmup = r->warmup,
                                  .steps = r->steps,
                                  .d_model = (int)r->d_model},
                     .steps = r->steps,
                     .eval_every = r->eval_every,
                     .rows = r->batch,
                     .accumulate = r->accumulate,
                     .seed = r->data.seed,
                     .state = {.best_loss = INFINITY}};
}
