#include "wire_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the wire format ---- */

void wire_raw(wire *message, const void *bytes, size_t size)
{
    if (message->size + size > message->room) {
        message->room = 2 * (message->size + size);
        message->at = realloc(message->at, message->room);
        if (message->at == NULL) {
            abort();
        }
    }
    if (size > 0) {
        memcpy(message->at + message->size, bytes, size);
    }
    message->size += size;
}

void wire_varint(wire *message, uint64_t number)
{
    do {
        uint8_t byte = (uint8_t)((number & 127) | (number > 127 ? 128 : 0));
        wire_raw(message, &byte, 1);
        number >>= 7;
    } while (number > 0);
}

static void key(wire *message, uint32_t field, uint32_t kind)
{
    wire_varint(message, field << 3 | kind);
}

void wire_int(wire *message, uint32_t field, int64_t number)
{
    key(message, field, 0);
    wire_varint(message, (uint64_t)number);
}

void wire_float(wire *message, uint32_t field, float number)
{
    key(message, field, 5);
    wire_raw(message, &number, sizeof number);
}

void wire_bytes(wire *message, uint32_t field, const void *bytes, size_t size)
{
    key(message, field, 2);
    wire_varint(message, size);
    wire_raw(message, bytes, size);
}

void wire_text(wire *message, uint32_t field, const char *text)
{
    wire_bytes(message, field, text, strlen(text));
}

void wire_put(wire *message, uint32_t field, wire *part)
{
    wire_bytes(message, field, part->at, part->size);
    wire_free(part);
}

void wire_free(wire *message)
{
    free(message->at);
    *message = (wire){ 0 };
}

/* ---- ONNX ---- */

/* The next word of a text, into word; false at its end. */
static bool next_word(const char **text, char *word, size_t room)
{
    *text += strspn(*text, " ");
    size_t n = strcspn(*text, " ");
    if (n == 0) {
        return false;
    }
    snprintf(word, room, "%.*s", (int)n, *text);
    *text += n;
    return true;
}

/* One field of text for each word. */
static void put_words(wire *message, uint32_t field, const char *words)
{
    char word[100];
    while (next_word(&words, word, sizeof word)) {
        wire_text(message, field, strcmp(word, "-") == 0 ? "" : word);
    }
}

static wire tensor_head(const char *name, int type, int rank, const int64_t *sizes)
{
    wire tensor = { 0 };
    for (int i = 0; i < rank; ++i) {
        wire_int(&tensor, 1, sizes[i]);
    }
    wire_int(&tensor, 2, type);
    wire_text(&tensor, 8, name);
    return tensor;
}

wire wire_tensor(
    const char *name, int type, int rank, const int64_t *sizes, const void *elements, size_t size)
{
    wire tensor = tensor_head(name, type, rank, sizes);
    wire_bytes(&tensor, 9, elements, size);
    return tensor;
}

static void put_pair(wire *tensor, const char *name, const char *value)
{
    if (value != NULL) {
        wire pair = { 0 };
        wire_text(&pair, 1, name);
        wire_text(&pair, 2, value);
        wire_put(tensor, 13, &pair);
    }
}

wire wire_external_tensor(const char *name, int type, int rank, const int64_t *sizes,
    const char *location, const char *offset, const char *length)
{
    wire tensor = tensor_head(name, type, rank, sizes);
    put_pair(&tensor, "location", location);
    put_pair(&tensor, "offset", offset);
    put_pair(&tensor, "length", length);
    wire_int(&tensor, 14, 1);
    return tensor;
}

void wire_initializer(wire *graph, const char *name, int type, int rank, const int64_t *sizes,
    const void *elements, size_t size)
{
    wire tensor = wire_tensor(name, type, rank, sizes, elements, size);
    wire_put(graph, 5, &tensor);
}

static void declare(wire *graph, uint32_t field, const char *name, int type, const char *sizes)
{
    wire tensor_type = { 0 }, whole_type = { 0 }, value = { 0 };
    wire_int(&tensor_type, 1, type);
    if (sizes != NULL) {
        wire shape = { 0 };
        char word[100];
        while (next_word(&sizes, word, sizeof word)) {
            wire dimension = { 0 };
            char *end;
            long long size = strtoll(word, &end, 10);
            if (*end == '\0') {
                wire_int(&dimension, 1, size);
            } else {
                wire_text(&dimension, 2, word);
            }
            wire_put(&shape, 1, &dimension);
        }
        wire_put(&tensor_type, 2, &shape);
    }
    wire_put(&whole_type, 1, &tensor_type);
    wire_text(&value, 1, name);
    wire_put(&value, 2, &whole_type);
    wire_put(graph, field, &value);
}

void wire_input(wire *graph, const char *name, int type, const char *sizes)
{
    declare(graph, 11, name, type, sizes);
}

