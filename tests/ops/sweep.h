/* The sweep: what is checked of every operator. */
#ifndef ADZE_TESTS_OPS_SWEEP_H
#define ADZE_TESTS_OPS_SWEEP_H

#include "ops/case.h"

/** A sample's inputs as tensors: leaves in memory, and how each becomes the argument. */
typedef struct built {
    const case_input *specs;
    case_layout layouts[CASE_INPUTS];
    adz_tensor *leaves[CASE_INPUTS];
    op_args args;
} built;

/** Draws a sample's inputs; `layout` replaces LAYOUT_PLAIN of float inputs. Borrowed. */
void build_inputs(built *b, const case_input *specs, const double *p, const char *text,
    case_layout layout, adz_dtype dtype, uint64_t seed);

/** The number of a case's samples. */
size_t n_samples(const op_case *c);

/** build_inputs for sample `s` of a case. Another `seed` gives other contents. */
void build_sample(
    built *b, const op_case *c, size_t s, case_layout layout, adz_dtype dtype, uint64_t seed);

/** Makes the views and calls the operator. Returns the number of results. */
int call_built(const op_case *c, built *b, adz_tensor **out);

/** Results and the gradients of sum(result * upstream) for a fixed upstream; kept by the scope. */
typedef struct outcome {
    int n_results;
    adz_tensor *results[CASE_RESULTS];
    adz_tensor *gradients[CASE_INPUTS]; /* NULL for inputs without one */
} outcome;

/** Runs forward and backward; through the expressions when `expression`. False with the error kept.
 */
bool run_built(const op_case *c, built *b, bool expression, outcome *o);

/** max|a - b| / (max|b| + tiny); infinite where shapes, NaN or infinities differ. Any dtype. */
double difference(adz_tensor *a, adz_tensor *b, double tiny);

/** Whether two tensors have the same shape and the same values bit for bit. */
bool same_bits(adz_tensor *a, adz_tensor *b);

/** Checks the attributes of every call that the results and the gradients (computed by expressions)
 * were recorded by: a table describes them in full, and copies, comparisons and texts made from it
 * are right. */
void check_attributes(const op_case *c, const outcome *o);

/** Every registered case: the generated list. */
extern const op_case *const op_cases[];
extern const int n_op_cases;

/** A test of the sweep, in replays.c: replayed launches give the bits of an ordinary call. */
void replay_with_other_contents(void **state);

/** The tests of one case, appended to `tests`; returns how many. */
size_t sweep_tests(const op_case *c, struct CMUnitTest *tests);

enum { SWEEP_TESTS = 13 };

/** What the sweep has gone through so far. */
typedef struct sweep_counts {
    size_t samples, layouts, derivatives, failure_points, rejects;
} sweep_counts;
extern sweep_counts counts;

#endif
