/* Digits that the program draws itself. */
#ifndef DIGITS_STROKES_H
#define DIGITS_STROKES_H

#include "images.h"

/* Draws digits of 16 x 16 pixels from 0 to 255, each at random. Their strokes are bent, slanted,
 * turned, shifted, thick or thin at random, some strokes are left out, and there is noise. */
images draw_digits(int64_t count, uint64_t seed);

#endif
