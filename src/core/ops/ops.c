#include "ops/ops.h"
#include <string.h>

const OpEntry ops_all[] = {
#define OP(name, arguments, formula, section) {&op_##name, #arguments, formula, section},
#include "ops/ops.def"
#undef OP
};
const int ops_count = sizeof ops_all / sizeof *ops_all;

const OpEntry *ops_find(const char *name) {
    for (int i = 0; i < ops_count; i++)
        if (strcmp(ops_all[i].op->name, name) == 0) return &ops_all[i];
    return NULL;
}
