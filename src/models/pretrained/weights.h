/* The weights of a published model: named tensors that are taken one by one.
 *
 * Note [Weights are taken from the file]
 * A module of a published model is not filled with initial values and loaded afterwards. It is
 * built of the file's tensors: each constructor takes its weights by name and shape. So a
 * configuration asks for no memory that the file has not shown, reading copies nothing twice, and a
 * weight that is missing or has another shape is an error before anything is computed. What nobody
 * has taken at the end would have been ignored, which is an error too. */
#ifndef ADZI_MODELS_PRETRAINED_WEIGHTS_H
#define ADZI_MODELS_PRETRAINED_WEIGHTS_H

#include <jansson.h>

#include "adze/io/safetensors.h"
#include "models.h"

enum { MODELS_NAME = 256 }; /* bytes of a weight's name */

typedef struct models_weights models_weights;

/** Where weights come from. Fill the first five members; adzi_models_weights_end ends `taken`. */
struct models_weights {
    const char *op;   /* for messages */
    const char *file; /* for messages: the file or folder of the weights */
    adz_dtype dtype;  /* of the parameters, ADZ_F32 or ADZ_F64 */
    /* The tensor of a name, borrowed; NULL, without an error, if there is none. */
    adz_tensor *(*find)(models_weights *weights, const char *name);
    /* Calls `visit` with each name, until it returns false. */
    bool (*each)(models_weights *weights, bool (*visit)(models_weights *, const char *name, void *),
        void *user);
    json_t *taken; /* an object with the names that were taken */
    void *user;    /* of the source */
};

/** Takes the weight "PATH.LAST", which must have this shape. Returns it in weights->dtype, borrowed
 * from the scope; NULL with the error recorded. */
adz_tensor *adzi_models_take(
    models_weights *weights, const char *path, const char *last, adz_shape shape);

/** Whether there is a weight "PATH.LAST". */
bool adzi_models_has(models_weights *weights, const char *path, const char *last);

/** Joins a path and a name by a point; `to` has MODELS_NAME bytes. Returns `to`. */
const char *adzi_models_join(char *to, const char *path, const char *last);

/** Whether each weight was taken, except those for which `ignored` says true. False with
 * ADZ_ERR_UNSUPPORTED recorded, which names the first other one. */
bool adzi_models_all_taken(models_weights *weights, bool (*ignored)(const char *name));

/** Ends what the calls above have made. */
void adzi_models_weights_end(models_weights *weights);

/* ---- the files of a folder ------------------------------------------------------------------ */

/** Opens model.safetensors, or the shards that model.safetensors.index.json names. False with the
 * error recorded. End them with adzi_models_folder_close in both cases. */
bool adzi_models_folder_open(models_weights *weights, const char *folder);
void adzi_models_folder_close(models_weights *weights);

#endif
