/* Statements in another place: beside others, before a loop, in it or behind it; sums that begin anew in another loop. */
#include "repair/edits_units.h"
#include <stdlib.h>

/* How many statements one is moved past, and how many loops. That one is right elsewhere is seldom chance: it costs little. */
enum { FAR = 6, LOOPS = 2 };

/* ---- Two that follow each other ---- */

/* The other way round; or their right sides. */
static void exchange(Edits *all, int first, int second) {
    const Piece *a = &all->s->piece[first], *b = &all->s->piece[second];
    Edit *e = edits_add(all, EDIT_TEXT, 0, "two statements are in the wrong order", first, a->begin, a->end,
                        edits_tokens(all, b->begin, b->end));
    edits_add_part(e, second, b->begin, b->end, edits_tokens(all, a->begin, a->end));
    const Expression *one = all->tree[first], *two = all->tree[second];
    if (!two || one->kind != EXPRESSION_ASSIGNED || two->kind != EXPRESSION_ASSIGNED) return;
    one = one->part->next, two = two->part->next;
    e = edits_add(all, EDIT_TEXT, 3, "two values are exchanged", first, one->begin, one->end,
                  edits_tokens(all, two->begin, two->end));
    edits_add_part(e, second, two->begin, two->end, edits_tokens(all, one->begin, one->end));
}

/* A statement and a declared value that follow each other: a loop's first value is further away. */
static void exchange_value(Edits *all, int first) {
    const CSource *s = all->s;
    const Piece *a = &s->piece[first], *b = a + 1;
    const char *one = edits_tokens(all, a->begin, a->end), *two = edits_tokens(all, b->begin, b->end);
    bool declares = a->kind == PIECE_VALUE, near = b->shown - a->end < 4 && token_is(s, a->end, ";");
    const Piece *value = declares ? a : b;
    if (a->kind == b->kind || a->kind == PIECE_CONDITION || b->kind == PIECE_CONDITION) return;
    if (!near || value->shown == value->begin) return;
    if (declares && !edits_in_scope(s, b->begin, b->end, a->shown)) return;
    Edit *e = edits_add(all, EDIT_TEXT, 0, "two statements are in the wrong order", first, a->begin, a->end,
                        declares ? edits_text(all, "(%s, %s)", two, one) : "(void)0");
    edits_add_part(e, first + 1, b->begin, b->end,
                   declares
                       ? "(void)0"
                       : edits_text(all, "({ __typeof__(%s) repair_v = %s; %s; repair_v; })", two, two, one));
    e->statement = edits_text(all, "%s; %s", edits_tokens(all, b->shown, b->shown_end),
                              edits_tokens(all, a->shown, a->shown_end));
    e->from = a->begin, e->from_end = a->end;
}

static void find_exchanges(Edits *all) {
    const CSource *s = all->s;
    for (int i = 0; i + 1 < s->pieces; i++) {
        const Piece *a = &s->piece[i];
        if (!all->tree[i] || !s->function[a->function].backward) continue;
        if (all->tree[i + 1]) exchange_value(all, i);
        if (edits_is_statement(s, a) && a[1].begin == a->end + 1 && a[1].kind == PIECE_STATEMENT)
            exchange(all, i, i + 1);
    }
}

/* ---- One that stands elsewhere ---- */

static const char *whole(const Units *u, int unit) {
    return edits_tokens(u->all, u->unit[unit].begin, u->unit[unit].end);
}

/* Without its semicolon. */
static const char *bare(const Units *u, int unit) {
    int end = u->unit[unit].end;
    return edits_tokens(u->all, u->unit[unit].begin, end - token_is(u->s, end - 1, ";"));
}

/* The change by which it stands where the part has it. */
static void add_move(Units *u, int unit, EditPart to, int cost, const char *what, const char *shown) {
    const Unit *own = &u->unit[unit];
    if (u->all->edits >= MOST_EDITS) return;
    Edit *e = edits_add(u->all, EDIT_TEXT, cost, what, to.piece, to.begin, to.end, to.text);
    const EditPart out = unit_left_out(u, unit);
    edits_add_part(e, out.piece, out.begin, out.end, out.text);
    e->statement = shown;
    e->from = own->begin, e->from_end = own->end - token_is(u->s, own->end - 1, ";");
}

