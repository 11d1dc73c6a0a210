/* A network as a function of one vector, and the functions of its derivatives.
 *
 * The vector z[1, N] has all inputs that are floats, one after another, and the function's value
 * [1, M] has all results that are floats. Derivatives are by that vector. */
#ifndef SHIP_LAW_H
#define SHIP_LAW_H

#include "network.h"

/* `u` weighs the M results, and `v` is a direction of the N inputs. `constant_jacobian` and
 * `constant_hessian` say which derivatives are the same for every input, so that the writer would
 * refuse them as constants. */
typedef struct law {
    net n;
    adz_tensor *inputs[PORTS], *u, *v;
    adz_tensor *target;       /* of a step of training; NULL without one */
    adz_optimizer *optimizer; /* of a step of training; NULL without one */
    int loss;                 /* of a step of training, one of train.c */
    int64_t n_in, n_out;
    bool constant_jacobian, constant_hessian;
} law;

/* What a function gets after the network's inputs. */
typedef enum law_vector { NO_VECTOR, OF_RESULTS, OF_INPUTS, TARGET } law_vector;

/* A function that can be written: (inputs, results), or (inputs, vector, results, derivatives);
 * a step is (inputs, target, loss). Results that are no floats belong to LAW_RUN alone. */
typedef struct law_function {
    const char *name; /* in C, after the prefix of the file */
    const char *what; /* for people */
    law_vector vector;
    const char *derivatives[2];        /* the names of further results; NULL if there is none */
    adz_plan_results_function compute; /* `user` is the law */
    bool wanted;
} law_function;

enum {
    LAW_RUN,
    LAW_JACOBIAN,
    LAW_JVP,
    LAW_VJP,
    LAW_HESSIAN,
    LAW_STEP,
    LAW_FUNCTIONS,
    LAW_RESULTS = PORTS + 2,
    LAW_INPUTS = PORTS + 1
};

/* All functions. Only LAW_RUN is wanted. */
void list_functions(law_function *functions);

/* Loads a network with random inputs. Ends the program if derivatives are wanted of a network
 * that has no floats among its inputs or results. */
law load_law(const char *path, const reading_options *o, const law_function *functions);

/* Makes the tensors of a law whose network is set. */
void make_inputs(law *l);
void free_law(law *l);

/* New random inputs. Whole numbers and truth values are 0 or 1. */
void draw_inputs(law *l);

/* The tensors that a function reads, in their order. Returns how many there are. */
size_t function_inputs(const law *l, const law_function *f, adz_tensor **inputs);

/* The network's results that a function gives, before the derivatives: copied into `ports` if it is
 * not NULL. Returns how many there are. */
size_t function_ports(const law *l, const law_function *f, port *ports);

/* The number of results, derivatives included. */
size_t function_results(const law *l, const law_function *f);

/* Writes the wanted functions as C and a header. Sets `libm` in the options if they need it. */
void write_law(law *l, const law_function *functions, const char *path, adz_c_options *o);

#endif
