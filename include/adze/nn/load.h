/**
 * @file load.h
 * Loading with other names than the module's, and what a load found.
 *
 * @code
 * adz_module *whole = ADZ_SEQUENTIAL(adz_linear_new(8, 4, NULL), adz_linear_new(4, 1, NULL));
 * adz_module_save(whole, "whole.safetensors");
 *
 * adz_module *first = adz_linear_new(8, 4, NULL); // gets "0.weight" and "0.bias" of the file
 * adz_load_options options = ADZ_LOAD_OPTIONS;
 * options.prefix = "0.";
 * options.strict = false;
 * options.report = adz_load_report_new();
 * adz_module_load_with(first, "whole.safetensors", &options);
 * for (size_t i = 0; i < adz_load_report_count(options.report, ADZ_LOAD_MISSING); ++i) {
 *     printf("not in the file: %s\n", adz_load_report_name_at(options.report, ADZ_LOAD_MISSING,
 * i));
 * }
 * adz_load_report_free(&options.report);
 * adz_module_release(&first);
 * adz_module_release(&whole);
 * @endcode
 */
#ifndef ADZE_NN_LOAD_H
#define ADZE_NN_LOAD_H

#include "adze/nn/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what a load found -------------------------------------------------------------------- */

/** The lists of a report. */
typedef enum adz_load_kind {
    ADZ_LOAD_LOADED = 0,    /**< names of the module that were in the file or state */
    ADZ_LOAD_MISSING = 1,   /**< names of the module that were not in it */
    ADZ_LOAD_UNEXPECTED = 2 /**< names of the file or state that the module does not have */
} adz_load_kind;

/** The names that a load compared. PyTorch's load_state_dict returns such lists. */
typedef struct adz_load_report adz_load_report;

/**
 * An empty report, for adz_load_options.
 *
 * @return yours, end it with adz_load_report_free; NULL when memory was refused
 */
ADZ_API adz_load_report *adz_load_report_new(void);

/**
 * Ends a report.
 *
 * @param report  address of the pointer, which becomes NULL; a NULL inside is left alone
 */
ADZ_API void adz_load_report_free(adz_load_report **report);

/**
 * The number of names in one list.
 *
 * @param report  any; it describes the last load that it was given to, also one that failed because
 *                of its names. ADZ_LOAD_LOADED then says what would have been loaded
 * @param kind    which list
 * @return        0 or more; 0 with ADZ_ERR_NULL or ADZ_ERR_ARGUMENT recorded
 */
ADZ_API size_t adz_load_report_count(const adz_load_report *report, adz_load_kind kind);

/**
 * One name of a list.
 *
 * @param report  any
 * @param kind    which list
 * @param index   below adz_load_report_count
 * @return        borrowed from the report until its next load: the module's name, or for
 *                ADZ_LOAD_UNEXPECTED the name that is left after `prefix` and `rename`. NULL with
 *                ADZ_ERR_NULL, ADZ_ERR_ARGUMENT or ADZ_ERR_INDEX recorded
 */
ADZ_API const char *adz_load_report_name_at(
    const adz_load_report *report, adz_load_kind kind, size_t index);

/* ---- other names -------------------------------------------------------------------------- */

/**
 * Called with each name of a file or state, after `prefix` was removed. It may change the name.
 *
 * @param name     the name
 * @param renamed  holds the name too; write the module's name over it
 * @param size     bytes of renamed, 256 more than the name needs
 * @param user     the pointer from the options
 * @return         false to leave this tensor out
 */
typedef bool (*adz_load_rename)(const char *name, char *renamed, size_t size, void *user);

/** Options of a load. Start from ADZ_LOAD_OPTIONS. */
typedef struct adz_load_options {
    size_t size;             /**< sizeof(adz_load_options) */
    bool strict;             /**< whether names that only one side has are an error; true */
    const char *prefix;      /**< names begin with this, and it is removed: "transformer."; other
                                names are left out. NULL, the default, takes all names */
    adz_load_rename rename;  /**< changes names; NULL, the default, for none */
    void *user;              /**< handed to rename */
    adz_load_report *report; /**< filled; NULL, the default, for none */
} adz_load_options;

/** The defaults: strict, with the module's own names. */
#define ADZ_LOAD_OPTIONS                                                                \
    {                                                                                   \
        ADZ_MEMBER(size, sizeof(adz_load_options)), ADZ_MEMBER(strict, true),           \
            ADZ_MEMBER(prefix, NULL), ADZ_MEMBER(rename, NULL), ADZ_MEMBER(user, NULL), \
            ADZ_MEMBER(report, NULL)                                                    \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_load_options) as the caller knows it
 */
ADZ_API void adz_load_options_init(adz_load_options *options, size_t size);

/**
 * adz_module_load_state_dict with options.
 *
 * @param module   any module; all of it changes or nothing does
 * @param state    tensors by name
 * @param options  NULL for the defaults
 * @return         what adz_module_load_state_dict returns; ADZ_ERR_ARGUMENT also if two tensors get
 *                 one name
 * @see            torch.nn.Module.load_state_dict
 */
ADZ_API adz_status adz_module_load_state_dict_with(
    adz_module *module, const adz_state_dict *state, const adz_load_options *options);

#ifdef __cplusplus
}
#endif

#endif
