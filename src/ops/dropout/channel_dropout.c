/* Dropout of whole channels, and dropout that keeps mean and variance. Compositions: the mask is
 * what adz_dropout makes of ones, so that exports refuse it as they refuse every dropout. */
#include <math.h>

#include "ops/dropout/dropout.h"
#include "ops/op.h"

/* The value that SELU approaches at minus infinity, with its sign changed: scale times alpha. A
 * dropped element becomes its negative. */
static const double least = 1.7580993408473766;

static const adz_field p_row = { .name = "p", .kind = ADZ_FIELD_F64, ADZ_CLOSED(0, 1) };

/* Checks the arguments, and whether x has from `low` to `high` dimensions. */
static bool check(const char *op, const adz_tensor *x, double p, int low, int high)
{
    if (!adzi_check_tensor(op, "x", x) || !adzi_field_takes(op, &p_row, p)) {
        return false;
    }
    if (x->rank < low || x->rank > high) {
        adzi_error(op, ADZ_ERR_SHAPE, "x%s has %d dimensions, but must have from %d to %d",
            adzi_text_shape(x), x->rank, low, high);
        return false;
    }
    return true;
}

/* Dropout of ones[N, C, 1, ...] for x[N, C, ...], or of ones shaped like x if not `channels`. */
static adz_tensor *drawn(const adz_tensor *x, double p, bool channels, adz_generator *generator)
{
    adz_shape shape = adz_shape_of(x->rank, x->sizes);
    for (int d = 2; d < shape.rank && channels; ++d) {
        shape.sizes[d] = 1;
    }
    return adz_dropout(adz_ones(shape, (adz_dtype)x->dtype), p, true, generator);
}

/* ---- channels ------------------------------------------------------------------------------- */

/* x[N, C, ...], or x[C, ...] if its rank is `single`. */
static adz_tensor *drop_channels(
    adz_tensor *x, int single, double p, bool training, adz_generator *generator)
{
    if (!training || p == 0 || x->numel == 0) {
        return adz_dropout(x, p, false, NULL); /* x itself, after a check of its dtype */
    }
    if (x->rank == single) {
        adz_tensor *batch = adz_unsqueeze(x, 0);
        return batch != NULL ? adz_squeeze(adz_mul(batch, drawn(batch, p, true, generator)), 0)
                             : NULL;
    }
    return adz_mul(x, drawn(x, p, true, generator));
}

/* x is [C, L] or [N, C, L]. */
adz_tensor *adz_dropout1d(adz_tensor *x, double p, bool training, adz_generator *generator)
{
    ADZI_COMPOSED();
    return check("dropout1d", x, p, 2, 3) ? drop_channels(x, 2, p, training, generator) : NULL;
}

/* As in PyTorch, x[N, C, L] is a batch of signals and no image. */
adz_tensor *adz_dropout2d(adz_tensor *x, double p, bool training, adz_generator *generator)
{
    ADZI_COMPOSED();
    return check("dropout2d", x, p, 3, 4) ? drop_channels(x, 0, p, training, generator) : NULL;
}

/* x is [C, D, H, W] or [N, C, D, H, W]. */
adz_tensor *adz_dropout3d(adz_tensor *x, double p, bool training, adz_generator *generator)
{
    ADZI_COMPOSED();
    return check("dropout3d", x, p, 4, 5) ? drop_channels(x, 4, p, training, generator) : NULL;
}

/* ---- alpha dropout -------------------------------------------------------------------------- */

adz_tensor *adzi_alpha_dropout_mask(adz_tensor *x, adz_tensor *mask, double p)
{
    if (p == 1) {
        return adz_mul(x, mask);
    }
    const double a = 1 / sqrt((least * least * p + 1) * (1 - p));
    adz_tensor *dropped = adz_mul_number(adz_add_number(mask, -1), least * a);
    adz_tensor *shift = adz_add_number(dropped, least * a * p);
    return adz_add(adz_mul(x, adz_mul_number(mask, a)), shift);
}

static adz_tensor *alpha_dropout(
    adz_tensor *x, double p, bool training, bool channels, adz_generator *generator)
{
    if (!training || p == 0 || x->numel == 0) {
        return adz_dropout(x, p, false, NULL);
    }
    return adzi_alpha_dropout_mask(x, adz_sign(drawn(x, p, channels, generator)), p);
}

/* Single elements are dropped, and mean and variance stay. */
adz_tensor *adz_alpha_dropout(adz_tensor *x, double p, bool training, adz_generator *generator)
{
    ADZI_COMPOSED();
    return check("alpha_dropout", x, p, 0, ADZ_MAX_RANK)
               ? alpha_dropout(x, p, training, false, generator)
               : NULL;
}

/* Whole channels are dropped, and mean and variance stay. */
adz_tensor *adz_feature_alpha_dropout(
    adz_tensor *x, double p, bool training, adz_generator *generator)
{
    ADZI_COMPOSED();
    return check("feature_alpha_dropout", x, p, 2, ADZ_MAX_RANK)
               ? alpha_dropout(x, p, training, true, generator)
               : NULL;
}
