/* `gradcheck case` and `gradcheck verify`: the files of a case, and the verdicts on what students write. */
#include "check/grading/case_files.h"
#include "check/npy.h"
#include "child.h"
#include "formats/json.h"

/* The double program judges the files that either precision computes. */
#define DOUBLE_GRADCHECK "../double/gradcheck"
#define RUN(...)         run_program(DOUBLE_GRADCHECK, ARGUMENTS(__VA_ARGS__), (Streams){0})

enum { SINGLE_BUILD = DTYPE_REAL == DTYPE_F32 };

static void write_npy(const char *directory, const char *name, Shape s, const real *x) {
    char path[256];
    Error e = {0};
    Array a = array_over(NULL, DTYPE_REAL, s, x);
    snprintf(path, sizeof path, "%s/%s.npy", directory, name);
    CHECK(npy_write(&a, path, &e), "%s", e.text);
}

static void gradient_name(char name[CASE_FILE], const CaseFiles *f, int k) {
    snprintf(name, CASE_FILE, "d%s", f->point.in[k].name);
}

/* Gradients by the built-in operation in the precision of this build. */
static void write_gradients(const char *directory, CaseFiles *f) {
    point_ready(&f->point, 0);
    check_run_forward(&f->run);
    check_run_backward(&f->run, f->dy);
    for (int k = 0; k < f->point.inputs; k++) {
        char name[CASE_FILE];
        gradient_name(name, f, k);
        if (point_has_gradient(&f->point, k))
            write_npy(directory, name, f->point.in[k].shape, f->point.in[k].tensor.grad);
    }
}

/* Writes a case and its gradients; leaves the case open. False: the case uses other operations. */
static bool solve(CaseFiles *f, const char *directory, const OpEntry *entry, const CheckCase *c) {
    Error e = {0};
    case_open(f, entry, c, 7, SINGLE_BUILD);
    bool written = case_write(f, directory, true, &e);
    CHECK(written || strstr(e.text, "uses more than the operation"), "%s", e.text);
    if (written) write_gradients(directory, f);
    return written;
}

static void solve_named(CaseFiles *f, const char *directory, const char *op, const char *name) {
    Error e = {0};
    const OpEntry *entry = ops_find(op);
    const CheckCase *c = case_find(entry, name, &e);
    CHECK(c != NULL, "%s", e.text);
    solve(f, directory, entry, c);
}

/* ---- Right gradients ---- */

static void judge_all(const char **directories, int count) {
    directories[count] = NULL;
    int status = run_program(DOUBLE_GRADCHECK, directories, (Streams){0});
    CHECK(status == 0, "status %d: %s%s", status, out, err);
    CHECK(!*err, "%s", err);
}

/* Right gradients of every case in the precision of this build pass. One is left out in single precision:
 * over one column all terms of layer norm's gradient cancel to 0, and their size cannot be seen from
 * outside. */
TEST(right_gradients_pass, 120) {
    enum { AT_ONCE = 40 };
    char name[AT_ONCE][32];
    const char *directories[AT_ONCE + 2] = {"verify"};
    int count = 1, all = 0;
    for (int i = 0; i < ops_count; i++)
        for (int k = 0; k < ops_all[i].op->n_cases; k++) {
            const CheckCase *c = &ops_all[i].op->cases[k];
            if (SINGLE_BUILD && ops_all[i].op == &op_layer_norm && strcmp(c->name, "one column") == 0)
                continue;
            CaseFiles f;
            char *directory = name[count - 1];
            snprintf(directory, sizeof name[0], "case-%d-%d", i, k);
            bool solved = solve(&f, directory, &ops_all[i], c);
            case_close(&f);
            if (!solved) continue;
            directories[count++] = directory;
            all++;
            if (count <= AT_ONCE) continue;
            judge_all(directories, count);
            count = 1;
        }
    if (count > 1) judge_all(directories, count);
    CHECK(all > 300, "%d cases", all);
}

/* ---- Wrong gradients; tests/check/numpy_round_trip.py plants more ---- */

