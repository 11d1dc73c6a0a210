/**
 * @file safetensors.h
 * Named tensors in safetensors form, the format of PyTorch's `safetensors` package.
 *
 * A file holds three parts: the length of the header as 8 little-endian bytes, a JSON header with
 * each tensor's dtype, shape and offset, and the bytes of the tensors.
 *
 * Reading trusts nothing. The header is checked field by field, and a file that fails is refused as
 * a whole. Names are looked up by a hash with a secret key, so no choice of names makes reading
 * slow.
 *
 * Writing is atomic. The bytes go to a temporary file in the same folder, which is renamed once the
 * disk has them. The old file therefore survives a crash and a full disk. A process that is killed
 * while it saves leaves its temporary file (`.adze-*.tmp`) behind, and the next save to that folder
 * deletes it. Temporary files of processes that are still saving are locked (flock) and stay.
 *
 * @code
 * adz_safetensors *file = adz_safetensors_new();
 * adz_safetensors_add(file, "weight", adz_ones(ADZ_SHAPE(2, 3), ADZ_F32));
 * adz_safetensors_set_metadata(file, "format", "pt");
 * adz_safetensors_save(file, "weights.safetensors");
 * adz_safetensors_free(&file);
 *
 * file = adz_safetensors_load("weights.safetensors", NULL);
 * adz_tensor_print(adz_safetensors_get(file, "weight"), stdout); // borrowed from file
 * adz_safetensors_free(&file);
 * @endcode
 */
#ifndef ADZE_IO_SAFETENSORS_H
#define ADZE_IO_SAFETENSORS_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The contents of a safetensors file: named tensors in order, and metadata strings. */
typedef struct adz_safetensors adz_safetensors;

/** Options of adz_safetensors_load. Start from ADZ_SAFETENSORS_OPTIONS. */
typedef struct adz_safetensors_options {
    size_t size; /**< sizeof(adz_safetensors_options) */
    bool map;    /**< whether the file is mapped and not copied. Changes of mapped tensors stay
                    private,    and nobody may change the file while they live; false */
} adz_safetensors_options;

/** The defaults. */
#define ADZ_SAFETENSORS_OPTIONS                                                   \
    {                                                                             \
        ADZ_MEMBER(size, sizeof(adz_safetensors_options)), ADZ_MEMBER(map, false) \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_safetensors_options) as the caller knows it
 */
ADZ_API void adz_safetensors_options_init(adz_safetensors_options *options, size_t size);

/**
 * Makes an empty collection, which can be filled and saved.
 *
 * @return yours, end it with adz_safetensors_free; NULL when memory was refused
 */
ADZ_API adz_safetensors *adz_safetensors_new(void);

/**
 * Reads a safetensors file.
 *
 * Integers of other widths than adze has are widened: I8, I16 and U16 become ADZ_I32, U32 and U64
 * become ADZ_I64. A tensor that adze cannot hold is left out with a warning, and the others are
 * read: one of a dtype such as F8_E4M3 or C64, one of more than 8 dimensions, and one of U64 with
 * an element from 2^63 on. adz_safetensors_unread_at names such tensors.
 *
 * @param path     the file
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_safetensors_free; or NULL
 * @errors         ADZ_ERR_IO, ADZ_ERR_FORMAT, ADZ_ERR_UNSUPPORTED (no tensor at all can be held),
 *                 ADZ_ERR_MEMORY
 * @see            safetensors.torch.load_file
 */
ADZ_API adz_safetensors *adz_safetensors_load(
    const char *path, const adz_safetensors_options *options);

/**
 * Reads a safetensors file from memory. The bytes are copied.
 *
 * @param bytes  the whole file
 * @param size   number of bytes
 * @return       yours, end it with adz_safetensors_free; or NULL
 * @errors       ADZ_ERR_NULL, ADZ_ERR_FORMAT, ADZ_ERR_UNSUPPORTED, ADZ_ERR_MEMORY
 * @see          safetensors.torch.load
 */
ADZ_API adz_safetensors *adz_safetensors_from_memory(const void *bytes, size_t size);

/**
 * Ends a collection. A tensor lives on if somebody keeps it.
 *
 * @param file  address of the pointer, which becomes NULL; a NULL inside is left alone
 */
ADZ_API void adz_safetensors_free(adz_safetensors **file);

/**
 * Adds a tensor at the end of a collection. The tensor is shared and not copied, so its values are
 * those at the time of saving.
 *
 * @param file  the collection
 * @param name  UTF-8, not yet taken, not "__metadata__"; copied
 * @param t     any shape, layout and dtype
 * @return      ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY
 */
ADZ_API adz_status adz_safetensors_add(adz_safetensors *file, const char *name, adz_tensor *t);

