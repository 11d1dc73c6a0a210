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

/** Where weights come from. adzi_models_weights_end ends `taken`; the source fills what follows
 * it. */
struct models_weights {
    const char *op;   /* for messages */
    const char *file; /* for messages: the file or folder of the weights */
    adz_dtype dtype;  /* of the parameters, ADZ_F32 or ADZ_F64 */
    bool as_stored;   /* weights stay as the file has them, where their module reads that */
    bool map;         /* the files are mapped, and not copied */
    json_t *taken;    /* an object with the names that were taken */
    void *user;       /* of the source */
    /* Whether there is a tensor of a name. */
    bool (*has)(models_weights *weights, const char *name);
    /* The tensor of a name that is there, borrowed; NULL with the error recorded. With `as_stored`
     * Q8_0[H, D] is u8[H, D / 32, 34]; else it is f32. */
    adz_tensor *(*find)(models_weights *weights, const char *name, bool as_stored);
    /* Calls `visit` with each name, until it returns false. */
    bool (*each)(models_weights *weights, bool (*visit)(models_weights *, const char *name, void *),
        void *user);
    bool blocks; /* `find` may return blocks of Q8_0 */
    /* The pooling that the source names; NULL: the folder's modules.json does. */
    const struct models_sentence *sentence;
};

/** Takes the weight "PATH.LAST", which must have this shape. Returns it in weights->dtype, borrowed
 * from the scope; NULL with the error recorded. */
adz_tensor *adzi_models_take(
    models_weights *weights, const char *path, const char *last, adz_shape shape);

/** Takes a weight whose module reads half precision and blocks of Q8_0. With weights->as_stored it
 * is returned as the file has it, else as adzi_models_take does. */
adz_tensor *adzi_models_take_stored(
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