static void flip(real *dx, long n) {
    for (long i = 0; i < n; i++) dx[i] = -dx[i];
}
static void add_to_one(real *dx, long n) {
    (void)n;
    dx[1] += (real)1e-3;
}
static void poison(real *dx, long n) {
    (void)n;
    dx[2] = (real)NAN;
}
/* Rounds to float. */
static void shorten(real *dx, long n) {
    for (long i = 0; i < n; i++) dx[i] = (real)(float)dx[i];
}

static const struct {
    const char *op, *name;
    void (*spoil)(real *dx, long n);
    const char *pattern; /* NULL: in single precision there is nothing wrong with it */
} wrong[] = {
    {"layer_norm", "matrix", flip, "constant factor"},
    {"sigmoid", "matrix", add_to_one, "only somewhere"},
    {"tanh", "matrix", poison, "not a number"},
    {"layer_norm", "matrix", shorten, SINGLE_BUILD ? NULL : "single precision"},
};

/* The JSON object of a part in the last output, as text. */
static const char *object_of(const char *part) {
    static char line[1 << 12];
    char member[CASE_FILE + 16];
    snprintf(member, sizeof member, "\"part\": \"%s\"", part);
    for (const char *at = out; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        if (strstr(line, member)) return line;
    }
    return "";
}

static bool has(const char *text, const char *part) {
    return strstr(text, part) != NULL;
}

TEST(wrong_gradients_are_named) {
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CaseFiles f;
        char name[CASE_FILE], pattern[64];
        solve_named(&f, "case", wrong[i].op, wrong[i].name);
        const PointInput *in = &f.point.in[0];
        wrong[i].spoil(in->tensor.grad, in->count);
        gradient_name(name, &f, 0);
        write_npy("case", name, in->shape, in->tensor.grad);
        int status = RUN("verify", "--json", "case");
        const char *found = object_of(name);
        snprintf(pattern, sizeof pattern, "\"pattern\": \"%s\"", wrong[i].pattern ? wrong[i].pattern : "");
        CHECK(status == (wrong[i].pattern ? 1 : 0), "%zu: status %d: %s", i, status, err);
        CHECK(has(found, wrong[i].pattern ? "FAIL" : "PASS"), "%zu: %s", i, found);
        CHECK(!wrong[i].pattern || has(found, pattern), "%zu: %s", i, found);
        CHECK(has(object_of("y"), "PASS"), "%zu: %s", i, out);
        for (int k = 1; k < f.point.inputs; k++) {
            if (!point_has_gradient(&f.point, k)) continue;
            gradient_name(name, &f, k);
            CHECK(has(object_of(name), "PASS"), "%zu: %s: %s", i, name, out);
        }
        case_close(&f);
    }
}

/* A relu's gradient at 0 may be 0, dy, or between the two; not more. */
TEST(kinks_have_many_gradients) {
    static const struct {
        real slope;
        int status;
    } at_kink[] = {{0, 0}, {(real)0.25, 0}, {1, 0}, {(real)-0.01, 1}, {(real)1.01, 1}};
    for (size_t i = 0; i < sizeof at_kink / sizeof *at_kink; i++) {
        CaseFiles f;
        long kinks = 0;
        solve_named(&f, "case", "relu", "at the kink");
        const PointInput *in = &f.point.in[0];
        for (long j = 0; j < in->count; j++)
            if (in->value[j] == 0) in->tensor.grad[j] = at_kink[i].slope * f.dy[j], kinks++;
        CHECK(kinks > 0);
        write_npy("case", "dx", in->shape, in->tensor.grad);
        int status = RUN("verify", "case");
        CHECK(status == at_kink[i].status, "%zu: status %d: %s", i, status, out);
        CHECK(has(out, "on a kink") || status, "%s", out);
        case_close(&f);
    }
}

