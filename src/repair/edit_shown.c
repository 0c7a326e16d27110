#include "repair/edited_source.h"
#include <ctype.h>
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

/* A factor in its form; a fraction's line is not part of it. */
static void print_formed(const Pool *pool, const RepairTrial *t, int which, FILE *out) {
    static const char *const form[REPAIR_FORMS] = {[FORM_ITSELF] = "%s",
                                                   [FORM_BELOW] = "%s",
                                                   [FORM_REST] = "(1 - %s)",
                                                   [FORM_MORE] = "(1 + %s)",
                                                   [FORM_REST_OF_SQUARE] = "(1 - %s * %s)",
                                                   [FORM_POSITIVE] = "(%s > 0)"};
    bool not = t->form[which] == FORM_REST && pool->value[t->value[which] - 1]->condition;
    for (const char *p = not ? "!%s" : form[t->form[which]]; *p; p++)
        if (*p == '%')
            fputs(value_text(pool, t, which), out), p++;
        else
            fputc(*p, out);
}

/* amount · value · value, with what divides behind. */
static void print_product(const Pool *pool, const RepairTrial *t, FILE *out) {
    bool above = false, divides = false, number = false; /* integers divided by each other are none */
    for (int k = 0; k < REPAIR_VALUES; k++) {
        bool below = t->form[k] == FORM_BELOW;
        above |= t->value[k] && !below, divides |= t->value[k] && below;
        number |= t->value[k] && !below && type_is_number(pool->value[t->value[k] - 1]->type);
    }
    bool whole = above && (number || !divides), any = fabs(t->amount) != 1 || (above && !whole);
    if (any) print_amount(out, fabs(t->amount), !whole);
    for (int below = 0; below < 2; below++)
        for (int k = 0; k < REPAIR_VALUES; k++) {
            if (!t->value[k] || (t->form[k] == FORM_BELOW) != below) continue;
            fputs(below ? any ? " / " : "1. / " : any ? " * " : "", out);
            print_formed(pool, t, k, out);
            any = true;
        }
    if (!any) fputc('1', out);
}

/* A term that becomes negative turns the sign that joins it to the one before, if there is one, and 0 takes it away. */
static bool turns_joint(const Edits *all, const Edit *e, const RepairTrial *t) {
    int sign = e->part[0].begin - 1, before = sign - 1;
    double amount = t->instead ? t->amount : 1 + t->amount;
    if (e->kind != EDIT_FACTOR || amount > 0 || before < 0) return false;
    bool operand = all->s->token[before].kind != TOKEN_SIGN || token_is(all->s, before, ")") ||
                   token_is(all->s, before, "]");
    return operand && (token_is(all->s, sign, "+") || token_is(all->s, sign, "-"));
}

/* A term with another factor, or another in its place. */
static void print_factor(const Edits *all, const Edit *e, const RepairTrial *t, FILE *out) {
    const EditPart *part = &e->part[0];
    const Pool *pool = &all->pool[part->piece];
    double amount = t->instead ? t->amount : 1 + t->amount;
    bool turns = turns_joint(all, e, t), opposite = amount < 0 && !turns;
    if (amount == 0) {
        if (!turns) fputc('0', out);
        return;
    }
    if (turns) fputs(token_is(all->s, part->begin - 1, "-") ? "+ " : "- ", out);
    bool cancels = opposite && !t->instead && part->text[0] == '-';
    if (opposite && !cancels) fputc('-', out);
    if (t->instead) {
        print_product(pool, t, out);
        return;
    }
    if (fabs(amount) != 1) print_amount(out, fabs(amount), false), fputs(" * ", out);
    bool enclosed = turns && part->text[0] == '-';
    fprintf(out, enclosed ? "(%s)" : "%s", part->text + cancels);
    for (int k = 0; k < REPAIR_VALUES; k++)
        if (t->value[k]) {
            fputs(t->form[k] == FORM_BELOW ? " / " : " * ", out);
            print_formed(pool, t, k, out);
        }
}

/* Whether it is asked of the array whether it is there, as it is not for a constant. */
static bool is_tested(const Edits *all, const char *array) {
    for (long i = 0; array && i < all->s->pieces; i++) {
        const Piece *p = &all->s->piece[i];
        const char *condition = p->kind == PIECE_CONDITION ? edits_tokens(all, p->begin, p->end) : "";
        size_t n = strlen(array);
        if (strncmp(condition, array, n) == 0 && (!condition[n] || strchr(" &", condition[n]))) return true;
    }
    return false;
}

