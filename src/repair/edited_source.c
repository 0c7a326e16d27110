#include "repair/edited_source.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORDS(...)  #__VA_ARGS__
#define SOURCE(...) WORDS(__VA_ARGS__)

/* In front of the source: a RepairTrial, and what an edit of each kind makes of what it stands around. */
static const char preamble[] = "struct { " SOURCE(REPAIR_TRIAL_MEMBERS) " } " REPAIR_TRIAL ";" SOURCE(
    static inline int repair_wanted(int k) {
        if (k < 5) return repair_trial.value[k];
        return repair_trial.reads >> (k - 5) & 1 ? k - 4 : 0;
    }) SOURCE(static inline int repair_values(void) {
    if (repair_trial.ran++ < repair_trial.room) return 4 + (int)repair_trial.fields;
    return repair_trial.value[1] ? 5 : 1;
}) SOURCE(static inline void repair_take(int k, double v, const void *array) {
    if (k >= 5) repair_trial.record[(repair_trial.ran - 1) * repair_trial.fields + k - 4] = v;
    if (k == 0) repair_trial.array = array;
    if (k < 2) repair_trial.compared[k] = v;
    if (k < 5) repair_trial.picked = (k ? repair_trial.picked : 1) * REPAIR_FORMED(repair_trial.form[k], v);
}) SOURCE(static inline double repair_more(double v) {
    if (repair_trial.ran <= repair_trial.room)
        repair_trial.record[(repair_trial.ran - 1) * repair_trial.fields] = v;
    if (repair_trial.only) return repair_trial.only == repair_trial.ran ? repair_trial.amount : 0;
    return repair_trial.amount * repair_trial.picked;
}) SOURCE(static inline long repair_index(int edit, long v) {
    long by = (long)repair_trial.picked, more = (long)repair_trial.amount;
    if (repair_trial.edit != edit) return v;
    if (!repair_trial.value[0]) return v + more;
    return more == 1 ? v * by : more == 2 ? v + by : more == 3 ? v - by : by;
}) SOURCE(static inline void *repair_array(int edit, const void *v) {
    return (void *)(repair_trial.edit != edit ? v : repair_trial.array);
}) SOURCE(static inline double repair_value(int edit, double v) {
    if (repair_trial.edit != edit) return v;
    if (repair_trial.instead) return 0;
    if (repair_trial.only || (repair_trial.value[0] && repair_trial.amount != 0)) return v + repair_more(v);
    return repair_trial.value[0] ? repair_trial.picked : 1 + repair_trial.amount * v;
}) SOURCE(static inline double repair_factor(int edit, double v) {
    if (repair_trial.edit != edit) return v;
    if (repair_trial.only) return v + repair_more(v);
    return repair_trial.instead ? repair_more(v) : v * repair_trial.picked * (1 + repair_trial.amount);
}) SOURCE(static inline double repair_term(int edit, double v) {
    return repair_trial.edit != edit ? v : v + repair_more(v);
}) SOURCE(static inline int repair_guard(int edit) {
    double a = repair_trial.compared[0], b = repair_trial.compared[1], how = repair_trial.amount;
    int holds = how == 0 ? a != 0 : how == 1 ? a < b : how == 2 ? a <= b : a == b;
    return repair_trial.edit != edit || holds != repair_trial.instead;
}) SOURCE(static inline void repair_add(int edit, double *const *target, const void *const *array) {
    if (repair_trial.edit == edit && array[repair_trial.target])
        *target[repair_trial.target] =
            repair_trial.instead == 1 ? 0
            : repair_trial.instead == 2
                ? *target[repair_trial.target] * repair_trial.picked * (1 + repair_trial.amount)
                : *target[repair_trial.target] + repair_more(*target[repair_trial.target]);
}) SOURCE(static double repair_kept; /* from one round of a loop to the next */
);

static const char *const around[] = {[EDIT_INDEX] = "index",
                                     [EDIT_ARRAY] = "array",
                                     [EDIT_VALUE] = "value",
                                     [EDIT_FACTOR] = "factor",
                                     [EDIT_TERM] = "term"}; /* the others stand before or behind it */

