/* .safetensors files: a JSON header with metadata, then named arrays.
 *
 *     8 bytes      length of the header, little-endian
 *     header       {"__metadata__": {"kind": "lm", …}, "NAME": {"dtype": "F32", "shape": [2, 3],
 *                  "data_offsets": [0, 24]}, …}
 *     data         the bytes of the arrays, without gaps
 *
 * safetensors_write adds a checksum. The header then begins with exactly
 *
 *     {"__metadata__": {"crc32": "XXXXXXXX"
 *
 * where XXXXXXXX is the CRC-32 of the file with eight zeros in its place. A file in which only the
 * letters of `crc32` differ is damaged. A header that begins otherwise, from another program, has
 * no checksum. */
#pragma once

#include "base/arena.h"
#include "base/file.h"
#include "formats/array.h"

typedef struct Metadata {
    const char *key, *value;
} Metadata;

typedef struct Safetensors {
    const char *path;
    Array *tensor; /* sorted by name (strcmp) */
    int tensors;
    Metadata *metadata; /* sorted by key */
    int metadata_count;
    char *data; /* the whole file */
} Safetensors;

/* Reads a file. STATUS_BAD_DATA: a header of more than 100,000,000 bytes, a duplicate key, an
 * unknown key or type, gaps or overlaps between arrays, a rank above ARRAY_RANK, a wrong checksum.
 * s keeps `path` for messages. To be freed with safetensors_free, even after a failure. */
bool safetensors_read(Safetensors *s, const char *path, Error *e);

/* Reads `size` bytes from malloc as safetensors_read does; s then owns them. */
bool safetensors_parse(Safetensors *s, const char *path, char *data, size_t size, Error *e);

void safetensors_free(Safetensors *s);

/* Returns the tensor of that name; NULL if there is none. _need then also sets STATUS_BAD_DATA. */
const Array *safetensors_find(const Safetensors *s, const char *name);
const Array *safetensors_need(const Safetensors *s, const char *name, Error *e);

/* The value of the key in __metadata__, or NULL. */
const char *safetensors_metadata(const Safetensors *s, const char *key);

/* Writes a file atomically (base/file.h), without copying the arrays. Writes wider types first, so
 * that all are aligned. It is a bug if a name is empty, not UTF-8, "__metadata__" or a duplicate,
 * or if a key is "crc32" or a duplicate. */
bool safetensors_write(const char *path, const Metadata *metadata, int metadata_count,
                       const Array *tensors, int count, Error *e);

/* The contents of a file to be written, in the order in which they are added. Starts as {0}; to be
 * freed with contents_free. Owns its texts, but not the elements of its tensors. Without memory for
 * a list the process ends: error_no_memory. */
typedef struct Contents {
    Metadata *metadata;
    Array *tensor;
    long metadata_count, tensors, metadata_capacity, tensor_capacity;
    Arena texts;
} Contents;
void contents_note(Contents *c, const char *key, const char *value);
void contents_number(Contents *c, const char *key, long value);
void contents_tensor(Contents *c, const char *prefix, const char *name, Shape s, const real *x);
void contents_free(Contents *c);

/* Writes into an open, empty file. The caller commits it. */
bool contents_write(const Contents *c, File *f, Error *e);
