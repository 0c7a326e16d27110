/* Reads and writes .safetensors. The reader accepts a subset of what the format's own library
 * accepts. */
#include "formats/safetensors.h"
#include "base/crc32.h"
#include "base/file.h"
#include "base/utf8.h"
#include "formats/json.h"
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEADER = 100000000 }; /* as in the format's own library */

static const char checksum_opening[] = "{\"__metadata__\": {\"crc32\": \"";
enum { OPENING = sizeof checksum_opening - 1, DIGITS = 8 };

/* ---- Reading: the header ---- */

/* The array of `count` elements, perhaps moved, with capacity for one more; NULL: no memory. The
 * header bounds their number. */
static void *grown(const Safetensors *s, void *array, int count, size_t size, Error *e) {
    if (count & (count - 1)) return array; /* full at 0 and at powers of two */
    void *larger = realloc(array, (count ? 2 * (size_t)count : 1) * size);
    if (!larger) error_set(e, STATUS_NO_MEMORY, "%s: no memory for the header", s->path);
    return larger;
}

/* A string without U+0000: a C string. */
static bool plain(Json *j, const JsonString *s) {
    return !memchr(s->text, 0, s->length) || json_fail(j, "found U+0000 in a string");
}

static bool read_metadata(Safetensors *s, Json *j) {
    JsonString key, value;
    json_enter(j, '{');
    while (json_member(j, &key)) {
        if (!plain(j, &key) || !json_string(j, &value) || !plain(j, &value)) return false;
        if (strcmp(key.text, "crc32") == 0) continue; /* belongs to the file, not to its contents */
        Metadata *larger = grown(s, s->metadata, s->metadata_count, sizeof *larger, j->error);
        if (!larger) return false;
        s->metadata = larger;
        s->metadata[s->metadata_count++] = (Metadata){key.text, value.text};
    }
    return !j->failed;
}

static bool read_dtype(Json *j, Array *a) {
    JsonString name;
    if (!json_string(j, &name) || !plain(j, &name)) return false;
    for (int d = 0; d < DTYPES; d++)
        if (strcmp(name.text, dtype_name((Dtype)d)) == 0) {
            a->dtype = (Dtype)d;
            return true;
        }
    return json_fail(j, "found type \"%s\", need I32, I64, F16, BF16, F32 or F64",
                     ESCAPED(name.text));
}

static bool read_shape(Json *j, Array *a) {
    json_enter(j, '[');
    while (json_element(j)) {
        uint64_t size;
        if (a->rank == ARRAY_RANK) return json_fail(j, "found more than %d axes", ARRAY_RANK);
        if (!json_natural(j, &size)) return false;
        if (size > LONG_MAX)
            return json_fail(j, "found size %" PRIu64 ", need one below " LONG_BOUND, size);
        a->size[a->rank++] = (long)size;
    }
    return !j->failed;
}

static bool read_offsets(Json *j, uint64_t offset[2]) {
    json_enter(j, '[');
    for (int i = 0; i < 2; i++)
        if (!json_element(j) || !json_natural(j, &offset[i]))
            return json_fail(j, "found fewer than two offsets");
    return !json_element(j) ? !j->failed : json_fail(j, "found more than two offsets");
}

