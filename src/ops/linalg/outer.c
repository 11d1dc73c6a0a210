#include "ops/op.h"

/* The product of a column and a row, torch.outer: y[i][j] = a[i] * b[j]. a[m], b[n], y[m, n]. It is
 * a composition of unsqueeze and a broadcast mul, which carry the gradients da = dy b and db = dy^T
 * a. */
adz_tensor *adz_outer(adz_tensor *a, adz_tensor *b)
{
    ADZI_COMPOSED();
    if (!adzi_check_tensor("outer", "a", a) || !adzi_check_tensor("outer", "b", b)) {
        return NULL;
    }
    if (a->rank != 1 || b->rank != 1) {
        return adzi_fail("outer", ADZ_ERR_SHAPE, "a%s and b%s are not two vectors",
            adzi_text_shape(a), adzi_text_shape(b));
    }
    return adz_mul(adz_unsqueeze(a, 1), b);
}