/* Before another one, which it is too late for now. */
static void move_up(Units *u, int unit, int other, int cost) {
    EditPart to;
    int before = unit_before(u, other);
    const char *text = whole(u, unit);
    if (!unit_put_before(u, other, text, &to) && !(before >= 0 && unit_put_behind(u, before, text, &to)))
        return;
    add_move(u, unit, to, cost,
             edits_text(u->all, "this is too late: it belongs before line %d", unit_line(u, other)),
             edits_text(u->all, "%s %s", whole(u, unit), unit_shown(u, other)));
}

static void move_down(Units *u, int unit, int other, int cost) {
    EditPart to;
    int next = unit_next(u, other);
    const char *text = whole(u, unit);
    if (!(next >= 0 && unit_put_before(u, next, text, &to)) && !unit_put_behind(u, other, text, &to)) return;
    add_move(u, unit, to, cost,
             edits_text(u->all, "this is too early: it belongs behind line %d", unit_line(u, other)),
             edits_text(u->all, "%s; %s", unit_shown(u, other), bare(u, unit)));
}

/* Past those beside it with which it has something to do. */
static void move_past(Units *u, int unit, bool up) {
    const CSource *s = u->s;
    int at = unit;
    for (int passed = 1; passed <= FAR; passed++) {
        at = up ? unit_before(u, at) : unit_next(u, at);
        if (at < 0) return;
        const Unit *own = &u->unit[unit], *other = &u->unit[at];
        if (other->kind == UNIT_OTHER && other->jumps) return;
        if (up && !units_known(u, own->begin, own->end, other->begin)) return;
        if (!units_touch(u, unit, at) && !other->jumps) continue;
        bool plain = own->kind == UNIT_PLAIN && (other->kind == UNIT_PLAIN || other->kind == UNIT_VALUE);
        if (passed == 1 && plain && s->function[s->piece[own->first].function].backward) continue;
        if (up)
            move_up(u, unit, at, passed > 1);
        else
            move_down(u, unit, at, passed > 1);
    }
}

/* Out of the loops around it. */
static void move_out(Units *u, int unit) {
    const Unit *own = &u->unit[unit];
    int loop = own->around;
    for (int i = 0; i < LOOPS && loop >= 0 && u->unit[loop].kind == UNIT_LOOP; i++) {
        EditPart to;
        int line = unit_line(u, loop), next = unit_next(u, loop);
        const char *text = whole(u, unit), *head = unit_shown(u, loop);
        if (!units_known(u, own->begin, own->end, u->unit[loop].begin)) return;
        if (unit_put_before(u, loop, text, &to))
            add_move(u, unit, to, 3, edits_text(u->all, "this belongs before the loop of line %d", line),
                     edits_text(u->all, "%s %s", text, head));
        if ((next >= 0 && unit_put_before(u, next, text, &to)) || unit_put_behind(u, loop, text, &to))
            add_move(u, unit, to, 3, edits_text(u->all, "this belongs behind the loop of line %d", line),
                     edits_text(u->all, "%s; %s", head, bare(u, unit)));
        loop = u->unit[loop].around;
    }
}

static const char *head(const Units *u, int loop) {
    return edits_loop_head(u->all, u->unit[loop].first);
}

/* Into a loop behind it, as its first, or into one before it, as its last. */
static void move_into(Units *u, int unit, bool up) {
    enum { NEAR = 3 };
    int at = unit;
    for (int passed = 1; passed <= NEAR; passed++) {
        at = up ? unit_before(u, at) : unit_next(u, at);
        if (at < 0) return;
        const Unit *own = &u->unit[unit];
        int inside = u->unit[at].kind == UNIT_LOOP && units_touch(u, unit, at) ? unit_inside(u, at, up) : -1;
        if (inside < 0 || !units_known(u, own->begin, own->end, u->unit[inside].begin)) continue;
        EditPart to;
        bool there = up ? unit_put_behind(u, inside, whole(u, unit), &to)
                        : unit_put_before(u, inside, whole(u, unit), &to);
        if (there)
            add_move(u, unit, to, 3,
                     edits_text(u->all, "this belongs into the loop of line %d", unit_line(u, at)),
                     edits_text(u->all, up ? "%s { … %s }" : "%s { %s …", head(u, at), whole(u, unit)));
    }
}

