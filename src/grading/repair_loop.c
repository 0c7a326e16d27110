#include "grading/repair_candidates.h"
#include <ctype.h>
#include <string.h>

static bool is_of_name(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static bool has_name(const char *text, const char *name, size_t length) {
    for (const char *at = text; *at; at++) {
        bool begins = at == text || !is_of_name(at[-1]);
        if (begins && strncmp(at, name, length) == 0 && !is_of_name(at[length])) return true;
    }
    return false;
}

bool candidates_is_of_loop(const Edits *all, const RepairTrial *t) {
    const Edit *e = &all->edit[t->edit - 1];
    const Pool *pool = &all->pool[e->pool];
    const char *end = e->head ? strchr(e->head, '=') : NULL; /* for (TYPE NAME = …;…;…) */
    if (!end) return true;
    while (!is_of_name(end[-1])) end--;
    const char *name = end;
    while (is_of_name(name[-1])) name--;
    size_t length = (size_t)(end - name);
    bool any = t->target && has_name(pool->target[t->target - 1]->text, name, length);
    for (int k = 0; k < REPAIR_VALUES && !any; k++)
        any = t->value[k] && has_name(pool->value[t->value[k] - 1]->text, name, length);
    return any;
}
