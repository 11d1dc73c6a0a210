/* What the tests of adze/functional.h share. */
#ifndef ADZE_TESTS_AUTOGRAD_FUNCTIONAL_H
#define ADZE_TESTS_AUTOGRAD_FUNCTIONAL_H

#include <math.h>

#include "adze/adze.h"
#include "errors.h"
#include "groups.h"

/** max |a - b|, or infinity if one is NULL or the shapes differ. */
static inline double apart(adz_tensor *a, adz_tensor *b)
{
    if (a == NULL || b == NULL || adz_tensor_rank(a) != adz_tensor_rank(b)) {
        return INFINITY;
    }
    for (int d = 0; d < adz_tensor_rank(a); ++d) {
        if (adz_tensor_size(a, d) != adz_tensor_size(b, d)) {
            return INFINITY;
        }
    }
    return adz_tensor_numel(a) == 0
               ? 0
               : adz_item(adz_amax(
                     adz_abs(adz_sub(adz_detach(a), adz_detach(b))), ADZ_ALL_DIMS, ADZ_DROPDIM));
}

/** A network 3-5-2 with tanh in f64 whose parameters are drawn from a seed. */
static inline adz_module *small_network(uint64_t seed)
{
    adz_manual_seed(seed);
    adz_module *net =
        ADZ_SEQUENTIAL(adz_linear_new(3, 5, NULL), adz_tanh_new(), adz_linear_new(5, 2, NULL));
    assert_int_equal(adz_module_to(net, ADZ_F64), ADZ_OK);
    return net;
}

static inline adz_tensor *apply(adz_tensor *x, void *module)
{
    return adz_module_forward(module, x);
}

enum { N_FUNCTIONAL_VALUES = 10, N_FUNCTIONAL_GRAPHS = 12, N_FUNCTIONAL_REFUSED = 7 };
/* Each test has a scope. */
int functional_open(void **state);
int functional_close(void **state);

extern const struct CMUnitTest functional_values[N_FUNCTIONAL_VALUES];
extern const struct CMUnitTest functional_graphs[N_FUNCTIONAL_GRAPHS];
extern const struct CMUnitTest functional_refused[N_FUNCTIONAL_REFUSED];

#endif
