/* What the readers of components share. */
#include "loading.h"

#include "models.h"

bool adzi_tok_load_text(const models_json *object, const char *name, adzi_tok_bytes *to)
{
    const char *text = adzi_models_json_text(object, name);
    return text != NULL && adzi_tok_append(to, text, strlen(text));
}

bool adzi_tok_load_flag(const models_json *object, const char *name, bool *value)
{
    const models_json at = adzi_models_json_member(object, name);
    return adzi_tok_is_null(&at) || adzi_models_json_flag_of(&at, value);
}

/* The `type` of a component; NULL with the error recorded. */
static const char *type_of(const models_json *component)
{
    return adzi_models_json_is_object(component) ? adzi_models_json_text(component, "type") : NULL;
}

bool adzi_tok_unknown(const models_json *component, const char *kind, const char *type)
{
    adzi_models_json_fail(
        component, ADZ_ERR_UNSUPPORTED, "is the %s \"%.80s\", which is not known", kind, type);
    return false;
}

bool adzi_tok_load_each(adzi_tok *t, const models_json *component, const char *list,
    bool (*load)(adzi_tok *t, const models_json *component, const char *type))
{
    if (adzi_tok_is_null(component)) {
        return true;
    }
    const char *type = type_of(component);
    if (type == NULL || strcmp(type, "Sequence") != 0) {
        return type != NULL && load(t, component, type);
    }
    const models_json all = adzi_models_json_member(component, list);
    size_t n = 0;
    bool good = adzi_models_json_count(&all, &n);
    for (size_t i = 0; i < n && good; ++i) {
        const models_json one = adzi_models_json_at(&all, i);
        good = adzi_tok_load_each(t, &one, list, load);
    }
    return good;
}
