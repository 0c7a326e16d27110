/* Reports for other programs: JSON lines, JUnit XML, Gradescope's results.json. */
#include "base/file.h"
#include "check/gradcheck/agreement.h"
#include "check/grading/gradcheck_report.h"
#include "check/grading/grade_parts.h"
#include "formats/json.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* The members of a gradient's JSON object, in order. */
static const struct Field {
    const char *key;
    enum { COUNT, NUMBER, TEXT, SHAPE_OF } kind;
    size_t at;
    enum { ALWAYS, ON_A_KINK, IF_ANY } when;
} fields[] = {
#define FIELD(kind, name, when)                                                                              \
    { #name, kind, offsetof(InputReport, name), when }
    FIELD(SHAPE_OF, shape, ALWAYS),
    {"elements", COUNT, offsetof(InputReport, coordinates), ALWAYS},
    FIELD(COUNT, wrong, ALWAYS),
    FIELD(COUNT, unclear, ALWAYS),
    FIELD(COUNT, kinks, ALWAYS),
    FIELD(COUNT, flat, ALWAYS),
    {"worst", COUNT, offsetof(InputReport, element), ALWAYS},
    FIELD(NUMBER, analytic, ALWAYS),
    FIELD(NUMBER, numeric, ALWAYS),
    FIELD(NUMBER, estimate, ALWAYS),
    FIELD(NUMBER, error, ALWAYS),
    FIELD(COUNT, kink, ON_A_KINK),
    FIELD(NUMBER, kink_below, ON_A_KINK),
    FIELD(NUMBER, kink_above, ON_A_KINK),
    FIELD(TEXT, pattern, IF_ANY),
    FIELD(TEXT, reason, IF_ANY),
#undef FIELD
};

static void json_text(FILE *out, const char *key, const char *text) {
    fprintf(out, ", \"%s\": ", key);
    json_print(out, text);
}

static void json_field(FILE *out, const struct Field *f, const InputReport *in) {
    const void *value = (const char *)in + f->at;
    if ((f->when == ON_A_KINK && !in->kinks) || (f->when == IF_ANY && !*(const char *)value)) return;
    if (f->kind == TEXT) {
        json_text(out, f->key, value);
        return;
    }
    fprintf(out, ", \"%s\": ", f->key);
    if (f->kind == COUNT) {
        fprintf(out, "%ld", *(const long *)value);
    } else if (f->kind == NUMBER) {
        double x = *(const double *)value; /* JSON has no infinities and no NaN */
        fprintf(out, isfinite(x) ? "%.17g" : "null", x);
    } else {
        fprintf(out, "[");
        for (int axis = 0; axis < in->shape.rank; axis++)
            fprintf(out, axis ? ", %ld" : "%ld", in->shape.size[axis]);
        fprintf(out, "]");
    }
}

static void json_case(FILE *out, const char *file, const CaseReport *r, const char *part, Verdict v) {
    fprintf(out, "{\"operation\": ");
    json_print(out, r->op);
    json_text(out, "case", r->name);
    if (file) json_text(out, "file", file);
    if (part)
        json_text(out, "part", part);
    else
        fprintf(out, ", \"part\": null");
    json_text(out, "verdict", gradcheck_verdict_text(v));
}

void gradcheck_json_report(FILE *out, const char *file, const CaseReport *all, long count, long at) {
    const CaseReport *r = &all[at];
    char contrast[2 * CONTRAST_TEXT];
    for (int i = 0; i < r->inputs; i++) {
        const InputReport *in = &r->in[i];
        json_case(out, file, r, in->name, in->verdict);
        for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) json_field(out, &fields[f], in);
        if (gradcheck_contrast(all, count, r, in, contrast)) json_text(out, "contrast", contrast);
        fprintf(out, "}\n");
    }
    if (r->inputs && !r->trouble[0]) return;
    json_case(out, file, r, NULL, r->verdict);
    if (r->property[0]) json_text(out, "property", r->property);
    if (r->trouble[0]) json_text(out, "reason", r->trouble);
    fprintf(out, "}\n");
}

static void xml_text(File *f, const char *text) {
    for (; text && *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '<')
            file_print(f, "&lt;");
        else if (c == '>')
            file_print(f, "&gt;");
        else if (c == '&')
            file_print(f, "&amp;");
        else if (c == '"')
            file_print(f, "&quot;");
        else
            file_write(f, c < ' ' && c != '\n' && c != '\t' ? "?" : text, 1);
    }
}

bool junit_write(const char *path, const CaseReport *r, long count, double seconds, const char *notes,
                 Error *e) {
    File *f = file_create(path, e);
    if (!f) return false;
    long parts, failed = 0, unclear = 0;
    Part *part = grade_parts(r, count, &parts);
    for (long i = 0; i < parts; i++) {
        failed += part[i].verdict == FAIL;
        unclear += part[i].verdict == INCONCLUSIVE;
    }
    file_print(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    file_print(f,
               "<testsuites><testsuite name=\"gradcheck\" tests=\"%ld\" failures=\"%ld\" errors=\"%ld\" "
               "time=\"%.3f\">\n",
               parts, failed, unclear, seconds);
    for (const Part *p = part; p < part + parts; p++) {
        file_print(f, "<testcase classname=\"");
        xml_text(f, p->op);
        file_print(f, "\" name=\"");
        xml_text(f, p->name);
        file_print(f, "\">");
        if (p->verdict != PASS) {
            const char *kind = p->verdict == FAIL ? "failure" : "error";
            file_print(f, "<%s message=\"%s\">", kind, gradcheck_verdict_text(p->verdict));
            xml_text(f, p->text);
            file_print(f, "</%s>", kind);
        }
        file_print(f, "</testcase>\n");
    }
    grade_parts_free(part, parts);
    file_print(f, "<system-out>");
    xml_text(f, notes);
    file_print(f, "</system-out></testsuite></testsuites>\n");
    return file_commit(f, e);
}

/* Writes a JSON string to the file. */
static void json_to_file(File *f, const char *text) {
    char *json = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&json, &size);
    if (memory) json_print(memory, text), fclose(memory);
    if (!json) error_no_memory("a text of a report");
    file_write(f, json, size);
    free(json);
}

bool gradescope_write(const char *path, const CaseReport *r, long count, double seconds, const char *notes,
                      Error *e) {
    File *f = file_create(path, e);
    if (!f) return false;
    file_print(f, "{\"execution_time\": %.0f, \"visibility\": \"visible\", \"output\": ", seconds);
    json_to_file(f, notes);
    file_print(f, ", \"tests\": [");
    long parts;
    Part *part = grade_parts(r, count, &parts);
    for (const Part *p = part; p < part + parts; p++) {
        char name[5 * REPORT_NAME];
        snprintf(name, sizeof name, "%s/%s", p->op, p->name);
        file_print(f, "%s{\"name\": ", p == part ? "\n" : ",\n");
        json_to_file(f, name);
        file_print(f, ", \"score\": %.10g, \"max_score\": %.10g, \"status\": \"%s\", \"output\": ", p->score,
                   p->points, p->verdict == PASS && p->score >= p->points ? "passed" : "failed");
        json_to_file(f, p->text);
        file_print(f, "}");
    }
    grade_parts_free(part, parts);
    file_print(f, "\n]}\n");
    return file_commit(f, e);
}
