#include "repair/edited_source.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORDS(...)   #__VA_ARGS__
#define MEMBERS(...) WORDS(__VA_ARGS__)

/* In front of the source: a RepairTrial, and what an edit of each kind makes of what it stands around. */
static const char preamble[] = "struct { " MEMBERS(
    REPAIR_TRIAL_MEMBERS) " } " REPAIR_TRIAL ";"
                          "static inline int repair_wants(int i) {"
                          "    return " REPAIR_TRIAL ".value[0] == i || " REPAIR_TRIAL
                          ".value[1] == i || " REPAIR_TRIAL ".value[2] == i; }"
                          "static inline void repair_pick(const double *value, const void *const *array) {"
                          "    for (int k = 0; k < 3; k++) {"
                          "        int i = " REPAIR_TRIAL ".value[k];"
                          "        double v = i ? value[i] : 1;"
                          "        " REPAIR_TRIAL ".picked[k] = " REPAIR_TRIAL ".below[k] ? 1 / v : v; }"
                          "    " REPAIR_TRIAL ".array = array[" REPAIR_TRIAL ".value[0]]; }"
                          "static inline long repair_index(int edit, long v) {"
                          "    long by = (long)" REPAIR_TRIAL ".picked[0], more = (long)" REPAIR_TRIAL
                          ".amount;"
                          "    return " REPAIR_TRIAL ".edit != edit ? v : !" REPAIR_TRIAL
                          ".value[0] ? v + more"
                          "         : more == 1 ? v * by : more == 2 ? v + by : more == 3 ? v - by : by; }"
                          "static inline void *repair_array(int edit, const void *v) {"
                          "    return (void *)(" REPAIR_TRIAL ".edit != edit ? v : " REPAIR_TRIAL ".array); }"
                          "static inline double repair_value(int edit, double v) {"
                          "    double by = " REPAIR_TRIAL ".picked[0], more = " REPAIR_TRIAL ".amount;"
                          "    return " REPAIR_TRIAL ".edit != edit ? v : !" REPAIR_TRIAL
                          ".value[0] ? 1 + more * v"
                          "         : more != 0 ? v + more * by * " REPAIR_TRIAL ".picked[1] * " REPAIR_TRIAL
                          ".picked[2] : by; }"
                          "static inline double repair_factor(int edit, double v) {"
                          "    return " REPAIR_TRIAL ".edit != edit ? v : v * " REPAIR_TRIAL
                          ".picked[0] * (1 + " REPAIR_TRIAL ".amount); }"
                          "static inline double repair_term(int edit, double v) {"
                          "    return " REPAIR_TRIAL ".edit != edit ? v"
                          "         : v + " REPAIR_TRIAL ".amount * " REPAIR_TRIAL
                          ".picked[0] * " REPAIR_TRIAL ".picked[1] * " REPAIR_TRIAL ".picked[2]; }"
                          "static inline void repair_add(int edit, double *const *target) {"
                          "    if (" REPAIR_TRIAL ".edit == edit) *target[" REPAIR_TRIAL
                          ".target] = repair_term(edit, *target[" REPAIR_TRIAL ".target]); }";

static const char *const around[] = {[EDIT_INDEX] = "index",
                                     [EDIT_ARRAY] = "array",
                                     [EDIT_VALUE] = "value",
                                     [EDIT_FACTOR] = "factor",
                                     [EDIT_TERM] = "term"}; /* EDIT_ADDED stands behind it */

/* The pieces with their edits one after the other. */
typedef struct Writer {
    const Edits *all;
    const bool *left_out;
    FILE *out;
    long line, room;
    int *edit_of_line;
    int *first, *next; /* of each piece's parts of edits: 3 * edit + part, or -1 */
} Writer;

static void end_line(Writer *w, int edit) {
    long before = w->line++;
    w->edit_of_line = array_grown(w->edit_of_line, before, &w->room, sizeof *w->edit_of_line);
    w->edit_of_line[before] = edit;
    fputc('\n', w->out);
}

static void print_tokens(Writer *w, int begin, int end) {
    fprintf(w->out, " %s ", edits_tokens(w->all, begin, end));
}

/* A text with the amount where @ stands. */
static void print_text(Writer *w, const char *text) {
    for (; *text; text++)
        if (*text == '@')
            fputs(REPAIR_TRIAL ".amount", w->out);
        else
            fputc(*text, w->out);
}

/* An element may lie outside of its array where nobody asks for it. */
static bool may_be_read(const CSource *s, const Piece *piece, const Value *v) {
    bool element = false, plain = true;
    for (int i = v->begin; i < v->end; i++) {
        if (token_is(s, i, "[")) element = true, plain &= token_is(s, i + 2, "]");
        if (token_is(s, i, "(") && i > v->begin)
            element = true, plain = false; /* a call reads what it likes */
    }
    return !element || (plain && piece->kind == PIECE_STATEMENT);
}

/* All values and arrays of the pool, of which the trial takes its own. */
static void pick(Writer *w, int number) {
    const CSource *s = w->all->s;
    const Pool *pool = &w->all->pool[number];
    fputs("repair_pick((const double[]){1.", w->out);
    for (int i = 0; i < pool->values; i++) {
        const Value *v = pool->value[i];
        if (v->type.depth)
            fputs(", 0", w->out);
        else if (may_be_read(s, &s->piece[number], v))
            fprintf(w->out, ", %s", v->text);
        else
            fprintf(w->out, ", repair_wants(%d) ? %s : 0", 1 + i, v->text);
    }
    fputs("}, (const void *const[]){0", w->out);
    for (int i = 0; i < pool->values; i++)
        fprintf(w->out, ", %s", pool->value[i]->type.depth ? pool->value[i]->text : "0");
    fputs("}), ", w->out);
}

