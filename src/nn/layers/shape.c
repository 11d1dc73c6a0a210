/* Flatten, Unflatten, PixelShuffle and PixelUnshuffle: changes of shape without parameters. */
#include "adze/nn/shape.h"

#include <stdio.h>

#include "adze/ops/shape.h"
#include "base/error.h"
#include "nn/layers/numbers.h"
#include "nn/module.h"
#include "tensor/shape.h"

/* ---- Flatten ------------------------------------------------------------------------------- */

typedef struct {
    int start, end;
} flatten_state;

static adz_tensor *flatten(adz_module *self, adz_tensor *x)
{
    const flatten_state *state = self->state;
    return adz_flatten(x, state->start, state->end);
}

static size_t flatten_repr(adz_module *self, char *buffer, size_t size)
{
    const flatten_state *state = self->state;
    return (size_t)snprintf(buffer, size, "start_dim=%d, end_dim=%d", state->start, state->end);
}

static const adz_module_type flatten_type = {
    .size = sizeof(adz_module_type),
    .name = "Flatten",
    .forward = flatten,
    .extra_repr = flatten_repr,
};

adz_module *adz_flatten_new(int start_dim, int end_dim)
{
    adz_module *self = adz_module_new(&flatten_type, sizeof(flatten_state));
    if (self != NULL) {
        *(flatten_state *)self->state = (flatten_state){ start_dim, end_dim };
    }
    return self;
}

/* ---- Unflatten ----------------------------------------------------------------------------- */

typedef struct {
    int dim;
    adz_shape parts;
} unflatten_state;

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
    return d >= 0 && unflattened(x, d, state->parts, &shape) ? adz_reshape(x, shape) : NULL;
}

static size_t unflatten_repr(adz_module *self, char *buffer, size_t size)
{
    const unflatten_state *state = self->state;
    char parts[ADZI_NUMBERS];
    adzi_print_numbers(parts, state->parts, true);
    return (size_t)snprintf(buffer, size, "dim=%d, unflattened_size=%s", state->dim, parts);
}

static const adz_module_type unflatten_type = {
    .size = sizeof(adz_module_type),
    .name = "Unflatten",
    .forward = unflatten,
    .extra_repr = unflatten_repr,
};

adz_module *adz_unflatten_new(int dim, adz_shape unflattened_size)
{
    static const char op[] = "adz_unflatten_new";
    int unknown = 0;
    bool good = unflattened_size.rank >= 1 && unflattened_size.rank <= ADZ_MAX_RANK;
    for (int i = 0; i < unflattened_size.rank && good; ++i) {
        unknown += unflattened_size.sizes[i] == -1;
        good = unflattened_size.sizes[i] >= -1;
    }
    if (!good || unknown > 1) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT,
            "unflattened_size %s must have 1 to %d sizes of 0 or more, of which one may be -1",
            unflattened_size.rank < 0
                ? "(more than 8 sizes)"
                : adzi_text_sizes(unflattened_size.rank, unflattened_size.sizes),
            ADZ_MAX_RANK);
    }
    adz_module *self = adz_module_new(&unflatten_type, sizeof(unflatten_state));
    if (self != NULL) {
        *(unflatten_state *)self->state = (unflatten_state){ dim, unflattened_size };
    }
    return self;
}

/* ---- PixelShuffle and PixelUnshuffle --------------------------------------------------------- */

typedef struct {
    int64_t factor;
} pixels_state;

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

static size_t pixels_repr(adz_module *self, char *buffer, size_t size)
{
    return (size_t)snprintf(buffer, size, "%s=%lld",
        self->type.forward == shuffle ? "upscale_factor" : "downscale_factor",
        (long long)factor_of(self));
}

static const adz_module_type shuffle_type = {
    .size = sizeof(adz_module_type),
    .name = "PixelShuffle",
    .forward = shuffle,
    .extra_repr = pixels_repr,
};

static const adz_module_type unshuffle_type = {
    .size = sizeof(adz_module_type),
    .name = "PixelUnshuffle",
    .forward = unshuffle,
    .extra_repr = pixels_repr,
};

static adz_module *pixels_new(
    const char *op, const adz_module_type *type, const char *name, int64_t factor)
{
    if (!adz_check_size(op, name, factor, 1)) {
        return NULL;
    }
    adz_module *self = adz_module_new(type, sizeof(pixels_state));
    if (self != NULL) {
        ((pixels_state *)self->state)->factor = factor;
    }
    return self;
}

adz_module *adz_pixel_shuffle_new(int64_t upscale_factor)
{
    return pixels_new("adz_pixel_shuffle_new", &shuffle_type, "upscale_factor", upscale_factor);
}

adz_module *adz_pixel_unshuffle_new(int64_t downscale_factor)
{
    return pixels_new(
        "adz_pixel_unshuffle_new", &unshuffle_type, "downscale_factor", downscale_factor);
}