/* Changed inputs are used: the gradients at the new inputs pass, the old ones fail. */
TEST(changed_inputs_count) {
    CaseFiles f;
    solve_named(&f, "case", "layer_norm", "matrix");
    PointInput *x = &f.point.in[0];
    for (long i = 0; i < x->count; i++) x->value[i] = x->value[i] / 2 + (real)0.1 * (real)(i % 4);
    point_restore(&f.point, 0);
    write_npy("case", "x", x->shape, x->value);
    CHECK(RUN("verify", "--json", "case") == 1);
    CHECK(has(object_of("dx"), "FAIL") && has(object_of("y"), "FAIL"), "%s", out);
    CHECK(has(object_of("dbeta"), "PASS"), "%s", out); /* does not depend on x */
    write_gradients("case", &f);
    write_npy("case", "y", f.run.y->shape, f.run.y->data);
    CHECK(RUN("verify", "case") == 0, "%s", out);
    f.dy[3] += 1;
    write_npy("case", "dy", f.run.y->shape, f.dy);
    CHECK(RUN("verify", "--json", "case") == 1);
    CHECK(has(object_of("y"), "PASS") && has(object_of("dx"), "FAIL"), "%s", out);
    write_gradients("case", &f);
    CHECK(RUN("verify", "case") == 0, "%s", out);
    case_close(&f);
}

/* ---- Hostile files ---- */

/* A .npy file of version 1 with this header and `bytes` zero bytes of elements. */
static void write_raw(const char *path, const char *header, size_t bytes) {
    FILE *f = fopen(path, "wb");
    if (!f) exit(1);
    fprintf(f, "\x93NUMPY%c%c%c%c%s\n", 1, 0, (int)(strlen(header) + 1), 0, header);
    for (size_t i = 0; i < bytes; i++) fputc(0, f);
    fclose(f);
}

static void make_link(const char *to, const char *from) {
    unlink(from);
    CHECK(symlink(to, from) == 0);
}

static void nothing(const char *path) {
    unlink(path);
}
static void text(const char *path) {
    write_text(path, "1.0 2.0 3.0\n");
}
static void fifo(const char *path) {
    unlink(path);
    CHECK(mkfifo(path, 0666) == 0);
}
/* As long as its header says, but sparse. */
static void has_100_gigabytes(const char *path) {
    write_raw(path, "{'descr': '<f8', 'fortran_order': False, 'shape': (12500000000,), }", 120);
    CHECK(truncate(path, 100000000128) == 0);
}

#define HEADER(type, shape) "{'descr': " type ", 'fortran_order': False, 'shape': " shape ", }"

/* tests/check/npy.c has more damaged files, tests/base/file.c more that are not regular. */
static const struct {
    const char *name;
    void (*make)(const char *path); /* NULL: a file with this header and `bytes` bytes */
    const char *header;
    size_t bytes;
    const char *says;
} hostile[] = {
    {"missing", nothing, NULL, 0, "No such file"},
    {"text", text, NULL, 0, "not a .npy file"},
    {"a FIFO", fifo, NULL, 0, "found a FIFO, need a regular file"},
    {"100 GB", has_100_gigabytes, NULL, 0, "found 100000000128 bytes, need at most"},
    {"integers", NULL, HEADER("'<i8'", "(3, 5)"), 120, "found numbers of type I64, need F32 or F64"},
    {"flat", NULL, HEADER("'<f8'", "(15,)"), 120, "found shape [15], need [3,5]"},
    {"transposed", NULL, HEADER("'<f8'", "(5, 3)"), 120, "found shape [5,3], need [3,5]: it is transposed"},
    {"claims 100 GB", NULL, HEADER("'<f8'", "(12500000000,)"), 120,
     "found 120 bytes of elements, need 100000000000"},
};
enum { HOSTILE = sizeof hostile / sizeof *hostile };

static void make_hostile(int i, const char *path) {
    if (hostile[i].make)
        hostile[i].make(path);
    else
        write_raw(path, hostile[i].header, hostile[i].bytes);
}

static void clear_folder(void) {
    CHECK(system("rm -rf case") == 0);
}

/* A part that cannot be read has a verdict of one line, and the others are judged. */
TEST(bad_gradients_are_verdicts, 120) {
    for (int i = 0; i < HOSTILE; i++) {
        CaseFiles f;
        clear_folder();
        solve_named(&f, "case", "layer_norm", "matrix");
        case_close(&f);
        make_hostile(i, "case/dx.npy");
        int status = RUN("verify", "--json", "case");
        CHECK(status == 1, "%s: status %d", hostile[i].name, status);
        CHECK(lines_of(err) == 1, "%s: %s", hostile[i].name, err);
        const char *dx = object_of("dx");
        CHECK(has(dx, "\"FAIL\"") && has(dx, hostile[i].says), "%s: %s", hostile[i].name, dx);
        static const char *const others[] = {"y", "dgamma", "dbeta"};
        for (int k = 0; k < 3; k++)
            CHECK(has(object_of(others[k]), "\"PASS\""), "%s: %s", hostile[i].name, out);
    }
}