static bool stands_around(const Edit *e) {
    return e->kind != EDIT_TEXT && e->kind != EDIT_ADDED;
}

/* What is added behind the piece. */
static void print_additions(Writer *w, int piece) {
    const Pool *pool = &w->all->pool[piece];
    for (int at = w->first[piece]; at >= 0; at = w->next[at]) {
        if (w->all->edit[at / 3].kind != EDIT_ADDED) continue;
        fprintf(w->out, ", repair_add(%d, (double *const[]){0", 1 + at / 3);
        for (int i = 0; i < pool->targets; i++) fprintf(w->out, ", &(%s)", pool->target[i]->text);
        fputs("})", w->out);
    }
}

/* The brackets of edits that begin at token i, the widest first, or end there. */
static void print_brackets(Writer *w, int piece, int i, int end) {
    const Edit *edit = w->all->edit;
    for (int at = w->first[piece]; at >= 0; at = w->next[at])
        if (stands_around(&edit[at / 3]) && edit[at / 3].part[0].end == i)
            fputs(edit[at / 3].kind == EDIT_ARRAY ? "))" : ")", w->out);
    for (int to = end; to > i; to--)
        for (int at = w->first[piece]; at >= 0; at = w->next[at]) {
            const Edit *e = &edit[at / 3];
            if (!stands_around(e) || e->part[0].begin != i || e->part[0].end != to) continue;
            if (e->kind == EDIT_ARRAY) fprintf(w->out, "((__typeof__(&(%s)[0]))", e->part[0].text);
            fprintf(w->out, "repair_%s(%d, ", around[e->kind], 1 + at / 3);
        }
}

/* One variant for all edits that stand around something. */
static void print_around(Writer *w, int number, const char *cast) {
    const Piece *piece = &w->all->s->piece[number];
    end_line(w, -1);
    fprintf(w->out, REPAIR_TRIAL ".piece == %d ? %s(", 1 + number, cast);
    pick(w, number);
    for (int i = piece->begin; i <= piece->end; i++) {
        print_brackets(w, number, i, piece->end);
        if (i < piece->end) print_tokens(w, i, i + 1);
    }
    print_additions(w, number);
    fputs(") :", w->out);
    end_line(w, (int)w->all->edits + number);
}

static void print_piece(Writer *w, int number) {
    const Edits *all = w->all;
    const Piece *piece = &all->s->piece[number];
    const char *cast = piece->kind == PIECE_STATEMENT ? "(void)" : "";
    bool any = false;
    fputc('(', w->out);
    for (int at = w->first[number]; at >= 0; at = w->next[at]) {
        const Edit *e = &all->edit[at / 3];
        const EditPart *part = &e->part[at % 3];
        any |= e->kind != EDIT_TEXT;
        if (w->left_out[at / 3] || e->kind != EDIT_TEXT) continue;
        end_line(w, -1);
        fprintf(w->out, REPAIR_TRIAL ".edit == %d ? %s(", 1 + at / 3, cast);
        print_tokens(w, piece->begin, part->begin);
        print_text(w, part->text);
        print_tokens(w, part->end, piece->end);
        fputs(") :", w->out);
        end_line(w, at / 3);
    }
    if (any && !w->left_out[all->edits + number]) print_around(w, number, cast);
    fputs(cast, w->out);
    fputc('(', w->out);
    print_tokens(w, piece->begin, piece->end);
    fputs("))", w->out);
}

static int by_place(const void *a, const void *b) {
    const Piece *const *p = a, *const *q = b;
    return ((*p)->begin > (*q)->begin) - ((*p)->begin < (*q)->begin);
}

long edited_source_write(const Edits *all, const bool *left_out, FILE *out, int **edit_of_line) {
    const CSource *s = all->s;
    Writer w = {.all = all, .left_out = left_out, .out = out};
    size_t pieces = (size_t)s->pieces;
    w.first = arena_alloc(s->arena, (pieces + 1) * sizeof *w.first);
    w.next = arena_alloc(s->arena, (size_t)(3 * all->edits + 1) * sizeof *w.next);
    const Piece **order = arena_alloc(s->arena, (pieces + 1) * sizeof *order);
    for (size_t i = 0; i < pieces; i++) w.first[i] = -1, order[i] = &s->piece[i];
    for (long i = all->edits - 1; i >= 0; i--)
        for (int k = 0; k < all->edit[i].parts; k++) {
            int piece = all->edit[i].part[k].piece;
            w.next[3 * i + k] = w.first[piece], w.first[piece] = (int)(3 * i + k);
        }
    qsort(order, pieces, sizeof *order, by_place);
    fputs(preamble, out);
    end_line(&w, -1);
    const char *at = s->text;
    for (size_t i = 0; i < pieces; i++) {
        int number = (int)(order[i] - s->piece);
        if (w.first[number] < 0) continue;
        const Token *begin = &s->token[order[i]->begin], *last = &s->token[order[i]->end - 1];
        for (; at < s->text + begin->begin; at++)
            if (*at == '\n')
                end_line(&w, -1);
            else
                fputc(*at, out);
        print_piece(&w, number);
        at = s->text + last->begin + last->length;
    }
    fputs(at, out);
    *edit_of_line = w.edit_of_line;
    return w.line;
}