/* ---- Sums that begin in the wrong loop ---- */

/* What begins a sum: a name that is set to 0, and the statement that does it again. */
typedef struct Beginning {
    int unit, name; /* name: a token */
    int from, from_end;
    const char *again, *shown;
} Beginning;

static bool is_zero(const CSource *s, int begin, int end) {
    for (int i = begin; i < end; i++)
        if (!token_is(s, i, ",") &&
            (s->token[i].kind != TOKEN_NUMBER || strtod(s->text + s->token[i].begin, NULL) != 0))
            return false;
    return begin < end;
}

/* A declared number, or a local array. */
static bool begins_value(const Units *u, int piece, Beginning *b) {
    const CSource *s = u->s;
    const Piece *p = &s->piece[piece];
    bool array = token_is(s, p->begin - 1, "{");
    int end = array ? token_closing(s, p->begin - 1, (int)s->tokens) : p->end, name = p->shown;
    bool plain = s->token[name].kind == TOKEN_NAME;
    if (!plain || !u->own[name] || (p->type.base != BASE_NUMBER && p->type.base != BASE_INTEGER))
        return false;
    if (p->type.depth || p->type.constant || !is_zero(s, p->begin, end)) return false;
    const char *text = edits_tokens(u->all, name, name + 1);
    const Unit *own = &u->unit[b->unit];
    int only = own->begin;
    Type type;
    c_source_declares(s, &only, own->end, &type);
    b->name = name, b->from_end = end + array;
    b->from = only == name && b->from_end == own->end - 1 ? own->begin : name;
    b->again = edits_text(u->all, array ? "__builtin_memset(%s, 0, sizeof %s);" : "%s = 0;", text, text);
    b->shown = edits_text(u->all, "%s;", edits_tokens(u->all, b->from, b->from_end));
    return true;
}

/* A statement that does it, or a loop over an array. */
static bool begins_again(const Units *u, int unit, Beginning *b) {
    const CSource *s = u->s;
    const Unit *own = &u->unit[unit];
    int inner = own->kind == UNIT_LOOP ? unit_inside(u, unit, false) : unit;
    if (!unit_moves(u, unit) || inner < 0 || u->unit[inner].kind != UNIT_PLAIN) return false;
    const Unit *sets = &u->unit[inner];
    const Expression *tree = sets->first == sets->last ? u->all->tree[sets->first] : NULL;
    bool alone = inner == unit || unit_next(u, inner) < 0;
    if (!tree || !alone) return false;
    bool cleared = token_is(s, tree->begin, "memset");
    bool set = tree->kind == EXPRESSION_ASSIGNED && token_is(s, tree->sign, "=") &&
               is_zero(s, tree->part->next->begin, tree->part->next->end);
    if (!cleared && !set) return false;
    b->name = cleared ? tree->begin + 2 : tree->part->begin;
    b->from = own->begin, b->from_end = own->end - token_is(s, own->end - 1, ";");
    b->again = whole(u, unit), b->shown = b->again;
    return u->own[b->name] != NULL;
}

/* How often a loop writes what begins, or once more where it may do so more than once in a round. */
static int count_writes(const Units *u, int loop, const Name *own) {
    int count = 0;
    for (int i = u->unit[loop].begin; i < u->unit[loop].end; i++) {
        if (u->own[i] != own || !u->role[i]) continue;
        count += u->role[i] == ROLE_SET ? 2 : 1;
        for (int k = loop + 1; k < u->units && u->unit[k].begin <= i; k++)
            count += u->unit[k].kind == UNIT_LOOP && i < u->unit[k].end;
    }
    return count;
}

