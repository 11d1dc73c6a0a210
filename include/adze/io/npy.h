/**
 * @file npy.h
 * NumPy's npy files, each of which holds one array.
 */
#ifndef ADZE_IO_NPY_H
#define ADZE_IO_NPY_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of writing an array. Start from ADZ_NPY_OPTIONS. */
typedef struct adz_npy_options {
    size_t size;        /**< sizeof(adz_npy_options) */
    int version;        /**< format version 1, 2 or 3; 1 */
    bool fortran_order; /**< whether the first dimension varies fastest; false */
    bool big_endian;    /**< whether the most significant byte comes first; false */
} adz_npy_options;

/** The defaults. */
#define ADZ_NPY_OPTIONS                                                     \
    {                                                                       \
        ADZ_MEMBER(size, sizeof(adz_npy_options)), ADZ_MEMBER(version, 1),  \
            ADZ_MEMBER(fortran_order, false), ADZ_MEMBER(big_endian, false) \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_npy_options) as the caller knows it
 */
ADZ_API void adz_npy_options_init(adz_npy_options *options, size_t size);

/**
 * Reads an array from a file. It reads format versions 1 to 3, both orders of dimensions and both
 * orders of bytes. A dtype without an order of bytes has that of the machine.
 *
 * f2, f4, f8, i4, i8, u1 and b1 become the tensor's dtype. Integers of other widths are widened:
 * i1, i2 and u2 become ADZ_I32, u4 and u8 become ADZ_I64. An element of u8 from 2^63 on does not
 * fit and is an error.
 *
 * @param path  the file
 * @return      contiguous, borrowed from the scope, or NULL
 * @errors      ADZ_ERR_IO, ADZ_ERR_FORMAT, ADZ_ERR_UNSUPPORTED (another dtype, an element that
 *              does not fit, more than 8 dimensions), ADZ_ERR_MEMORY
 * @see         numpy.load
 */
ADZ_API adz_tensor *adz_npy_load(const char *path);

/**
 * Reads an array from the bytes of an npy file.
 *
 * @param bytes  the whole file
 * @param size   number of bytes
 * @return       contiguous, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_NULL, ADZ_ERR_FORMAT, ADZ_ERR_UNSUPPORTED, ADZ_ERR_MEMORY
 */
ADZ_API adz_tensor *adz_npy_from_memory(const void *bytes, size_t size);

/**
 * Writes an array to a file, atomically: a failure or a crash leaves the old file.
 *
 * @param t        any shape and layout, any dtype but bf16, which NumPy does not have
 * @param path     replaced if it exists
 * @param options  NULL for the defaults
 * @return         ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_IO or
 *                 ADZ_ERR_MEMORY
 * @see            numpy.save
 */
ADZ_API adz_status adz_npy_save(adz_tensor *t, const char *path, const adz_npy_options *options);

/**
 * The bytes of an npy file that holds a tensor.
 *
 * @param t        any shape and layout, any dtype but bf16
 * @param options  NULL for the defaults
 * @return         y[bytes] u8, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 */
ADZ_API adz_tensor *adz_npy_to_memory(adz_tensor *t, const adz_npy_options *options);

#ifdef __cplusplus
}
#endif

#endif
