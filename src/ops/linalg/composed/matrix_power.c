#include "ops/linalg/decomposition/batch.h"
#include "ops/linalg/matmul.h"

/* Powers of matrices, torch.linalg.matrix_power: products by squaring, of the inverse if n is
 * negative. The power 0 is the identity. */
adz_tensor *adz_matrix_power(adz_tensor *a, int64_t n)
{
    ADZI_COMPOSED();
    static const char op[] = "matrix_power";
    if (!adzi_check_tensor(op, "a", a)) {
        return NULL;
    }
    if (a->rank < 2 || adzi_rows(a) != adzi_columns(a)) {
        return adzi_fail(
            op, ADZ_ERR_SHAPE, "the matrices of a%s are not square", adzi_text_shape(a));
    }
    if (!adzi_is_float((adz_dtype)a->dtype)) {
        return adzi_fail(op, ADZ_ERR_DTYPE, "a%s is %s; float32 or float64 is needed",
            adzi_text_shape(a), adz_dtype_name((adz_dtype)a->dtype));
    }
    uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n;
    adz_tensor *square = n < 0 ? adz_inv(a) : a, *y = NULL;
    if (left == 0) {
        const int64_t size = adzi_columns(a);
        return adz_clone(adz_expand(adz_eye(size, size, (adz_dtype)a->dtype), adz_tensor_shape(a)));
    }
    for (; square != NULL; square = adz_matmul(square, square)) {
        if (left % 2 == 1) {
            y = y != NULL ? adz_matmul(y, square) : square;
        }
        left /= 2;
        if (left == 0) {
            return n == 1 ? adz_clone(y) : y;
        }
    }
    return NULL;
}