/* A statement beside another, or before or behind a loop. */
static void print_addition(const Edits *all, const Edit *e, const RepairTrial *t, FILE *out) {
    const Pool *pool = &all->pool[e->pool];
    const Value *target = pool->target[t->target - 1];
    bool beside = e->part[0].text[0], tested = target->gradient || is_tested(all, target->array);
    bool braces = tested || e->head;
    if (beside) fprintf(out, "%s%s%s ", braces ? "{ " : "", e->part[0].text, braces ? ";" : ",");
    if (tested) fprintf(out, "if (%s) ", target->array);
    if (e->head) fprintf(out, "%s ", e->head);
    const char *sign = t->instead == 1 ? "= 0" : t->instead ? "*= " : t->amount < 0 ? "-= " : "+= ";
    fprintf(out, "%s %s", target->text, sign);
    RepairTrial factors = *t;
    if (t->instead) factors.amount++;
    if (t->instead && factors.amount < 0) fputc('-', out);
    if (t->instead != 1) print_product(pool, &factors, out);
    if (beside && braces) fputs("; }", out);
}

static void print_guard(const Pool *pool, const RepairTrial *t, const char *statement, FILE *out) {
    static const char *const sign[] = {"", "<", "<=", "=="};
    int how = (int)t->amount;
    const char *one = value_text(pool, t, 0), *not = t->instead ? "!" : "";
    if (how)
        fprintf(out, "if (%s %s %s) ", one, t->instead ? "!=" : sign[how], value_text(pool, t, 1));
    else
        fprintf(out, *not || one[0] != '(' ? "if (%s%s) " : "if %s%s ", not, one);
    fputs(statement, out);
}

