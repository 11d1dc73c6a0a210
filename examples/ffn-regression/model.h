/* The network, the standardisers around it, and the file that holds all of them. */
#ifndef FFN_MODEL_H
#define FFN_MODEL_H

#include <adze/adze.h>

#include "options.h"

typedef struct model {
    adz_module *root; /* children: input, network, target */
    char **features;  /* n_features names of columns, in the order of the inputs */
    size_t n_features;
    char *target_name;
    int64_t hidden[MAX_HIDDEN];
    int n_hidden;
    char activation[16];
    double dropout;
    bool gated;
} model;

bool is_activation(const char *name);

/* A new network of the shape that the options ask for. Copies the names. */
model new_model(
    const options *o, char *const *features, size_t n_features, const char *target_name);

/* Loads a network with its shape and its names. If `training` is not NULL and the file holds an
 * interrupted training, *training receives the file, for adz_safetensors_free, and NULL otherwise.
 */
model load_model(const char *path, adz_safetensors **training);

/* Writes the model; `training` adds what an interrupted training needs to go on, or is NULL. */
void save_model(const model *m, const char *path, adz_safetensors *training);

/* In a file's metadata if it holds an interrupted training: the layout's version. A training of the
 * earlier one cannot go on, because its rows came in another order. */
#define TRAINING_MARK            "training"
#define TRAINING_VERSION         "2"
#define TRAINING_VERSION_EARLIER "1"

void free_model(model *m);

/* Parts of root, borrowed from it. Standardisers work on f64, the network on f32. */
adz_module *input_standardizer(const model *m);
adz_module *target_standardizer(const model *m);
adz_module *network(const model *m);

/* y[N, 1] in the target's units from x[N, D] in the features'; in evaluation mode, without a graph.
 * Borrowed from the scope. */
adz_tensor *predict(const model *m, adz_tensor *x);

/* Writes the model as a function in C of one row: the columns in their own units go in, and a
 * prediction in the target's unit comes out. */
void export_c(const model *m, const char *path);

/* Writes the function of predict as an ONNX model for any number of rows. */
void export_onnx(const model *m, const char *path);

#endif
