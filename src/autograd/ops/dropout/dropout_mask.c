#include "autograd/op.h"

adz_tensor *adz_dropout_mask(adz_tensor *x, adz_tensor *mask, double keep)
{
    if (x != NULL && mask != NULL && !(keep > 0 && keep <= 1)) {
        return adzi_fail("dropout_mask", ADZ_ERR_ARGUMENT,
            "keep is %s, but the share that is kept lies in (0, 1]", adzi_text_number(keep));
    }
    return adz_mul_number(adz_mul(x, mask), 1 / keep);
}