/* If an input is unusable, gradients are inconclusive, and unreadable files still fail. */
TEST(bad_inputs_are_verdicts, 120) {
    for (int i = 0; i < HOSTILE; i += 2) {
        CaseFiles f;
        clear_folder();
        solve_named(&f, "case", "layer_norm", "matrix");
        case_close(&f);
        unlink("case/dbeta.npy");
        make_hostile(i, "case/x.npy");
        int status = RUN("verify", "--json", "case");
        CHECK(status == 1, "%s: status %d", hostile[i].name, status);
        CHECK(has(out, hostile[i].says), "%s: %s", hostile[i].name, out);
        CHECK(has(object_of("dgamma"), "\"INCONCLUSIVE\""), "%s: %s", hostile[i].name, out);
        CHECK(has(object_of("dbeta"), "\"FAIL\""), "%s: %s", hostile[i].name, out);
    }
}

/* NaN is refused in an input. */
TEST(numbers_that_are_none) {
    CaseFiles f;
    solve_named(&f, "case", "layer_norm", "matrix");
    PointInput *x = &f.point.in[0];
    x->value[7] = (real)NAN;
    write_npy("case", "x", x->shape, x->value);
    CHECK(RUN("verify", "case") == 1);
    CHECK(has(out, "x.npy: element 7: found nan, need a finite number"), "%s", out);
    CHECK(!has(out, "PASS"), "%s", out);
    case_close(&f);
}

/* If the right value is not finite, the part is inconclusive. */
TEST(infinite_values_are_not_judged) {
    CaseFiles f;
    solve_named(&f, "case", "exp", "matrix");
    PointInput *x = &f.point.in[0];
    x->value[0] = 1000;
    point_restore(&f.point, 0);
    write_npy("case", "x", x->shape, x->value);
    write_gradients("case", &f);
    real *y = f.run.y->data;
    for (int i = 0; i < 2; i++, y[0] = (real)NAN) {
        write_npy("case", "y", f.run.y->shape, y);
        CHECK(RUN("verify", "--json", "case") == 4, "%s", err);
        CHECK(has(object_of("y"), "INCONCLUSIVE") && has(object_of("dx"), "INCONCLUSIVE") &&
                  has(object_of("y"), "the right value is not a finite number"),
              "%s", out);
    }
    case_close(&f);
}

/* A gradient of another shape fails, with the likely mistake. */
TEST(other_shapes_are_named) {
    static const struct {
        const char *op, *name, *gradient;
        Shape found;
        const char *says, *pattern;
    } cases[] = {
        {"add", "broadcast row", "db", DIMS(2, 3, 4),
         "db.npy: found shape [2,3,4], need [4], the input's: found the output's, is the sum over the "
         "broadcast axes missing?",
         "broadcast sum missing"},
        {"add", "same shape", "db", DIMS(4, 3), "db.npy: found shape [4,3], need [3,4]: it is transposed",
         "transposed"},
        {"add", "same shape", "db", DIMS(12), "db.npy: found shape [12], need [3,4]", "wrong shape"},
        {"add", "broadcast row", "db", DIMS(3), "db.npy: found shape [3], need [4]", "wrong shape"},
        {"add", "broadcast row", "da", DIMS(2, 3, 3), "da.npy: found shape [2,3,3], need [2,3,4]",
         "wrong shape"},
    };
    static const real zeros[24];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CaseFiles f;
        clear_folder();
        solve_named(&f, "case", cases[i].op, cases[i].name);
        case_close(&f);
        write_npy("case", cases[i].gradient, cases[i].found, zeros);
        CHECK(RUN("verify", "--json", "case") == 1, "%s", err);
        const char *object = object_of(cases[i].gradient);
        CHECK(has(object, cases[i].says) && has(object, cases[i].pattern), "%s", object);
        CHECK(has(object_of(cases[i].gradient[1] == 'a' ? "db" : "da"), "\"PASS\""), "%s", out);
    }
}

