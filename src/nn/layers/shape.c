/* Flatten, Unflatten, PixelShuffle, PixelUnshuffle and ChannelShuffle: changes of shape without
 * parameters. */
#include "adze/nn/shape.h"

#include "adze/ops/conv.h"
#include "adze/ops/shape.h"
#include "base/error.h"
#include "nn/module.h"
#include "tensor/shape.h"

/* ---- Flatten ------------------------------------------------------------------------------- */

typedef struct {
    int start_dim, end_dim;
} flatten_state;

static const adz_field flatten_fields[] = { ADZ_FIELD(flatten_state, start_dim, .value = 1),
    ADZ_FIELD(flatten_state, end_dim, .value = -1) };

static adz_tensor *flatten(adz_module *self, adz_tensor *x)
{
    const flatten_state *state = self->state;
    return adz_flatten(x, state->start_dim, state->end_dim);
}

static const adz_module_type flatten_type = {
    .size = sizeof(adz_module_type),
    .name = "Flatten",
    .forward = flatten,
    ADZI_MODULE_FIELDS(flatten_fields),
};

adz_module *adz_flatten_new(int start_dim, int end_dim)
{
    const flatten_state state = { start_dim, end_dim };
    return adzi_module_of(&flatten_type, &state, sizeof state);
}

/* ---- Unflatten ----------------------------------------------------------------------------- */

typedef struct {
    int dim;
    adz_shape unflattened_size;
} unflatten_state;

static const adz_field unflatten_fields[] = {
    ADZ_FIELD(unflatten_state, dim, .value = 0),
    ADZ_FIELD(unflatten_state, unflattened_size, ADZ_AT_LEAST(-1)),
};

/* The shape of x with the dimension d replaced by the parts. A part of -1 follows from the others.
 * False with the error recorded if the parts do not fit. */
static bool unflattened(const adz_tensor *x, int d, adz_shape parts, adz_shape *shape)
{
    int64_t known = 1;
    int unknown = -1;
    bool fits = x->rank - 1 + parts.rank <= ADZ_MAX_RANK;
    for (int i = 0; i < parts.rank && fits; ++i) {
        if (parts.sizes[i] < 0) {
            unknown = i;
        } else {
            fits = adzi_multiply(known, parts.sizes[i], &known);
        }
    }
    if (fits && unknown >= 0) {
        fits = known > 0 && x->sizes[d] % known == 0;
        parts.sizes[unknown] = fits ? x->sizes[d] / known : -1;
        known = x->sizes[d];
    }
    if (!fits || known != x->sizes[d]) {
        adzi_error("Unflatten", ADZ_ERR_SHAPE,
            "dimension %d of x%s cannot be split into %s: their product must be its size, and x may have at most %d dimensions then",
            d, adzi_text_shape(x), adzi_text_sizes(parts.rank, parts.sizes), ADZ_MAX_RANK);
        return false;
    }
    *shape = (adz_shape){ .rank = 0 };
    for (int i = 0; i < x->rank; ++i) {
        for (int k = 0; k < (i == d ? parts.rank : 1); ++k) {
            shape->sizes[shape->rank++] = i == d ? parts.sizes[k] : x->sizes[i];
        }
    }
    return true;
}

static adz_tensor *unflatten(adz_module *self, adz_tensor *x)
{
    const unflatten_state *state = self->state;
    adz_shape shape;
    if (!adzi_check_tensor("Unflatten", "x", x)) {
        return NULL;
    }
    if (x->rank == 0) {
        return adzi_fail("Unflatten", ADZ_ERR_DIM, "a scalar has no dimension to split");
    }
    const int d = adzi_dim("Unflatten", x, state->dim);
    return d >= 0 && unflattened(x, d, state->unflattened_size, &shape) ? adz_reshape(x, shape)
                                                                        : NULL;
}

static const adz_module_type unflatten_type = {
    .size = sizeof(adz_module_type),
    .name = "Unflatten",
    .forward = unflatten,
    ADZI_MODULE_FIELDS(unflatten_fields),
};

adz_module *adz_unflatten_new(int dim, adz_shape unflattened_size)
{
    static const char op[] = "adz_unflatten_new";
    const unflatten_state state = { dim, unflattened_size };
    int unknown = 0;
    if (!adz_fields_check(op, unflatten_fields, 2, &state)) {
        return NULL;
    }
    for (int i = 0; i < unflattened_size.rank; ++i) {
        unknown += unflattened_size.sizes[i] == -1;
    }
    if (unflattened_size.rank == 0 || unknown > 1) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT,
            "unflattened_size %s must have 1 to %d sizes, of which one may be -1",
            adzi_text_sizes(unflattened_size.rank, unflattened_size.sizes), ADZ_MAX_RANK);
    }
    return adzi_module_of(&unflatten_type, &state, sizeof state);
}

/* ---- PixelShuffle and PixelUnshuffle --------------------------------------------------------- */

typedef struct {
    int64_t factor;
} pixels_state;

static const adz_field shuffle_fields[] = { ADZ_FIELD_AS(
    pixels_state, factor, "upscale_factor", ADZ_FIELD_I64, ADZ_SIZE_FROM(1)) };
static const adz_field unshuffle_fields[] = { ADZ_FIELD_AS(
    pixels_state, factor, "downscale_factor", ADZ_FIELD_I64, ADZ_SIZE_FROM(1)) };

static int64_t factor_of(const adz_module *self)
{
    return ((const pixels_state *)self->state)->factor;
}

static adz_tensor *shuffle(adz_module *self, adz_tensor *x)
{
    return adz_pixel_shuffle(x, factor_of(self));
}

static adz_tensor *unshuffle(adz_module *self, adz_tensor *x)
{
    return adz_pixel_unshuffle(x, factor_of(self));
}

static const adz_module_type shuffle_type = {
    .size = sizeof(adz_module_type),
    .name = "PixelShuffle",
    .forward = shuffle,
    ADZI_MODULE_FIELDS(shuffle_fields),
};

static const adz_module_type unshuffle_type = {
    .size = sizeof(adz_module_type),
    .name = "PixelUnshuffle",
    .forward = unshuffle,
    ADZI_MODULE_FIELDS(unshuffle_fields),
};

static adz_module *pixels_new(const char *op, const adz_module_type *type, int64_t factor)
{
    const pixels_state state = { factor };
    return adz_fields_check(op, type->fields, type->n_fields, &state)
               ? adzi_module_of(type, &state, sizeof state)
               : NULL;
}

adz_module *adz_pixel_shuffle_new(int64_t upscale_factor)
{
    return pixels_new("adz_pixel_shuffle_new", &shuffle_type, upscale_factor);
}

adz_module *adz_pixel_unshuffle_new(int64_t downscale_factor)
{
    return pixels_new("adz_pixel_unshuffle_new", &unshuffle_type, downscale_factor);
}

/* ---- ChannelShuffle -------------------------------------------------------------------------- */

static const adz_field channel_fields[] = { ADZ_FIELD_AS(
    pixels_state, factor, "groups", ADZ_FIELD_I64, ADZ_SIZE_FROM(1)) };

static adz_tensor *shuffle_channels(adz_module *self, adz_tensor *x)
{
    return adz_channel_shuffle(x, factor_of(self));
}

static const adz_module_type channel_shuffle_type = {
    .size = sizeof(adz_module_type),
    .name = "ChannelShuffle",
    .forward = shuffle_channels,
    ADZI_MODULE_FIELDS(channel_fields),
};

adz_module *adz_channel_shuffle_new(int64_t groups)
{
    return pixels_new("adz_channel_shuffle_new", &channel_shuffle_type, groups);
}
