/* The frequencies of rotary embeddings.
 *
 *     f_i = theta^(-2 i / E),   angle of pair i at position p = p f_i
 *
 * Llama 3 divides the frequencies of long wavelengths by a factor, leaves those of short ones, and
 * blends in between. So does YaRN (Peng et al., 2023), by the number of the pair, and it multiplies
 * the scores of attention by a number. */
#include "pretrained/rope.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "adze/checks.h"
#include "adze/ops/convert.h"
#include "adze/real.h"
#include "models.h"

static const double pi = 3.14159265358979323846;

/* ---- the configuration ---------------------------------------------------------------------- */

#define COMMON "rope_type", "type", "rope_theta", "factor", "original_max_position_embeddings"

/* Types of scaling: how many of the numbers of read_scaling() they have, and all their entries. */
#define TYPE(its_name, its_kind, count, ...)                                     \
    {                                                                            \
        .name = (its_name), .kind = (its_kind), .numbers = (count), .entries = { \
            COMMON,                                                              \
            __VA_ARGS__                                                          \
        }                                                                        \
    }
static const struct {
    const char *name;
    models_rope_kind kind;
    int numbers;
    const char *entries[12]; /* NULL ends them */
} types[] = {
    TYPE("default", MODELS_ROPE_LINEAR, 0, "low_freq_factor", "high_freq_factor"),
    TYPE("linear", MODELS_ROPE_LINEAR, 1, "low_freq_factor", "high_freq_factor"),
    TYPE("llama3", MODELS_ROPE_LLAMA3, 4, "low_freq_factor", "high_freq_factor"),
    TYPE("yarn", MODELS_ROPE_YARN, 1, "attention_factor", "beta_fast", "beta_slow", "mscale",
        "mscale_all_dim", "truncate"),
};
enum { N_TYPES = sizeof types / sizeof *types };

/* Reads a number above 0. */
static bool read_above_0(const models_json *object, const char *name, double *value)
{
    const models_json entry = adzi_models_json_member(object, name);
    if (!adzi_models_json_number_of(&entry, value)) {
        return false;
    }
    if (!(*value > 0)) {
        adzi_models_json_fail(&entry, ADZ_ERR_FORMAT, "must be above 0");
    }
    return *value > 0;
}

/* Reads a number above 0 that may be missing or null; `value` stays as it is then. `zero` says that
 * 0 means the same. */
static bool read_optional(const models_json *object, const char *name, bool zero, double *value)
{
    const models_json entry = adzi_models_json_member(object, name);
    const bool none = entry.value == NULL || json_is_null(entry.value) ||
                      (zero && json_is_number(entry.value) && json_number_value(entry.value) == 0);
    return none || read_above_0(object, name, value);
}

/* By how much scores grow with the factor, as the paper has it. */
static double growth(double factor, double scale)
{
    return factor <= 1 ? 1 : 0.1 * scale * adz_real_log(factor) + 1;
}

/* The entries of yarn beside its factor. */
static bool read_yarn(const models_json *config, const models_json *scaling, models_rope *rope)
{
    static const char original[] = "original_max_position_embeddings";
    double all = 0, some = 0;
    const models_json own = adzi_models_json_member(scaling, original);
    const bool has_own = own.value != NULL && !json_is_null(own.value);
    rope->beta_fast = 32;
    rope->beta_slow = 1;
    rope->truncate = true;
    const models_json truncate = adzi_models_json_member(scaling, "truncate");
    if ((truncate.value != NULL && !adzi_models_json_flag_of(&truncate, &rope->truncate)) ||
        !read_above_0(has_own ? scaling : config, has_own ? original : "max_position_embeddings",
            &rope->original_max_position_embeddings) ||
        !read_optional(scaling, "beta_fast", true, &rope->beta_fast) ||
        !read_optional(scaling, "beta_slow", true, &rope->beta_slow) ||
        !read_optional(scaling, "mscale", true, &some) ||
        !read_optional(scaling, "mscale_all_dim", true, &all)) {
        return false;
    }
    rope->attention_factor = some > 0 && all > 0
                                 ? growth(rope->factor, some) / growth(rope->factor, all)
                                 : growth(rope->factor, 1);
    if (!read_optional(scaling, "attention_factor", false, &rope->attention_factor)) {
        return false;
    }
    const bool good = rope->attention_factor <= FLT_MAX;
    if (!good) {
        adzi_models_json_fail(
            scaling, ADZ_ERR_FORMAT, "makes an attention_factor that float32 does not have");
    }
    return good;
}

