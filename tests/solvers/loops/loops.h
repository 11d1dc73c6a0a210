/* What the tests of adze/loops.h share: a cell like a GRU's, and the unrolled program. */
#ifndef ADZE_TESTS_SOLVERS_LOOPS_H
#define ADZE_TESTS_SOLVERS_LOOPS_H

#include <math.h>
#include <string.h>

#include "adze/adze.h"
#include "base/threads/parallel.h"
#include "errors.h"
#include "groups.h"

/* A compiler that cannot clear padding leaves plans without loops (src/plan/compare.c). */
#ifdef ADZI_CLEARS_PADDING
enum { FOLDS = true };
#else
enum { FOLDS = false };
#endif

enum { WIDTH = 5 };

/** The weights of a cell, which its body captures. */
typedef struct cell {
    adz_tensor *w, *u, *b;
} cell;

/** Whether two tensors have equal shapes and bits. */
static inline bool same_bits(const adz_tensor *a, const adz_tensor *b)
{
    return a != NULL && b != NULL && adz_tensor_numel(a) == adz_tensor_numel(b) &&
           adz_tensor_rank(a) == adz_tensor_rank(b) && adz_tensor_dtype(a) == adz_tensor_dtype(b) &&
           adz_equal((adz_tensor *)(uintptr_t)a, (adz_tensor *)(uintptr_t)b);
}

/** A cell whose weights want gradients, drawn from a seed. */
cell cell_new(uint64_t seed, adz_dtype dtype);

/** The next state of a cell from h and x_t; the result of a step is twice the state. */
adz_status cell_step(adz_tensor **results, adz_tensor *const *inputs, void *user);

/** The program that adz_scan of cell_step stands for, written out with adz_select and adz_stack. */
adz_status cell_unrolled(
    const cell *c, adz_tensor *h, adz_tensor *xs, bool reverse, adz_tensor **results);

/* Each test has a scope. */
int loops_open(void **state);
int loops_close(void **state);

#define TEST(name) cmocka_unit_test_setup_teardown(name, loops_open, loops_close)

enum {
    N_LOOPS_VALUES = 9,
    N_LOOPS_GRADIENTS = 4,
    N_LOOPS_REFUSED = 4,
    N_LOOPS_CONDITIONS = 8,
    N_LOOPS_EFFECTS = 6,
    N_LOOPS_CHECKPOINTS = 7,
    N_LOOPS_MAKING = 4,
    N_LOOPS_PLANS = 11,
    N_LOOPS_RANDOM = 2,
    N_LOOPS_RECURRENT = 8
};

extern const struct CMUnitTest loops_values[N_LOOPS_VALUES];
extern const struct CMUnitTest loops_gradients[N_LOOPS_GRADIENTS];
extern const struct CMUnitTest loops_conditions[N_LOOPS_CONDITIONS];
extern const struct CMUnitTest loops_effects[N_LOOPS_EFFECTS];
extern const struct CMUnitTest loops_checkpoints[N_LOOPS_CHECKPOINTS];
extern const struct CMUnitTest loops_making[N_LOOPS_MAKING];
extern const struct CMUnitTest loops_plans[N_LOOPS_PLANS];
extern const struct CMUnitTest loops_random[N_LOOPS_RANDOM];
extern const struct CMUnitTest loops_recurrent[N_LOOPS_RECURRENT];
extern const struct CMUnitTest loops_refused[N_LOOPS_REFUSED];

#endif
