#include "ops/op.h"

/* Rotates the plane of two dimensions by multiples of 90 degrees, torch.rot90. A composition:
 * flips, and for odd multiples a transpose. */
adz_tensor *adz_rot90(adz_tensor *x, int64_t k, adz_dims dims)
{
    ADZI_COMPOSED();
    static const char op[] = "rot90";
    if (!adzi_check_tensor(op, "x", x)) {
        return NULL;
    }
    if (dims.count != 2) {
        return adzi_fail(
            op, ADZ_ERR_DIM, "dims must be two dimensions of a plane; %d were given", dims.count);
    }
    const int a = adzi_dim(op, x, dims.dims[0]), b = adzi_dim(op, x, dims.dims[1]);
    if (a < 0 || b < 0) {
        return NULL;
    }
    if (a == b) {
        return adzi_fail(op, ADZ_ERR_DIM, "dimension %d of x%s is no plane; give another one, too",
            a, adzi_text_shape(x));
    }
    /* Four turns are none, and k may be negative. Results are new tensors, as those of adz_flip
     * are. */
    switch ((k % 4 + 4) % 4) {
    case 1:
        return adz_clone(adz_transpose(adz_flip(x, ADZ_DIMS(b)), a, b));
    case 2:
        return adz_flip(x, ADZ_DIMS(a, b));
    case 3:
        return adz_clone(adz_transpose(adz_flip(x, ADZ_DIMS(a)), a, b));
    default:
        return adz_clone(x);
    }
}
