/* A network as a function of one row, and the functions of its derivatives. */
#ifndef SHIP_LAW_H
#define SHIP_LAW_H

#include <adze/adze.h>

#include "../ffn-regression/model.h"

/* y[1, M] from x[1, D]. `u` weighs the results, and `v` is a direction of the inputs. */
typedef struct law {
    model m;
    adz_tensor *x, *u, *v;
    int64_t n_in, n_out;
} law;

/* The vector that a function gets besides x. */
typedef enum law_vector { NO_VECTOR, OF_RESULTS, OF_INPUTS } law_vector;

/* A function that can be written: (x, y), or (x, vector, y, derivatives). */
typedef struct law_function {
    const char *name; /* in C, after the prefix of the file */
    const char *what; /* for people */
    law_vector vector;
    size_t n_results;
    adz_plan_results_function compute; /* `user` is the law */
    bool wanted;
} law_function;

enum { LAW_RUN, LAW_JACOBIAN, LAW_JVP, LAW_VJP, LAW_HESSIAN, LAW_FUNCTIONS, LAW_RESULTS = 3 };

/* All functions. Only LAW_RUN is wanted. */
void list_functions(law_function *functions);

/* Loads a model that ffn-regression has saved, in evaluation. It computes with `dtype`. Its tensors
 * are kept. */
law load_law(const char *path, adz_dtype dtype);
void free_law(law *l);

/* The tensors that a function reads, in their order. Returns how many there are. */
size_t function_inputs(const law *l, const law_function *f, adz_tensor **inputs);

#endif
