/* Names of files and states, for the code that loads them into modules. */
#ifndef ADZI_NN_LOAD_H
#define ADZI_NN_LOAD_H

#include "adze/nn/load.h"
#include "base/text.h"

/** Writes to `older` under which name torch.nn.utils.weight_norm or spectral_norm of PyTorch saves
 * the tensor of this name: "0.weight_g" for "0.parametrizations.weight.original0". False if there
 * is no such name, or no memory for it. */
bool adzi_load_older_name(const char *name, adzi_text *older);

/** What adzi_load_rename decided. */
typedef enum adzi_renamed {
    ADZI_RENAME_FAILED, /* the error is recorded */
    ADZI_RENAME_SKIP,   /* the tensor is left out */
    ADZI_RENAME_KEEP
} adzi_renamed;

/** Writes to `to` the name that a tensor called `name` gets by the prefix and the callback of the
 * options. */
adzi_renamed adzi_load_rename(
    const char *op, const adz_load_options *options, const char *name, adzi_text *to);

/** Empties a report. NULL is left alone. */
void adzi_load_report_clear(adz_load_report *report);

/** Adds a name to a list of the report. NULL is left alone. False with the error recorded under
 * `op` if memory was refused. */
bool adzi_load_report_add(
    const char *op, adz_load_report *report, adz_load_kind kind, const char *name);

/**
 * If names of `given` would fit the module's names `wanted` with a prefix, appends advice to the
 * text: which prefix, and how many names it fits. `n_fit` names fit as they are.
 */
void adzi_load_hint(
    adzi_text *text, const adz_state_dict *given, const adz_state_dict *wanted, size_t n_fit);

/** adz_module_load_state_dict_with for names that are those of the module already. */
adz_status adzi_load(const char *op, adz_module *module, const adz_state_dict *state,
    const adz_load_options *options);

/** Whether a strict adzi_load would succeed: ADZ_OK, or the error that it would record. */
adz_status adzi_load_check(const char *op, adz_module *module, const adz_state_dict *state);

#endif
