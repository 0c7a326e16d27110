#include "repair/edits_units.h"
#include <stdlib.h>
#include <string.h>

/* ---- What they are ---- */

static UnitKind kind_of(const CSource *s, const Unit *unit, int behind_head) {
    static const char *const others[] = {"while", "do",   "switch",   "case", "default", "return", "break",
                                         "goto",  "else", "continue", "{",    ";",       "static", NULL};
    Type type;
    int at = unit->begin;
    if (token_is_any(s, at, others) || token_is(s, at + 1, ":")) return UNIT_OTHER;
    if (token_is(s, at, "for")) return unit->asked >= 0 ? UNIT_LOOP : UNIT_OTHER;
    if (token_is(s, at, "if"))
        return token_is(s, edits_statement_end(s, behind_head), "else") ? UNIT_OTHER : UNIT_IF;
    return c_source_declares(s, &at, unit->end, &type) ? UNIT_VALUE : UNIT_PLAIN;
}

static void find_pieces(const CSource *s, Unit *unit) {
    unit->first = unit->last = unit->asked = -1;
    for (int i = 0; i < s->pieces; i++) {
        int begin = s->piece[i].begin;
        if (begin < unit->begin || begin >= unit->end) continue;
        if (unit->first < 0) unit->first = i;
        unit->last = i; /* they follow each other */
    }
    if (token_is(s, unit->begin, "if")) unit->asked = unit->first;
    for (long i = 0; i < s->loops && token_is(s, unit->begin, "for"); i++)
        if (s->loop[i].start == unit->first) unit->asked = s->loop[i].condition;
}

static int add_unit(Units *u, int at, int open, int around) {
    static const char *const jumps[] = {"return", "break", "continue", "goto", NULL};
    const CSource *s = u->s;
    u->unit = array_grown(u->unit, u->units, &u->room, sizeof *u->unit);
    Unit *unit = &u->unit[u->units];
    *unit = (Unit){.begin = at, .end = edits_statement_end(s, at), .open = open, .around = around};
    if (token_is(s, at, "case") || token_is(s, at, "default") || token_is(s, at + 1, ":"))
        for (unit->end = at + 1; !token_is(s, unit->end - 1, ":") && unit->end < s->tokens;) unit->end++;
    unit->close = token_is(s, open, "{") ? token_closing(s, open, (int)s->tokens) : unit->end;
    find_pieces(s, unit);
    unit->kind = kind_of(s, unit, token_closing(s, at + 1, (int)s->tokens) + 1);
    for (int i = at; i < unit->end; i++) unit->jumps |= token_is_any(s, i, jumps);
    return (int)u->units++;
}

static void add_units(Units *u, int open, int close, int around, int depth);

/* What a unit has in it; of a body that begins at a token. */
static void add_body(Units *u, int at, int around, int depth) {
    if (token_is(u->s, at, "{")) {
        add_units(u, at, token_closing(u->s, at, (int)u->s->tokens), around, depth);
        return;
    }
    add_units(u, at - 1, edits_statement_end(u->s, at), around, depth);
}

static void add_units(Units *u, int open, int close, int around, int depth) {
    static const char *const heads[] = {"for", "if", "while", "switch", NULL};
    const CSource *s = u->s;
    for (int at = open + 1; at < close && depth < MOST_NESTED;) {
        int unit = add_unit(u, at, open, around), end = u->unit[unit].end;
        int body = token_is_any(s, at, heads) ? token_closing(s, at + 1, end) + 1 : at;
        if (body > at || token_is(s, at, "{")) add_body(u, body, unit, depth + 1);
        if (token_is(s, at, "do")) add_body(u, at + 1, unit, depth + 1);
        int other = token_is(s, at, "if") ? edits_statement_end(s, body) : end;
        if (other < end) add_body(u, other + 1, unit, depth + 1);
        at = end;
    }
}

/* ---- What they read and write ---- */

static void set_role(Units *u, int begin, int end, Role role) {
    for (int i = begin; i < end; i++)
        if (u->s->token[i].kind == TOKEN_NAME && u->role[i] < role) u->role[i] = (unsigned char)role;
}

