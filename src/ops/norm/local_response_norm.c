#include "ops/op.h"

static const adz_field size_row = { .name = "size", .kind = ADZ_FIELD_I64, ADZ_SIZE_FROM(1) };

/* The mean of the squares of x[N, C, ...] over `size` channels around each one, with zeros beyond
 * the first and the last. All dimensions behind the channels are one dimension to the pooling. */
static adz_tensor *mean_square_around(adz_tensor *x, int64_t size)
{
    const int64_t n = x->sizes[0], c = x->sizes[1];
    adz_avg_pool_options o = ADZ_AVG_POOL_OPTIONS;
    o.stride = ADZ_SHAPE(1);
    o.padding = ADZ_SHAPE(size / 2, 0);
    adz_tensor *images = adz_reshape(adz_square(x), ADZ_SHAPE(n, 1, c, x->numel / (n * c)));
    adz_tensor *means = adz_avg_pool2d(images, ADZ_SHAPE(size, 1), &o);
    return adz_reshape(adz_narrow(means, 2, 0, c), adz_shape_of(x->rank, x->sizes));
}

/* Local response normalisation, torch.nn.functional.local_response_norm (Krizhevsky et al., 2012):
 * y = x / (k + alpha mean(x^2))^beta, where the mean goes over neighbouring channels. A
 * composition, whose parts carry the gradient. */
adz_tensor *adz_local_response_norm(
    adz_tensor *x, int64_t size, double alpha, double beta, double k)
{
    ADZI_COMPOSED();
    static const char op[] = "local_response_norm";
    if (!adzi_check_tensor(op, "x", x) || !adzi_field_takes(op, &size_row, (double)size)) {
        return NULL;
    }
    if (!adzi_is_float((adz_dtype)x->dtype)) {
        return adzi_fail(op, ADZ_ERR_DTYPE, "x%s is %s, but must be float32 or float64",
            adzi_text_shape(x), adz_dtype_name((adz_dtype)x->dtype));
    }
    if (x->rank < 3) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "x%s needs three dimensions or more: [N, C, ...]",
            adzi_text_shape(x));
    }
    if (x->numel == 0) {
        return x;
    }
    adz_tensor *sums = adz_mul_number(mean_square_around(x, size), alpha);
    return adz_div(x, adz_pow_number(adz_add_number(sums, k), beta));
}
