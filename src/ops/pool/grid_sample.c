#include "adze/ops/grid.h"
#include "ops/op.h"
#include "ops/options.h"

/* Images at positions of a grid, torch.nn.functional.grid_sample: a composition.
 *
 *     y[n][c][q] = sum over taps t of weight(t, position(q)) x[n][c][index(t, position(q))]
 *
 * Along each dimension, a position lies between two elements of x. Nearest has one tap, bilinear
 * has the two elements around the position, and bicubic the four. The taps of a dimension are
 * tensors [N, 1, P] of indices, weights and whether x has the element, where P counts the
 * positions. The taps of an image are all combinations. Indices are constants for the gradients. */

static const char name[] = "grid_sample";

enum { DIMENSIONS = 3, TAPS = 4 };

static const char *const modes[] = { "bilinear", "nearest", "bicubic", NULL };
static const char *const paddings[] = { "zeros", "border", "reflection", NULL };

static const adz_field rows[] = {
    ADZ_FIELD_AS(adz_grid_sample_options, mode, "mode", ADZ_FIELD_ENUM, .values = modes),
    ADZ_FIELD_AS(
        adz_grid_sample_options, padding_mode, "padding_mode", ADZ_FIELD_ENUM, .values = paddings),
    ADZ_FIELD(adz_grid_sample_options, align_corners, .value = false),
};

ADZ_OPTIONS_TABLE(adz_grid_sample_options, ADZ_GRID_SAMPLE_OPTIONS, rows)

/* One element that a position reads along a dimension. */
typedef struct {
    adz_tensor *index;  /* i64, in x also where the element is not */
    adz_tensor *inside; /* bool: whether x has the element; NULL if it always does */
    adz_tensor *weight; /* NULL for 1 */
} tap;

/* ---- positions ------------------------------------------------------------------------------ */

/* Mirrors positions at the ends of x until they lie between them. The ends are the first and the
 * last element with align_corners, and else the borders of these elements. */
static adz_tensor *reflect(adz_tensor *at, int64_t size, bool align_corners)
{
    const double low = align_corners ? 0 : -0.5, span = (double)(align_corners ? size - 1 : size);
    if (span == 0) {
        return adz_masked_fill(at, adz_isfinite(at), 0);
    }
    adz_tensor *from = adz_sub_number(at, low);
    from = adz_where(adz_lt_number(from, 0), adz_neg(from), from);
    adz_tensor *turn = adz_remainder_number(adz_floor(adz_div_number(from, span)), 2);
    adz_tensor *rest = adz_fmod_number(from, span);
    adz_tensor *back = adz_add_number(adz_neg(rest), span);
    return adz_add_number(adz_where(adz_eq_number(turn, 1), back, rest), low);
}

/* Moves positions into x as the padding says. */
static adz_tensor *moved(adz_tensor *at, int64_t size, const adz_grid_sample_options *o)
{
    if (o->padding_mode == ADZ_GRID_ZEROS) {
        return at;
    }
    if (o->padding_mode == ADZ_GRID_REFLECTION) {
        at = reflect(at, size, o->align_corners);
    }
    return adz_hardtanh(at, 0, (double)(size - 1));
}

/* Coordinates from -1 to 1 as positions in elements of x. */
static adz_tensor *positions(adz_tensor *grid, int64_t size, bool align_corners)
{
    const double half = (double)(align_corners ? size - 1 : size) / 2;
    adz_tensor *at = adz_mul_number(adz_add_number(grid, 1), half);
    return align_corners ? at : adz_sub_number(at, 0.5);
}

/* ---- taps ----------------------------------------------------------------------------------- */

/* The tap at whole positions. A position that is not a number counts as outside of x, or as 0. */
static tap tap_at(adz_tensor *at, int64_t size, adz_tensor *weight)
{
    const double last = (double)(size - 1);
    tap t = { .weight = weight };
    t.inside = adz_logical_and(adz_ge_number(at, 0), adz_le_number(at, last));
    at = adz_hardtanh(adz_masked_fill(at, adz_isnan(at), 0), 0, last);
    t.index = adz_to(at, ADZ_I64);
    if (size > (int64_t)1 << 24) { /* f32 may have rounded `last` up */
        t.index = adz_clamp(t.index, 0, last);
    }
    return t;
}

/* The polynomials of Keys' cubic convolution with a = -0.75: at most one element away, and at most
 * two. */
static adz_tensor *cubic(adz_tensor *far, bool beyond)
{
    static const double near_terms[] = { 1.25, -2.25, 0, 1 };
    static const double far_terms[] = { -0.75, 3.75, -6, 3 };
    const double *term = beyond ? far_terms : near_terms;
    adz_tensor *sum = adz_add_number(adz_mul_number(far, term[0]), term[1]);
    for (int i = 2; i < 4; ++i) {
        sum = adz_add_number(adz_mul(sum, far), term[i]);
    }
    return sum;
}