/* An unusable directory has an exit status of its own; the other directories are judged. */
TEST(bad_directories_have_a_status) {
#define TWENTY "abcdefghijklmnopqrst"
    static const struct {
        const char *json; /* NULL: there is no case.json */
        int status;
        const char *says;
    } bad[] = {
        {NULL, 66, "case.json: No such file"},
        {"", 65, "case.json: byte 0: found the end"},
        {"{\"operation\": \"layer_norm\", \"case\": \"matrix\"", 65, "case.json: byte 44"},
        {"[]", 65, "case.json: byte 0"},
        {"{}", 65, "operation: found ''"},
        {"{\"operation\": \"no_such\", \"case\": \"matrix\"}", 65, "operation: found 'no_such'"},
        {"{\"operation\": \"layer_norm\"}", 65, "case: found ''"},
        {"{\"operation\": \"layer_norm\", \"case\": \"no such\"}", 65, "case: found 'no such'"},
        {"{\"operation\": 3, \"case\": \"matrix\"}", 65, "case.json: byte 14"},
        {"{\"operation\": \"layer\\u0000norm\", \"case\": \"matrix\"}", 65, "operation: found 'layer'"},
        {"{\"operation\": \"" TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY "\"}", 65,
         "operation: found '" TWENTY},
        {"{\"operation\": \"\xff\", \"case\": \"matrix\"}", 65, "case.json: byte"},
    };
    CaseFiles f;
    solve_named(&f, "good", "layer_norm", "matrix");
    case_close(&f);
    solve_named(&f, "case", "layer_norm", "matrix");
    case_close(&f);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        unlink("case/case.json");
        if (bad[i].json) write_text("case/case.json", bad[i].json);
        int status = RUN("verify", "--json", "case", "good");
        CHECK(status == bad[i].status, "%zu: status %d: %s", i, status, err);
        CHECK(has(err, bad[i].says) && lines_of(err) == 1, "%zu: %s", i, err);
        CHECK(has(out,
                  "{\"operation\": \"case\", \"case\": \"case.json\", \"part\": null, \"verdict\": \"FAIL\""),
              "%zu: %s", i, out);
        CHECK(has(object_of("dgamma"), "\"PASS\""), "%zu: %s", i, out);
    }
    CHECK(RUN("verify", "nowhere") == 66 && has(err, "nowhere/case.json: No such file"), "%s", err);
    CHECK(RUN("verify", "good/x.npy") == 66 && has(err, "Not a directory"), "%s", err);
    make_link("loop", "loop");
    CHECK(RUN("verify", "loop") == 66 && has(err, "ymbolic link"), "%s", err);
    CHECK(RUN("verify", longest_path()) == 66 && has(err, "File name too long"), "%s", err);
    CHECK(RUN("verify") == 2, "%s", err);
    CHECK(RUN("verify", "nowhere", "--junit", "nowhere/to/go.xml") == 73, "%s", err);
}

/* ---- Writing a case ---- */

TEST(cases_are_chosen) {
    CHECK(RUN("case", "softmax", "--out", "a") == 0 && has(out, "softmax/matrix: y_i ="), "%s%s", out, err);
    CHECK(has(out, "Other cases: 'first axis'") && has(out, "./gradcheck verify a\n"), "%s", out);
    CHECK(RUN("case", "softmax", "axes", "--out", "b") == 0 && has(out, "softmax/three axes: "), "%s", out);
    CHECK(RUN("case", "softmax", "first axis", "--out", "c") == 0 && has(out, "[4,3]"), "%s", out);
    CHECK(RUN("case", "--help") == 0 && has(out, "--float"), "%s", out);
    CHECK(RUN("verify", "--help") == 0 && has(out, "--gradescope"), "%s", out);
}

