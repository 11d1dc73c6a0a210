/* Runs test cases of ONNX that generate.py has written. */
#ifndef ADZE_TESTS_ONNX_SUITE_H
#define ADZE_TESTS_ONNX_SUITE_H

#include <stdbool.h>
#include <stddef.h>

#include "adze/adze.h"

enum { CASE_TENSORS = 24, CASE_TEXT = 512 };

/** One line of cases.txt. */
typedef struct suite_case {
    char kind[32], name[128], operator_name[64];
    bool held, f64;    /* f64: floats are computed as f64 */
    double rtol, atol; /* atol is infinite where results are drawn at random */
    int opset;
    char types[128]; /* element types of the outputs, with commas */
} suite_case;

/** The tensors of a case: those of its files, by position. */
typedef struct case_tensors {
    adz_tensor *in[CASE_TENSORS], *out[CASE_TENSORS];
    int n_in, n_out;
} case_tensors;

typedef enum outcome {
    PASSED,
    REFUSED, /* adze says that it does not support this */
    WRONG    /* anything else */
} outcome;

/** What a program of the suite was asked for. */
typedef struct suite_options {
    bool f64;       /* compute in f64 */
    bool gradients; /* compare gradients with finite differences too; with f64 */
} suite_options;

/**
 * Runs one case.
 *
 * @param folder  where generate.py wrote
 * @param text    says why, "" for a case that passed
 */
outcome suite_run(
    const char *folder, const suite_case *c, const suite_options *options, char text[CASE_TEXT]);

/**
 * Compares the gradient of a weighted sum of the floating outputs with central differences, in f64.
 * Where the differences of two step sizes disagree, the function bends there, and the element is
 * left out.
 *
 * @param compared  the number of elements compared is added
 * @return          false with the reason in text
 */
bool suite_gradients(adz_module *module, const case_tensors *t, const suite_case *c, long *compared,
    char text[CASE_TEXT]);

/** Calls the module with the case's inputs. */
adz_status suite_call(
    adz_module *module, const case_tensors *t, adz_tensor *const *in, adz_values *out);

/** Elements whose gradient suite_run compared. */
extern long suite_compared;

#endif