/* Finds the taps of a dimension and returns their number. */
static int taps_of(adz_tensor *grid, int64_t size, const adz_grid_sample_options *o, tap *taps)
{
    adz_tensor *at = positions(grid, size, o->align_corners);
    if (o->mode == ADZ_GRID_NEAREST) {
        taps[0] = tap_at(adz_round(moved(at, size, o)), size, NULL);
        return 1;
    }
    if (o->mode == ADZ_GRID_BILINEAR) {
        at = moved(at, size, o);
        adz_tensor *whole = adz_floor(adz_detach(at)), *rest = adz_sub(at, whole);
        taps[0] = tap_at(whole, size, adz_add_number(adz_neg(rest), 1));
        taps[1] = tap_at(adz_add_number(whole, 1), size, rest);
        return 2;
    }
    adz_tensor *whole = adz_floor(adz_detach(at)), *rest = adz_sub(at, whole);
    for (int i = 0; i < TAPS; ++i) {
        /* The distances from the position are rest + 1, rest, 1 - rest and 2 - rest. */
        adz_tensor *far = adz_add_number(i < 2 ? rest : adz_neg(rest), i < 2 ? 1 - i : i - 1);
        adz_tensor *element = moved(adz_add_number(whole, i - 1), size, o);
        taps[i] = tap_at(element, size, cubic(far, i == 0 || i == TAPS - 1));
    }
    return TAPS;
}

/* The elements of x[N, C, S] that one tap of each of the n dimensions names, times their weights.
 */
static adz_tensor *products(adz_tensor *x, const int64_t *sizes, const tap *const *at, int n)
{
    adz_tensor *index = NULL, *inside = NULL, *weight = NULL;
    for (int d = 0; d < n; ++d) {
        const tap *t = at[d];
        index = d == 0 ? t->index : adz_add(adz_mul_number(index, (double)sizes[d]), t->index);
        inside = d == 0 ? t->inside : adz_logical_and(inside, t->inside);
        weight = d == 0 || t->weight == NULL ? t->weight : adz_mul(weight, t->weight);
    }
    adz_tensor *values = adz_take_along_dim(x, index, 2);
    values = adz_masked_fill(values, adz_logical_not(inside), 0);
    return weight != NULL ? adz_mul(values, weight) : values;
}

/* ---- the call ------------------------------------------------------------------------------- */

static bool check(const adz_tensor *x, const adz_tensor *grid, adz_grid_mode mode)
{
    const int n = x->rank - 2;
    bool fits = (n == 2 || n == 3) && grid->rank == x->rank && grid->sizes[n + 1] == n &&
                grid->sizes[0] == x->sizes[0];
    for (int d = 2; d < x->rank && fits; ++d) {
        fits = x->sizes[d] > 0;
    }
    if (!fits) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "x%s and grid%s must be [N, C, H, W] and [N, height, width, 2], or [N, C, D, H, W] and [N, depth, height, width, 3], and x must have a position",
            adzi_text_shape(x), adzi_text_shape(grid));
        return false;
    }
    if (x->dtype != grid->dtype || (x->dtype != ADZ_F32 && x->dtype != ADZ_F64)) {
        adzi_error(name, ADZ_ERR_DTYPE, "x is %s and grid %s, but both must be float32 or float64",
            adz_dtype_name((adz_dtype)x->dtype), adz_dtype_name((adz_dtype)grid->dtype));
        return false;
    }
    if (mode == ADZ_GRID_BICUBIC && n != 2) {
        adzi_error(name, ADZ_ERR_ARGUMENT,
            "mode bicubic is for images, but x%s is a volume; use bilinear", adzi_text_shape(x));
        return false;
    }
    return true;
}

adz_tensor *adz_grid_sample(adz_tensor *x, adz_tensor *grid, const adz_grid_sample_options *options)
{
    ADZI_COMPOSED();
    adz_grid_sample_options o;
    if (!adzi_check_tensor(name, "x", x) || !adzi_check_tensor(name, "grid", grid) ||
        !ADZI_OPTIONS_TAKE(name, adz_grid_sample_options, ADZ_GRID_SAMPLE_OPTIONS, &o, options) ||
        !check(x, grid, o.mode)) {
        return NULL;
    }
    const int n = x->rank - 2;
    const int64_t count = adzi_numel(n, grid->sizes + 1);
    adz_shape shape = adz_shape_of(x->rank, x->sizes);
    memcpy(shape.sizes + 2, grid->sizes + 1, (size_t)n * sizeof *shape.sizes);
    tap taps[DIMENSIONS][TAPS];
    int each = 1, all = 1;
    adz_tensor *flat = adz_reshape(grid, ADZ_SHAPE(x->sizes[0], 1, count, n));
    for (int d = 0; d < n; ++d) { /* the first coordinate is that of the last dimension */
        each = taps_of(adz_select(flat, 3, n - 1 - d), x->sizes[2 + d], &o, taps[d]);
        all *= each;
    }
    adz_tensor *image = adz_flatten(x, 2, -1), *y = NULL;
    for (int k = 0; k < all; ++k) {
        const tap *at[DIMENSIONS];
        for (int d = n - 1, rest = k; d >= 0; --d, rest /= each) {
            at[d] = &taps[d][rest % each];
        }
        adz_tensor *part = products(image, x->sizes + 2, at, n);
        y = k == 0 ? part : adz_add(y, part);
    }
    return adz_reshape(y, shape);
}
