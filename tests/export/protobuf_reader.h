/* Reads ONNX files back, by the rules of Protocol Buffers and the field numbers of onnx.proto. It
 * shares no code with the writer. */
#ifndef ADZE_TESTS_EXPORT_PROTOBUF_READER_H
#define ADZE_TESTS_EXPORT_PROTOBUF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { READ_NODES = 1000, READ_TENSORS = 1000, READ_LISTED = 40 };

/** Text or bytes inside the file. */
typedef struct read_bytes {
    const unsigned char *at;
    size_t size;
} read_bytes;

typedef struct read_attribute {
    read_bytes name, text;
    int64_t whole, type;
    float number;
    int64_t list[READ_LISTED];
    int n;
} read_attribute;

typedef struct read_node {
    read_bytes type, name, in[READ_LISTED], out[READ_LISTED];
    int n_in, n_out, n_attributes;
    read_attribute attributes[8];
} read_node;

/** An initialiser, or an input or output of the graph. */
typedef struct read_tensor {
    read_bytes name, raw;
    int64_t type, dims[8]; /* -1: a dimension with a name */
    read_bytes param;      /* the name of the last dimension that has one */
    int rank;
} read_tensor;

typedef struct read_model {
    unsigned char *file;
    size_t size;
    int64_t ir_version, opset;
    read_bytes producer;
    read_node nodes[READ_NODES];
    read_tensor inputs[40], outputs[8], initialisers[READ_TENSORS];
    int n_nodes, n_inputs, n_outputs, n_initialisers;
} read_model;

/** Reads a whole file; fails the test if it is no model. End it with read_model_free. */
read_model *read_model_file(const char *path);
void read_model_free(read_model *model);

/** Whether bytes are a text. */
bool read_is(read_bytes bytes, const char *text);

/** The node's attribute of this name, or NULL. */
const read_attribute *read_attribute_of(const read_node *node, const char *name);

/** The initialiser of this name, or NULL. */
const read_tensor *read_initialiser(const read_model *model, const char *name);

#endif
