#include "ops/shape/list.h"

#include <stdio.h>

/* The common part of operators with lists of tensors: cat and stack take a list; split, chunk and
 * unbind return a list. */

/* A stale pointer is noticed by the mark in the header, and the message says which element of the
 * list it is. */
bool adzi_check_list(const char *op, adz_tensor *const *tensors, size_t n)
{
    if (tensors == NULL) {
        adzi_pass_null(op, "tensors");
        return false;
    }
    if (n == 0 || n > ADZI_LIST_MOST) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "%zu tensors are listed; it takes 1 to %d", n,
            (int)ADZI_LIST_MOST);
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        /* The name says which tensor of the list is wrong. */
        char name[40];
        if (tensors[i] == NULL || tensors[i]->alive != ADZI_ALIVE || adzi_is_none(tensors[i])) {
            snprintf(name, sizeof name, "tensor %zu of %zu", i, n);
            adzi_check_tensor(op, name, tensors[i]);
            return false;
        }
    }
    return true;
}

/* All results are NULL after a failure, so that no caller releases or reads a partial list. */
adz_status adzi_no_results(adz_tensor **out, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        /* The caller's array may have held other tensors. */
        out[i] = NULL;
    }
    return adzi_status(NULL);
}

/* A result that received no gradient has NULL in dy and is replaced by zeros. At least one gradient
 * exists, or the backward would not run. */
adz_tensor *adzi_join_gradients(adzi_node *node, adz_tensor *const *dy, int dim,
    adz_tensor *(*join)(adz_tensor *const *, size_t, int))
{
    /* The list of gradients is allocated, because the caller of the operator chose its length. */
    size_t n = node->n_results, bytes = n * sizeof(adz_tensor *);
    const adz_tensor *any = NULL;
    for (size_t k = 0; k < n; ++k) {
        any = dy[k] != NULL ? dy[k] : any;
    }
    adz_tensor **parts = adzi_alloc(bytes);
    if (parts == NULL || any == NULL) {
        adzi_free(parts, bytes);
        return adzi_fail_memory(node->op->name, bytes);
    }
    /* join() fails if one tensor is NULL, so zeros replace a missing gradient. */
    bool ok = true;
    for (size_t k = 0; k < n; ++k) {
        parts[k] = dy[k];
        if (parts[k] == NULL) {
            parts[k] = adz_zeros(adzi_result_shape(node, (int)k), (adz_dtype)any->dtype);
        }
        ok = ok && parts[k] != NULL;
    }
    adz_tensor *joined = ok ? join(parts, n, dim) : NULL;
    adzi_free(parts, bytes);
    return joined;
}