void wire_output(wire *graph, const char *name, int type, const char *sizes)
{
    declare(graph, 12, name, type, sizes);
}

wire wire_node(const char *type, const char *inputs, const char *outputs)
{
    wire node = { 0 };
    put_words(&node, 1, inputs);
    put_words(&node, 2, outputs);
    const char *colon = strchr(type, ':');
    if (colon != NULL) {
        wire_bytes(&node, 7, type, (size_t)(colon - type));
    }
    wire_text(&node, 4, colon != NULL ? colon + 1 : type);
    return node;
}

/* An AttributeProto with its name and kind. */
static wire attribute(const char *name, int kind)
{
    wire a = { 0 };
    wire_text(&a, 1, name);
    wire_int(&a, 20, kind);
    return a;
}

void wire_attribute_int(wire *node, const char *name, int64_t number)
{
    wire a = attribute(name, 2);
    wire_int(&a, 3, number);
    wire_put(node, 5, &a);
}

void wire_attribute_float(wire *node, const char *name, float number)
{
    wire a = attribute(name, 1);
    wire_float(&a, 2, number);
    wire_put(node, 5, &a);
}

void wire_attribute_text(wire *node, const char *name, const char *text)
{
    wire a = attribute(name, 3);
    wire_text(&a, 4, text);
    wire_put(node, 5, &a);
}

void wire_attribute_ints(wire *node, const char *name, const int64_t *numbers, size_t n)
{
    wire a = attribute(name, 7);
    for (size_t i = 0; i < n; ++i) {
        wire_int(&a, 8, numbers[i]);
    }
    wire_put(node, 5, &a);
}

void wire_attribute_texts(wire *node, const char *name, const char *texts)
{
    wire a = attribute(name, 8);
    put_words(&a, 9, texts);
    wire_put(node, 5, &a);
}

void wire_attribute_tensor(wire *node, const char *name, wire *tensor)
{
    wire a = attribute(name, 4);
    wire_put(&a, 5, tensor);
    wire_put(node, 5, &a);
}

void wire_attribute_graph(wire *node, const char *name, wire *graph)
{
    wire a = attribute(name, 5);
    wire_text(graph, 2, name);
    wire_put(&a, 6, graph);
    wire_put(node, 5, &a);
}

void wire_attribute_reference(wire *node, const char *name, int kind, const char *reference)
{
    wire a = attribute(name, kind);
    wire_text(&a, 21, reference);
    wire_put(node, 5, &a);
}

void wire_put_node(wire *graph, wire *node)
{
    wire_put(graph, 1, node);
}

void wire_simple(wire *graph, const char *type, const char *inputs, const char *outputs)
{
    wire node = wire_node(type, inputs, outputs);
    wire_put_node(graph, &node);
}

static void put_opset(wire *message, uint32_t field, const char *domain, int64_t opset)
{
    wire id = { 0 };
    wire_text(&id, 1, domain);
    wire_int(&id, 2, opset);
    wire_put(message, field, &id);
}

wire wire_function(
    const char *name, const char *inputs, const char *outputs, wire *nodes, int64_t opset)
{
    wire function = { 0 };
    wire_text(&function, 1, name);
    put_words(&function, 4, inputs);
    put_words(&function, 5, outputs);
    const uint8_t *at = nodes->at;
    for (size_t i = 0; i < nodes->size;) { /* a graph's nodes are its field 1, and here field 7 */
        size_t start = i + 1, n = 0;
        for (int shift = 0;; shift += 7) {
            n |= (size_t)(at[start] & 127) << shift;
            if (at[start++] < 128) {
                break;
            }
        }
        wire_bytes(&function, 7, at + start, n);
        i = start + n;
    }
    wire_free(nodes);
    put_opset(&function, 9, "", opset);
    wire_text(&function, 10, "local");
    return function;
}

wire wire_model(wire *graph, wire *functions, size_t function_count, int64_t opset)
{
    wire model = { 0 };
    wire_int(&model, 1, 10);
    put_opset(&model, 8, "", opset);
    for (size_t i = 0; i < function_count; ++i) {
        if (i == 0) {
            put_opset(&model, 8, "local", 1);
        }
        wire_put(&model, 25, &functions[i]);
    }
    wire_text(graph, 2, "test");
    wire_put(&model, 7, graph);
    return model;
}

bool wire_save(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    bool good = file != NULL && (size == 0 || fwrite(bytes, 1, size, file) == size);
    return file != NULL && fclose(file) == 0 && good;
}

bool wire_save_model(const char *path, wire *graph, int64_t opset)
{
    wire model = wire_model(graph, NULL, 0, opset);
    bool good = wire_save(path, model.at, model.size);
    wire_free(&model);
    return good;
}
