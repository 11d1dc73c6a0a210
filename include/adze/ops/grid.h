/**
 * @file grid.h
 * Images and volumes at positions of a grid.
 */
#ifndef ADZE_OPS_GRID_H
#define ADZE_OPS_GRID_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How adz_grid_sample computes elements between those of x. */
typedef enum adz_grid_mode {
    ADZ_GRID_BILINEAR = 0, /**< lines along all dimensions */
    ADZ_GRID_NEAREST = 1,  /**< the nearest element, the even one of two */
    ADZ_GRID_BICUBIC = 2   /**< images: Keys' cubic convolution of 4 by 4 elements, a = -0.75 */
} adz_grid_mode;

/** What adz_grid_sample finds outside x. */
typedef enum adz_grid_padding {
    ADZ_GRID_ZEROS = 0,     /**< zeros */
    ADZ_GRID_BORDER = 1,    /**< the nearest element of x */
    ADZ_GRID_REFLECTION = 2 /**< x mirrored at its ends, again and again */
} adz_grid_padding;

/** Options of adz_grid_sample. Start from ADZ_GRID_SAMPLE_OPTIONS. */
typedef struct adz_grid_sample_options {
    size_t size;                   /**< sizeof(adz_grid_sample_options) */
    adz_grid_mode mode;            /**< ADZ_GRID_BILINEAR */
    adz_grid_padding padding_mode; /**< ADZ_GRID_ZEROS */
    bool align_corners;            /**< whether -1 and 1 are the centres of the first and the last
                                        element; false: they are the borders of these elements */
} adz_grid_sample_options;

/** The defaults. */
#define ADZ_GRID_SAMPLE_OPTIONS                                                                 \
    {                                                                                           \
        ADZ_MEMBER(size, sizeof(adz_grid_sample_options)), ADZ_MEMBER(mode, ADZ_GRID_BILINEAR), \
            ADZ_MEMBER(padding_mode, ADZ_GRID_ZEROS), ADZ_MEMBER(align_corners, false)          \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_grid_sample_options) as the caller knows it
 */
ADZ_API void adz_grid_sample_options_init(adz_grid_sample_options *options, size_t size);

/**
 * Images or volumes at the positions of a grid.
 *
 *     y[n][c][i][j] = x[n][c] at row grid[n][i][j][1] and column grid[n][i][j][0]
 *
 * Coordinates go from -1 to 1. A volume has three: column, row and slice. A position that is not
 * finite gives NaN unless it is infinite and the padding is the border; the mode nearest takes it
 * as outside of x. PyTorch gives a number for some of them.
 *
 * @param x        x[N, C, H, W] or x[N, C, D, H, W], f32 or f64; H, W and D 1 or more
 * @param grid     grid[N, height, width, 2] or grid[N, depth, height, width, 3] of x's dtype
 * @param options  NULL for the defaults
 * @return         y[N, C, height, width] or y[N, C, depth, height, width], borrowed from the scope,
 *                 or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad           x and grid, to any order, where the mode has a slope: nearest has none for the
 *                 grid, which is then no part of the graph
 * @see            torch.nn.functional.grid_sample
 */
ADZ_API adz_tensor *adz_grid_sample(
    adz_tensor *x, adz_tensor *grid, const adz_grid_sample_options *options);

/**
 * The grid of an affine map, for adz_grid_sample.
 *
 *     y[n][i][j] = theta[n] (column, row, 1)
 *
 * Column and row are the coordinates of element (i, j), from -1 to 1. A volume has a slice too.
 *
 * @param theta          theta[N, 2, 3], or theta[N, 3, 4] for volumes, f32 or f64
 * @param size           [N, C, height, width] or [N, C, depth, height, width] of the image to be
 *                       made, each 1 or more
 * @param align_corners  whether -1 and 1 are the centres of the first and the last element; false:
 *                       they are the borders of these elements
 * @return               y[N, height, width, 2] or y[N, depth, height, width, 3], borrowed from the
 *                       scope, or NULL
 * @errors               ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad                 theta, to any order
 * @see                  torch.nn.functional.affine_grid
 */
ADZ_API adz_tensor *adz_affine_grid(adz_tensor *theta, adz_shape size, bool align_corners);

#ifdef __cplusplus
}
#endif

#endif
