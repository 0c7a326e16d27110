/* Reports for other programs: JSON lines and Gradescope's results.json. */
#include "base/file.h"
#include "check/directories.h"
#include "check/grading/gradcheck_show.h"
#include "formats/json.h"
#include <math.h>

static void json_case(FILE *out, const char *file, const CaseReport *r, const char *part,
                      Verdict v) {
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
    fprintf(
        out,
        "], \"elements\": %ld, \"wrong\": %ld, \"unclear\": %ld, \"kinks\": %ld, \"flat\": %ld, "
        "\"worst\": %ld",
        in->coordinates, in->wrong, in->unclear, in->kinks, in->flat, in->element);
    json_number(out, "analytic", in->analytic);
    json_number(out, "numeric", in->numeric);
    json_number(out, "estimate", in->estimate);
    json_number(out, "error", in->error);
    if (in->digits) fprintf(out, ", \"forward_digits\": %d", in->digits);
    if (in->kinks) {
        fprintf(out, ", \"kink\": %ld", in->kink);
        json_number(out, "kink_below", in->kink_below);
        json_number(out, "kink_above", in->kink_above);
    }
    if (in->pattern) json_text(out, "pattern", report_pattern[in->pattern]);
    if (in->reason[0]) json_text(out, "reason", in->reason);
    fprintf(out, "}\n");
}

void show_json(FILE *out, const char *file, const CaseReport *r) {
    for (int i = 0; i < r->inputs; i++) {
        json_case(out, file, r, r->in[i].name, r->in[i].verdict);
        json_gradient(out, &r->in[i]);
    }
    if (r->inputs && !r->trouble[0]) return;
    json_case(out, file, r, NULL, r->verdict);
    if (report_broken(r) < PROPERTIES)
        json_text(out, "property", report_property[report_broken(r)].name);
    if (r->trouble[0]) json_text(out, "reason", r->trouble);
    fprintf(out, "}\n");
}

/* ---- Report files ---- */

typedef struct Results {
    const CaseReport *report;
    long reports;
    Part *part;
    long parts;
    double seconds;
    const char *notes;
} Results;

static void print_lines(FILE *out, const void *results) {
    const Results *all = results;
    for (long i = 0; i < all->reports; i++) show_json(out, NULL, &all->report[i]);
}

static void print_gradescope(FILE *out, const void *results) {
    const Results *all = results;
    fprintf(out, "{\"execution_time\": %.0f, \"visibility\": \"visible\"", all->seconds);
    json_text(out, "output", all->notes);
    fprintf(out, ", \"tests\": [");
    for (const Part *p = all->part; p < all->part + all->parts; p++) {
        char name[5 * REPORT_NAME];
        snprintf(name, sizeof name, "%s/%s", p->op, p->name);
        fprintf(out, "%s{\"name\": ", p == all->part ? "\n" : ",\n");
        json_print(out, name);
        fprintf(out, ", \"score\": %.15g, \"max_score\": %.15g, \"status\": \"%s\"", p->score,
                p->points, p->verdict == PASS && p->score >= p->points ? "passed" : "failed");
        json_text(out, "output", p->text);
        fprintf(out, "}");
    }
    fprintf(out, "\n]}\n");
}

bool show_write(const ShowOptions *how, const CaseReport *r, long count, double seconds, Error *e) {
    const struct {
        const char *path;
        void (*print)(FILE *out, const void *results);
    } file[] = {{how->reports, print_lines}, {how->gradescope, print_gradescope}};
    Results all = {
        .report = r, .reports = count, .seconds = seconds, .notes = how->notes ? how->notes : ""};
    bool ok = true;
    all.part = grade_parts(r, count, &all.parts);
    for (size_t i = 0; i < sizeof file / sizeof *file; i++)
        ok = ok && (!file[i].path || file_print(file[i].path, file[i].print, &all, e));
    grade_parts_free(all.part, all.parts);
    return ok;
}
