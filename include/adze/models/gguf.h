/**
 * @file models/gguf.h
 * Files of the format GGUF, versions 2 and 3: named values and named tensors.
 *
 * Opening a file reads what stands before the tensors. Their elements are read one by one when they
 * are asked for. Nothing that a file claims is believed before its bytes were read: a count or a
 * length beyond the end of the file is an error, and no memory is asked for it.
 *
 *     adz_gguf *file = adz_gguf_open("model.gguf");
 *     printf("a %s\n", adz_gguf_text(file, "general.architecture"));
 *     adz_tensor *table = adz_gguf_read(file, "token_embd.weight", true);
 *     adz_gguf_close(&file);
 */
#ifndef ADZE_MODELS_GGUF_H
#define ADZE_MODELS_GGUF_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An open file. One thread at a time may use it. */
typedef struct adz_gguf adz_gguf;

/** The kinds of the values that a file names. */
typedef enum adz_gguf_kind {
    ADZ_GGUF_KIND_NONE = 0,    /**< there is no such value */
    ADZ_GGUF_KIND_INTEGER = 1, /**< any width, signed or not */
    ADZ_GGUF_KIND_REAL = 2,    /**< f32 or f64 */
    ADZ_GGUF_KIND_BOOL = 3,    /**< true or false */
    ADZ_GGUF_KIND_TEXT = 4,    /**< UTF-8 */
    ADZ_GGUF_KIND_ARRAY = 5    /**< a list of values of one of the kinds above */
} adz_gguf_kind;

/**
 * Opens a file and reads its names.
 *
 * @param path  of a file of the format GGUF
 * @return      yours, end it with adz_gguf_close; NULL with ADZ_ERR_NULL, ADZ_ERR_IO,
 *              ADZ_ERR_FORMAT (the message names file and entry), ADZ_ERR_UNSUPPORTED (version 1 or
 * a host whose first byte is the highest) or ADZ_ERR_MEMORY recorded
 */
ADZ_API adz_gguf *adz_gguf_open(const char *path);

/**
 * Ends a file. Tensors that were read from it stay.
 *
 * @param file  set to NULL; NULL and a pointer to NULL are left alone
 */
ADZ_API void adz_gguf_close(adz_gguf **file);

/* ---- values ------------------------------------------------------------------------------- */

/**
 * What kind a value is.
 *
 * @param file  open
 * @param key   such as "llama.block_count"
 * @return      ADZ_GGUF_KIND_NONE if the file has no such value, or if an argument is NULL
 */
ADZ_API adz_gguf_kind adz_gguf_kind_of(const adz_gguf *file, const char *key);

/**
 * A whole number.
 *
 * @param file   open
 * @param key    of an integer
 * @param value  receives it; untouched after an error
 * @return       ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (there is none), ADZ_ERR_FORMAT (another
 * kind, or beyond int64)
 */
ADZ_API adz_status adz_gguf_integer(const adz_gguf *file, const char *key, int64_t *value);

/**
 * A real number.
 *
 * @param file   open
 * @param key    of a real number or an integer
 * @param value  receives it; untouched after an error
 * @return       ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (there is none), ADZ_ERR_FORMAT (another
 * kind)
 */
ADZ_API adz_status adz_gguf_real(const adz_gguf *file, const char *key, double *value);

/**
 * A truth value.
 *
 * @param file   open
 * @param key    of a bool
 * @param value  receives it; untouched after an error
 * @return       ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (there is none), ADZ_ERR_FORMAT (another
 * kind)
 */
ADZ_API adz_status adz_gguf_bool(const adz_gguf *file, const char *key, bool *value);

/**
 * A text.
 *
 * @param file  open
 * @param key   of a text
 * @return      the text, which lives as long as the file; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT
 * (there is none) or ADZ_ERR_FORMAT (another kind, or a zero byte within) recorded
 */
ADZ_API const char *adz_gguf_text(const adz_gguf *file, const char *key);