static void print_replacement(const Edits *all, const Edit *e, const RepairTrial *t, FILE *out) {
    const EditPart *part = &e->part[0];
    const Pool *pool = &all->pool[part->piece];
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
        else if (e->literal)
            fprintf(out, "%g", strtod(part->text, NULL) + t->amount);
        else
            fprintf(out, "(%s %c %g)", part->text, t->amount < 0 ? '-' : '+', fabs(t->amount));
        break;
    case EDIT_ARRAY: fputs(value_text(pool, t, 0), out); break;
    case EDIT_VALUE:
        if (t->instead)
            fputc('0', out);
        else if (t->value[0] && t->amount != 0)
            fprintf(out, "(%s %c ", part->text, t->amount < 0 ? '-' : '+'), print_product(pool, t, out),
                fputc(')', out);
        else if (t->value[0] && pool->value[t->value[0] - 1]->type.base == BASE_INTEGER)
            fprintf(out, "(double)%s", value_text(pool, t, 0));
        else if (t->value[0])
            fputs(value_text(pool, t, 0), out);
        else if (e->literal)
            fprintf(out, "%g", 1 + t->amount * strtod(part->text, NULL));
        else
            fprintf(out, "(1 %c %s)", t->amount < 0 ? '-' : '+', part->text);
        break;
    case EDIT_FACTOR: print_factor(all, e, t, out); break;
    case EDIT_TERM:
        if (strcmp(part->text, "0") != 0)
            fprintf(out, "%s %c ", part->text, t->amount < 0 ? '-' : '+');
        else if (t->amount < 0)
            fputc('-', out);
        print_product(pool, t, out);
        break;
    case EDIT_GUARD: print_guard(pool, t, part->text, out); break;
    case EDIT_ADDED: print_addition(all, e, t, out); break;
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
        return t->instead        ? "another product belongs here"
               : value           ? e->what
               : t->amount == -2 ? "a sign is wrong"
               : t->amount == -1 ? "this is one too many"
                                 : "a constant factor is wrong";
    case EDIT_ADDED:
        return t->instead == 1 ? "something is not set to 0" : t->instead ? "a factor is missing" : e->what;
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

/* ---- Before a condition or a loop, and behind it ---- */

static const Loop *loop_of(const Edits *all, int piece) {
    for (long i = 0; i < all->s->loops; i++)
        if (all->s->loop[i].start == piece || all->s->loop[i].condition == piece) return &all->s->loop[i];
    return NULL;
}

static bool is_of_name(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* The text with a name, but not a member's, replaced. */
static void print_renamed(const char *text, const char *name, const char *by, FILE *out) {
    size_t n = strlen(name);
    for (char before = ' '; *text; before = *text++) {
        bool begins = !is_of_name(before) && before != '.' && before != '>';
        if (begins && strncmp(text, name, n) == 0 && !is_of_name(text[n]))
            fputs(by, out), text += n - 1;
        else
            fputc(*text, out);
    }
}

/* What is added where a loop has ended; its variable is at its bound then. */
static void print_behind(const Edits *all, const Loop *l, const char *added, FILE *out) {
    const Expression *condition = all->tree[l->condition];
    const Expression *bound =
        condition && condition->kind == EXPRESSION_COMPARED ? condition->part->next : NULL;
    const char *name = edits_tokens(all, l->variable, l->variable + 1);
    if (bound && token_is(all->s, bound->joint, "<"))
        print_renamed(added, name, edits_tokens(all, bound->begin, bound->end), out);
    else
        fputs(added, out);
}

static void show_around(const Edits *all, const RepairTrial *t, char is[REPAIR_SHOWN],
                        char becomes[REPAIR_SHOWN]) {
    const Edit *e = &all->edit[t->edit - 1];
    const Loop *l = e->before ? NULL : loop_of(all, e->part[0].piece);
    const Piece *p = &all->s->piece[e->part[0].piece - e->before];
    const char *head = l ? edits_loop_head(all, l->start)
                       : p->kind == PIECE_CONDITION
                           ? edits_text(all, "if (%s)", edits_tokens(all, p->begin, p->end))
                           : edits_tokens(all, p->shown, p->shown_end);
    char *added = NULL, *text = NULL;
    size_t size;
    FILE *out = open_memstream(&added, &size);
    if (out && e->statement) fputs(e->statement, out);
    if (out && !e->statement) print_addition(all, e, t, out);
    if (!out || fclose(out) != 0 || !(out = open_memstream(&text, &size))) {
        free(added);
        return;
    }
    if (e->before)
        fprintf(out, "%s; %s", head, added);
    else if (!l || e->part[0].piece == l->start)
        fprintf(out, "%s; %s", added, head);
    else
        fprintf(out, "%s …; ", head), e->head ? (void)fputs(added, out) : print_behind(all, l, added, out);
    if (fclose(out) == 0) shorten(becomes, text), shorten(is, head);
    free(added);
    free(text);
}

/* Whether there is more between two pieces than between statements that follow each other. */
static bool are_apart(const Piece *a, const Piece *b) {
    enum { NEAR = 8 };
    return b->shown > a->shown_end + NEAR;
}

/* What an edit changes, as it is: its pieces with what is between them, or without where that is much. */
static void show_pieces(const Edits *all, const Edit *e, char is[REPAIR_SHOWN]) {
    const char *text = "";
    for (int i = 0, from = 0; i < e->parts; i++) {
        const Piece *first = &all->s->piece[e->part[from].piece], *p = &all->s->piece[e->part[i].piece];
        bool last = i + 1 == e->parts;
        if (!last && !are_apart(p, &all->s->piece[e->part[i + 1].piece])) continue;
        text = edits_text(all, "%s%s%s", text, edits_tokens(all, first->shown, p->shown_end),
                          last ? "" : "; … ");
        from = i + 1;
    }
    shorten(is, text);
}

int edited_source_show(const Edits *all, const RepairTrial *t, char is[REPAIR_SHOWN],
                       char becomes[REPAIR_SHOWN]) {
    const Edit *e = &all->edit[t->edit - 1];
    const Piece *first = &all->s->piece[e->part[0].piece],
                *last = &all->s->piece[e->part[e->parts - 1].piece];
    int at = first->shown, line = all->s->token[first[-e->before].begin].line;
    is[0] = becomes[0] = 0;
    if (e->statement ? e->from < 0 : e->kind == EDIT_ADDED && !e->part[0].text[0]) {
        show_around(all, t, is, becomes);
        return line;
    }
    if (e->statement) {
        shorten(is, edits_tokens(all, e->from, e->from_end)), shorten(becomes, e->statement);
        return all->s->token[e->from].line;
    }
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return 0;
    for (int i = 0; i < e->parts; i++) {
        const EditPart *part = &e->part[i];
        const Piece *piece = &all->s->piece[part->piece],
                    *before = &all->s->piece[e->part[i - (i > 0)].piece];
        if (are_apart(before, piece)) {
            print_tokens(all, at, before->shown_end, out);
            fputs("; … ", out);
            at = piece->shown;
        }
        bool turns = turns_joint(all, e, t), drops = turns && !t->instead && t->amount == -1;
        if (drops)
            fputs(edits_rest(all, at, part->begin - 1), out);
        else
            print_tokens(all, at, part->begin - turns, out);
        if (i == 0 || e->kind != EDIT_TEXT)
            print_replacement(all, e, t, out);
        else
            fputs(part->text, out);
        at = part->end;
    }
    print_tokens(all, at, last->shown_end, out);
    if (fclose(out) == 0) shorten(becomes, text + strspn(text, " "));
    show_pieces(all, e, is);
    for (size_t n = strlen(becomes); n && becomes[n - 1] == ' ';) becomes[--n] = 0;
    free(text);
    return line;
}
