/* Reads values from the config of a vector file. */
#include <math.h>

#include "ops/case.h"

double config_number(const json_t *config, const char *key, double otherwise)
{
    const json_t *v = json_object_get(config, key);
    if (json_is_string(v)) {
        const char *text = json_string_value(v);
        return strcmp(text, "inf") == 0 ? INFINITY : strcmp(text, "-inf") == 0 ? -INFINITY : NAN;
    }
    return json_is_number(v) ? json_number_value(v) : otherwise;
}

bool config_has(const json_t *config, const char *key)
{
    const json_t *v = json_object_get(config, key);
    return v != NULL && !json_is_null(v);
}

bool config_flag(const json_t *config, const char *key, bool otherwise)
{
    const json_t *v = json_object_get(config, key);
    return json_is_boolean(v) ? json_is_true(v) : otherwise;
}

int config_list(const json_t *config, const char *key, double *values, int most)
{
    const json_t *v = json_object_get(config, key);
    if (json_is_number(v)) {
        values[0] = json_number_value(v);
        return 1;
    }
    if (!json_is_array(v) || (int)json_array_size(v) > most) {
        return -1;
    }
    for (size_t i = 0; i < json_array_size(v); ++i) {
        values[i] = json_number_value(json_array_get(v, i));
    }
    return (int)json_array_size(v);
}

const char *config_text(const json_t *config, const char *key, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(config, key));
    return text != NULL ? text : otherwise;
}

double config_reduction(const json_t *config)
{
    const char *text = config_text(config, "reduction", "mean");
    return strcmp(text, "none") == 0   ? ADZ_REDUCE_NONE
           : strcmp(text, "sum") == 0  ? ADZ_REDUCE_SUM
           : strcmp(text, "mean") == 0 ? ADZ_REDUCE_MEAN
                                       : ADZ_REDUCE_BATCHMEAN;
}

void config_dims(const json_t *config, const char *key, op_args *args, int at)
{
    args->p[at] = config_list(config, key, &args->p[at + 1], CASE_PARAMS - at - 1);
}

adz_dims case_dims(const op_args *args, int at)
{
    if (args->p[at] <= 0) {
        return ADZ_ALL_DIMS;
    }
    int dims[CASE_PARAMS], count = (int)args->p[at];
    for (int i = 0; i < count && at + 1 + i < CASE_PARAMS; ++i) {
        dims[i] = (int)args->p[at + 1 + i];
    }
    return adz_dims_of(count, dims);
}

void config_shape(const json_t *config, const char *key, op_args *args, int at)
{
    config_dims(config, key, args, at);
}

adz_shape case_shape(const op_args *args, int at)
{
    int64_t sizes[CASE_PARAMS];
    int rank = (int)args->p[at];
    for (int i = 0; i < rank && at + 1 + i < CASE_PARAMS; ++i) {
        sizes[i] = (int64_t)args->p[at + 1 + i];
    }
    return adz_shape_of(rank, sizes);
}