/* The name that an assignment writes is the last one before brackets; where there is a macro, all in it. */
static void write_left(Units *u, const Expression *left, Role role) {
    int end = left->stem ? left->stem : left->end;
    bool plain = left->kind == EXPRESSION_UNIT && !left->called && u->s->token[end - 1].kind == TOKEN_NAME;
    set_role(u, plain ? end - 1 : left->begin, end, role);
}

static void find_writes(Units *u, const Expression *e) {
    const CSource *s = u->s;
    bool points = e->kind == EXPRESSION_OTHER && token_is(s, e->begin, "*");
    bool steps = tokens_have(s, e->begin, e->end, "++") || tokens_have(s, e->begin, e->end, "--");
    if (e->kind == EXPRESSION_ASSIGNED)
        write_left(u, e->part,
                   token_is(s, e->sign, "+=") || token_is(s, e->sign, "-=") ? ROLE_ADDED : ROLE_SET);
    if (e->kind == EXPRESSION_OTHER && (!points || steps)) set_role(u, e->begin, e->end, ROLE_SET);
    for (const Expression *part = e->part; part; part = part->next) find_writes(u, part);
}

static void find_roles(Units *u) {
    const CSource *s = u->s;
    for (long i = 0; i < s->pieces; i++) {
        const Piece *p = &s->piece[i];
        const Expression *tree = u->all->tree[i];
        bool calls = tree && p->kind == PIECE_STATEMENT && tree->kind == EXPRESSION_UNIT && tree->called;
        if (!tree || calls)
            set_role(u, p->begin, p->end, ROLE_SET);
        else
            find_writes(u, tree);
        if (p->kind == PIECE_VALUE) set_role(u, p->shown, p->begin, ROLE_SET);
    }
}

/* What two names at tokens i and k mean. */
static bool are_same(const Units *u, int i, int k) {
    if (u->own[i] || u->own[k]) return u->own[i] == u->own[k];
    return token_is_member(u->s, i) == token_is_member(u->s, k) && tokens_same(u->s, i, k);
}

bool units_touch(const Units *u, int a, int b) {
    const Unit *one = &u->unit[a], *two = &u->unit[b];
    for (int i = one->begin; i < one->end; i++)
        for (int k = two->begin; u->s->token[i].kind == TOKEN_NAME && k < two->end; k++) {
            bool written = u->role[i] || u->role[k],
                 both = u->role[i] == ROLE_ADDED && u->role[k] == ROLE_ADDED;
            if (written && !both && u->s->token[k].kind == TOKEN_NAME && are_same(u, i, k)) return true;
        }
    return false;
}

bool units_known(const Units *u, int begin, int end, int where) {
    for (int i = begin; i < end; i++) {
        const Name *own = u->own[i];
        bool inside = own && own->token >= begin; /* it is declared before it is used */
        if (own && !own->record && !inside && c_source_find(u->s, i, where) != own) return false;
    }
    return true;
}

/* ---- All of them ---- */

void units_read(Units *u, Edits *all) {
    const CSource *s = all->s;
    *u = (Units){.all = all, .s = s};
    u->own = arena_alloc(s->arena, (size_t)(s->tokens + 1) * sizeof *u->own);
    u->role = arena_alloc(s->arena, (size_t)(s->tokens + 1));
    memset(u->role, ROLE_READ, (size_t)(s->tokens + 1));
    for (int i = 0; i <= s->tokens; i++) u->own[i] = NULL;
    for (long k = 0; k < s->functions; k++) {
        const Function *f = &s->function[k];
        if (!f->used) continue;
        for (int i = f->open; i < f->close; i++)
            if (s->token[i].kind == TOKEN_NAME) u->own[i] = c_source_find(s, i, i);
        add_units(u, f->open, f->close, -1, 0);
    }
    /* A name is declared before it is in scope. */
    for (long k = 0; k < s->names; k++) u->own[s->name[k].token] = &s->name[k];
    find_roles(u);
}

void units_free(Units *u) {
    free(u->unit);
}

static int beside(const Units *u, int unit, bool next) {
    const Unit *own = &u->unit[unit];
    for (int i = 0; i < u->units; i++) {
        const Unit *other = &u->unit[i];
        bool there = next ? other->begin == own->end : other->end == own->begin;
        if (there && other->open == own->open) return i;
    }
    return -1;
}

int unit_next(const Units *u, int unit) {
    return beside(u, unit, true);
}

