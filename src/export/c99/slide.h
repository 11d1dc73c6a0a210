/* A kernel that slides over an image, dimension by dimension, for convolutions and patches. */
#ifndef ADZI_EXPORT_C99_SLIDE_H
#define ADZI_EXPORT_C99_SLIDE_H

#include "export/c99/printer.h"

/** One dimension. At position q of the small image, tap t of the kernel meets the element
 * q stride + t dilation - padding of the big one, if there is such an element. */
typedef struct adzi_c99_axis {
    int64_t big, small, taps, stride, dilation, padding;
} adzi_c99_axis;

/** Dimension d of a call's attributes. */
adzi_c99_axis adzi_c99_axis_of(
    const adzi_c99_call *call, int d, int64_t big, int64_t small, int64_t taps);

/** True if every tap meets an element at every position. */
bool adzi_c99_axis_inside(const adzi_c99_axis *axis);

/** Gives the element that a tap meets at a position as `row`, a text for an index. Where there may
 * be no such element it is the variable `name`, and a block is opened that runs if there is one.
 * Variables are "" where there is one position or one tap. Returns true if the block is open. */
bool adzi_c99_open_meeting(adzi_c99 *c, const adzi_c99_axis *axis, const char *position,
    const char *tap, const char *name, char row[ADZI_C99_INDEX]);

/** Prints `const int first = ..., last = ...;`: the positions where a tap meets an element are
 * those from first to below last. `texts` gets "first" and "last", or numbers, for which nothing is
 * printed. */
void adzi_c99_print_tap_range(
    adzi_c99 *c, const adzi_c99_axis *axis, const char *tap, char texts[2][24]);

/** Adds "position * stride + tap * dilation - padding" to an index, each times `step`. */
void adzi_c99_add_meeting(char index[ADZI_C99_INDEX], const adzi_c99_axis *axis,
    const char *position, const char *tap, int64_t step);

/** Adds variable * stride to an index, unless the variable is "". */
void adzi_c99_add_variable(char index[ADZI_C99_INDEX], const char *variable, int64_t stride);

/** Adds a number to an index, unless it is 0. */
void adzi_c99_add_offset(char index[ADZI_C99_INDEX], int64_t offset);

#endif
