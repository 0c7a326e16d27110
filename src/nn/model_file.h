/* Models on disk: one safetensors file holds the weights, under the names and in the layouts of PyTorch's
 * modules, and in its metadata what the model is (config_field) and what else is to be known of it: its
 * vocabulary, the ids that begin and end a sequence, …, which are the caller's notes. */
#ifndef NN_MODEL_FILE_H
#define NN_MODEL_FILE_H

#include "formats/safetensors.h"
#include "nn/nn.h"

/* Notes of a file that was read; they own their strings. */
typedef struct Notes {
    Metadata *entry; /* [count], in the order of their keys */
    int count;
    bool checksum; /* the file has one, and it fits */
} Notes;

/* The value of that key, or NULL. */
const char *model_notes_find(const Notes *n, const char *key);
void model_notes_free(Notes *n);

/* Writes the model with `count` notes, atomically. STATUS_CANNOT_CREATE, STATUS_IO, STATUS_NO_MEMORY. A note
 * under the name of one of the configuration's fields is a bug. */
bool model_save(const Model *m, const char *path, const Metadata *note, int count, Error *e);

/* The same into a file that is open and has nothing in it yet, with more arrays behind the weights; the caller commits
 * it. STATUS_NO_MEMORY. */
bool model_write(const Model *m, File *f, const Metadata *note, int count, const Array *more, int arrays,
                 Error *e);

/* Of a larger weight not even the square is a float: no model computes with it. */
extern const double model_largest_weight; /* 1e18 */

/* Reads a model, as model_new makes it: `training` gives it gradients and moments, which are 0. Where notes
 * is not NULL it gets the file's notes, for model_notes_free. NULL with the error if the file cannot be had as
 * safetensors_read has it, or with STATUS_BAD_DATA if its metadata describes no model, or a tensor is
 * missing, not the model's, of another shape, of integers, or holds a number that is not finite or above 1e18. */
Model *model_load(const char *path, bool training, Notes *notes, Error *e);

/* The same, whatever checksum the file has. */
Model *model_load_damaged(const char *path, bool training, Notes *notes, Error *e);

#endif
