/* The module's entry points for the worker (worker.js). An entry point reads its texts from files in memory, prints its
 * result as JSON on stdout, or {"error": …, "status": N}, and returns. */
#ifndef WEB_WEB_H
#define WEB_WEB_H

#include "base/error.h"
#include <stddef.h>

/* Bytes of memory that the module may have: the linker's --max-memory. */
#define WEB_MEMORY (1024.0 * 1024 * 1024)

/* The head of a function that the worker calls by its name: WEB_EXPORT(void, step, (int n)) { … } */
#define WEB_EXPORT(type, name, arguments)                                                                    \
    type web_##name arguments;                                                                               \
    __attribute__((export_name(#name))) type web_##name arguments

/* Contents of a file, with a NUL behind them; NULL: there is none. */
char *web_file_data(const char *path);

/* Ends an entry point: the error, if there is one, and all output. */
void web_end(const Error *e);

#endif
