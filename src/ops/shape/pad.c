#include "ops/op.h"
#include "ops/numbers.h"

/* Pads with a constant, torch.nn.functional.pad with mode "constant".
 *
 *     y[i]  = x[i - before] inside x, value elsewhere
 *     dx[i] = dy[i + before]
 *
 * x has any shape and any dtype. Pairs (before, after) are given from the last dimension to the
 * first; a negative number crops. y is a copy. The node saves no tensor: the padding is an
 * attribute. */

/* The attributes of a node. The backward is a call with the negative numbers. */
typedef struct {
    int n;                         /* numbers in `pad` */
    int64_t pad[2 * ADZ_MAX_RANK]; /* before and after, from the last dimension; negative: crops */
    double value;                  /* of the elements that are added */
} pad_attr;

static adz_tensor *pad(adz_tensor *x, pad_attr *attr);

/* How many elements are added before (side 0) or after (side 1) dimension d of x. */
static int64_t added(const pad_attr *attr, const adz_tensor *x, int d, int side)
{
    const int position = 2 * (x->rank - 1 - d) + side;
    return position < attr->n ? attr->pad[position] : 0;
}

/* The gradient is dy padded by the negative numbers: padding is cropped again, and what was cropped
 * gets zeros. It can be differentiated again. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    pad_attr back = *adzi_attr(node, pad_attr);
    back.value = 0;
    for (int i = 0; i < back.n; ++i) {
        back.pad[i] = -back.pad[i];
    }
    dx[0] = pad(dy[0], &back);
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD_LIST(pad_attr, n, pad),
    ADZI_FIELD(pad_attr, value) };

/* Computes the sizes of y. False if more is cropped than there is, or if a size does not fit into
 * 64 bits. */
static bool padded(const adz_tensor *x, const pad_attr *attr, int64_t *sizes)
{
    int64_t numel;
    for (int d = 0; d < x->rank; ++d) {
        int64_t size = x->sizes[d], low = added(attr, x, d, 0), high = added(attr, x, d, 1), crop;
        bool fits = !__builtin_add_overflow(low < 0 ? low : 0, high < 0 ? high : 0, &crop) &&
                    crop >= -size && !__builtin_add_overflow(size, low, &sizes[d]) &&
                    !__builtin_add_overflow(sizes[d], high, &sizes[d]);
        if (!fits) {
            adzi_error("pad", ADZ_ERR_SHAPE,
                "dimension %d of x%s cannot be padded by %lld and %lld: negative padding crops, at most the whole size",
                d, adzi_text_shape(x), (long long)low, (long long)high);
            return false;
        }
    }
    return adzi_check_sizes("pad", x->rank, sizes, (adz_dtype)x->dtype, &numel) == ADZ_OK;
}

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    return adzi_form_status(padded(in[0], block, y->shape.sizes));
}

/* Fills y with the value, and copies the part that x and y have in common. Two headers on the stack
 * describe this part in x and in y. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const pad_attr *at = block;
    adz_tensor to = *y[0], from = *in[0];
    const int64_t item = (int64_t)adzi_item_size(&from);
    adzi_fill(y[0], at->value);
    from.numel = 1;
    for (int d = 0; d < from.rank; ++d) {
        const int64_t low = added(at, &from, d, 0), high = added(at, &from, d, 1);
        /* Negative padding shrinks the part of x; positive padding moves the part of y. */
        from.sizes[d] += (low < 0 ? low : 0) + (high < 0 ? high : 0);
        from.data += low < 0 ? -low * from.strides[d] * item : 0;
        to.data += low > 0 ? low * to.strides[d] * item : 0;
        to.sizes[d] = from.sizes[d];
        from.numel *= from.sizes[d];
    }
    to.numel = from.numel;
    adzi_copy(&to, &from);
}

const adzi_op adzi_op_pad = { .name = "pad",
    .backward = backward,
    ADZI_ATTRIBUTES(pad_attr, fields),
    .shape_rule = shape_rule,
    .strided_inputs = 1u << 0 };

static adz_tensor *pad(adz_tensor *x, pad_attr *attr)
{
    return ADZI_RUN(pad, launch, attr, x);
}

/* The value is checked against the dtype of x, which is that of y. */
adz_tensor *adz_pad(adz_tensor *x, const int64_t *pads, size_t n, double value)
{
    if (!adzi_check_tensor("pad", "x", x)) {
        return NULL;
    }
    /* A list shorter than two numbers per dimension leaves the first dimensions alone. */
    if (n % 2 != 0 || n > 2 * (size_t)x->rank || (n > 0 && pads == NULL)) {
        return adzi_fail("pad", ADZ_ERR_ARGUMENT,
            "%zu numbers do not pad x%s: they come in pairs, one for each dimension from the last",
            n, adzi_text_shape(x));
    }
    if (!adzi_number_fits("pad", "value", value, (adz_dtype)x->dtype)) {
        return NULL;
    }
    pad_attr attr = { .n = (int)n, .value = value };
    for (size_t i = 0; i < n; ++i) {
        attr.pad[i] = pads[i];
    }
    return pad(x, &attr);
}
