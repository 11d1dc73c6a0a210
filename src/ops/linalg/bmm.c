#include "ops/op.h"
#include "ops/linalg/matmul.h"

/* One matrix product per item of a batch, torch.bmm: y[i] = a[i] b[i]. a[B, m, k], b[B, k, n], y[B,
 * m, n]. Unlike matmul it broadcasts nothing. The node is that of matmul. */
adz_tensor *adz_bmm(adz_tensor *a, adz_tensor *b)
{
    ADZI_COMPOSED();
    if (!adzi_check_tensor("bmm", "a", a) || !adzi_check_tensor("bmm", "b", b)) {
        return NULL;
    }
    if (a->rank != 3 || b->rank != 3 || a->sizes[0] != b->sizes[0] || a->sizes[2] != b->sizes[1]) {
        return adzi_fail("bmm", ADZ_ERR_SHAPE,
            "a%s and b%s are not batches a[B, m, k] and b[B, k, n]; adz_matmul broadcasts",
            adzi_text_shape(a), adzi_text_shape(b));
    }
    /* The checks above leave one leading dimension of equal size. */
    return adzi_matmul(a, false, b, false);
}
