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

/* The shape of a weight that may be in blocks of Q8_0. */
static adz_shape shape_of(const models_weights *weights, const adz_tensor *t)
{
    adz_shape shape = adz_tensor_shape(t);
    if (weights->blocks && adz_tensor_dtype(t) == ADZ_U8 && shape.rank > 1) {
        shape.rank -= 1;
        shape.sizes[shape.rank - 1] *= ADZ_Q8_0_VALUES;
    }
    return shape;
}

/* Finds a weight, which must have this shape; NULL with the error recorded. */
static adz_tensor *find(models_weights *weights, const char *name, adz_shape shape, bool as_stored)
{
    if (!weights->has(weights, name)) {
        return models_fail(weights->op, ADZ_ERR_FORMAT,
            "%s: there is no tensor %s, which the configuration asks for", weights->file, name);
    }
    adz_tensor *t = weights->find(weights, name, as_stored);
    if (t == NULL) {
        return NULL;
    }
    const adz_shape own = shape_of(weights, t);
    if (own.rank != shape.rank ||
        memcmp(own.sizes, shape.sizes, (size_t)own.rank * sizeof *own.sizes) != 0) {
        return models_fail(weights->op, ADZ_ERR_FORMAT,
            "%s: tensor %s is %s, but the configuration makes it %s", weights->file, name,
            adz_text_sizes(own), adz_text_sizes(shape));
    }
    const bool blocks = weights->blocks && adz_tensor_dtype(t) == ADZ_U8;
    if (!is_float(adz_tensor_dtype(t)) && !blocks) {
        return models_fail(weights->op, ADZ_ERR_UNSUPPORTED, "%s: tensor %s is %s, but no float",
            weights->file, name, adz_dtype_name(adz_tensor_dtype(t)));
    }
    return t;
}

/* Takes a weight; whether it keeps half precision and blocks. */
static adz_tensor *take(
    models_weights *weights, const char *path, const char *last, adz_shape shape, bool as_stored)
{
    char name[MODELS_NAME];
    adz_tensor *t = find(weights, adzi_models_join(name, path, last), shape, as_stored);
    if (t == NULL) {
        return NULL;
    }
    if (weights->taken == NULL) {
        weights->taken = json_object();
    }
    if (json_object_set_new(weights->taken, name, json_true()) != 0) {
        return models_fail(
            weights->op, ADZ_ERR_MEMORY, "%s: memory for names was refused", weights->file);
    }
    const adz_dtype dtype = adz_tensor_dtype(t);
    const bool stays = as_stored && (dtype == ADZ_F16 || dtype == ADZ_BF16 || dtype == ADZ_U8);
    return stays ? t : adz_to(t, weights->dtype);
}

adz_tensor *adzi_models_take(
    models_weights *weights, const char *path, const char *last, adz_shape shape)
{
    return take(weights, path, last, shape, false);
}

adz_tensor *adzi_models_take_stored(
    models_weights *weights, const char *path, const char *last, adz_shape shape)
{
    return take(weights, path, last, shape, weights->as_stored);
}

bool adzi_models_has(models_weights *weights, const char *path, const char *last)
{
    char name[MODELS_NAME];
    return weights->has(weights, adzi_models_join(name, path, last));
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