int unit_before(const Units *u, int unit) {
    return beside(u, unit, false);
}

int unit_inside(const Units *u, int loop, bool last) {
    int found = -1;
    for (int i = loop + 1; i < u->units && u->unit[i].begin < u->unit[loop].end; i++)
        if (u->unit[i].around == loop && (last || found < 0)) found = i;
    return found;
}

/* ---- Changes ---- */

bool unit_moves(const Units *u, int unit) {
    enum { LONGEST = 80 };
    const Unit *own = &u->unit[unit];
    if (own->jumps || own->end - own->begin > LONGEST) return false;
    if (!tokens_unbroken(u->s, own->begin, own->end)) return false;
    const Piece *p = &u->s->piece[own->first];
    if (own->kind == UNIT_PLAIN)
        return own->first == own->last && p->begin == own->begin && p->end == own->end - 1 &&
               u->all->tree[own->first];
    return (own->kind == UNIT_IF || own->kind == UNIT_LOOP) && u->all->tree[own->asked];
}

EditPart unit_left_out(const Units *u, int unit) {
    const Unit *own = &u->unit[unit];
    bool plain = own->kind == UNIT_PLAIN;
    int piece = plain ? own->first : own->asked;
    const Piece *p = &u->s->piece[piece];
    return (EditPart){piece, p->begin, p->end, plain ? "(void)0" : "0"};
}

static bool put(const Units *u, int piece, const char *text, EditPart *part) {
    const Piece *p = &u->s->piece[piece];
    *part = (EditPart){piece, p->begin, p->end, text};
    return u->all->tree[piece] != NULL;
}

bool unit_put_before(const Units *u, int unit, const char *statement, EditPart *part) {
    const Unit *own = &u->unit[unit];
    if (own->kind == UNIT_VALUE && own->first < 0 && unit_next(u, unit) >= 0)
        return unit_put_before(u, unit_next(u, unit), statement, part);
    bool asks = token_is(u->s, own->begin, "if");
    if ((own->kind == UNIT_OTHER && !asks) || own->first < 0) return false;
    const Piece *p = &u->s->piece[own->first];
    const char *is = edits_tokens(u->all, p->begin, p->end);
    bool plain = p->kind == PIECE_STATEMENT;
    return put(u, own->first, edits_text(u->all, plain ? "({ %s }), %s" : "(({ %s }), %s)", statement, is),
               part);
}

bool unit_put_behind(const Units *u, int unit, const char *statement, EditPart *part) {
    const Unit *own = &u->unit[unit];
    const Edits *all = u->all;
    if (own->kind == UNIT_OTHER || own->last < 0 || own->jumps) return false;
    int piece = own->kind == UNIT_LOOP || own->kind == UNIT_IF ? own->asked : own->last;
    const Piece *p = &u->s->piece[piece];
    const char *is = edits_tokens(all, p->begin, p->end), *text = NULL;
    switch (own->kind) {
    case UNIT_PLAIN: text = edits_text(all, "%s, ({ %s })", is, statement); break;
    case UNIT_LOOP: text = edits_text(all, "(%s) || (({ %s }), 0)", is, statement); break;
    case UNIT_IF:
        text = edits_text(all, "({ %s %s (__typeof__(%s))0; })", edits_tokens(all, own->begin, own->end),
                          statement, is);
        break;
    default:
        text = edits_text(all, "({ __typeof__(%s) repair_v = %s; %s repair_v; })", is, is, statement);
        break;
    }
    return put(u, piece, text, part);
}

const char *unit_shown(const Units *u, int unit) {
    enum { SHORT = 32 };
    const Unit *own = &u->unit[unit];
    bool long_if = own->kind == UNIT_IF && own->end - own->begin > SHORT;
    if (own->kind == UNIT_LOOP) return edits_text(u->all, "%s …", edits_loop_head(u->all, own->first));
    int end = long_if ? token_closing(u->s, own->begin + 1, own->end) + 1
                      : own->end - token_is(u->s, own->end - 1, ";");
    return edits_text(u->all, long_if ? "%s …" : "%s", edits_tokens(u->all, own->begin, end));
}

int unit_line(const Units *u, int unit) {
    return u->s->token[u->unit[unit].begin].line;
}
