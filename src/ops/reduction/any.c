#include "ops/reduction/attr.h"
#include "ops/reduction/reduce.h"

/* True where at least one element is true, torch.any.
 *
 *     y = 1 if x_i != 0 for some reduced i, else 0
 *
 * x has any shape. y is bool, or u8 if x is u8. Reduced dimensions are dropped, or have size 1 with
 * keepdim. NaN counts as true, and no elements give false. Not differentiable. */

/* The first kernel reduces elements to states, the second joins the states of blocks. */
KERNEL_TABLE_ALL(any_reduce);
KERNEL_TABLE_ALL(any_combine);

/* The state of a block is one byte, its truth value. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const adzi_reduce_attr *at = block;
    const adzi_reducer reducer = { KERNEL_FOR(any_reduce, in[0]->dtype),
        KERNEL_FOR(any_combine, in[0]->dtype), 1, { 0 } };
    adzi_reduce(reducer, y[0], NULL, in[0], at->mask);
}

const adzi_op adzi_op_any = { .name = "any",
    ADZI_ATTRIBUTES(adzi_reduce_attr, adzi_reduce_fields),
    .shape_rule = adzi_truth_shape,
    .strided_inputs = 1u << 0,
    .dtypes = ADZI_DTYPES_COMPUTABLE };

adz_tensor *adz_any(adz_tensor *x, adz_dims dims, bool keepdim)
{
    adzi_reduce_attr attr = { .keepdim = keepdim };
    return adzi_reduce_mask("any", x, dims, &attr.mask) ? ADZI_RUN(any, launch, &attr, x) : NULL;
}
