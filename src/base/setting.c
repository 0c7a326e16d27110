#include "base/setting.h"
#include <stdio.h>
#include <string.h>

Option setting_option(const Setting *s, void *structure) {
    void *at = (char *)structure + s->offset;
    Option o = {s->name, s->argument, s->allowed, s->help, .kinds = s->kinds, .none = s->none};
    switch (s->type) {
    case SETTING_HEADING: break;
    case SETTING_FLAG: o.flag = at; break;
    case SETTING_TRUTH: o.truth = at; break;
    case SETTING_INTEGER: o.integer = at; break;
    case SETTING_WHOLE: o.whole = at; break;
    case SETTING_NATURAL: o.natural = at; break;
    case SETTING_REAL: o.real = at; break;
    case SETTING_CHOICE: o.choice = at; break;
    case SETTING_KIND: o.kind = at; break;
    case SETTING_TEXT: o.text = at; break;
    }
    return o;
}

void setting_copy(const Setting *s, void *to, const void *from) {
    static const size_t size[] = {
        [SETTING_FLAG] = sizeof(bool),        [SETTING_TRUTH] = sizeof(bool),
        [SETTING_INTEGER] = sizeof(long),     [SETTING_WHOLE] = sizeof(int),
        [SETTING_NATURAL] = sizeof(uint64_t), [SETTING_REAL] = sizeof(double),
        [SETTING_CHOICE] = sizeof(int),       [SETTING_KIND] = sizeof(const Choice *),
        [SETTING_TEXT] = sizeof(const char *)};
    memcpy((char *)to + s->offset, (const char *)from + s->offset, size[s->type]);
}

const char *setting_default(const Setting *s, void *one, const char *name, void *other,
                            char out[OPTION_TEXT]) {
    char first[OPTION_TEXT], second[OPTION_TEXT];
    Option a = setting_option(s, one), b = setting_option(s, other);
    const char *value = option_text(&a, first), *differs = option_text(&b, second);
    bool same = strcmp(value, differs) == 0;
    snprintf(out, OPTION_TEXT, "%s%s%s%s%s", value, same ? "" : "; ", same ? "" : name, same ? "" : " ",
             same ? "" : differs);
    return out;
}

const char *setting_key(const Setting *s, char out[SETTING_KEY]) {
    snprintf(out, SETTING_KEY, "%s", s->key ? s->key : s->name);
    for (char *c = out; *c; c++)
        if (*c == '-') *c = '_';
    return out;
}
