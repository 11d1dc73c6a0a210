/* A scope for each test, and small graphs. */
#ifndef ADZE_TESTS_AUTOGRAD_AUTOGRAD_GRAPH_H
#define ADZE_TESTS_AUTOGRAD_AUTOGRAD_GRAPH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "adze/adze.h"
#include "base/alloc.h"

static adz_scope *scope;
static int64_t live;

static inline int open_scope(void **state)
{
    (void)state;
    adz_error_clear();
    live = adzi_live_tensors();
    scope = adz_scope_open();
    return scope == NULL;
}

static inline int close_scope(void **state)
{
    (void)state;
    adz_scope_close(scope);
    adz_error_clear();
    return adzi_live_tensors() != live;
}

static inline adz_tensor *leaf(double value, int64_t n)
{
    return adz_requires_grad_(adz_full(ADZ_SHAPE(n), value, ADZ_F64), true);
}

static inline adz_tensor *total(adz_tensor *t)
{
    return adz_sum(t, ADZ_ALL_DIMS, ADZ_DROPDIM);
}

static inline double grad0(adz_tensor *t)
{
    adz_tensor *g = adz_tensor_grad(t);
    assert_non_null(g);
    return adz_tensor_at(g, (int64_t[]){ 0 });
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_scope, close_scope)

#endif
