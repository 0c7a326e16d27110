/* The modules of the web page. The worker (worker.js) calls their entry points, which read texts from files in memory
 * and print their result as JSON on stdout, then `end`, which prints the error. */
#ifndef WEB_WEB_H
#define WEB_WEB_H

#include "decoding/saved_run.h"
#include "training/train_config.h"

/* Bytes of memory that a module may have: the linker's --max-memory. */
#define WEB_MEMORY (1024.0 * 1024 * 1024)

/* The head of a function that the worker calls by its name: WEB_EXPORT(void, step, (int n)) { … } */
#define WEB_EXPORT(type, name, arguments)                                                                    \
    type web_##name arguments;                                                                               \
    __attribute__((export_name(#name))) type web_##name arguments

/* The error of the entry point that runs. */
extern Error web_error;

/* Contents of a file, with a NUL behind them; NULL: there is none. */
char *web_file_data(const char *path);

/* A member of a JSON object behind others, `, "name": …`: a number (null where it is not finite), a text, numbers. */
void web_print_number(const char *name, double x);
void web_print_text(const char *name, const char *text);
void web_print_numbers(const char *name, const real *x, long count);

/* What the module in single precision trains or shows: a task with its trainer, or a model that was loaded. */
typedef struct Session {
    TrainConfig config;
    Task *task; /* NULL: loaded */
    Trainer trainer;
    SavedRun run;         /* the model, its tokenizer and ids; the tokenizer of a task is the task's */
    bool mask, positions; /* trained with a causal mask, and with positions */
} Session;
extern Session session;

/* Writes the session's model into saved/model.safetensors. False: there is none. */
bool web_save(void);

/* From here on without a `mask` tokens attend to later tokens as well; without `positions` tokens have none. */
void web_hide(bool mask, bool positions);

/* A member with the labels of tokens (id NULL: of the tokens 0, 1, …), or their text (name NULL: the text alone). */
void web_print_tokens(const char *name, const int32_t *id, long count);
void web_print_decoded(const char *name, const int32_t *id, long count);

#endif
