/* A network that a file holds, as a function of tensors. */
#ifndef SHIP_NETWORK_H
#define SHIP_NETWORK_H

#include <adze/adze.h>

enum { PORTS = 16, PORT_NAME = 40 };

/* An input or a result. */
typedef struct port {
    char name[PORT_NAME];
    adz_shape shape;
    adz_dtype dtype;
} port;

/* Inputs and results have fixed shapes and at most PORTS entries. */
typedef struct net {
    adz_module *root;
    port inputs[PORTS], outputs[PORTS];
    size_t n_inputs, n_outputs;
    const char *path;

    /* Computes the results, borrowed from the scope, in the mode that root has. */
    void (*call)(const struct net *n, adz_tensor *const *inputs, adz_tensor **outputs);
    void (*end)(struct net *n);
    void *own; /* of the kind of file */
} net;

/* How a file is read. */
typedef struct reading_options {
    adz_dtype dtype;           /* of all floats */
    const char *const *shapes; /* n_shapes texts NAME=2,3 for inputs whose shapes are free */
    size_t n_shapes;
} reading_options;

/* Loads a file of any kind that there is, in evaluation. Ends the program if it cannot be read. */
net load_network(const char *path, const reading_options *o);
void free_network(net *n);

/* Whether values of an input or a result are floats, and therefore have derivatives. */
bool is_float(const port *p);

/* The number of elements of all ports that are floats. */
int64_t count_floats(const port *ports, size_t n);

/* The kinds of files. */
bool is_onnx_file(const char *path);
net load_onnx(const char *path, const reading_options *o);
bool is_digits_file(const char *path);
net load_digits_file(const char *path, const reading_options *o);
net load_ffn(const char *path, const reading_options *o);

#endif
