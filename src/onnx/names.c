/* Values and their names. A name belongs to a graph; graphs inside see those around them. */
#include <string.h>

#include "model.h"

bool adzi_reader_is(reader_bytes text, const char *name)
{
    return text.size == strlen(name) && memcmp(text.at, name, text.size) == 0;
}

/* The slot of a name of a graph: it holds 1 + the value, or 0 if the graph has no such name. */
static size_t *slot_of(const reader_model *model, const reader_graph *graph, reader_bytes name)
{
    uint64_t hash = 1469598103934665603u ^ graph->id;
    for (size_t i = 0; i < name.size; ++i) {
        hash = (hash ^ name.at[i]) * 1099511628211u;
    }
    for (size_t i = (size_t)(hash ^ hash >> 32) % model->n_slots;; i = (i + 1) % model->n_slots) {
        const size_t value = model->slots[i];
        if (value == 0 || (model->values[value - 1].graph == graph &&
                              adzi_reader_is(name, model->values[value - 1].name))) {
            return &model->slots[i];
        }
    }
}

/* Makes room for one more value. */
static bool grow(reader_model *model)
{
    if (model->n_values < model->room) {
        return true;
    }
    const size_t room = 2 * model->room + 16;
    reader_value *values = adzi_reader_alloc(&model->arena, room, sizeof *values);
    size_t *slots = adzi_reader_alloc(&model->arena, 2 * room + 1, sizeof *slots);
    if (values == NULL || slots == NULL) {
        return false;
    }
    if (model->n_values > 0) {
        memcpy(values, model->values, model->n_values * sizeof *values);
    }
    model->values = values;
    model->room = room;
    model->slots = slots;
    model->n_slots = 2 * room + 1;
    for (size_t i = 0; i < model->n_values; ++i) {
        const char *name = values[i].name;
        *slot_of(model, values[i].graph, (reader_bytes){ (const uint8_t *)name, strlen(name) }) =
            i + 1;
    }
    return true;
}

size_t adzi_reader_lookup(const reader_model *model, const reader_graph *graph, reader_bytes name)
{
    for (; graph != NULL && model->n_slots > 0;
         graph = graph->call == NULL ? graph->parent : NULL) {
        const size_t found = *slot_of(model, graph, name);
        if (found != 0) {
            const reader_value *v = &model->values[found - 1];
            return v->kind == VALUE_ALIAS ? v->target : found - 1;
        }
    }
    return NO_VALUE;
}

adz_status adzi_reader_define(
    reader_model *model, const reader_graph *graph, reader_bytes name, int kind, size_t *value)
{
    if (name.size == 0 || memchr(name.at, 0, name.size) != NULL) {
        return adz_error_format(LOAD, ADZ_ERR_FORMAT, "a value has an empty name or one with a 0");
    }
    if (!grow(model)) {
        return ADZ_ERR_MEMORY;
    }
    size_t *slot = slot_of(model, graph, name);
    if (*slot != 0) {
        return adz_error_format(
            LOAD, ADZ_ERR_FORMAT, "the name \"%.*s\" is given twice", TEXT(name));
    }
    reader_value *v = &model->values[model->n_values];
    *v = (reader_value){ .graph = graph, .kind = kind };
    v->name = adzi_reader_text(&model->arena, name);
    if (v->name == NULL) {
        return ADZ_ERR_MEMORY;
    }
    *value = model->n_values;
    *slot = ++model->n_values;
    return ADZ_OK;
}
