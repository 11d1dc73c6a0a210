/* Patches of images, and the sum of patches.
 *
 *     unfold   y[t, q] = x[q stride + t dilation - padding], 0 outside x
 *     fold     y[p]    = the sum of x[t, q] over all t and q with q stride + t dilation - padding =
 * p
 *
 * t is a tap of the kernel, q a position of the grid. A unit is one channel of an image. */
#ifndef elem
#define THIS_FILE "ops/conv/unfold.kernel.c"
#include "ops/conv/conv_patches.kernel.h"

#include "tensor/kernel/each_float.h"
#else

/* The indices of one row of the grid: `part` of them exist, from element `from` of the image on. */
static inside KERNEL(row_of)(const adzi_conv_args *g, int64_t tap, int64_t row, int64_t *from)
{
    const int64_t i = tap / g->kernel[2], j = tap % g->kernel[2];
    const int64_t at = row * g->stride[1] - g->pad[1] + i * g->dilation[1];
    const int64_t first = j * g->dilation[2] - g->pad[2];
    *from = at * g->source[2] + first;
    return is_row(at, g->source[1])
               ? indices_inside(first, g->stride[2], g->result[2], g->source[2])
               : (inside){ 0, 0 };
}

void KERNEL(unfold)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_conv_args *g = opaque;
    const int64_t taps = g->kernel[1] * g->kernel[2], rows = g->result[1], columns = g->result[2];
    for (int64_t unit = begin; unit < end; ++unit) {
        const elem *x = (const elem *)g->x + unit * g->source[1] * g->source[2];
        for (int64_t k = 0; k < taps * rows; ++k) {
            elem *y = (elem *)g->y + (unit * taps * rows + k) * columns;
            int64_t from, z = 0;
            const inside part = KERNEL(row_of)(g, k / rows, k % rows, &from);
            for (; z < part.low; ++z) {
                y[z] = ELEM(0);
            }
            for (; z < part.high; ++z) {
                y[z] = x[from + z * g->stride[2]];
            }
            for (; z < columns; ++z) {
                y[z] = ELEM(0);
            }
        }
    }
}

void KERNEL(fold)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_conv_args *g = opaque;
    const int64_t taps = g->kernel[1] * g->kernel[2], rows = g->result[1], columns = g->result[2];
    for (int64_t unit = begin; unit < end; ++unit) {
        elem *y = (elem *)g->y + unit * g->source[1] * g->source[2];
        memset(y, 0, (size_t)(g->source[1] * g->source[2]) * sizeof(elem));
        for (int64_t k = 0; k < taps * rows; ++k) {
            const elem *x = (const elem *)g->x + (unit * taps * rows + k) * columns;
            int64_t from;
            const inside part = KERNEL(row_of)(g, k / rows, k % rows, &from);
            for (int64_t z = part.low; z < part.high; ++z) {
                y[from + z * g->stride[2]] += x[z];
            }
        }
    }
}
#endif