/* Reads type and shape of a tensor, and its place in the `size` bytes at `data`. */
static bool read_tensor(Json *j, Array *a, const char *data, size_t size) {
    static const char *const fields[] = {"dtype", "shape", "data_offsets"};
    enum { FIELDS = 3 };
    uint64_t offset[2] = {0};
    bool seen[FIELDS] = {0};
    JsonString key;
    json_enter(j, '{');
    while (json_member(j, &key)) {
        if (!plain(j, &key)) return false;
        int i = 0;
        while (i < FIELDS && strcmp(key.text, fields[i]) != 0) i++;
        if (i == FIELDS)
            return json_fail(j, "found key \"%s\", need dtype, shape and data_offsets",
                             ESCAPED(key.text));
        if (seen[i]) return json_fail(j, "found duplicate key \"%s\"", fields[i]);
        seen[i] = true;
        if (i == 0 && !read_dtype(j, a)) return false;
        if (i == 1 && !read_shape(j, a)) return false;
        if (i == 2 && !read_offsets(j, offset)) return false;
    }
    for (int i = 0; i < FIELDS; i++)
        if (!seen[i]) return json_fail(j, "found a tensor without %s", fields[i]);
    if (!shape_fits(a->rank, a->size, dtype_size(a->dtype), &a->count))
        return json_fail(j, "found a shape of more than " LONG_BOUND " bytes");
    if (offset[0] > offset[1] || offset[1] > size)
        return json_fail(
            j, "found data from %" PRIu64 " to %" PRIu64 ", need a range in the file's %zu",
            offset[0], offset[1], size);
    size_t bytes = (size_t)a->count * dtype_size(a->dtype);
    if (offset[1] - offset[0] != bytes)
        return json_fail(j, "found %" PRIu64 " bytes of data, need %zu for type and shape",
                         offset[1] - offset[0], bytes);
    a->bytes = data + offset[0];
    return true;
}

static bool read_header(Safetensors *s, Json *j, const char *data, size_t size) {
    bool metadata = false;
    JsonString key;
    json_enter(j, '{');
    while (json_member(j, &key)) {
        if (!plain(j, &key)) return false;
        if (strcmp(key.text, "__metadata__") == 0) {
            if (metadata) return json_fail(j, "found duplicate key \"__metadata__\"");
            metadata = true;
            if (!read_metadata(s, j)) return false;
            continue;
        }
        Array a = {.file = s->path, .name = key.text};
        if (!*a.name) return json_fail(j, "found a tensor without a name");
        if (!read_tensor(j, &a, data, size)) return false;
        Array *larger = grown(s, s->tensor, s->tensors, sizeof *larger, j->error);
        if (!larger) return false;
        s->tensor = larger;
        s->tensor[s->tensors++] = a;
    }
    return json_end(j);
}

/* ---- Reading: the file ---- */

/* Arrays and metadata begin with a name. */
static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t array_bytes(const Array *a) {
    return (size_t)a->count * dtype_size(a->dtype);
}

/* By place in the data; empty arrays first. */
static int by_place(const void *a, const void *b) {
    const Array *x = a, *y = b;
    if (x->bytes != y->bytes) return (const char *)x->bytes < (const char *)y->bytes ? -1 : 1;
    return (array_bytes(x) > array_bytes(y)) - (array_bytes(x) < array_bytes(y));
}

/* Sorts a list by name. Fails if two names are equal. */
static bool sort_by_name(void *list, int count, size_t size, const char *path, Error *e) {
    if (count) qsort(list, (size_t)count, size, by_name);
    for (int i = 1; i < count; i++) {
        const char *entry = (const char *)list + (size_t)i * size;
        if (by_name(entry - size, entry) == 0)
            return error_set(e, STATUS_BAD_DATA, "%s: header: found duplicate key \"%s\"", path,
                             ESCAPED(*(const char *const *)entry));
    }
    return true;
}

static bool sort_lists(Safetensors *s, Error *e) {
    return sort_by_name(s->tensor, s->tensors, sizeof *s->tensor, s->path, e) &&
           sort_by_name(s->metadata, s->metadata_count, sizeof *s->metadata, s->path, e);
}

