/* Asks a model for its results by a call, and its folder for the token that fills rows. */
#include "results.h"

#include <string.h>

#include "entry.h"

bool model_gives(adz_module *model, const char *name)
{
    const int64_t id = 0;
    bool gives = false;
    adz_scope *scope = adz_scope_open();
    adz_values *in = adz_values_new(), *out = adz_values_new();
    ADZ_NO_GRAD
    {
        adz_values_add(in, "input_ids", adz_tensor_from(&id, ADZ_SHAPE(1, 1), ADZ_I64));
        adz_module_call(model, in, out);
    }
    for (size_t i = 0; i < adz_values_count(out); ++i) {
        gives = gives || strcmp(adz_values_name_at(out, i), name) == 0;
    }
    adz_values_free(&in);
    adz_values_free(&out);
    adz_scope_close(scope);
    return gives;
}

int64_t padding_of(const char *folder, adz_module *encoder)
{
    /* as transformers has it without the entry */
    int64_t padding = strcmp(adz_module_name(encoder), "RobertaModel") == 0 ? 1 : 0;
    read_number(folder, "config.json", "pad_token_id", &padding);
    return padding;
}
