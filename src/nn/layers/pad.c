/* Pads as modules: a table of types, of which each has a padding mode and a number of dimensions.
 */
#include "adze/nn/pad.h"

#include "adze/ops/shape.h"
#include "base/error.h"
#include "nn/module.h"

enum { DIMENSIONS = 3 };

typedef struct {
    adz_shape padding; /* 2 n numbers, from the last dimension on */
    double value;
    adz_padding_mode mode;
    int n; /* dimensions that are padded */
} pad_state;

/* The fields of ConstantPad. The other pads print the numbers of the first one without its name. */
static const adz_field fields[] = {
    ADZ_FIELD_AS(pad_state, padding, "padding", ADZ_FIELD_SHAPE, .value = 0),
    ADZ_FIELD(pad_state, value, .value = 0),
};

static const adz_field bare[] = { ADZ_FIELD_AS(
    pad_state, padding, "padding", ADZ_FIELD_SHAPE, .value = 0, .shown = ADZ_SHOWN_BARE) };

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    const pad_state *s = self->state;
    if (!adzi_check_tensor(self->type.name, "x", x)) {
        return NULL;
    }
    if (x->rank != s->n + 1 && x->rank != s->n + 2) {
        return adzi_fail(self->type.name, ADZ_ERR_SHAPE, "x%s has rank %d, but must have %d or %d",
            adzi_text_shape(x), x->rank, s->n + 1, s->n + 2);
    }
    return s->mode == ADZ_PADDING_ZEROS
               ? adz_pad(x, s->padding.sizes, 2 * (size_t)s->n, s->value)
               : adz_pad_mode(x, s->padding.sizes, 2 * (size_t)s->n, s->mode);
}

#define PAD(its_name, its_fields)                                                \
    {                                                                            \
        .size = sizeof(adz_module_type), .name = (its_name), .forward = forward, \
        ADZI_MODULE_FIELDS(its_fields)                                           \
    }
#define PADS(name, its_fields)                                                             \
    {                                                                                      \
        PAD(name "1d", its_fields), PAD(name "2d", its_fields), PAD(name "3d", its_fields) \
    }

/* By adz_padding_mode, which knows ZeroPad; ConstantPad is behind them. */
enum { CONSTANT = ADZ_PADDING_CIRCULAR + 1 };
static const adz_module_type types[][DIMENSIONS] = {
    [ADZ_PADDING_ZEROS] = PADS("ZeroPad", bare),
    [ADZ_PADDING_REFLECT] = PADS("ReflectionPad", bare),
    [ADZ_PADDING_REPLICATE] = PADS("ReplicationPad", bare),
    [ADZ_PADDING_CIRCULAR] = PADS("CircularPad", bare),
    [CONSTANT] = PADS("ConstantPad", fields),
};

static adz_module *pad_new(const char *op, int kind, int n, adz_shape padding, double value)
{
    pad_state s = { .value = value,
        .mode = kind == CONSTANT ? ADZ_PADDING_ZEROS : (adz_padding_mode)kind,
        .n = n };
    s.padding.rank = 2 * n;
    if (padding.rank != 1 && padding.rank != 2 * n) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "padding has %d numbers, but needs 1 or %d", padding.rank, 2 * n);
    }
    for (int i = 0; i < 2 * n; ++i) {
        s.padding.sizes[i] = padding.sizes[padding.rank == 1 ? 0 : i];
        if (s.mode != ADZ_PADDING_ZEROS && s.padding.sizes[i] < 0) {
            return adzi_fail(op, ADZ_ERR_ARGUMENT,
                "padding has %lld, but must be 0 or more; ZeroPad and ConstantPad can crop",
                (long long)s.padding.sizes[i]);
        }
    }
    return adzi_module_of(&types[kind][n - 1], &s, sizeof s);
}

adz_module *adz_constant_pad1d_new(adz_shape padding, double value)
{
    return pad_new(__func__, CONSTANT, 1, padding, value);
}

adz_module *adz_constant_pad2d_new(adz_shape padding, double value)
{
    return pad_new(__func__, CONSTANT, 2, padding, value);
}

adz_module *adz_constant_pad3d_new(adz_shape padding, double value)
{
    return pad_new(__func__, CONSTANT, 3, padding, value);
}

adz_module *adz_zero_pad1d_new(adz_shape padding)
{
    return pad_new(__func__, ADZ_PADDING_ZEROS, 1, padding, 0);
}

adz_module *adz_zero_pad2d_new(adz_shape padding)
{
    return pad_new(__func__, ADZ_PADDING_ZEROS, 2, padding, 0);
}

adz_module *adz_zero_pad3d_new(adz_shape padding)
{
    return pad_new(__func__, ADZ_PADDING_ZEROS, 3, padding, 0);
}

adz_module *adz_reflection_pad1d_new(adz_shape padding)
{
    return pad_new(__func__, ADZ_PADDING_REFLECT, 1, padding, 0);
}

adz_module *adz_reflection_pad2d_new(adz_shape padding)
{
    return pad_new(__func__, ADZ_PADDING_REFLECT, 2, padding, 0);
}

adz_module *adz_reflection_pad3d_new(adz_shape padding)
{
    return pad_new(__func__, ADZ_PADDING_REFLECT, 3, padding, 0);
}

adz_module *adz_replication_pad1d_new(adz_shape padding)
{
    return pad_new(__func__, ADZ_PADDING_REPLICATE, 1, padding, 0);
}

adz_module *adz_replication_pad2d_new(adz_shape padding)
{
    return pad_new(__func__, ADZ_PADDING_REPLICATE, 2, padding, 0);
}

adz_module *adz_replication_pad3d_new(adz_shape padding)
{
    return pad_new(__func__, ADZ_PADDING_REPLICATE, 3, padding, 0);
}

adz_module *adz_circular_pad1d_new(adz_shape padding)
{
    return pad_new(__func__, ADZ_PADDING_CIRCULAR, 1, padding, 0);
}

adz_module *adz_circular_pad2d_new(adz_shape padding)
{
    return pad_new(__func__, ADZ_PADDING_CIRCULAR, 2, padding, 0);
}

adz_module *adz_circular_pad3d_new(adz_shape padding)
{
    return pad_new(__func__, ADZ_PADDING_CIRCULAR, 3, padding, 0);
}