/* Every byte of the data belongs to exactly one tensor. */
static bool data_is_covered(Safetensors *s, const char *data, size_t size, Error *e) {
    const char *at = data;
    if (s->tensors) qsort(s->tensor, (size_t)s->tensors, sizeof *s->tensor, by_place);
    for (int i = 0; i < s->tensors; i++) {
        const char *start = s->tensor[i].bytes;
        if (start != at)
            return error_set(
                e, STATUS_BAD_DATA,
                "%s: found its data at %td, need it at %td, the end of the last tensor's",
                ARRAY_PLACE(&s->tensor[i]), start - data, at - data);
        at = start + array_bytes(&s->tensor[i]);
    }
    return at == data + size ||
           error_set(e, STATUS_BAD_DATA, "%s: found %td bytes after the last tensor's data",
                     s->path, data + size - at);
}

/* The checksum of the file with eight zeros in place of its digits, which begin at `digits`. */
static uint32_t checksum(const char *file, size_t size, size_t digits) {
    uint32_t crc = crc32_update(crc32_update(0, file, digits), "00000000", DIGITS);
    return crc32_update(crc, file + digits + DIGITS, size - digits - DIGITS);
}

/* True if the file begins as safetensors_write's do, the letters of "crc32" perhaps damaged. */
static bool has_checksum(const char *file, size_t size) {
    enum {
        KEY = sizeof "{\"__metadata__\": {\"" - 1,
        LETTERS = sizeof "crc32" - 1,
        BEHIND = KEY + LETTERS
    };
    if (size < 8 + OPENING + DIGITS + 1) return false;
    const char *digits = file + 8 + OPENING;
    bool misspelt = digits[DIGITS] == '"';
    for (int i = 0; i < DIGITS; i++)
        misspelt &= digits[i] && strchr("0123456789ABCDEF", digits[i]) != NULL;
    return memcmp(file + 8, checksum_opening, KEY) == 0 &&
           memcmp(file + 8 + BEHIND, checksum_opening + BEHIND, OPENING - BEHIND) == 0 &&
           (misspelt || memcmp(file + 8 + KEY, "crc32", LETTERS) == 0);
}

/* Checks the checksum of a file that begins as safetensors_write's do. */
static bool checksum_fits(const char *path, const char *file, size_t size, Error *e) {
    const size_t digits = 8 + OPENING;
    char need[DIGITS + 1], found[DIGITS + 1] = "";
    if (memcmp(file + 8, checksum_opening, OPENING) != 0)
        return error_set(e, STATUS_BAD_DATA,
                         "%s: the file is damaged: found no \"crc32\" before its checksum", path);
    memcpy(found, file + digits, DIGITS);
    sprintf(need, "%08X", (unsigned)checksum(file, size, digits));
    return strcmp(found, need) == 0 ||
           error_set(e, STATUS_BAD_DATA, "%s: the file is damaged: found checksum %s, need %s",
                     path, ESCAPED(found), need);
}

static bool parse(Safetensors *s, size_t size, Error *e) {
    if (size < 8)
        return error_set(e, STATUS_BAD_DATA, "%s: found %zu bytes, need at least 8", s->path, size);
    uint64_t length;
    memcpy(&length, s->data, 8);
    uint64_t max = size - 8 < MAX_HEADER ? size - 8 : MAX_HEADER;
    if (length > max)
        return error_set(e, STATUS_BAD_DATA,
                         "%s: found a header of %" PRIu64 " bytes, need at most %" PRIu64, s->path,
                         length, max);
    if (has_checksum(s->data, size) && !checksum_fits(s->path, s->data, size, e)) return false;

    char header_where[ARRAY_WHERE + 16];
    snprintf(header_where, sizeof header_where, "%s: header",
             ARRAY_PLACE(&(Array){.file = s->path}));
    char *data = s->data + 8 + length;
    Json j = json_over(header_where, s->data + 8, (size_t)length, e);
    size_t data_size = size - 8 - (size_t)length;
    if (!read_header(s, &j, data, data_size)) return false;
    return sort_lists(s, e) && data_is_covered(s, data, data_size, e) && sort_lists(s, e);
}

