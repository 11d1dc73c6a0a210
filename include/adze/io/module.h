/**
 * @file io/module.h
 * Parameters and buffers of modules in safetensors files, under PyTorch's names.
 */
#ifndef ADZE_IO_MODULE_H
#define ADZE_IO_MODULE_H

#include "adze/io/safetensors.h"
#include "adze/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of saving a module. Start from ADZ_MODULE_SAVE_OPTIONS. */
typedef struct adz_module_save_options {
    size_t size; /**< sizeof(adz_module_save_options) */
    bool dedup;  /**< true writes a tied parameter once, under its first name, and its other names
                    into  the metadata; false, the default, writes it under every name, as PyTorch
                    does */
    bool allow_nonfinite; /**< true saves weights that are NaN or infinite, too; false refuses them,
                               because they are most often those of a training that went wrong */
} adz_module_save_options;

/** The defaults. */
#define ADZ_MODULE_SAVE_OPTIONS                                                      \
    {                                                                                \
        ADZ_MEMBER(size, sizeof(adz_module_save_options)), ADZ_MEMBER(dedup, false), \
            ADZ_MEMBER(allow_nonfinite, false)                                       \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_module_save_options) as the caller knows it
 */
ADZ_API void adz_module_save_options_init(adz_module_save_options *options, size_t size);

/**
 * Writes all parameters and persistent buffers to a file, atomically: a failure or a crash leaves
 * the old file.
 *
 * @param module  any module
 * @param path    replaced if it exists
 * @return        ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_NUMERIC (a parameter is NaN or infinite, or a buffer
 *                is NaN), ADZ_ERR_IO, ADZ_ERR_MEMORY or the code of an error that is pending; after
 *                a failure the old file is unchanged
 * @see           torch.save of a state_dict, safetensors.torch.save_model
 */
ADZ_API adz_status adz_module_save(adz_module *module, const char *path);

/**
 * Writes all parameters and persistent buffers to a file, with options, atomically: a failure or a
 * crash leaves the old file.
 *
 * @param module   any module
 * @param path     replaced if it exists
 * @param options  NULL for the defaults
 * @return         ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (an option), ADZ_ERR_NUMERIC (a parameter
 *                 is NaN or infinite, or a buffer is NaN, without allow_nonfinite), ADZ_ERR_IO,
 *                 ADZ_ERR_MEMORY or the code of an error that is pending; after a failure the old
 *                 file is unchanged
 */
ADZ_API adz_status adz_module_save_with(
    adz_module *module, const char *path, const adz_module_save_options *options);

/**
 * Copies values from a file into parameters and buffers.
 *
 * The dtypes of the file must be those of the module, with two exceptions: float16 and bfloat16 are
 * converted, and so are whole numbers if all values fit the module's dtype. (PyTorch converts all
 * dtypes.)
 *
 * @param module  any module; all of it changes or nothing does
 * @param path    a safetensors file
 * @param strict  whether names that only one side has are an error; a file of which no name fits is
 *                an error in any case
 * @return        ADZ_OK; ADZ_ERR_NULL; ADZ_ERR_IO; ADZ_ERR_FORMAT; ADZ_ERR_UNSUPPORTED (a dtype
 *                that adze does not have); ADZ_ERR_STATE (the message lists every name that does
 *                not fit, and says if a prefix would fit); ADZ_ERR_MEMORY; or the code of an error
 *                that is pending
 * @see           torch.nn.Module.load_state_dict, safetensors.torch.load_model
 */
ADZ_API adz_status adz_module_load(adz_module *module, const char *path, bool strict);

/**
 * adz_module_load with options: a prefix or a callback for other names, and a report of the names
 * that only one side has.
 *
 * @param module   any module; all of it changes or nothing does
 * @param path     a safetensors file
 * @param options  NULL for the defaults
 * @return         what adz_module_load returns; ADZ_ERR_ARGUMENT also if two tensors get one name
 * @see            torch.nn.Module.load_state_dict
 */
ADZ_API adz_status adz_module_load_with(
    adz_module *module, const char *path, const adz_load_options *options);

/**
 * Makes a collection of a module's parameters and persistent buffers. More tensors and metadata can
 * be added before it is saved.
 *
 * @param module   any module; the collection shares its tensors
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_safetensors_free; NULL with ADZ_ERR_NULL, ADZ_ERR_NUMERIC
 *                 (as adz_module_save_with) or ADZ_ERR_MEMORY
 */
ADZ_API adz_safetensors *adz_module_to_safetensors(
    adz_module *module, const adz_module_save_options *options);

/**
 * Copies values from a collection into parameters and buffers.
 *
 * @param module  any module; all of it changes or nothing does
 * @param file    from adz_safetensors_load
 * @param strict  whether names that only one side has are an error; a collection of which no name
 *                fits is an error in any case
 * @return        ADZ_OK; ADZ_ERR_NULL; ADZ_ERR_STATE (the message lists every name that does not
 *                fit); ADZ_ERR_MEMORY; or the code of an error that is pending
 */
ADZ_API adz_status adz_module_load_safetensors(
    adz_module *module, adz_safetensors *file, bool strict);

/**
 * adz_module_load_safetensors with options.
 *
 * @param module   any module; all of it changes or nothing does
 * @param file     from adz_safetensors_load
 * @param options  NULL for the defaults
 * @return         what adz_module_load_safetensors returns; ADZ_ERR_ARGUMENT also if two tensors
 *                 get one name
 */
ADZ_API adz_status adz_module_load_safetensors_with(
    adz_module *module, adz_safetensors *file, const adz_load_options *options);

#ifdef __cplusplus
}
#endif

#endif
