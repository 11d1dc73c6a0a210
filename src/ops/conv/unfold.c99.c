/* Unfold and fold: the patches of an image as columns. */
#include <stdio.h>

#include "export/c99/slide.h"

/* Copies the elements of the image[N, C, H, W] to the columns[N, C KH KW, positions], or adds the
 * columns to the image. N may be absent. An element of the image meets the positions in
 * their order, because the taps of a row run backwards. */
static void print_patches(adzi_c99 *c, const adzi_c99_call *call, const adzi_c99_value *image,
    const adzi_c99_value *columns, bool to_image)
{
    const int64_t *kernel = adzi_c99_attr_list(call, "kernel_size");
    const int spatial = image->rank - 2;
    const int64_t *steps = image->strides + spatial, *strides = columns->strides + spatial - 1;
    adzi_c99_axis axis[2];
    for (int d = 0; d < 2; ++d) {
        adzi_c99_axis *a = &axis[d];
        *a = adzi_c99_axis_of(call, d, image->sizes[spatial + d], 1, kernel[d]);
        a->small = (a->big + 2 * a->padding - a->dilation * (a->taps - 1) - 1) / a->stride + 1;
    }
    char item[4], channel[4], position[4], i[4], j[4], q[4], tap[32], bounds[2][24];
    char row[ADZI_C99_INDEX], at[ADZI_C99_INDEX] = "", from[ADZI_C99_INDEX] = "", a[ADZI_C99_TEXT],
                              b[ADZI_C99_TEXT];
    const adzi_c99_mark mark = adzi_c99_mark_of(c);
    adzi_c99_loop_over(c, spatial == 2 ? image->sizes[0] : 1, item);
    adzi_c99_loop_over(c, image->sizes[spatial - 1], channel);
    adzi_c99_loop_over(c, axis[0].small, position);
    adzi_c99_loop_over(c, axis[0].taps, i);
    adzi_c99_need_block(c, mark);
    adzi_c99_open_meeting(c, &axis[0], position, i, "row", row);
    adzi_c99_loop(c, axis[1].taps, j);
    snprintf(tap, sizeof tap, "(%lld - %s)", (long long)axis[1].taps - 1, j);
    adzi_c99_print_tap_range(c, &axis[1], tap, bounds);
    adzi_c99_range(c, bounds[0], bounds[1], 1, q);
    adzi_c99_add_offset(at, columns->offset);
    adzi_c99_add_variable(at, item, columns->strides[0]);
    adzi_c99_add_variable(at, channel, kernel[0] * kernel[1] * strides[0]);
    adzi_c99_add_variable(at, i, kernel[1] * strides[0]);
    adzi_c99_add_variable(at, tap, strides[0]);
    adzi_c99_add_variable(at, position, axis[1].small * strides[1]);
    adzi_c99_add_variable(at, q, strides[1]);
    adzi_c99_element(c, columns->memory, at, a, sizeof a);
    adzi_c99_add_offset(from, image->offset);
    adzi_c99_add_variable(from, item, image->strides[0]);
    adzi_c99_add_variable(from, channel, image->strides[spatial - 1]);
    adzi_c99_add_variable(from, row, steps[0]);
    adzi_c99_add_meeting(from, &axis[1], q, tap, steps[1]);
    adzi_c99_element(c, image->memory, from, b, sizeof b);
    adzi_c99_line(c, "%s %s %s;", to_image ? b : a, to_image ? "+=" : "=", to_image ? a : b);
    adzi_c99_close_to(c, mark);
}

ADZI_C99_PRINTER(unfold)
{
    const adzi_c99_value *y = adzi_c99_out(c, call, 0);
    adzi_c99_map(c, y, "= 0", NULL); /* what lies in the padding */
    print_patches(c, call, adzi_c99_in(c, call, 0), y, false);
}

ADZI_C99_PRINTER(fold)
{
    const adzi_c99_value *y = adzi_c99_out(c, call, 0);
    adzi_c99_map(c, y, "= 0", NULL);
    print_patches(c, call, y, adzi_c99_in(c, call, 0), true);
}
