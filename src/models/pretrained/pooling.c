/* Embeddings of sentences. */
#include "pretrained/pooling.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "adze/ops/arithmetic.h"
#include "adze/ops/compare.h"
#include "adze/ops/convert.h"
#include "adze/ops/index.h"
#include "adze/ops/linalg.h"
#include "adze/ops/math.h"
#include "adze/ops/norm.h"
#include "adze/ops/reduction.h"
#include "adze/ops/shape.h"
#include "json.h"
#include "models.h"
#include "pretrained/folder.h"

/* ---- the files ------------------------------------------------------------------------------ */

/* Reads the name of a pooling. False if adze does not know it. */
static bool read_pooling_name(const models_json *mode, models_sentence *s)
{
    static const char *const names[] = { "", "cls", "mean", "max" };
    const char *text = adzi_models_json_text_of(mode);
    for (int i = 1; i < 4 && text != NULL; ++i) {
        if (strcmp(text, names[i]) == 0) {
            s->pooling = (models_pooling)i;
            return true;
        }
    }
    return false;
}

/* Reads the flags of a pooling, of which exactly one known one must be set. */
static bool read_pooling(const models_json *config, models_sentence *s)
{
    static const struct {
        const char *name;
        models_pooling pooling;
    } flags[] = { { "pooling_mode_cls_token", MODELS_POOLING_CLS },
        { "pooling_mode_mean_tokens", MODELS_POOLING_MEAN },
        { "pooling_mode_max_tokens", MODELS_POOLING_MAX },
        { "pooling_mode_mean_sqrt_len_tokens", MODELS_POOLING_NONE },
        { "pooling_mode_weightedmean_tokens", MODELS_POOLING_NONE },
        { "pooling_mode_lasttoken", MODELS_POOLING_NONE } };
    static const char *const known[] = { "pooling_mode_cls_token", "pooling_mode_mean_tokens",
        "pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens",
        "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken", "word_embedding_dimension",
        "embedding_dimension", "include_prompt", "pooling_mode", NULL };
    const models_json mode = adzi_models_json_member(config, "pooling_mode");
    int set = 0;
    if (!adzi_models_json_is_object(config) || !adzi_models_json_only(config, known)) {
        return false;
    }
    for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i) {
        const models_json entry = adzi_models_json_member(config, flags[i].name);
        bool on = false;
        if (entry.value != NULL && !adzi_models_json_flag_of(&entry, &on)) {
            return false;
        }
        if (on && (flags[i].pooling == MODELS_POOLING_NONE || set > 0)) {
            adzi_models_json_fail(&entry, ADZ_ERR_UNSUPPORTED,
                "is set, but adze knows one of cls, mean and max alone");
            return false;
        }
        s->pooling = on ? flags[i].pooling : s->pooling;
        set += on;
    }
    if (mode.value != NULL) {
        set = read_pooling_name(&mode, s); /* it decides alone */
    }
    if (set != 1) {
        adzi_models_json_fail(
            config, ADZ_ERR_UNSUPPORTED, "says no pooling that adze knows: cls, mean or max");
    }
    return set == 1;
}

static bool read_pooling_file(const models_json *module, const char *folder, models_sentence *s)
{
    const char *name = adzi_models_json_text(module, "path");
    char below[MODELS_PATH], path[MODELS_PATH];
    if (name == NULL) {
        return false;
    }
    if (name[0] == '/' || strstr(name, "..") != NULL ||
        snprintf(below, sizeof below, "%s/config.json", name) >= MODELS_PATH) {
        adzi_models_json_fail(module, ADZ_ERR_FORMAT, "has a path that leads out of the folder");
        return false;
    }
    json_t *root;
    if (!adzi_models_folder_json(module->op, folder, below, path, &root)) {
        return false;
    }
    if (root == NULL) {
        adz_error_format(
            module->op, ADZ_ERR_IO, "%s cannot be opened: there is no such file", path);
    }
    const models_json config = adzi_models_json_root(module->op, path, root);
    const bool good = root != NULL && read_pooling(&config, s);
    json_decref(root);
    return good;
}

/* Reads one module by the last part of its type, "sentence_transformers.models.Pooling". */
static bool read_module(
    const models_json *module, size_t index, const char *folder, models_sentence *s)
{
    const char *type = adzi_models_json_text(module, "type");
    const char *last = type != NULL && strrchr(type, '.') != NULL ? strrchr(type, '.') + 1 : type;
    if (last == NULL) {
        return false;
    }
    if (index == 0 && strcmp(last, "Transformer") == 0) {
        const char *path = adzi_models_json_text(module, "path");
        if (path != NULL && path[0] != '\0') {
            adzi_models_json_fail(module, ADZ_ERR_UNSUPPORTED,
                "is a transformer in a folder of its own; open that folder");
        }
        return path != NULL && path[0] == '\0';
    }
    if (index == 1 && strcmp(last, "Pooling") == 0) {
        return read_pooling_file(module, folder, s);
    }
    if (index == 2 && strcmp(last, "Normalize") == 0) {
        s->normalize = true;
        return true;
    }
    adzi_models_json_fail(module, ADZ_ERR_UNSUPPORTED,
        "is a %.80s; adze knows a Transformer, Pooling and Normalize in this order", last);
    return false;
}

