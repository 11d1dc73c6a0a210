/* The sweep over scales: a factor 2^k costs no digits, up to the ends of f32 and f64.
 *
 * A law of homogeneity says which inputs of an operator are scaled together. Input i is multiplied
 * by 2^(k d_i), and result j is then multiplied by 2^(k e_j). The derivative is linear in the
 * upstream gradient u, so each law holds for gradients too:
 *
 *     x_i -> 2^(k d_i) x_i,   u_j -> 2^(k (c - e_j)) u_j:   y_j -> 2^(k e_j) y_j,   dx_i -> 2^(k (c
 * - d_i)) dx_i
 *
 * for every c. The law without inputs (d = e = 0, c = 1) holds for every operator: it scales the
 * upstream gradients alone. The exponents d are -1, 0 or 1, and e is found by running the operator.
 */
#ifndef ADZE_TESTS_OPS_SCALES_H
#define ADZE_TESTS_OPS_SCALES_H

#include "ops/sweep.h"

enum { SCALES_LAWS = 64, SCALES_STEP = 4, SCALES_ROOM = 16, SCALES_ROOM_LARGE = 24 };

/** One law of a sample. */
typedef struct scale_law {
    signed char d[CASE_INPUTS];
    int e[CASE_RESULTS]; /* exponents of the results in quarters */
} scale_law;

/** What is declared of an operator (declared.c). */
typedef struct scale_declared {
    const char *name;
    const char *laws; /* words such as "+0 0+": the signs of d of each input, "" for none. */
    unsigned zero;    /* bit i: p[i] is set to 0, such as the eps of a normalisation */
    bool sums;    /* partial sums are larger than the result: they get room for all elements. Large
           samples always have room */
    bool squares; /* squares of the inputs must fit: into f64, in which kernels compute */
    bool graph_squares;   /* ... and into the dtype for gradients with a graph */
    bool products;        /* products of inputs and upstream gradients must fit */
    const char *left_out; /* words of laws that are found but not checked, because ... */
    bool in_graphs;       /* `left_out` concerns gradients with a graph alone */
    const char *because;  /* the reason of `squares`, `products` or `left_out` */
    const char *fails;    /* not NULL: the operator fails the sweep for this reason */
} scale_declared;

extern const scale_declared scale_declarations[];
extern const int n_scale_declarations;

/** The declaration of an operator, NULL if there is none. */
const scale_declared *scale_declaration(const char *name);

/** Builds sample s, with the parameters set to 0 that the declaration names. */
void scale_sample(built *b, const op_case *c, size_t s, adz_dtype dtype);

/** Brings the elements of the inputs that a law scales to magnitudes between 1 and 2. Scaled to the
 * upper end, elements of both signs then lie at the two ends of the range. */
void scale_flatten(built *b, const scale_law *law);

/** Multiplies the inputs of a built sample by 2^(k d_i). */
void scale_inputs(built *b, const scale_law *law, int k);

/** True if input i of the sample is a tensor of the sample's float type. */
bool scale_takes(const case_input *spec);

/** Finds the laws of sample s, of which there are at most SCALES_LAWS. A law holds in vain, and is
 * left out, where all results are empty or 0. */
int scale_find(const op_case *c, size_t s, scale_law *laws);

/** True if a word occurs in a list of words with single spaces between them, or NULL. */
bool scale_has_word(const char *words, const char *word);

/** The word of a law in a declaration, without zeros at its end. */
const char *scale_word(const scale_law *law, int n, char *text);

/** The exponents of the largest and of the smallest element that is neither 0 nor infinite nor NaN.
 * False if there is none. */
bool scale_range(adz_tensor *t, int *largest, int *smallest);

/** Checks one law of sample s in one dtype. Returns the number of failures. */
int scale_check(
    const op_case *c, size_t s, adz_dtype dtype, const scale_law *law, bool whole, bool report);

typedef struct scale_totals {
    size_t runs, scales;
} scale_totals;
extern scale_totals scale_counts;

#endif
