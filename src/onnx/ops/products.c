/* Products of matrices. */
#include "adze/ops/arithmetic.h"
#include "adze/ops/linalg.h"
#include "adze/ops/shape.h"
#include "run.h"

/* alpha a b + beta c, each of a and b transposed if an attribute says so. x w^T + c is what a
 * linear layer computes. */
static adz_tensor *run_gemm(const reader_call *call)
{
    adz_tensor *a = adzi_reader_in(call, 0), *b = adzi_reader_in(call, 1);
    adz_tensor *c = adzi_reader_in(call, 2);
    const double alpha = adzi_reader_float(call, "alpha", 1);
    const double beta = adzi_reader_float(call, "beta", 1);
    const bool transposed = adzi_reader_int(call, "transB", 0) != 0;
    if (adzi_reader_int(call, "transA", 0) != 0) {
        a = adz_transpose(a, 0, 1);
    }
    if (a == NULL || b == NULL || c == NULL) {
        return NULL;
    }
    if (adz_tensor_rank(a) != 2 || adz_tensor_rank(b) != 2) {
        return adzi_reader_fail(call, ADZ_ERR_SHAPE, "%s and %s must have 2 dimensions",
            adz_text_shape(a), adz_text_shape(b));
    }
    const bool given = c != ADZ_NONE && beta != 0;
    const bool bias = given && adz_tensor_rank(c) == 1 &&
                      adz_tensor_size(c, 0) == adz_tensor_size(b, transposed ? 0 : 1);
    if (alpha == 1 && (!given || (bias && beta == 1))) {
        return adz_linear(a, transposed ? b : adz_transpose(b, 0, 1), given ? c : ADZ_NONE);
    }
    adz_tensor *y = adz_matmul(a, transposed ? adz_transpose(b, 0, 1) : b);
    y = alpha != 1 ? adz_mul_number(y, alpha) : y;
    if (!given) {
        return y;
    }
    return adz_add(y, beta != 1 ? adz_mul_number(c, beta) : c);
}

/* Before opset 7, c is broadcast only if an attribute says so. */
static adz_tensor *run_gemm_6(const reader_call *call)
{
    adz_tensor *c = adzi_reader_in(call, 2);
    if (c != NULL && adzi_reader_int(call, "broadcast", 0) == 0 && adz_tensor_rank(c) != 2) {
        return adzi_reader_fail(call, ADZ_ERR_SHAPE,
            "C%s must have 2 dimensions, as broadcast is 0", adz_text_shape(c));
    }
    return run_gemm(call);
}

/* clang-format off */
const reader_operator adzi_reader_products[] = {
    { "Gemm", 6, 6, 3, 3, 1, "alpha:f beta:f transA:i transB:i broadcast:i", 0, run_gemm_6, NULL, NULL, NULL },
    { "Gemm", 7, 0, 2, 3, 1, "alpha:f beta:f transA:i transB:i", 0, run_gemm, NULL, NULL, NULL },
    { "MatMul", 6, 0, 2, 2, 1, "", 0, NULL, NULL, adz_matmul, NULL },
    { .name = NULL },
};
/* clang-format on */
