/* The state of the module in single precision: one session at a time, a task with its trainer, or a model that was
 * loaded. */
#ifndef WEB_SESSION_H
#define WEB_SESSION_H

#include "decoding/saved_run.h"
#include "training/train_config.h"
#include "web/web.h"

typedef struct Session {
    TrainConfig config;
    Task *task; /* NULL: loaded */
    Trainer trainer;
    SavedRun run;         /* the model, its tokenizer and ids; the tokenizer of a task is the task's */
    bool mask, positions; /* trained with a causal mask, and with positions */
} Session;
extern Session session;

/* False with an error if there is no model. */
bool web_has_model(Error *e);

/* Writes the model into saved/model.safetensors. */
bool web_save_model(Error *e);

/* Without `mask`, tokens attend to later tokens as well from here on; without `positions`, tokens have no position. */
void web_hide(bool mask, bool positions);

/* A member of a JSON object, `, "name": …`: a number (null where it is not finite), a text. */
void web_print_number(const char *name, double x);
void web_print_text(const char *name, const char *text);

/* A member with the labels of tokens; id NULL: of the tokens 0, 1, … */
void web_print_tokens(const Session *s, const char *name, const int32_t *id, long count);

/* A member with the text of tokens; name NULL: the text alone. STATUS_NO_MEMORY. */
bool web_print_decoded(const Session *s, const char *name, const int32_t *id, long count, Error *e);

#endif
