/* Reading tokenizer.json. Each function records its error, which names the file and the entry. */
#ifndef ADZI_MODELS_TOKENIZERS_LOADING_H
#define ADZI_MODELS_TOKENIZERS_LOADING_H

#include "json.h"
#include "parts.h"

/** Each of these reads one member of the root, which may be null. */
bool adzi_tok_load_normalizer(adzi_tok *t, const models_json *normalizer);
bool adzi_tok_load_splitter(adzi_tok *t, const models_json *pre_tokenizer);
bool adzi_tok_load_processor(adzi_tok *t, const models_json *post_processor);
bool adzi_tok_load_decoder(adzi_tok *t, const models_json *decoder);

/** The settings of a Metaspace, which is a pre-tokenizer or a decoder. */
bool adzi_tok_load_metaspace(
    const models_json *at, adzi_tok_bytes *sign, adzi_tok_scheme *scheme, bool *split);

/** The model; the pre-tokenizers are known. */
bool adzi_tok_load_model(adzi_tok *t, const models_json *model);

/** Truncation and padding. */
bool adzi_tok_load_batch(adzi_tok *t, const models_json *root);

/** The added tokens; the model and the normalizers are known. */
bool adzi_tok_load_added(adzi_tok *t, const models_json *added);

/** The list of all tokens; the added ones are known. */
bool adzi_tok_list(adzi_tok *t, const models_json *root);

/** Whether a member is missing or null. */
static inline bool adzi_tok_is_null(const models_json *at)
{
    return at->value == NULL || json_is_null(at->value);
}

/** Copies a member that is a text. */
bool adzi_tok_load_text(const models_json *object, const char *name, adzi_tok_bytes *to);

/** A member that is true or false; `value` stays as it is where it is missing or null. */
bool adzi_tok_load_flag(const models_json *object, const char *name, bool *value);

/** Records that a component is not known. Always returns false. */
bool adzi_tok_unknown(const models_json *component, const char *kind, const char *type);

/** Calls `load` with each component of a sequence, whose list is called `list`, or with the
 * component itself if it is no sequence. */
bool adzi_tok_load_each(adzi_tok *t, const models_json *component, const char *list,
    bool (*load)(adzi_tok *t, const models_json *component, const char *type));

/** Frees what a tokenizer holds. */
void adzi_tok_end(adzi_tok *t);

#endif