/**
 * How many elements an array has.
 *
 * @param file   open
 * @param key    of an array
 * @param count  receives the number; untouched after an error
 * @return       ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (there is none), ADZ_ERR_FORMAT (no array)
 */
ADZ_API adz_status adz_gguf_count(const adz_gguf *file, const char *key, size_t *count);

/**
 * An element of an array of texts. It is not ended by a zero byte, because it may contain some.
 *
 * @param file   open
 * @param key    of an array of texts
 * @param index  below adz_gguf_count
 * @param size   receives its bytes; untouched after an error
 * @return       the text, which lives as long as the file; NULL with ADZ_ERR_NULL,
 * ADZ_ERR_ARGUMENT, ADZ_ERR_FORMAT (no array of texts) or ADZ_ERR_INDEX recorded
 */
ADZ_API const char *adz_gguf_text_at(
    const adz_gguf *file, const char *key, size_t index, size_t *size);

/**
 * An element of an array of numbers or truth values.
 *
 * @param file   open
 * @param key    of an array of numbers
 * @param index  below adz_gguf_count
 * @param value  receives it; untouched after an error
 * @return       ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, ADZ_ERR_FORMAT (no array of numbers) or
 *               ADZ_ERR_INDEX
 */
ADZ_API adz_status adz_gguf_real_at(
    const adz_gguf *file, const char *key, size_t index, double *value);

/* ---- tensors ------------------------------------------------------------------------------ */

/**
 * How many tensors the file has.
 *
 * @param file  open
 * @return      their number; 0 when file is NULL
 */
ADZ_API size_t adz_gguf_tensor_count(const adz_gguf *file);

/**
 * The name of a tensor.
 *
 * @param file   open
 * @param index  below adz_gguf_tensor_count
 * @return       the name, which lives as long as the file; NULL with ADZ_ERR_NULL or ADZ_ERR_INDEX
 *               recorded
 */
ADZ_API const char *adz_gguf_tensor_name_at(const adz_gguf *file, size_t index);

/**
 * The position of a tensor.
 *
 * @param file  open
 * @param name  of a tensor
 * @return      its index; adz_gguf_tensor_count if there is none
 */
ADZ_API size_t adz_gguf_tensor_index(const adz_gguf *file, const char *name);

/**
 * The sizes of a tensor as adze counts them, outermost first. Files list them the other way round.
 *
 * @param file   open
 * @param index  below adz_gguf_tensor_count
 * @return       the shape; rank -1 with ADZ_ERR_NULL or ADZ_ERR_INDEX recorded
 */
ADZ_API adz_shape adz_gguf_tensor_shape_at(const adz_gguf *file, size_t index);

/**
 * How a tensor is stored, in the words of the format: "F32", "F16", "BF16", "Q8_0", "Q4_K" ...
 *
 * @param file   open
 * @param index  below adz_gguf_tensor_count
 * @return       a constant; NULL with ADZ_ERR_NULL or ADZ_ERR_INDEX recorded
 */
ADZ_API const char *adz_gguf_tensor_type_at(const adz_gguf *file, size_t index);

/**
 * Reads a tensor.
 *
 * @param file    open
 * @param name    of a tensor that is F32, F16, BF16 or Q8_0, of which the last is a matrix
 * @param widen   whether to convert it to f32. Else F16 and BF16 keep their dtype, and Q8_0[..., D]
 *                becomes u8[..., D / 32, 34], which adz_linear reads (adz_quantize_q8_0)
 * @return        the tensor, borrowed from the scope; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (no
 * such tensor), ADZ_ERR_UNSUPPORTED (another type), ADZ_ERR_FORMAT (it ends behind the file),
 * ADZ_ERR_IO or ADZ_ERR_MEMORY recorded
 */
ADZ_API adz_tensor *adz_gguf_read(adz_gguf *file, const char *name, bool widen);

#ifdef __cplusplus
}
#endif

#endif
