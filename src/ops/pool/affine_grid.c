#include "adze/ops/grid.h"
#include "adze/sequences.h"
#include "ops/op.h"

/* The grid of an affine map, torch.nn.functional.affine_grid: a composition.
 *
 *     y[n][q] = theta[n] (coordinates of q, 1)
 *
 * The coordinates of the elements of an image go from -1 to 1 along each dimension. These are the
 * centres of the first and the last element with align_corners, and else their borders. */

static const char name[] = "affine_grid";

/* The coordinates of `size` elements. One element lies in the middle. */
static adz_tensor *coordinates(int64_t size, bool align_corners, adz_dtype dtype)
{
    if (size == 1) {
        return adz_zeros(ADZ_SHAPE(1), dtype);
    }
    const double end = align_corners ? 1 : (double)(size - 1) / (double)size;
    return adz_linspace(-end, end, size, dtype);
}

/* [P, n + 1]: the coordinates of all elements, the last dimension first, and 1. */
static adz_tensor *base(const adz_shape *size, int n, bool align_corners, adz_dtype dtype)
{
    const int64_t count = adzi_numel(n, size->sizes + 2);
    adz_tensor *columns[4];
    for (int d = 0; d < n; ++d) {
        adz_shape alone = { .rank = n };
        for (int i = 0; i < n; ++i) {
            alone.sizes[i] = i == d ? size->sizes[2 + d] : 1;
        }
        adz_tensor *along =
            adz_reshape(coordinates(size->sizes[2 + d], align_corners, dtype), alone);
        along = adz_expand(along, adz_shape_of(n, size->sizes + 2));
        columns[n - 1 - d] = adz_reshape(along, ADZ_SHAPE(count));
    }
    columns[n] = adz_ones(ADZ_SHAPE(count), dtype);
    return adz_stack(columns, (size_t)n + 1, 1);
}

/* Whether theta holds a map for each image of this size. */
static bool check(const adz_tensor *theta, const adz_shape *size)
{
    const int n = size->rank == 4 ? 2 : size->rank == 5 ? 3 : 0; /* the rank may be any number */
    int64_t numel;
    if (n != 2 && n != 3) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "size has %d numbers, but an image has [N, C, H, W] and a volume [N, C, D, H, W]",
            size->rank);
        return false;
    }
    bool good = theta->rank == 3 && theta->sizes[0] == size->sizes[0] && theta->sizes[1] == n &&
                theta->sizes[2] == n + 1;
    for (int d = 0; d < size->rank; ++d) {
        good = good && size->sizes[d] >= 1;
    }
    if (!good) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "theta%s does not fit size %s: it is [N, %d, %d], and sizes are 1 or more",
            adzi_text_shape(theta), adzi_text_sizes(size->rank, size->sizes), n, n + 1);
        return false;
    }
    if (theta->dtype != ADZ_F32 && theta->dtype != ADZ_F64) {
        adzi_error(name, ADZ_ERR_DTYPE, "theta is %s, but must be float32 or float64",
            adz_dtype_name((adz_dtype)theta->dtype));
        return false;
    }
    return adzi_check_sizes(name, size->rank, size->sizes, (adz_dtype)theta->dtype, &numel) ==
           ADZ_OK;
}

/* The grid of positions that theta maps, torch.nn.functional.affine_grid. */
adz_tensor *adz_affine_grid(adz_tensor *theta, adz_shape size, bool align_corners)
{
    ADZI_COMPOSED();
    if (!adzi_check_tensor(name, "theta", theta) || !check(theta, &size)) {
        return NULL;
    }
    const int n = size.rank - 2;
    adz_shape shape = { .rank = n + 2, .sizes = { size.sizes[0] } };
    memcpy(shape.sizes + 1, size.sizes + 2, (size_t)n * sizeof *shape.sizes);
    shape.sizes[n + 1] = n;
    adz_tensor *points = base(&size, n, align_corners, (adz_dtype)theta->dtype);
    return adz_reshape(adz_matmul(points, adz_transpose(theta, 1, 2)), shape);
}