/**
 * Sets a metadata string. A new key is added at the end.
 *
 * @param file   the collection
 * @param key    UTF-8, copied
 * @param value  UTF-8, copied
 * @return       ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY
 */
ADZ_API adz_status adz_safetensors_set_metadata(
    adz_safetensors *file, const char *key, const char *value);

/**
 * The number of tensors.
 *
 * @param file  the collection
 * @return      0 or more; 0 with ADZ_ERR_NULL recorded when file is NULL
 */
ADZ_API size_t adz_safetensors_count(const adz_safetensors *file);

/**
 * A tensor's name.
 *
 * @param file   the collection
 * @param index  0 .. count-1, in the order of the header
 * @return       owned by the collection; NULL with ADZ_ERR_NULL or ADZ_ERR_INDEX
 */
ADZ_API const char *adz_safetensors_name_at(const adz_safetensors *file, size_t index);

/**
 * A tensor by its position.
 *
 * @param file   the collection
 * @param index  0 .. count-1, in the order of the header
 * @return       borrowed from the collection; NULL with ADZ_ERR_NULL or ADZ_ERR_INDEX
 */
ADZ_API adz_tensor *adz_safetensors_at(adz_safetensors *file, size_t index);

/**
 * A tensor by its name.
 *
 * @param file  the collection
 * @param name  name of the tensor
 * @return      borrowed from the collection; NULL with ADZ_ERR_NULL, with ADZ_ERR_UNSUPPORTED for a
 *              tensor that was left out, or, when no tensor has the name, with ADZ_ERR_ARGUMENT
 *              (adz_safetensors_has asks without an error)
 */
ADZ_API adz_tensor *adz_safetensors_get(adz_safetensors *file, const char *name);

/**
 * Whether a tensor has this name.
 *
 * @param file  the collection
 * @param name  name of the tensor
 * @return      false when an argument is NULL
 */
ADZ_API bool adz_safetensors_has(const adz_safetensors *file, const char *name);

/**
 * The number of tensors of the file that adze cannot hold, and that were left out.
 *
 * @param file  the collection
 * @return      0 or more; 0 with ADZ_ERR_NULL recorded when file is NULL
 */
ADZ_API size_t adz_safetensors_unread_count(const adz_safetensors *file);

/**
 * The name of a tensor that was left out. adz_safetensors_get of this name gives the reason.
 *
 * @param file   the collection
 * @param index  0 .. unread_count-1, in the order of the header
 * @return       owned by the collection; NULL with ADZ_ERR_NULL or ADZ_ERR_INDEX
 */
ADZ_API const char *adz_safetensors_unread_at(const adz_safetensors *file, size_t index);

/**
 * The number of metadata strings.
 *
 * @param file  the collection
 * @return      0 or more; 0 with ADZ_ERR_NULL recorded when file is NULL
 */
ADZ_API size_t adz_safetensors_metadata_count(const adz_safetensors *file);

/**
 * A metadata key by its position.
 *
 * @param file   the collection
 * @param index  0 .. metadata_count-1, in the order of the header
 * @return       owned by the collection; NULL with ADZ_ERR_NULL or ADZ_ERR_INDEX
 */
ADZ_API const char *adz_safetensors_metadata_key_at(const adz_safetensors *file, size_t index);

/**
 * A metadata string.
 *
 * @param file  the collection
 * @param key   key of the string
 * @return      owned by the collection until it is set again; NULL, without an error, when there is
 *              none
 */
ADZ_API const char *adz_safetensors_get_metadata(const adz_safetensors *file, const char *key);

/**
 * Writes a collection to a file, atomically: a failure or a crash leaves the old file.
 *
 * A collection always gives the same bytes, and so does a collection that was loaded from a file
 * that adze wrote. The header names the tensors in their order. Their bytes are sorted by falling
 * element size, so that each tensor is aligned.
 *
 * @param file  the collection
 * @param path  replaced if it exists
 * @return      ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_STATE (tensors of the file that was loaded were left
 *              out), ADZ_ERR_IO or ADZ_ERR_MEMORY; after a failure the old file is unchanged
 * @see         safetensors.torch.save_file
 */
ADZ_API adz_status adz_safetensors_save(adz_safetensors *file, const char *path);

/**
 * The bytes of a collection's file.
 *
 * @param file  the collection
 * @return      y[bytes] u8, borrowed from the scope, or NULL
 * @errors      ADZ_ERR_NULL, ADZ_ERR_STATE (tensors of the file that was loaded were left out),
 *              ADZ_ERR_MEMORY
 * @see         safetensors.torch.save
 */
ADZ_API adz_tensor *adz_safetensors_to_memory(adz_safetensors *file);

#ifdef __cplusplus
}
#endif

#endif
