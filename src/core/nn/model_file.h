/* Models on disk. One safetensors file holds the weights, under the names and in the layouts of
 * PyTorch's modules. Its metadata hold the configuration (config_field) and the caller's notes:
 * vocabulary, ids that begin and end a sequence, … */
#pragma once

#include "formats/safetensors.h"
#include "nn/nn.h"

/* The notes of a file that was read. They own their strings. */
typedef struct Notes {
    Metadata *entry; /* [count], in the order of their keys */
    int count;
} Notes;

/* The value of the key, or NULL. */
const char *model_notes_find(const Notes *n, const char *key);
void model_notes_free(Notes *n);

/* Writes the model with `count` notes, atomically. STATUS_CANNOT_CREATE, STATUS_IO,
 * STATUS_NO_MEMORY. A note whose key is the name of a configuration's field is a bug. */
bool model_save(const Model *m, const char *path, const Metadata *note, int count, Error *e);

/* Adds the configuration and the weights to the contents of a file. */
void model_describe(const Model *m, Contents *c);

/* The largest weight that a model may have: the square of a larger one may overflow a float. */
extern const double model_largest_weight; /* 1e18 */

/* Reads a model; `training` adds gradients. *notes, if not NULL, gets the file's notes, for
 * model_notes_free. NULL with the error of safetensors_read, or STATUS_BAD_DATA if the metadata
 * describe no model, or a tensor is missing, unknown, of another shape or of integers, or has an
 * element that is not finite or exceeds model_largest_weight. */
Model *model_load(const char *path, bool training, Notes *notes, Error *e);

/* Reads the weights of a file into a model that has all tensors of the file, in the same shapes.
 * Tensors that the file lacks keep their values. Errors as model_load. */
bool model_read_weights(Model *m, const char *path, Error *e);
