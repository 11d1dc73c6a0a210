/* The sweep over operators: building samples, running and comparing them, and its tests. */
#ifndef ADZE_TESTS_OPS_SWEEP_H
#define ADZE_TESTS_OPS_SWEEP_H

#include "ops/case.h"

/** Fails the test of the case `c` with a text in the manner of printf. */
#define FAIL(...)                                   \
    do {                                            \
        char text_[900];                            \
        snprintf(text_, sizeof text_, __VA_ARGS__); \
        fail_msg("%s: %s", c->name, text_);         \
    } while (0)

/** The inputs of a sample as tensors: a leaf for each, and the view of it that is the argument. */
typedef struct built {
    const case_input *specs;
    case_layout layouts[CASE_INPUTS];
    adz_tensor *leaves[CASE_INPUTS];
    op_args args;
} built;

/** Draws the inputs of a sample, borrowed from the scope. `layout` replaces LAYOUT_PLAIN of
 * floating-point inputs. */
void build_inputs(built *b, const case_input *specs, const double *p, const char *text,
    case_layout layout, adz_dtype dtype, uint64_t seed);

/** Draws new elements for a leaf of `spec`. */
void fill_drawn(adz_tensor *t, const case_input *spec, uint64_t seed);

/** Argument i of the call: a view of its leaf in the layout that was chosen, or ADZ_NONE. */
adz_tensor *built_argument(const built *b, int i);

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

/** Runs forward and backward, the latter as an expression if `expression`. False with the error
 * recorded. */
bool run_built(const op_case *c, built *b, bool expression, outcome *o);

/** run_built with the upstream gradient of result k times 2^exponents[k]. */
bool run_scaled(const op_case *c, built *b, bool expression, const int *exponents, outcome *o);

/** max|a - b| / (max|b| + tiny) for tensors of any dtype; infinite if shapes, NaN or infinities
 * differ. */
double difference(adz_tensor *a, adz_tensor *b, double tiny);

/** True if two tensors have equal shapes and equal bits. */
bool same_bits(adz_tensor *a, adz_tensor *b);

/** Checks the attributes of every node in the graphs of the results and of the gradients, which are
 * computed by expressions. Their table of fields must be complete, and copies, comparisons and
 * texts that are made from it must be right. */
void check_attributes(const op_case *c, const outcome *o);

/** The generated list of all cases. */
extern const op_case *const op_cases[];
extern const int n_op_cases;

/** A test of the sweep, in replays.c: replayed launches give the bits of an ordinary call. */
void replay_with_other_contents(void **state);

/** A test of the sweep, in expressions.c: the expression of an operator's forward has its values.
 */
void forward_expression(void **state);

/** A test of the sweep, in traces.c: forward and gradients consist of recorded calls. */
void gradients_are_calls(void **state);

/** A test of the sweep, in saved.c: a node saves what its first backward reads, and no write that
 * this backward tolerates disturbs the expression. */
void saves_no_more_than_it_reads(void **state);

/** A test of the sweep, in asked.c: the gradient of an input is the same whether others are asked
 * for or not. */
void gradients_asked_for_alone(void **state);

/** Appends the tests of one case to `tests` and returns their number. */
size_t sweep_tests(const op_case *c, struct CMUnitTest *tests);

enum { SWEEP_TESTS = 17 };

/** The numbers of checks that the sweep has made so far. */
typedef struct sweep_counts {
    size_t samples, layouts, derivatives, failure_points, rejects;
} sweep_counts;
extern sweep_counts counts;

#endif
