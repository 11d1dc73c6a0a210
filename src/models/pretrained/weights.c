/* Weights that are taken by name and shape (Note [Weights are taken from the file]). */
#include "pretrained/weights.h"

#include <stdio.h>
#include <string.h>

#include "adze/ops/convert.h"

const char *adzi_models_join(char *to, const char *path, const char *last)
{
    snprintf(to, MODELS_NAME, "%s%s%s", path, path[0] != '\0' && last[0] != '\0' ? "." : "", last);
    return to;
}

static bool is_float(adz_dtype dtype)
{
    return dtype == ADZ_F32 || dtype == ADZ_F64 || dtype == ADZ_F16 || dtype == ADZ_BF16;
}

adz_tensor *adzi_models_take(
    models_weights *weights, const char *path, const char *last, adz_shape shape)
{
    char name[MODELS_NAME];
    adzi_models_join(name, path, last);
    adz_tensor *t = weights->find(weights, name);
    if (t == NULL) {
        return models_fail(weights->op, ADZ_ERR_FORMAT,
            "%s: there is no tensor %s, which config.json asks for", weights->file, name);
    }
    const adz_shape own = adz_tensor_shape(t);
    if (own.rank != shape.rank ||
        memcmp(own.sizes, shape.sizes, (size_t)own.rank * sizeof *own.sizes) != 0) {
        return models_fail(weights->op, ADZ_ERR_FORMAT,
            "%s: tensor %s is %s, but config.json makes it %s", weights->file, name,
            adz_text_shape(t), adz_text_sizes(shape));
    }
    if (!is_float(adz_tensor_dtype(t))) {
        return models_fail(weights->op, ADZ_ERR_UNSUPPORTED, "%s: tensor %s is %s, but no float",
            weights->file, name, adz_dtype_name(adz_tensor_dtype(t)));
    }
    if (weights->taken == NULL) {
        weights->taken = json_object();
    }
    if (json_object_set_new(weights->taken, name, json_true()) != 0) {
        return models_fail(
            weights->op, ADZ_ERR_MEMORY, "%s: memory for names was refused", weights->file);
    }
    return adz_to(t, weights->dtype);
}

bool adzi_models_has(models_weights *weights, const char *path, const char *last)
{
    char name[MODELS_NAME];
    return weights->find(weights, adzi_models_join(name, path, last)) != NULL;
}

static bool is_taken(models_weights *weights, const char *name, void *user)
{
    bool (*const *ignored)(const char *) = user;
    if (json_object_get(weights->taken, name) != NULL || (*ignored)(name)) {
        return true;
    }
    adz_error_format(weights->op, ADZ_ERR_UNSUPPORTED,
        "%s: tensor %s belongs to no part of the model that config.json describes", weights->file,
        name);
    return false;
}

bool adzi_models_all_taken(models_weights *weights, bool (*ignored)(const char *name))
{
    return weights->each(weights, is_taken, &ignored);
}

void adzi_models_weights_end(models_weights *weights)
{
    json_decref(weights->taken);
    weights->taken = NULL;
}