bool safetensors_parse(Safetensors *s, const char *path, char *data, size_t size, Error *e) {
    *s = (Safetensors){.path = path, .data = data};
    if (parse(s, size, e)) return true;
    safetensors_free(s);
    return false;
}

bool safetensors_read(Safetensors *s, const char *path, Error *e) {
    WANT(s);
    WANT(path);
    char *data;
    size_t size;
    *s = (Safetensors){0};
    return file_read(path, 0, &data, &size, e) && safetensors_parse(s, path, data, size, e);
}

void safetensors_free(Safetensors *s) {
    WANT(s);
    free(s->tensor);
    free(s->metadata);
    free(s->data);
    *s = (Safetensors){0};
}

static const void *find(const char *name, const void *list, int count, size_t size) {
    return count ? bsearch(&name, list, (size_t)count, size, by_name) : NULL;
}

const Array *safetensors_find(const Safetensors *s, const char *name) {
    WANT(s);
    WANT(name);
    return find(name, s->tensor, s->tensors, sizeof *s->tensor);
}

const Array *safetensors_need(const Safetensors *s, const char *name, Error *e) {
    const Array *a = safetensors_find(s, name);
    if (!a) error_set(e, STATUS_BAD_DATA, "%s: found no tensor \"%s\"", s->path, name);
    return a;
}

const char *safetensors_metadata(const Safetensors *s, const char *key) {
    WANT(s);
    WANT(key);
    const Metadata *found = find(key, s->metadata, s->metadata_count, sizeof *s->metadata);
    return found ? found->value : NULL;
}

/* ---- Writing ---- */

static void check_text(const char *text) {
    Error e = {0};
    if (!utf8_check("safetensors_write", text, strlen(text), &e)) error_bug("%s", e.text);
}

/* Stops with a bug unless the names of a list are UTF-8 and differ from each other and from a
 * reserved one. */
static void check_names(const char *kind, const void *list, int count, size_t size,
                        const char *reserved) {
    if (count < 0) error_bug("safetensors_write: %d %ss, want at least 0", count, kind);
    if (count) WANT(list);
    for (int i = 0; i < count; i++) {
        const char *entry = (const char *)list + (size_t)i * size;
        const char *name = *(const char *const *)entry;
        if (!name) error_bug("safetensors_write: %s %d has no name", kind, i);
        check_text(name);
        bool taken = strcmp(name, reserved) == 0;
        for (int k = 1; k <= i; k++) taken |= by_name(entry, entry - (size_t)k * size) == 0;
        if (taken) error_bug("safetensors_write: %s \"%s\" is taken", kind, name);
    }
}

static void check_lists(const Metadata *metadata, int metadata_count, const Array *tensors,
                        int count) {
    check_names("metadata key", metadata, metadata_count, sizeof *metadata, "crc32");
    check_names("tensor", tensors, count, sizeof *tensors, "__metadata__");
    for (int i = 0; i < count; i++)
        if (!*tensors[i].name) error_bug("safetensors_write: tensor %d has no name", i);
    for (int i = 0; i < metadata_count; i++) {
        WANT(metadata[i].value);
        check_text(metadata[i].value);
    }
}

/* Wider types come first, so that all are aligned. */
#define FOR_EACH_IN_FILE_ORDER(a, tensors, count)                                                  \
    for (size_t size_ = 8; size_; size_ /= 2)                                                      \
        for (const Array *a = (tensors); a && a < (tensors) + (count); a++)                        \
            if (dtype_size(a->dtype) == size_)

/* Prints 8 bytes for the length and the header, without checksum; returns their number, a multiple
 * of 8. */
