/* Configurations: entries of config.json that are read by a table of fields, and entries that are
 * known not to matter. */
#ifndef ADZI_MODELS_PRETRAINED_CONFIG_H
#define ADZI_MODELS_PRETRAINED_CONFIG_H

#include "adze/fields.h"
#include "adze/ops/activation.h"
#include "json.h"

/** The most layers of a model. */
enum { MODELS_MOST_LAYERS = 10000 };

/** A row of a configuration without which there is no model: its default lies outside its bounds.
 * Further members of adz_field follow. */
#define MODELS_SIZE(type, member) \
    ADZ_FIELD(type, member, .value = 0, ADZ_BETWEEN(0, 0x1p31), .hint = "the configuration says it")

/**
 * Fills `values` by the rows: what the file has, and the rows' defaults for entries that are
 * missing or null. Rows are bool, int64_t or double. False with the error recorded, which names
 * file and entry, if one has another kind or lies outside the row's bounds.
 */
bool adzi_models_config_read(
    const models_json *config, const adz_field *rows, size_t n_rows, void *values);

/** Whether each entry is in the rows, in `others`, which NULL ends, or in the list of entries that
 * matter to no model (config.c). False with ADZ_ERR_UNSUPPORTED recorded, which names the first
 * other entry. */
bool adzi_models_config_known(
    const models_json *config, const adz_field *rows, size_t n_rows, const char *const *others);

/** Reads an activation function by transformers' name; `fallback` if the entry is missing. False
 * with the error recorded. */
bool adzi_models_config_activation(
    const models_json *config, const char *name, const char *fallback, adz_activation *activation);

/** Whether an entry is missing, null, or the text, number or bool that `wanted` is. Others would
 * change the results, and are ADZ_ERR_UNSUPPORTED. */
bool adzi_models_config_is_text(const models_json *config, const char *name, const char *wanted);
bool adzi_models_config_is_flag(const models_json *config, const char *name, bool wanted);

/** Reads pad_token_id, the row of a table of `rows` tokens that has no gradient: a negative number
 * counts from the last row, `fallback` if the entry is missing, ADZ_NO_PADDING if it is null. False
 * with the error recorded if there is no such row. */
bool adzi_models_config_padding(
    const models_json *config, int64_t rows, int64_t fallback, int64_t *padding);

#endif