/* In each round of a loop behind it. */
static void begin_anew(Units *u, const Beginning *b) {
    const Unit *own = &u->unit[b->unit];
    for (int i = b->unit + 1; i < u->units && u->unit[i].begin < own->close; i++) {
        const Unit *loop = &u->unit[i];
        int inside = loop->kind == UNIT_LOOP ? unit_inside(u, i, false) : -1;
        EditPart to;
        int writes = count_writes(u, i, u->own[b->name]);
        if (inside < 0 || !writes) continue;
        int where = u->unit[inside].begin;
        if (c_source_find(u->s, b->name, where) != u->own[b->name] ||
            (own->kind != UNIT_VALUE && !units_known(u, own->begin, own->end, where)) ||
            !unit_put_before(u, inside, b->again, &to) || u->all->edits >= MOST_EDITS)
            continue;
        /* What is added to once is no sum over a round. */
        Edit *e = edits_add(u->all, EDIT_TEXT, writes > 1 ? 2 : 4,
                            edits_text(u->all, "this belongs into the loop of line %d", unit_line(u, i)),
                            to.piece, to.begin, to.end, to.text);
        e->statement = edits_text(u->all, "%s { %s …", head(u, i), b->shown);
        e->from = b->from, e->from_end = b->from_end;
    }
}

/* A number that is declared in a loop, and has to keep from round to round what it holds. */
static void keep(Units *u, const Beginning *b) {
    const Edits *all = u->all;
    const Unit *own = &u->unit[b->unit];
    const Unit *loop = own->around >= 0 ? &u->unit[own->around] : NULL;
    const char *name = edits_tokens(all, b->name, b->name + 1);
    int value = own->first;
    while (u->s->piece[value].shown != b->name) value++;
    if (!loop || loop->kind != UNIT_LOOP || loop->jumps || !type_is_number(u->own[b->name]->type)) return;
    EditPart to;
    if (!unit_put_behind(u, unit_inside(u, own->around, true), edits_text(all, "repair_kept = %s;", name),
                         &to))
        return;
    const Piece *start = &u->s->piece[loop->first], *p = &u->s->piece[value];
    const char *is = edits_tokens(all, start->begin, start->end);
    if (!all->tree[loop->first] || all->edits >= MOST_EDITS) return;
    Edit *e = edits_add(
        u->all, EDIT_TEXT, 3,
        edits_text(all, "this belongs before the loop of line %d", unit_line(u, own->around)), loop->first,
        start->begin, start->end,
        edits_text(all, start->kind == PIECE_VALUE ? "(repair_kept = 0, %s)" : "repair_kept = 0, %s", is));
    edits_add_part(e, value, p->begin, p->end, "repair_kept");
    edits_add_part(e, to.piece, to.begin, to.end, to.text);
    e->statement = edits_text(all, "%s %s …", b->shown, head(u, own->around));
    e->from = b->from, e->from_end = b->from_end;
}

static void find_values_begun(Units *u, int unit) {
    const Unit *own = &u->unit[unit];
    Beginning b = {.unit = unit};
    for (int i = own->first; own->kind == UNIT_VALUE && i <= own->last; i++)
        if (begins_value(u, i, &b)) begin_anew(u, &b), keep(u, &b);
}

/* ---- All of them ---- */

/* Whether forward saves something in a unit. */
static bool saves(const Units *u, const Unit *unit) {
    static const char *const copies[] = {"memcpy", "memmove", NULL};
    for (int i = unit->first; i <= unit->last; i++) {
        const Piece *p = &u->s->piece[i];
        if (u->all->tree[i] && p->kind == PIECE_STATEMENT &&
            (edits_are_saved(u->s, u->all->tree[i]) || token_is_any(u->s, p->begin, copies)))
            return true;
    }
    return false;
}

void edits_find_moves(Edits *all) {
    Units u;
    find_exchanges(all);
    units_read(&u, all);
    for (int i = 0; i < u.units; i++) {
        const Unit *unit = &u.unit[i];
        if (unit->first < 0) continue;
        bool back = all->s->function[all->s->piece[unit->first].function].backward;
        if (!back && !saves(&u, unit)) continue;
        Beginning b = {.unit = i};
        bool begins = begins_again(&u, i, &b);
        if (back && begins) begin_anew(&u, &b);
        if (back) find_values_begun(&u, i);
        if (!unit_moves(&u, i)) continue;
        for (int up = 0; up < 2; up++) {
            move_past(&u, i, up);
            if (up || !begins) move_into(&u, i, up);
        }
        move_out(&u, i);
    }
    units_free(&u);
}
