/* The frequencies of rotary embeddings.
 *
 *     f_i = theta^(-2 i / E),   angle of pair i at position p = p f_i
 *
 * Llama 3 divides the frequencies of long wavelengths by a factor, leaves those of short ones, and
 * blends in between. */
#include "pretrained/rope.h"

#include <string.h>

#include "adze/checks.h"
#include "adze/ops/convert.h"
#include "adze/real.h"
#include "models.h"

static const double pi = 3.14159265358979323846;

/* The entries of a scaling of this type; each is a number above 0. */
static bool read_scaling(const models_json *scaling, const char *type, models_rope *rope)
{
    static const char *const names[] = { "factor", "low_freq_factor", "high_freq_factor",
        "original_max_position_embeddings" };
    double *const values[] = { &rope->factor, &rope->low_freq_factor, &rope->high_freq_factor,
        &rope->original_max_position_embeddings };
    rope->llama3 = strcmp(type, "llama3") == 0;
    const int count = rope->llama3 ? 4 : strcmp(type, "linear") == 0 ? 1 : 0;
    if (count == 0 && strcmp(type, "default") != 0) {
        adzi_models_json_fail(scaling, ADZ_ERR_UNSUPPORTED,
            "has the type \"%.60s\", but adze knows default, linear and llama3 only", type);
        return false;
    }
    for (int i = 0; i < count; ++i) {
        if (!adzi_models_json_number(scaling, names[i], values[i])) {
            return false;
        }
        if (!(*values[i] > 0)) {
            const models_json entry = adzi_models_json_member(scaling, names[i]);
            adzi_models_json_fail(&entry, ADZ_ERR_FORMAT, "must be above 0");
            return false;
        }
    }
    if (rope->llama3 && !(rope->high_freq_factor > rope->low_freq_factor)) {
        adzi_models_json_fail(
            scaling, ADZ_ERR_FORMAT, "must have a high_freq_factor above its low_freq_factor");
        return false;
    }
    return adzi_models_json_only(scaling,
        (const char *const[]){ "rope_type", "type", "rope_theta", "factor", "low_freq_factor",
            "high_freq_factor", "original_max_position_embeddings", NULL });
}

/* Finds the object that describes the scaling; its value is NULL where there is none. False with
 * the error recorded if two of them say different things. */
static bool scaling_of(const models_json *config, models_json *scaling)
{
    const models_json now = adzi_models_json_member(config, "rope_parameters");
    const models_json before = adzi_models_json_member(config, "rope_scaling");
    const bool has_now = now.value != NULL && !json_is_null(now.value);
    const bool has_before = before.value != NULL && !json_is_null(before.value);
    *scaling = has_now ? now : before;
    if (has_now && has_before && !json_equal(now.value, before.value)) {
        adzi_models_json_fail(
            &before, ADZ_ERR_UNSUPPORTED, "is another one than that of rope_parameters");
        return false;
    }
    return true;
}

bool adzi_models_rope_read(const models_json *config, models_rope *rope)
{
    *rope = (models_rope){ .theta = 10000, .factor = 1 };
    models_json theta = adzi_models_json_member(config, "rope_theta");
    models_json scaling;
    const char *type = "default";
    if (!scaling_of(config, &scaling)) {
        return false;
    }
    if (scaling.value != NULL && !json_is_null(scaling.value)) {
        if (!adzi_models_json_is_object(&scaling)) {
            return false;
        }
        const models_json own = adzi_models_json_member(&scaling, "rope_theta");
        theta = own.value != NULL ? own : theta;
        models_json name = adzi_models_json_member(&scaling, "rope_type");
        name = name.value != NULL ? name : adzi_models_json_member(&scaling, "type");
        type = adzi_models_json_text_of(&name);
        if (type == NULL || !read_scaling(&scaling, type, rope)) {
            return false;
        }
    }
    if (theta.value != NULL && !adzi_models_json_number_of(&theta, &rope->theta)) {
        return false;
    }
    if (!(rope->theta > 0)) {
        adzi_models_json_fail(&theta, ADZ_ERR_FORMAT, "must be above 0");
        return false;
    }
    return true;
}

static double scaled(const models_rope *rope, double frequency)
{
    if (!rope->llama3) {
        return frequency / rope->factor;
    }
    const double old = rope->original_max_position_embeddings, length = 2 * pi / frequency;
    if (length > old / rope->low_freq_factor) {
        return frequency / rope->factor;
    }
    if (length < old / rope->high_freq_factor) {
        return frequency;
    }
    const double part =
        (old / length - rope->low_freq_factor) / (rope->high_freq_factor - rope->low_freq_factor);
    return (1 - part) * frequency / rope->factor + part * frequency;
}

adz_tensor *adzi_models_rope_frequencies(const models_rope *rope, int64_t width, adz_dtype dtype)
{
    adz_tensor *t = adz_zeros(ADZ_SHAPE(width / 2), ADZ_F64);
    double *f = t != NULL && width > 1 ? adz_tensor_data(t) : NULL;
    for (int64_t i = 0; f != NULL && i < width / 2; ++i) {
        f[i] = scaled(rope, 1 / adz_real_pow(rope->theta, (double)(2 * i) / (double)width));
    }
    return adz_to(t, dtype);
}