static size_t print_header(FILE *text, const Metadata *metadata, int metadata_count,
                           const Array *tensors, int count) {
    fprintf(text, "%8s%s00000000\"", "", checksum_opening);
    for (int i = 0; i < metadata_count; i++) {
        fprintf(text, ", ");
        json_print(text, metadata[i].key);
        fprintf(text, ": ");
        json_print(text, metadata[i].value);
    }
    fprintf(text, "}");
    size_t offset = 0;
    FOR_EACH_IN_FILE_ORDER(a, tensors, count) {
        fprintf(text, ", ");
        json_print(text, a->name);
        fprintf(text, ": {\"dtype\": \"%s\", \"shape\": [", dtype_name(a->dtype));
        for (int i = 0; i < a->rank; i++) fprintf(text, i ? ", %ld" : "%ld", a->size[i]);
        fprintf(text, "], \"data_offsets\": [%zu, %zu]}", offset, offset + array_bytes(a));
        offset += array_bytes(a);
    }
    fprintf(text, "}");
    fprintf(text, "%*s", (int)(7 - (ftell(text) + 7) % 8), "");
    return (size_t)ftell(text);
}

static bool write_into(File *f, const Metadata *metadata, int metadata_count, const Array *tensors,
                       int count, Error *e) {
    check_lists(metadata, metadata_count, tensors, count);
    size_t written = 0, size = 0;
    char *header = NULL;
    FILE *text = open_memstream(&header, &size);
    if (text) written = print_header(text, metadata, metadata_count, tensors, count);
    if (!text || fclose(text) != 0 || size != written || !header) {
        free(header);
        return error_set(e, STATUS_NO_MEMORY, "%s: no memory for the header", file_path(f));
    }
    memcpy(header, &(uint64_t){size - 8}, 8);
    if (size - 8 > MAX_HEADER)
        error_bug("safetensors_write: %s: a header of %zu bytes", file_path(f), size);

    char digits[DIGITS + 1];
    uint32_t crc = crc32_update(0, header, size);
    FOR_EACH_IN_FILE_ORDER(a, tensors, count) crc = crc32_update(crc, a->bytes, array_bytes(a));
    sprintf(digits, "%08X", (unsigned)crc);
    memcpy(header + 8 + OPENING, digits, DIGITS);
    file_write(f, header, size);
    FOR_EACH_IN_FILE_ORDER(a, tensors, count) file_write(f, a->bytes, array_bytes(a));
    free(header);
    return true;
}

bool safetensors_write(const char *path, const Metadata *metadata, int metadata_count,
                       const Array *tensors, int count, Error *e) {
    WANT(path);
    check_lists(metadata, metadata_count, tensors, count); /* a bug, before the file is touched */
    File *f = file_create(path, e);
    if (!f) return false;
    if (write_into(f, metadata, metadata_count, tensors, count, e)) return file_commit(f, e);
    file_abandon(f);
    return false;
}

/* ---- Contents ---- */

void contents_note(Contents *c, const char *key, const char *value) {
    c->metadata =
        array_grown(c->metadata, c->metadata_count, &c->metadata_capacity, sizeof *c->metadata);
    c->metadata[c->metadata_count++] =
        (Metadata){arena_text(&c->texts, key), arena_text(&c->texts, value)};
}

void contents_number(Contents *c, const char *key, long value) {
    char text[24];
    snprintf(text, sizeof text, "%ld", value);
    contents_note(c, key, text);
}

void contents_tensor(Contents *c, const char *prefix, const char *name, Shape s, const real *x) {
    c->tensor = array_grown(c->tensor, c->tensors, &c->tensor_capacity, sizeof *c->tensor);
    char *whole = arena_alloc(&c->texts, strlen(prefix) + strlen(name) + 1);
    strcat(strcpy(whole, prefix), name);
    c->tensor[c->tensors++] = array_over(whole, DTYPE_REAL, s, x);
}

void contents_free(Contents *c) {
    free(c->metadata);
    free(c->tensor);
    arena_free(&c->texts);
    *c = (Contents){0};
}

bool contents_write(const Contents *c, File *f, Error *e) {
    return write_into(f, c->metadata, (int)c->metadata_count, c->tensor, (int)c->tensors, e);
}
