/* What unfold and fold share. Each is the gradient of the other. */
#ifndef ADZI_OPS_CONV_FOLD_H
#define ADZI_OPS_CONV_FOLD_H

#include "ops/conv/conv.h"
#include "ops/conv/conv.kernel.h"

/** The attributes of both operators. */
typedef struct adzi_fold {
    int64_t kernel_size[2], stride[2], padding[2], dilation[2];
    int64_t output_size[2]; /* height and width of the image */
} adzi_fold;

extern const adz_field adzi_fold_fields[];
enum { ADZI_FOLD_FIELDS = 5 };

extern const adzi_op adzi_op_unfold, adzi_op_fold;

/** Reads the arguments of a call that do not depend on the image. Returns false with the error
 * recorded under `op`. */
bool adzi_fold_read_kernel(const char *op, const adz_conv_options *options, adz_shape kernel_size,
    adzi_conv *conv, int64_t *kernel);

/** Reads the height and width of the image that fold makes. Returns false with the error recorded
 * under `op`. */
bool adzi_fold_read_output(const char *op, adz_shape output_size, int64_t *image);

/** Reads the arguments of a call that has its output_size, and finds the sizes of the grid of
 * patches. Returns false with the error recorded under `op`. */
bool adzi_fold_read(adzi_fold *at, const char *op, const adz_conv_options *options,
    adz_shape kernel_size, int64_t *grid);

/** The geometry of a call as its kernel reads it. An item of it is one channel of an image. */
adzi_conv_args adzi_fold_geometry(const adzi_fold *at, int64_t images, const int64_t *grid);

/** The operators without checks of their arguments. `grid` are the sizes of the grid of patches. */
adz_tensor *adzi_unfold_call(adz_tensor *x, const adzi_fold *at, const int64_t *grid);
adz_tensor *adzi_fold_call(adz_tensor *x, const adzi_fold *at, const int64_t *grid);

/** The sizes of the grid, from attributes that were checked. */
void adzi_fold_grid(const adzi_fold *at, int64_t *grid);

/** The grain of a launch, in images. */
int64_t adzi_fold_grain(const adzi_conv_args *g);

#endif
