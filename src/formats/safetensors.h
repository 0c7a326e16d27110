/* .safetensors files: named arrays behind a JSON header, and a few strings about them.
 *
 *     8 bytes      length of the header, little-endian
 *     header       {"__metadata__": {"kind": "lm", …}, "NAME": {"dtype": "F32", "shape": [2, 3],
 *                  "data_offsets": [0, 24]}, …}
 *     data         the arrays' bytes, without a gap
 *
 * The files that safetensors_write makes also carry a checksum. Their header begins with exactly
 * `{"__metadata__": {"crc32": "XXXXXXXX"`, where XXXXXXXX is the CRC-32 of the whole file with eight zeros in
 * its place. One that differs from this in the letters of `crc32` alone is damaged. A header that begins otherwise, of
 * a file made elsewhere, has no checksum. */
#ifndef FORMATS_SAFETENSORS_H
#define FORMATS_SAFETENSORS_H

#include "base/file.h"
#include "formats/array.h"

typedef struct Metadata {
    const char *key, *value;
} Metadata;

typedef struct Safetensors {
    const char *path;
    Array *tensor; /* in the order of their names (strcmp) */
    int tensors;
    Metadata *metadata; /* in the order of their keys */
    int metadata_count;
    bool checksum; /* the file has one, and it fits */
    char *data;    /* the file */
} Safetensors;

/* Reads a file, whole. Refused with STATUS_BAD_DATA: a header of more than 100,000,000 bytes, a key given
 * twice, an unknown key or type, a gap between the arrays, an overlap or a byte that is nobody's, a rank
 * above ARRAY_RANK, a checksum that does not fit. s keeps `path` for messages. To be freed with
 * safetensors_free, also after failure. */
bool safetensors_read(Safetensors *s, const char *path, Error *e);

/* The same, whatever checksum the file has. */
bool safetensors_read_damaged(Safetensors *s, const char *path, Error *e);

/* As safetensors_read, from `size` bytes in memory, from malloc, which it takes over. */
bool safetensors_parse(Safetensors *s, const char *path, char *data, size_t size, Error *e);

void safetensors_free(Safetensors *s);

/* The tensor of that name, or NULL; _need fails with STATUS_BAD_DATA instead. */
const Array *safetensors_find(const Safetensors *s, const char *name);
const Array *safetensors_need(const Safetensors *s, const char *name, Error *e);

/* The value of that key in __metadata__, or NULL. */
const char *safetensors_metadata(const Safetensors *s, const char *key);

/* Writes a file, atomically (base/file.h), with the arrays' bytes straight from where they lie. Wider types
 * come first, so that all are aligned. Names must be UTF-8, not empty, all different and not "__metadata__",
 * keys all different and not "crc32": else it is a bug. */
bool safetensors_write(const char *path, const Metadata *metadata, int metadata_count, const Array *tensors,
                       int count, Error *e);

/* The same into a file that is open and has nothing in it yet; the caller commits it. */
bool safetensors_write_into(File *f, const Metadata *metadata, int metadata_count, const Array *tensors,
                            int count, Error *e);

#endif
