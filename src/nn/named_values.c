/* Lists of named tensors: the arguments and the results of a module's call. */
#include <stdio.h>
#include <string.h>

#include "nn/module.h"
#include "base/error.h"
#include "base/handle.h"

/* ---- what a call reads ----------------------------------------------------------------------- */

void adzi_reading_begin(adzi_thread *thread, adzi_reading *reading, const adz_values *values)
{
    adzi_read_all(
        values); /* a module that hands its own arguments on leaves the check to this call */
    reading->values = values;
    reading->outer = thread->reading;
    memset(reading->seen, 0, sizeof reading->seen);
    reading->named = false;
    for (size_t i = 0; i < values->count && !reading->named; ++i) {
        reading->named = values->items[i].name[0] != '\0';
    }
    reading->length = 0;
    reading->names[0] = '\0';
    thread->reading = reading;
}

void adzi_reading_end(adzi_thread *thread, adzi_reading *reading)
{
    thread->reading = reading->outer;
}

/* The reading that notes what is read of `values`, or NULL. */
static adzi_reading *reading_of(const adz_values *values)
{
    adzi_reading *reading = adzi_self()->reading;
    return reading != NULL && reading->values == values ? reading : NULL;
}

static void note_value(adzi_reading *reading, size_t index)
{
    if (reading != NULL && index < ADZI_READING_VALUES) {
        reading->seen[index / 64] |= UINT64_C(1) << index % 64;
    }
}

/* Adds a name to the list of those that the module asked for. A list that is full ends with dots.
 */
static void note_name(adzi_reading *reading, const char *name)
{
    const size_t n = strlen(name);
    if (reading == NULL || !reading->named || n == 0) {
        return;
    }
    for (const char *at = reading->names; (at = strstr(at, name)) != NULL; at += n) {
        const bool begins = at == reading->names || at[-1] == ' ';
        if (begins && (at[n] == ',' || at[n] == '\0')) {
            return;
        }
    }
    const char *comma = reading->length > 0 ? ", " : "";
    const size_t room = sizeof reading->names - reading->length;
    if (n + sizeof ", , ..." > room) {
        if (room > sizeof ", ...") {
            memcpy(reading->names + reading->length, ", ...", sizeof ", ...");
            reading->length = sizeof reading->names - 1;
        }
        return;
    }
    reading->length +=
        (size_t)snprintf(reading->names + reading->length, room, "%s%s", comma, name);
}

void adzi_read_all(const adz_values *values)
{
    adzi_reading *reading = reading_of(values);
    for (size_t i = 0; reading != NULL && i < values->count; ++i) {
        note_value(reading, i);
    }
}

adz_status adzi_reading_check(const adzi_reading *reading, const char *module)
{
    const adz_values *values = reading->values;
    for (size_t i = 0; i < values->count && i < ADZI_READING_VALUES; ++i) {
        const adzi_value *value = &values->items[i];
        if ((reading->seen[i / 64] >> i % 64 & 1) != 0 || adzi_is_none(value->tensor)) {
            continue;
        }
        char what[ADZ_VALUE_NAME + 40];
        if (value->name[0] != '\0') {
            snprintf(what, sizeof what, "no argument \"%s\"", value->name);
        } else {
            snprintf(what, sizeof what, "no value %zu", i);
        }
        return adzi_error(module, ADZ_ERR_ARGUMENT, "takes %s%s%s; it would be ignored", what,
            reading->length > 0 ? ", only " : "", reading->names);
    }
    return ADZ_OK;
}

/* ---- lists ---------------------------------------------------------------------------------- */

void adzi_values_begin(adz_values *values)
{
    values->handle.mark = ADZI_HANDLE_ALIVE;
    values->count = 0;
    values->capacity = ADZI_FEW_VALUES;
    values->handed_on = false;
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
    adz_values *values = adzi_handle_new(sizeof *values);
    if (values == NULL) {
        return adzi_fail_memory("adz_values_new", sizeof *values);
    }
    adzi_values_begin(values);
    return values;
}

void adz_values_free(adz_values **values)
{
    adz_values *gone = adzi_handle_take("adz_values_free", "values", values);
    if (gone != NULL) {
        adzi_values_end(gone);
        adzi_handle_end(gone, sizeof *gone);
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
    if (!adzi_check_handle(op, "values", values)) {
        return adz_error_code();
    }
    if (t == NULL) {
        adzi_pass_null(op, "t");
        return adz_error_code();
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

/* Notes that a module asked for `name` and got `value`, which may be NULL. Returns the tensor. */
static adz_tensor *read(const adz_values *values, const adzi_value *value, const char *name)
{
    adzi_reading *reading = reading_of(values);
    note_name(reading, name);
    if (value == NULL) {
        return ADZ_NONE;
    }
    note_value(reading, (size_t)(value - values->items));
    return value->tensor;
}

const char *adz_values_name_at(const adz_values *values, size_t index)
{
    if (!adzi_check_handle("adz_values_name_at", "values", values)) {
        return NULL;
    }
    if (index >= values->count) {
        return adzi_fail("adz_values_name_at", ADZ_ERR_INDEX, "there is no value %zu, only %zu",
            index, values->count);
    }
    note_value(reading_of(values), index);
    return values->items[index].name;
}

adz_tensor *adz_values_at(const adz_values *values, size_t index)
{
    if (!adzi_check_handle("adz_values_at", "values", values)) {
        return NULL;
    }
    note_value(reading_of(values), index);
    return index < values->count ? values->items[index].tensor : ADZ_NONE;
}

adz_tensor *adz_values_get(const adz_values *values, const char *name)
{
    if (values == NULL || name == NULL) {
        return adzi_fail_null("adz_values_get", values == NULL ? "values" : "name");
    }
    return read(values, find(values, name), name);
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
    return read(values, value, name);
}
