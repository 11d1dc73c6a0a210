/* Asks a model for its results by a call. */
#include "results.h"

#include <string.h>

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
