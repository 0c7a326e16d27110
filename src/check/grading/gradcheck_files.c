/* Reports for other programs: JSON lines, JUnit XML, Gradescope's results.json. */
#include "base/file.h"
#include "check/grading/gradcheck_show.h"
#include "formats/json.h"
#include <math.h>
#include <stdlib.h>

static void json_text(FILE *out, const char *key, const char *text) {
    fprintf(out, ", \"%s\": ", key);
    json_print(out, text);
}

/* JSON has no infinities and no NaN. */
static void json_number(FILE *out, const char *key, double x) {
    fprintf(out, isfinite(x) ? ", \"%s\": %.17g" : ", \"%s\": null", key, x);
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

static void json_gradient(FILE *out, const InputReport *in) {
    fprintf(out, ", \"shape\": [");
    for (int axis = 0; axis < in->shape.rank; axis++)
        fprintf(out, axis ? ", %ld" : "%ld", in->shape.size[axis]);
    fprintf(out,
            "], \"elements\": %ld, \"wrong\": %ld, \"unclear\": %ld, \"kinks\": %ld, \"flat\": %ld, "
            "\"worst\": %ld",
            in->coordinates, in->wrong, in->unclear, in->kinks, in->flat, in->element);
    json_number(out, "analytic", in->analytic);
    json_number(out, "numeric", in->numeric);
    json_number(out, "estimate", in->estimate);
    json_number(out, "error", in->error);
    if (in->kinks) {
        fprintf(out, ", \"kink\": %ld", in->kink);
        json_number(out, "kink_below", in->kink_below);
        json_number(out, "kink_above", in->kink_above);
    }
    if (in->pattern[0]) json_text(out, "pattern", in->pattern);
    if (in->reason[0]) json_text(out, "reason", in->reason);
    fprintf(out, "}\n");
}

void gradcheck_json_report(FILE *out, const char *file, const CaseReport *r) {
    for (int i = 0; i < r->inputs; i++) {
        json_case(out, file, r, r->in[i].name, r->in[i].verdict);
        json_gradient(out, &r->in[i]);
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