/* The entries of a scaling of this type. */
static bool read_scaling(
    const models_json *config, const models_json *scaling, const char *type, models_rope *rope)
{
    static const char *const names[] = { "factor", "low_freq_factor", "high_freq_factor",
        "original_max_position_embeddings" };
    double *const values[] = { &rope->factor, &rope->low_freq_factor, &rope->high_freq_factor,
        &rope->original_max_position_embeddings };
    size_t t = 0;
    while (t < N_TYPES && strcmp(types[t].name, type) != 0) {
        ++t;
    }
    if (t == N_TYPES) {
        adzi_models_json_fail(scaling, ADZ_ERR_UNSUPPORTED,
            "has the type \"%.60s\", but adze knows default, linear, llama3 and yarn only", type);
        return false;
    }
    rope->kind = types[t].kind;
    for (int i = 0; i < types[t].numbers; ++i) {
        if (!read_above_0(scaling, names[i], values[i])) {
            return false;
        }
    }
    if (rope->kind == MODELS_ROPE_LLAMA3 && !(rope->high_freq_factor > rope->low_freq_factor)) {
        adzi_models_json_fail(
            scaling, ADZ_ERR_FORMAT, "must have a high_freq_factor above its low_freq_factor");
        return false;
    }
    return (rope->kind != MODELS_ROPE_YARN || read_yarn(config, scaling, rope)) &&
           adzi_models_json_only(scaling, types[t].entries);
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
    *rope = (models_rope){ .theta = 10000, .factor = 1, .attention_factor = 1 };
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
        if (type == NULL || !read_scaling(config, &scaling, type, rope)) {
            return false;
        }
    }
    if (theta.value != NULL && !adzi_models_json_number_of(&theta, &rope->theta)) {
        return false;
    }
    const double least = rope->kind == MODELS_ROPE_YARN ? 1 : 0; /* yarn divides by its logarithm */
    if (!(rope->theta > least)) {
        adzi_models_json_fail(&theta, ADZ_ERR_FORMAT, "must be above %d", (int)least);
        return false;
    }
    return true;
}

/* ---- the frequencies ------------------------------------------------------------------------ */

/* The pair, of those of `width` features, that turns so often within the original positions. It is
 * no whole number. */
static double pair_of(const models_rope *rope, double turns, int64_t width)
{
    const double length = rope->original_max_position_embeddings / (turns * 2 * pi);
    return (double)width * adz_real_log(length) / (2 * adz_real_log(rope->theta));
}

/* The part of a pair's frequency that is divided by the factor: 0 for pairs that turn beta_fast
 * times or more often, 1 for those that turn beta_slow times or less, and linear between. */
static double divided_part(const models_rope *rope, int64_t pair, int64_t width)
{
    double low = pair_of(rope, rope->beta_fast, width);
    double high = pair_of(rope, rope->beta_slow, width);
    if (rope->truncate) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0);
    high = fmin(high, (double)(width - 1));
    const double part = ((double)pair - low) / (low == high ? 0.001 : high - low);
    return fmin(fmax(part, 0), 1);
}

static double scaled_llama3(const models_rope *rope, double frequency)
{
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

static double frequency_of(const models_rope *rope, int64_t pair, int64_t width)
{
    const double plain = 1 / adz_real_pow(rope->theta, (double)(2 * pair) / (double)width);
    if (rope->kind == MODELS_ROPE_LLAMA3) {
        return scaled_llama3(rope, plain);
    }
    const double part = rope->kind == MODELS_ROPE_YARN ? divided_part(rope, pair, width) : 1;
    return plain / rope->factor * part + plain * (1 - part);
}

adz_tensor *adzi_models_rope_frequencies(const models_rope *rope, int64_t width, adz_dtype dtype)
{
    adz_tensor *t = adz_zeros(ADZ_SHAPE(width / 2), ADZ_F64);
    double *f = t != NULL && width > 1 ? adz_tensor_data(t) : NULL;
    for (int64_t i = 0; f != NULL && i < width / 2; ++i) {
        f[i] = frequency_of(rope, i, width);
    }
    return adz_to(t, dtype);
}
