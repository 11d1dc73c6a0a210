/* Files in the format IDX, in which MNIST is published: a header of 4-byte numbers, then bytes. */
#ifndef DIGITS_IDX_H
#define DIGITS_IDX_H

#include "images.h"

/* True if the file begins like an IDX file or like one that is packed by gzip. A pipe is none. */
bool is_idx(const char *path);

/* Reads images and, unless the path is NULL, their digits. Either file may be packed by gzip. Ends
 * the program if a file is of another kind, is truncated, or does not fit the other one. */
images read_idx(const char *images_path, const char *labels_path);

#endif
