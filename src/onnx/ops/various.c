/* Shifts of bits, matrices and images. */
#include <string.h>

#include "adze/ops.h"
#include "run.h"

/* ---- integers ------------------------------------------------------------------------------- */

static adz_tensor *bit_shift(const reader_call *call)
{
    adz_tensor *a = adzi_reader_in(call, 0), *b = adzi_reader_in(call, 1);
    if (strcmp(adzi_reader_string(call, "direction", ""), "LEFT") == 0) {
        return adz_bitwise_left_shift(a, b);
    }
    return adz_bitwise_right_shift(a, b);
}

/* ---- matrices ------------------------------------------------------------------------------- */

static adz_status check_einsum(const reader_model *model, const reader_node *node)
{
    (void)model;
    return node->n_inputs <= 2
               ? ADZ_OK
               : adzi_reader_refuse(
                     node, "%zu operands are not supported, only one or two", node->n_inputs);
}

static adz_tensor *einsum(const reader_call *call)
{
    adz_tensor *a = adzi_reader_in(call, 0), *b = adzi_reader_in(call, 1);
    adz_tensor *y = adz_einsum(adzi_reader_string(call, "equation", ""), a, b);
    /* the library's sums of i32 are i64 */
    return y != NULL && adz_tensor_dtype(y) != adz_tensor_dtype(a) ? adz_to(y, adz_tensor_dtype(a))
                                                                   : y;
}

static adz_tensor *det(const reader_call *call)
{
    return adz_det(adzi_reader_in(call, 0));
}

/* ---- images --------------------------------------------------------------------------------- */

static adz_tensor *affine_grid(const reader_call *call)
{
    adz_shape size;
    if (!adzi_reader_shape(call, NULL, 1, &size)) {
        return NULL;
    }
    bool corners = adzi_reader_int(call, "align_corners", 0) != 0;
    for (int i = 2; corners && i < size.rank; i++) {
        if (size.sizes[i] == 1) {
            return adzi_reader_fail(call, ADZ_ERR_UNSUPPORTED,
                "align_corners = 1 with a size of 1 is not supported: ONNX does not define it");
        }
    }
    return adz_affine_grid(adzi_reader_in(call, 0), size, corners);
}

static adz_tensor *grid_sample(const reader_call *call)
{
    adz_grid_sample_options options = ADZ_GRID_SAMPLE_OPTIONS;
    const char *mode = adzi_reader_string(call, "mode", "linear");
    const char *padding = adzi_reader_string(call, "padding_mode", "zeros");
    options.mode = strcmp(mode, "nearest") == 0 ? ADZ_GRID_NEAREST
                   : strstr(mode, "cubic") != 0 ? ADZ_GRID_BICUBIC
                                                : ADZ_GRID_BILINEAR;
    options.padding_mode = strcmp(padding, "border") == 0       ? ADZ_GRID_BORDER
                           : strcmp(padding, "reflection") == 0 ? ADZ_GRID_REFLECTION
                                                                : ADZ_GRID_ZEROS;
    options.align_corners = adzi_reader_int(call, "align_corners", 0) != 0;
    adz_tensor *x = adzi_reader_in(call, 0);
    if (adz_tensor_rank(x) != 4 && (adz_tensor_rank(x) != 5 || options.mode == ADZ_GRID_BICUBIC)) {
        return adzi_reader_fail(
            call, ADZ_ERR_UNSUPPORTED, "mode %s of x%s is not supported", mode, adz_text_shape(x));
    }
    return adz_grid_sample(x, adzi_reader_in(call, 1), &options);
}

/** Crops or pads dimensions around their centres. */
static adz_tensor *center_crop_pad(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    adz_shape wanted;
    adz_dims dims;
    int rank = adz_tensor_rank(x);
    if (x == NULL || !adzi_reader_shape(call, NULL, 1, &wanted) ||
        !adzi_reader_dims(call, "axes", NO_VALUE, rank, &dims)) {
        return NULL;
    }
    int n = dims.count < 0 ? rank : dims.count;
    if (n != wanted.rank) {
        return adzi_reader_fail(call, ADZ_ERR_SHAPE, "%d sizes for %d axes", wanted.rank, n);
    }
    int64_t pads[2 * ADZ_MAX_RANK] = { 0 };
    for (int i = 0; i < n; i++) {
        int dim = dims.count < 0 ? i : adzi_reader_dim(call, dims.dims[i], rank);
        if (dim < 0 || wanted.sizes[i] < 0) {
            return dim < 0 ? NULL : adzi_reader_fail(call, ADZ_ERR_SHAPE, "a size is negative");
        }
        int64_t more = wanted.sizes[i] - adz_tensor_size(x, dim);
        int last = 2 * (rank - 1 - dim);
        pads[last] = more / 2;
        pads[last + 1] = more - more / 2;
    }
    return adz_pad(x, pads, 2 * (size_t)rank, 0);
}

#define PADDING "align_corners:i padding_mode:s=zeros|border|reflection mode:s="

const reader_operator adzi_reader_various[] = {
    ROW("AffineGrid", 20, 0, 2, 2, 1, "align_corners:i", 2, affine_grid),
    ROW("BitShift", 11, 0, 2, 2, 1, "direction:s=LEFT|RIGHT", ALL_FIXED, bit_shift),
    ROW("CenterCropPad", 18, 0, 2, 2, 1, "axes:I", 2, center_crop_pad),
    ROW("Det", 11, 0, 1, 1, 1, "", 0, det),
    { "Einsum", 12, 0, 1, MANY, 1, "equation:s", .run = einsum, .check = check_einsum },
    ROW("GridSample", 16, 19, 2, 2, 1, PADDING "bilinear|nearest|bicubic", 0, grid_sample),
    ROW("GridSample", 20, 0, 2, 2, 1, PADDING "linear|nearest|cubic", 0, grid_sample),
    { .name = NULL },
};