/* Whether an entry is missing, null or this text. Otherwise the error is recorded. */
static bool says(const models_json *object, const char *name, const char *wanted)
{
    const models_json entry = adzi_models_json_member(object, name);
    if (entry.value == NULL || json_is_null(entry.value)) {
        return true;
    }
    const char *text = adzi_models_json_text_of(&entry);
    const bool good = text != NULL && strcmp(text, wanted) == 0;
    if (text != NULL && !good) {
        adzi_models_json_fail(
            &entry, ADZ_ERR_UNSUPPORTED, "is \"%.60s\", but adze knows %s only", text, wanted);
    }
    return good;
}

/* Whether the pooling gets the hidden states of the network, as in all older files. */
static bool pools_hidden_states(const models_json *config)
{
    const models_json modes = adzi_models_json_member(config, "modality_config");
    const models_json text = adzi_models_json_member(&modes, "text");
    return says(config, "transformer_task", "feature-extraction") &&
           says(config, "module_output_name", "token_embeddings") &&
           says(&text, "method", "forward") &&
           says(&text, "method_output_name", "last_hidden_state");
}

/* Reads a length, a whole number from 1 on. With `lower` the file is that of sentence-transformers,
 * whose flag is read, and which must pool as adze does. Each number stays as it is if there is no
 * such file or entry, and the length if it is so large that it means no limit. */
static bool read_text_file(const char *op, const char *folder, const char *file, const char *name,
    int64_t *length, bool *lower)
{
    char path[MODELS_PATH];
    json_t *root;
    double number = 0;
    if (!adzi_models_folder_json(op, folder, file, path, &root)) {
        return false;
    }
    const models_json all = adzi_models_json_root(op, path, root);
    const models_json entry = adzi_models_json_member(&all, name);
    const models_json flag = adzi_models_json_member(&all, "do_lower_case");
    bool good = root == NULL || adzi_models_json_is_object(&all);
    if (good && entry.value != NULL && !json_is_null(entry.value)) {
        good = adzi_models_json_number_of(&entry, &number) &&
               (number >= 0x1p53 || adzi_models_json_whole_of(&entry, 1, (int64_t)1 << 53, length));
    }
    if (good && lower != NULL && flag.value != NULL && !json_is_null(flag.value)) {
        good = adzi_models_json_flag_of(&flag, lower);
    }
    good = good && (lower == NULL || pools_hidden_states(&all));
    json_decref(root);
    return good;
}

bool adzi_models_sentence_read(const char *op, const char *folder, models_sentence *sentence)
{
    char path[MODELS_PATH];
    json_t *root;
    *sentence = (models_sentence){ .pooling = MODELS_POOLING_NONE };
    if (!adzi_models_folder_json(op, folder, "modules.json", path, &root)) {
        return false;
    }
    if (root == NULL) {
        return true;
    }
    const models_json list = adzi_models_json_root(op, path, root);
    size_t count = 0;
    bool good = adzi_models_json_count(&list, &count);
    for (size_t i = 0; i < count && good; ++i) {
        const models_json module = adzi_models_json_at(&list, i);
        good = read_module(&module, i, folder, sentence);
    }
    json_decref(root);
    int64_t *length = &sentence->max_seq_length;
    good = good && read_text_file(op, folder, "sentence_bert_config.json", "max_seq_length", length,
                       &sentence->do_lower_case);
    return good && *length == 0 ? read_text_file(op, folder, "tokenizer_config.json",
                                      "model_max_length", length, NULL)
                                : good;
}

/* ---- the embedding -------------------------------------------------------------------------- */

/* The tokens that count as numbers [B, T, 1]. */
static adz_tensor *weights_of(adz_tensor *h, adz_tensor *mask)
{
    const adz_shape shape = ADZ_SHAPE(adz_tensor_size(h, 0), adz_tensor_size(h, 1), 1);
    return mask == ADZ_NONE ? adz_ones(shape, adz_tensor_dtype(h))
                            : adz_to(adz_reshape(mask, shape), adz_tensor_dtype(h));
}

/* A sentence without tokens has zeros as its mean: the count is at least 1e-9. */
static adz_tensor *mean_of(adz_tensor *h, adz_tensor *mask)
{
    adz_tensor *w = weights_of(h, mask);
    adz_tensor *count = adz_clamp(adz_sum(w, ADZ_DIMS(1), ADZ_DROPDIM), 1e-9, INFINITY);
    return adz_div(adz_sum(adz_mul(h, w), ADZ_DIMS(1), ADZ_DROPDIM), count);
}

adz_tensor *adzi_models_sentence_embed(
    const models_sentence *sentence, adz_tensor *h, adz_tensor *mask)
{
    adz_tensor *y = NULL;
    if (h == NULL || mask == NULL) {
        return NULL;
    }
    if (sentence->pooling == MODELS_POOLING_MEAN) {
        y = mean_of(h, mask);
    } else if (sentence->pooling == MODELS_POOLING_MAX) {
        adz_tensor *hidden = adz_eq_number(weights_of(h, mask), 0);
        y = adz_amax(adz_masked_fill(h, hidden, -1e9), ADZ_DIMS(1), ADZ_DROPDIM);
    } else {
        y = adz_select(h, 1, 0);
    }
    return sentence->normalize ? adz_normalize(y, 2, -1, 1e-12) : y;
}
