/* Lists of named tensors: the arguments and the results of a module's call. */
#include <string.h>

#include "nn/module.h"
#include "base/error.h"

void adzi_values_begin(adz_values *values)
{
    values->count = 0;
    values->capacity = ADZI_FEW_VALUES;
    values->items = values->few;
}

void adzi_values_end(adz_values *values)
{
    if (values->items != values->few) {
        adzi_free(values->items, values->capacity * sizeof *values->items);
    }
}

adz_values *adz_values_new(void)
{
    adz_values *values = adzi_alloc(sizeof *values);
    if (values == NULL) {
        return adzi_fail_memory("adz_values_new", sizeof *values);
    }
    adzi_values_begin(values);
    return values;
}

void adz_values_free(adz_values **values)
{
    if (values != NULL && *values != NULL) {
        adzi_values_end(*values);
        adzi_free(*values, sizeof **values);
        *values = NULL;
    }
}

void adz_values_clear(adz_values *values)
{
    if (values != NULL) {
        values->count = 0;
    }
}

/* Makes room for one more value. False without an error recorded if memory is refused. */
static bool make_room(adz_values *values)
{
    if (values->count < values->capacity) {
        return true;
    }
    size_t capacity = 2 * values->capacity;
    adzi_value *items = adzi_alloc(capacity * sizeof *items);
    if (items == NULL) {
        return false;
    }
    memcpy(items, values->items, values->count * sizeof *items);
    adzi_values_end(values);
    values->items = items;
    values->capacity = capacity;
    return true;
}

static const adzi_value *find(const adz_values *values, const char *name)
{
    for (size_t i = 0; i < values->count; ++i) {
        if (strcmp(values->items[i].name, name) == 0) {
            return &values->items[i];
        }
    }
    return NULL;
}

adz_status adz_values_add(adz_values *values, const char *name, adz_tensor *t)
{
    static const char op[] = "adz_values_add";
    if (values == NULL || t == NULL) {
        return adzi_error_null(op, values == NULL ? "values" : "t");
    }
    name = name != NULL ? name : "";
    size_t length = strlen(name);
    if (length > ADZ_VALUE_NAME) {
        return adzi_error(op, ADZ_ERR_ARGUMENT, "the name %.60s is longer than %d characters", name,
            ADZ_VALUE_NAME);
    }
    if (length > 0 && find(values, name) != NULL) {
        return adzi_error(op, ADZ_ERR_ARGUMENT, "there is a value called %s already", name);
    }
    if (!make_room(values)) {
        adzi_fail_memory(op, 2 * values->capacity * sizeof(adzi_value));
        return ADZ_ERR_MEMORY;
    }
    adzi_value *value = &values->items[values->count++];
    value->tensor = t;
    memcpy(value->name, name, length + 1);
    return ADZ_OK;
}

size_t adz_values_count(const adz_values *values)
{
    return values != NULL ? values->count : 0;
}

const char *adz_values_name(const adz_values *values, size_t index)
{
    if (values == NULL) {
        return adzi_fail_null("adz_values_name", "values");
    }
    if (index >= values->count) {
        return adzi_fail("adz_values_name", ADZ_ERR_INDEX, "there is no value %zu, only %zu", index,
            values->count);
    }
    return values->items[index].name;
}

adz_tensor *adz_values_at(const adz_values *values, size_t index)
{
    if (values == NULL) {
        return adzi_fail_null("adz_values_at", "values");
    }
    return index < values->count ? values->items[index].tensor : ADZ_NONE;
}

adz_tensor *adz_values_find(const adz_values *values, const char *name)
{
    if (values == NULL || name == NULL) {
        return adzi_fail_null("adz_values_find", values == NULL ? "values" : "name");
    }
    const adzi_value *value = find(values, name);
    return value != NULL ? value->tensor : ADZ_NONE;
}

adz_tensor *adz_values_argument(const adz_values *values, size_t index, const char *name)
{
    if (values == NULL || name == NULL) {
        return adzi_fail_null("adz_values_argument", values == NULL ? "values" : "name");
    }
    const adzi_value *value = find(values, name);
    if (value == NULL && index < values->count && values->items[index].name[0] == '\0') {
        value = &values->items[index];
    }
    return value != NULL ? value->tensor : ADZ_NONE;
}
