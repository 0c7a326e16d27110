/* What gradcheck found, for programs: JSON lines, JUnit XML, Gradescope's results.json. */
#include "base/file.h"
#include "formats/json.h"
#include "grading/gradcheck_report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* JSON has no infinities and no NaN. */
static void json_number(FILE *out, const char *key, double x) {
    fprintf(out, ", \"%s\": ", key);
    if (isfinite(x))
        fprintf(out, "%.17g", x);
    else
        fprintf(out, "null");
}

static void json_text(FILE *out, const char *key, const char *text) {
    fprintf(out, ", \"%s\": ", key);
    json_print(out, text);
}

static void json_case(FILE *out, const CaseReport *r, const char *part, Verdict v) {
    fprintf(out, "{\"operation\": ");
    json_print(out, r->op);
    json_text(out, "case", r->name);
    if (part)
        json_text(out, "part", part);
    else
        fprintf(out, ", \"part\": null");
    json_text(out, "verdict", gradcheck_verdict_text(v));
}

void gradcheck_json_report(FILE *out, const CaseReport *r) {
    for (int i = 0; i < r->inputs; i++) {
        const InputReport *in = &r->in[i];
        json_case(out, r, in->name, in->verdict);
        fprintf(out, ", \"shape\": [");
        for (int axis = 0; axis < in->shape.rank; axis++)
            fprintf(out, axis ? ", %ld" : "%ld", in->shape.size[axis]);
        fprintf(out, "], \"elements\": %ld, \"wrong\": %ld, \"unclear\": %ld, \"kinks\": %ld, \"flat\": %ld",
                in->coordinates, in->wrong, in->unclear, in->kinks, in->flat);
        fprintf(out, ", \"worst\": %ld", in->element);
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
    if (r->inputs && !r->trouble[0]) return;
    json_case(out, r, NULL, r->verdict);
    if (r->property[0]) json_text(out, "property", r->property);
    if (r->trouble[0]) json_text(out, "reason", r->trouble);
    fprintf(out, "}\n");
}

/* What a grader shows a student: the table's explanation, in memory. To be freed. */
static char *explanation(const CaseReport *r, const InputReport *in) {
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    if (!memory) return NULL;
    CaseReport part = *r;
    if (in) {
        part.verdict = in->verdict;
        part.inputs = 1;
        part.in[0] = *in;
        part.trouble[0] = 0;
    } else {
        part.inputs = 0;
    }
    gradcheck_explain(memory, &part);
    if (part.verdict == PASS) fprintf(memory, "PASS, worst relative error %.1e\n", in ? in->error : 0.0);
    fclose(memory);
    return text;
}

/* A part of a report: one of its gradients, or what concerns all of them. */
typedef struct Part {
    const CaseReport *report;
    const InputReport *in; /* NULL: the case as a whole */
    Verdict verdict;
    char name[3 * REPORT_NAME];
    char *text;
} Part;

static bool next_part(const CaseReport *r, long count, long *at, int *i, Part *p) {
    for (; *at < count; (*at)++, *i = 0) {
        const CaseReport *c = &r[*at];
        int parts = c->inputs + (c->trouble[0] || !c->inputs);
        if (*i >= parts) continue;
        const InputReport *in = *i < c->inputs ? &c->in[*i] : NULL;
        *p = (Part){.report = c, .in = in, .verdict = in ? in->verdict : c->verdict};
        snprintf(p->name, sizeof p->name, "%s%s%s", c->name, in ? ": " : "", in ? in->name : "");
        p->text = explanation(c, in);
        (*i)++;
        return true;
    }
    return false;
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

bool junit_write(const char *path, const CaseReport *r, long count, double seconds, Error *e) {
    File *f = file_create(path, e);
    if (!f) return false;
    long tests = 0, failed = 0, unclear = 0, at = 0;
    int i = 0;
    Part p;
    for (; next_part(r, count, &at, &i, &p); free(p.text)) {
        tests++;
        failed += p.verdict == FAIL;
        unclear += p.verdict == INCONCLUSIVE;
    }
    file_print(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    file_print(f,
               "<testsuites><testsuite name=\"gradcheck\" tests=\"%ld\" failures=\"%ld\" errors=\"%ld\" "
               "time=\"%.3f\">\n",
               tests, failed, unclear, seconds);
    for (at = i = 0; next_part(r, count, &at, &i, &p); free(p.text)) {
        file_print(f, "<testcase classname=\"");
        xml_text(f, p.report->op);
        file_print(f, "\" name=\"");
        xml_text(f, p.name);
        file_print(f, "\">");
        if (p.verdict != PASS) {
            const char *kind = p.verdict == FAIL ? "failure" : "error";
            file_print(f, "<%s message=\"%s\">", kind, gradcheck_verdict_text(p.verdict));
            xml_text(f, p.text);
            file_print(f, "</%s>", kind);
        }
        file_print(f, "</testcase>\n");
    }
    file_print(f, "</testsuite></testsuites>\n");
    return file_commit(f, e);
}

/* A JSON string, into the file. */
static void json_to_file(File *f, const char *text) {
    char *json = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&json, &size);
    if (memory) json_print(memory, text), fclose(memory);
    if (json) file_write(f, json, size);
    free(json);
}

bool gradescope_write(const char *path, const CaseReport *r, long count, double seconds, Error *e) {
    File *f = file_create(path, e);
    if (!f) return false;
    file_print(f, "{\"execution_time\": %.0f, \"visibility\": \"visible\", \"tests\": [", seconds);
    long at = 0;
    int i = 0;
    Part p;
    const char *comma = "\n";
    for (; next_part(r, count, &at, &i, &p); free(p.text), comma = ",\n") {
        char name[5 * REPORT_NAME];
        snprintf(name, sizeof name, "%s/%s", p.report->op, p.name);
        file_print(f, "%s{\"name\": ", comma);
        json_to_file(f, name);
        file_print(f,
                   ", \"score\": %d, \"max_score\": 1, \"status\": \"%s\", \"output\": ", p.verdict == PASS,
                   p.verdict == PASS ? "passed" : "failed");
        json_to_file(f, p.text ? p.text : "");
        file_print(f, "}");
    }
    file_print(f, "\n]}\n");
    return file_commit(f, e);
}
