#include "ops/numbers.h"

#include <math.h>

#include "ops/op.h"
#include "tensor/range.h"

/* Numbers as operands, such as the 2 of adz_mul_number(x, 2).
 *
 * The API passes them as doubles. Inside the library a number becomes a tensor of rank 0, so that
 * the rules of torch.result_type and the kernels for two tensors serve numbers as well. */

/* Refuses instead of rounding: a fraction written to an integer tensor is most likely a mistake.
 * NaN and the infinities are no whole numbers in any range, so integer dtypes refuse them. */
bool adzi_number_fits(const char *op, const char *name, double number, adz_dtype dtype)
{
    bool whole = number == floor(number) && adzi_in_range(number, dtype);
    if (whole || !adzi_is_integer(dtype)) {
        return true;
    }
    adzi_error(op, ADZ_ERR_ARGUMENT, "%s is %s, which is no %s", name, adzi_text_number(number),
        adz_dtype_name(dtype));
    return false;
}

/* The dtype of a number next to x. Next to a float x it is x's dtype, so nothing is promoted. Next
 * to an integer x, 2.0 counts as the integer 2, because C's call syntax cannot tell them apart.
 * From 2^63 on a double is no i64, so it counts as a float. Next to bool a whole number is i64, as
 * in PyTorch. */
static adz_dtype dtype_beside(const adz_tensor *x, double number)
{
    if (adzi_is_float((adz_dtype)x->dtype)) {
        return (adz_dtype)x->dtype;
    }
    if (number != floor(number) || fabs(number) >= 0x1p63) {
        return ADZ_F32;
    }
    return x->dtype == ADZ_BOOL ? ADZ_I64 : (adz_dtype)x->dtype;
}

/* The value is written by a launch and not by the host, so that a captured step can be replayed. */
adz_tensor *adzi_number(const char *op, const adz_tensor *x, double number)
{
    if (!adzi_check_tensor(op, "x", x)) {
        return NULL;
    }
    adzi_capture_name(op);
    adz_tensor *t = adzi_scratch(op, dtype_beside(x, number), 0, NULL);
    if (t != NULL) {
        adzi_fill_constant(t, number);
    }
    return t;
}
