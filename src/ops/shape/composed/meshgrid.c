#include "ops/shape/list.h"

/* Coordinates of a grid, torch.meshgrid.
 *
 *     y_k[i_0, i_1, ...] = x_k[i_k]                    ADZ_MESHGRID_IJ
 *     y_0[i_1, i_0, ...] = x_0[i_0], y_1 = x_1[i_1]    ADZ_MESHGRID_XY
 *
 * A composition: each vector gets its own dimension, and the others are expanded, so the results
 * are views. */

/* The vectors have one dtype, as PyTorch demands, and a grid has a dimension for each. */
static bool check(adz_tensor *const *tensors, size_t n, adz_meshgrid_indexing indexing)
{
    static const char op[] = "meshgrid";
    if (!adzi_check_list(op, tensors, n)) {
        return false;
    }
    if (n > ADZ_MAX_RANK) {
        adzi_error(op, ADZ_ERR_SHAPE, "a grid of %zu vectors has more than the %d dimensions", n,
            ADZ_MAX_RANK);
        return false;
    }
    if ((unsigned)indexing > ADZ_MESHGRID_XY) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "indexing is %d, which is no adz_meshgrid_indexing; ADZ_MESHGRID_IJ is usual",
            (int)indexing);
        return false;
    }
    for (size_t k = 0; k < n; ++k) {
        if (tensors[k]->rank > 1) {
            adzi_error(op, ADZ_ERR_SHAPE,
                "tensor %zu%s has more than one dimension; it takes vectors and scalars", k,
                adzi_text_shape(tensors[k]));
            return false;
        }
        if (tensors[k]->dtype != tensors[0]->dtype) {
            adzi_error(op, ADZ_ERR_DTYPE, "tensor %zu is %s, but the first is %s; use adz_to", k,
                adz_dtype_name((adz_dtype)tensors[k]->dtype),
                adz_dtype_name((adz_dtype)tensors[0]->dtype));
            return false;
        }
    }
    return true;
}

adz_status adz_meshgrid(
    adz_tensor *const *tensors, size_t n, adz_meshgrid_indexing indexing, adz_tensor **out)
{
    ADZI_COMPOSED();
    if (out == NULL) {
        return adzi_error_null("meshgrid", "out");
    }
    if (!check(tensors, n, indexing)) {
        return adzi_no_results(out, n <= ADZI_LIST_MOST ? n : 0);
    }
    adz_shape grid = { .rank = (int)n };
    int along[ADZ_MAX_RANK]; /* the dimension along which vector k counts */
    for (int k = 0; k < grid.rank; ++k) {
        const bool swapped = indexing == ADZ_MESHGRID_XY && k < 2 && n > 1;
        along[k] = swapped ? 1 - k : k;
        grid.sizes[along[k]] = tensors[k]->numel;
    }
    for (int k = 0; k < grid.rank; ++k) {
        adz_shape alone = { .rank = grid.rank };
        for (int d = 0; d < grid.rank; ++d) {
            alone.sizes[d] = d == along[k] ? grid.sizes[d] : 1;
        }
        out[k] = adz_expand(adz_reshape(tensors[k], alone), grid);
        if (out[k] == NULL) {
            return adzi_no_results(out, n);
        }
    }
    return ADZ_OK;
}
