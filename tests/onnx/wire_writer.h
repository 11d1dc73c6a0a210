/* Writes small ONNX files: messages of the wire format, and of ONNX what tests need.
 *
 *     wire graph = { 0 };
 *     wire_initializer(&graph, "w", WIRE_FLOAT, 2, (int64_t[]){ 3, 2 }, w, sizeof w);
 *     wire_input(&graph, "x", WIRE_FLOAT, "N 3");
 *     wire node = wire_node("MatMul", "x w", "y");
 *     wire_put_node(&graph, &node);
 *     wire_output(&graph, "y", WIRE_FLOAT, "N 2");
 *     wire_save_model(path, &graph, 17);
 *
 * A function that puts a message into another one empties it. Without memory the program ends. */
#ifndef ADZE_TESTS_WIRE_WRITER_H
#define ADZE_TESTS_WIRE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Element types, by their numbers in the format. */
enum {
    WIRE_FLOAT = 1,
    WIRE_UINT8 = 2,
    WIRE_INT8 = 3,
    WIRE_INT32 = 6,
    WIRE_INT64 = 7,
    WIRE_BOOL = 9,
    WIRE_FLOAT16 = 10,
    WIRE_DOUBLE = 11
};

/* A message that grows. { 0 } is an empty one. */
typedef struct wire {
    uint8_t *at;
    size_t size, room;
} wire;

/* ---- the wire format ---- */

void wire_raw(wire *message, const void *bytes, size_t size);
void wire_varint(wire *message, uint64_t number);
void wire_int(wire *message, uint32_t field, int64_t number);
void wire_float(wire *message, uint32_t field, float number);
void wire_bytes(wire *message, uint32_t field, const void *bytes, size_t size);
void wire_text(wire *message, uint32_t field, const char *text);

/* Puts the part into the message as a field, and empties the part. */
void wire_put(wire *message, uint32_t field, wire *part);
void wire_free(wire *message);

/* ---- ONNX ---- */

/* A TensorProto with its elements as raw bytes. */
wire wire_tensor(
    const char *name, int type, int rank, const int64_t *sizes, const void *elements, size_t size);

/* A TensorProto whose elements are in the file `location`, from `offset` on; both numbers are
 * texts, and NULL leaves one out. */
wire wire_external_tensor(const char *name, int type, int rank, const int64_t *sizes,
    const char *location, const char *offset, const char *length);

void wire_initializer(wire *graph, const char *name, int type, int rank, const int64_t *sizes,
    const void *elements, size_t size);

/* Declares an input or output. The sizes are numbers or names: "N 3"; NULL declares no shape. */
void wire_input(wire *graph, const char *name, int type, const char *sizes);
void wire_output(wire *graph, const char *name, int type, const char *sizes);

/* A NodeProto. Names are separated by blanks; "-" stands for one that is left out. A type that
 * begins with a domain is written "domain:Type". */
wire wire_node(const char *type, const char *inputs, const char *outputs);
void wire_attribute_int(wire *node, const char *name, int64_t number);
void wire_attribute_float(wire *node, const char *name, float number);
void wire_attribute_text(wire *node, const char *name, const char *text);
void wire_attribute_ints(wire *node, const char *name, const int64_t *numbers, size_t n);
void wire_attribute_texts(wire *node, const char *name, const char *texts);
void wire_attribute_tensor(wire *node, const char *name, wire *tensor);
void wire_attribute_graph(wire *node, const char *name, wire *graph);

/* An attribute that is the attribute `reference` of the function's call. Kinds: 1 float, 2 int. */
void wire_attribute_reference(wire *node, const char *name, int kind, const char *reference);
void wire_put_node(wire *graph, wire *node);

/* wire_put_node of wire_node: a node without attributes. */
void wire_simple(wire *graph, const char *type, const char *inputs, const char *outputs);

/* A FunctionProto of the domain "local" without attributes; takes the nodes over. */
wire wire_function(
    const char *name, const char *inputs, const char *outputs, wire *nodes, int64_t opset);

/* A ModelProto of IR 10, graph last. `functions` has function_count messages, or is NULL. */
wire wire_model(wire *graph, wire *functions, size_t function_count, int64_t opset);

/* Writes bytes to a file; false if that fails. */
bool wire_save(const char *path, const void *bytes, size_t size);

/* wire_model without functions, in a file. */
bool wire_save_model(const char *path, wire *graph, int64_t opset);

#endif