/* The pieces with their edits one after the other. */
typedef struct Writer {
    const Edits *all;
    const bool *left_out;
    FILE *out;
    long line, room;
    int *edit_of_line;
    int *first, *next; /* of each piece's parts of edits: EDIT_PARTS * edit + part, or -1 */
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

/* Behind edits, pieces and copies. */
static int value_number(const Edits *all, int pool, int value) {
    return (int)(all->edits + all->s->pieces + MOST_COPIES) + pool * POOL + value;
}

long edited_source_numbers(const Edits *all) {
    return value_number(all, (int)all->s->pieces + MOST_COPIES, 0);
}

/* The pool's values and arrays, each in a line of its own, of which the trial takes its own: an element may lie outside of its
 * array where nobody asks for it, and a call does what it likes. */
static void pick(Writer *w, int number) {
    const Pool *pool = &w->all->pool[number];
    fputs("({ for (int repair_k = 0, repair_n = repair_values(); repair_k < repair_n; repair_k++) {"
          " double repair_v = 1; const void *repair_a = 0; switch (repair_wanted(repair_k)) {",
          w->out);
    end_line(w, (int)w->all->edits + number);
    for (int i = 0; i < pool->values; i++) {
        const Value *v = pool->value[i];
        int value = value_number(w->all, number, i);
        if (w->left_out[value])
            fprintf(w->out, " case %d: repair_v = 0. / 0; break;", 1 + i);
        else
            fprintf(w->out, " case %d: repair_%c = %s; break;", 1 + i, v->type.depth ? 'a' : 'v', v->text);
        end_line(w, value);
    }
    fputs(" } repair_take(repair_k, repair_v, repair_a); } }), ", w->out);
}

static bool stands_around(const Edit *e) {
    return e->kind != EDIT_TEXT && e->kind != EDIT_ADDED && e->kind != EDIT_GUARD;
}

static void print_addition(Writer *w, int edit) {
    const Pool *pool = &w->all->pool[w->all->edit[edit].pool];
    fprintf(w->out, "repair_add(%d, (double *const[]){0", 1 + edit);
    for (int i = 0; i < pool->targets; i++) fprintf(w->out, ", &(%s)", pool->target[i]->text);
    fputs("}, (const void *const[]){0", w->out);
    for (int i = 0; i < pool->targets; i++)
        if (pool->target[i]->array)
            fprintf(w->out, ", %s", pool->target[i]->array);
        else
            fputs(", \"\"", w->out);
    fputs("}), ", w->out);
}

/* What is added: before a value, and behind a statement; where a condition ends a loop, behind that. */
static void print_additions(Writer *w, int piece) {
    for (int at = w->first[piece]; at >= 0; at = w->next[at])
        if (w->all->edit[at / EDIT_PARTS].kind == EDIT_ADDED) print_addition(w, at / EDIT_PARTS);
}

/* Before a statement that a condition may go before. False: none may. */
static bool print_guard(Writer *w, int piece) {
    for (int at = w->first[piece]; at >= 0; at = w->next[at])
        if (w->all->edit[at / EDIT_PARTS].kind == EDIT_GUARD) {
            fprintf(w->out, "repair_guard(%d) ? (void)(", 1 + at / EDIT_PARTS);
            return true;
        }
    return false;
}

/* The brackets of edits that begin at token i, the widest first, or end there. */
static void print_brackets(Writer *w, int piece, int i, int end) {
    const Edit *edit = w->all->edit;
    for (int at = w->first[piece]; at >= 0; at = w->next[at])
        if (stands_around(&edit[at / EDIT_PARTS]) && edit[at / EDIT_PARTS].part[at % EDIT_PARTS].end == i)
            fputs(edit[at / EDIT_PARTS].kind == EDIT_ARRAY ? "))" : ")", w->out);
    for (int to = end; to > i; to--)
        for (int at = w->first[piece]; at >= 0; at = w->next[at]) {
            const Edit *e = &edit[at / EDIT_PARTS];
            const EditPart *part = &e->part[at % EDIT_PARTS];
            if (!stands_around(e) || part->begin != i || part->end != to) continue;
            if (e->kind == EDIT_ARRAY) fprintf(w->out, "((__typeof__(&(%s)[0]))", part->text);
            fprintf(w->out, "repair_%s(%d, ", around[e->kind], 1 + at / EDIT_PARTS);
        }
}

/* One variant for all edits that stand around something. */
static void print_around(Writer *w, int number, const char *cast) {
    const Piece *piece = &w->all->s->piece[number];
    bool ends = piece->kind == PIECE_CONDITION && edits_end_loop(w->all->s, number);
    end_line(w, -1);
    fprintf(w->out, REPAIR_TRIAL ".piece == %d ? %s(", 1 + number, cast);
    pick(w, number);
    if (piece->kind != PIECE_STATEMENT && !ends) print_additions(w, number);
    if (ends) fputc('(', w->out);
    bool guarded = print_guard(w, number);
    for (int i = piece->begin; i <= piece->end; i++) {
        print_brackets(w, number, i, piece->end);
        if (i < piece->end) print_tokens(w, i, i + 1);
    }
    if (guarded) fputs(") : (void)0", w->out);
    fputs(ends ? ") || (" : piece->kind == PIECE_STATEMENT ? ", " : "", w->out);
    if (piece->kind == PIECE_STATEMENT || ends) print_additions(w, number), fputc('0', w->out);
    fputs(ends ? ")) :" : ") :", w->out);
    end_line(w, (int)w->all->edits + number);
}

/* One variant for what is added in a copied loop. */
static void print_copy(Writer *w, int edit, const char *cast) {
    const Edit *e = &w->all->edit[edit];
    const Piece *piece = &w->all->s->piece[e->part[0].piece];
    bool ends = piece->kind == PIECE_CONDITION && edits_end_loop(w->all->s, e->part[0].piece);
    bool behind = ends || (piece->kind == PIECE_STATEMENT && !e->before && e->part[0].text[0]);
    end_line(w, -1);
    fprintf(w->out, REPAIR_TRIAL ".piece == %d ? %s(", 1 + e->pool, cast);
    if (behind) print_tokens(w, piece->begin, piece->end), fputs(ends ? "|| (" : ", ", w->out);
    fprintf(w->out, "({ %s { ", e->head);
    pick(w, e->pool);
    print_addition(w, edit);
    fputs("(void)0; } })", w->out);
    if (!behind) fputs(", ", w->out), print_tokens(w, piece->begin, piece->end);
    fputs(ends ? ", 0)) :" : ") :", w->out);
    end_line(w, (int)w->all->edits + e->pool);
}

static void print_piece(Writer *w, int number) {
    const Edits *all = w->all;
    const Piece *piece = &all->s->piece[number];
    const char *cast = piece->kind == PIECE_STATEMENT ? "(void)" : "";
    bool any = false;
    fputc('(', w->out);
    for (int at = w->first[number]; at >= 0; at = w->next[at]) {
        const Edit *e = &all->edit[at / EDIT_PARTS];
        const EditPart *part = &e->part[at % EDIT_PARTS];
        any |= e->kind != EDIT_TEXT && !e->head;
        if (e->head && !w->left_out[all->edits + e->pool]) print_copy(w, at / EDIT_PARTS, cast);
        if (w->left_out[at / EDIT_PARTS] || e->kind != EDIT_TEXT) continue;
        end_line(w, -1);
        fprintf(w->out, REPAIR_TRIAL ".edit == %d ? %s(", 1 + at / EDIT_PARTS, cast);
        print_tokens(w, piece->begin, part->begin);
        print_text(w, part->text);
        print_tokens(w, part->end, piece->end);
        fputs(") :", w->out);
        end_line(w, at / EDIT_PARTS);
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
    w.next = arena_alloc(s->arena, (size_t)(EDIT_PARTS * all->edits + 1) * sizeof *w.next);
    const Piece **order = arena_alloc(s->arena, (pieces + 1) * sizeof *order);
    for (size_t i = 0; i < pieces; i++) w.first[i] = -1, order[i] = &s->piece[i];
    for (long i = all->edits - 1; i >= 0; i--)
        for (int k = 0; k < all->edit[i].parts; k++) {
            int piece = all->edit[i].part[k].piece;
            w.next[EDIT_PARTS * i + k] = w.first[piece], w.first[piece] = (int)(EDIT_PARTS * i + k);
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