/* The seed fixes the bytes; single precision is exact in both. */
TEST(cases_are_reproducible) {
    CHECK(RUN("case", "mul", "--out", "a") == 0 && RUN("case", "mul", "--out", "b") == 0);
    CHECK(RUN("case", "mul", "--out", "c", "--seed", "2") == 0);
    static const char *const files[] = {"a.npy", "b.npy", "y.npy", "dy.npy", "case.json"};
    for (int i = 0; i < 5; i++) {
        char path[3][32];
        for (int k = 0; k < 3; k++) snprintf(path[k], sizeof path[k], "%c/%s", 'a' + k, files[i]);
        CHECK(same_files(path[0], path[1]), "%s", files[i]);
        CHECK(!same_files(path[0], path[2]), "%s", files[i]);
    }
    Array a;
    Error e = {0};
    CHECK(RUN("case", "mul", "--float", "--out", "d") == 0);
    CHECK(npy_read(&a, "d/a.npy", &e) && a.dtype == DTYPE_F32, "%s", e.text);
    array_free(&a);
    CHECK(npy_read(&a, "a/a.npy", &e) && a.dtype == DTYPE_F64, "%s", e.text);
    array_free(&a);
}

/* Every case has distinct file names and a valid case.json. */
TEST(case_files_are_sound) {
    for (int i = 0; i < ops_count; i++)
        for (int k = 0; k < ops_all[i].op->n_cases; k++) {
            const CheckCase *c = &ops_all[i].op->cases[k];
            CaseFiles f;
            Error e = {0};
            JsonString key;
            size_t size = 0;
            int members = 0;
            case_open(&f, &ops_all[i], c, 1, false);
            if (!case_write(&f, "case", true, &e)) {
                CHECK(e.status == STATUS_USAGE, "%s", e.text);
                case_close(&f);
                continue;
            }
            char *json = read_bytes("case/case.json", &size);
            Json j = json_over("case.json", json, size, &e);
            for (json_enter(&j, '{'); json_member(&j, &key); json_skip(&j)) members++;
            CHECK(json_end(&j) && members >= 9, "%s/%s: %d members: %s", ops_all[i].op->name, c->name,
                  members, e.text);
            free(json);
            for (int a = 0; a < f.point.inputs; a++) {
                const char *name = f.point.in[a].name;
                CHECK(strcmp(name, "y") != 0 && strcmp(name, "dy") != 0, "%s/%s", ops_all[i].op->name,
                      c->name);
                for (int b = 0; b < a && case_has_file(&f, a); b++)
                    CHECK(strcmp(name, f.point.in[b].name) != 0, "%s/%s: %s twice", ops_all[i].op->name,
                          c->name, name);
            }
            case_close(&f);
        }
}

/* A student's files are not overwritten. */
TEST(nothing_is_overwritten) {
    CHECK(mkdir("work", 0777) == 0);
    write_text("work/dx.npy", "mine");
    CHECK(RUN("case", "softmax", "--out", "work") == 73 && has(err, "--force"), "%s", err);
    CHECK(lines_of(list_folder("work")) == 2, "%s", listing);
    CHECK(RUN("case", "softmax", "--out", "work", "--force") == 0, "%s", err);
    CHECK(lines_of(list_folder("work")) == 6, "%s", listing);
    size_t size;
    char *kept = read_bytes("work/dx.npy", &size);
    CHECK(kept && strcmp(kept, "mine") == 0);
    free(kept);
    CHECK(RUN("case", "softmax", "--out", "work/dx.npy") == 73, "%s", err);
    CHECK(RUN("case", "softmax", "--out", longest_path(), "--force") == 73 && has(err, "name too long"), "%s",
          err);
    CHECK(RUN("case", "softmax", "--out", "work/deeper/still") == 0, "%s", err);
}

/* A point for each part. */
TEST(parts_are_scored) {
    CaseFiles f;
    size_t size;
    solve_named(&f, "case", "layer_norm", "matrix");
    case_close(&f);
    write_text("case/dgamma.npy", "?");
    CHECK(RUN("verify", "case", "--gradescope", "results.json", "--junit", "results.xml") == 1, "%s", err);
    char *json = read_bytes("results.json", &size), *xml = read_bytes("results.xml", &size);
    CHECK(json && has(json, "matrix: dx\", \"score\": 1") && has(json, "matrix: dgamma\", \"score\": 0") &&
              has(json, "matrix: y\", \"score\": 1") && has(json, "not a .npy file"),
          "%s", json ? json : "no file");
    CHECK(xml && has(xml, "tests=\"4\" failures=\"1\" errors=\"0\""), "%s", xml ? xml : "no file");
    free(json);
    free(xml);
}

RUN_PROGRAM_TESTS
