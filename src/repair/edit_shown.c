#include "repair/edited_source.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An amount as somebody would write it: a small fraction where it is one. `divided`: it is no integer then. */
static void print_amount(FILE *out, double c, bool divided) {
    for (int below = 1; below <= 12; below++) {
        double above = round(c * below);
        if (fabs(c * below - above) > 1e-7 * fabs(above) || fabs(above) > 100) continue;
        fprintf(out, below > 1 ? "%g. / %d" : divided ? "%g." : "%g", above, below);
        return;
    }
    fprintf(out, "%.9g", c);
}

static const char *value_text(const Pool *pool, const RepairTrial *t, int which) {
    return pool->value[t->value[which] - 1]->text;
}

/* amount · value · value, with what divides behind. */
static void print_product(const Pool *pool, const RepairTrial *t, FILE *out) {
    bool any = fabs(t->amount) != 1;
    bool above = false;
    for (int k = 0; k < 3; k++) above |= t->value[k] && !t->below[k];
    if (any) print_amount(out, fabs(t->amount), !above);
    for (int below = 0; below < 2; below++)
        for (int k = 0; k < 3; k++) {
            if (!t->value[k] || t->below[k] != below) continue;
            fprintf(out, "%s%s", below ? any ? " / " : "1. / " : any ? " * " : "", value_text(pool, t, k));
            any = true;
        }
    if (!any) fputc('1', out);
}

static void print_replacement(const Edits *all, const Edit *e, const RepairTrial *t, FILE *out) {
    const EditPart *part = &e->part[0];
    const Pool *pool = &all->pool[part->piece];
    bool behind_sign = token_is(all->s, part->begin - 1, "-") || token_is(all->s, part->begin - 1, "+");
    switch (e->kind) {
    case EDIT_TEXT:
        for (const char *p = part->text; *p; p++)
            if (strncmp(p, "+= @ * ", 7) == 0 && fabs(t->amount) == 1)
                fputs(t->amount < 0 ? "-= " : "+= ", out), p += 6;
            else if (*p == '@')
                print_amount(out, t->amount, false);
            else
                fputc(*p, out);
        break;
    case EDIT_INDEX:
        if (t->value[0] && t->amount != 0)
            fprintf(out, "(%s %c %s)", part->text, "*+-"[(int)t->amount - 1], value_text(pool, t, 0));
        else if (t->value[0])
            fputs(value_text(pool, t, 0), out);
        else
            fprintf(out, "(%s %c %g)", part->text, t->amount < 0 ? '-' : '+', fabs(t->amount));
        break;
    case EDIT_ARRAY: fputs(value_text(pool, t, 0), out); break;
    case EDIT_VALUE:
        if (t->value[0] && t->amount != 0)
            fprintf(out, "(%s %c ", part->text, t->amount < 0 ? '-' : '+'), print_product(pool, t, out),
                fputc(')', out);
        else if (t->value[0] && pool->value[t->value[0] - 1]->type.base == BASE_INTEGER)
            fprintf(out, "(double)%s", value_text(pool, t, 0));
        else if (t->value[0])
            fputs(value_text(pool, t, 0), out);
        else
            fprintf(out, "(1 %c %s)", t->amount < 0 ? '-' : '+', part->text);
        break;
    case EDIT_FACTOR:
        if (t->value[0])
            fprintf(out, "%s %c %s", part->text, t->below[0] ? '/' : '*', value_text(pool, t, 0));
        else if (t->amount == -1)
            fputc('0', out);
        else if (t->amount == -2)
            fprintf(out, behind_sign || part->text[0] == '-' ? "(-(%s))" : "-%s", part->text);
        else
            print_amount(out, 1 + t->amount, false), fprintf(out, " * %s", part->text);
        break;
    case EDIT_TERM:
        fprintf(out, "%s %c ", part->text, t->amount < 0 ? '-' : '+');
        print_product(pool, t, out);
        break;
    case EDIT_ADDED:
        fprintf(out, "%s, %s %c= ", part->text, pool->target[t->target - 1]->text, t->amount < 0 ? '-' : '+');
        print_product(pool, t, out);
        break;
    }
}

const char *edit_what(const Edit *e, const RepairTrial *t) {
    bool value = t->value[0] != 0, more = t->amount != 0;
    switch (e->kind) {
    case EDIT_INDEX:
        return !value           ? "off by one"
               : t->amount == 1 ? "a factor is missing"
               : more           ? "a term is missing"
                                : e->what;
    case EDIT_VALUE: return value && more ? "a term is missing" : e->what;
    case EDIT_FACTOR:
        return value             ? e->what
               : t->amount == -2 ? "a sign is wrong"
               : t->amount == -1 ? "this is one too many"
                                 : "a constant factor is wrong";
    default: return e->what;
    }
}

static void shorten(char to[REPAIR_SHOWN], const char *text) {
    if (strlen(text) < REPAIR_SHOWN)
        strcpy(to, text);
    else
        snprintf(to, REPAIR_SHOWN, "%.*s …", REPAIR_SHOWN - 6, text);
}

/* Tokens [begin, end), with a blank before or behind them where the source has one. */
static void print_tokens(const Edits *all, int begin, int end, FILE *out) {
    if (begin >= end) return;
    fprintf(out, "%s%s%s", token_is_apart(all->s, begin) ? " " : "", edits_tokens(all, begin, end),
            token_is_apart(all->s, end) ? " " : "");
}

int edited_source_show(const Edits *all, const RepairTrial *t, char is[REPAIR_SHOWN],
                       char becomes[REPAIR_SHOWN]) {
    const Edit *e = &all->edit[t->edit - 1];
    const Piece *first = &all->s->piece[e->part[0].piece],
                *last = &all->s->piece[e->part[e->parts - 1].piece];
    int at = first->shown;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    is[0] = becomes[0] = 0;
    if (!out) return 0;
    for (int i = 0; i < e->parts; i++) {
        const EditPart *part = &e->part[i];
        print_tokens(all, at, part->begin, out);
        if (i == 0)
            print_replacement(all, e, t, out);
        else
            fputs(part->text, out);
        at = part->end;
    }
    print_tokens(all, at, last->shown_end, out);
    if (fclose(out) == 0) shorten(becomes, text + strspn(text, " "));
    shorten(is, edits_tokens(all, first->shown, last->shown_end));
    for (size_t n = strlen(becomes); n && becomes[n - 1] == ' ';) becomes[--n] = 0;
    free(text);
    return all->s->token[e->part[0].begin].line;
}
