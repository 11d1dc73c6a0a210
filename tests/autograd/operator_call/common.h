/* What the tests of adz_operator_call share: the operator that the documentation shows, and checks.
 */
#ifndef ADZE_TESTS_AUTOGRAD_OPERATOR_CALL_COMMON_H
#define ADZE_TESTS_AUTOGRAD_OPERATOR_CALL_COMMON_H

#include <math.h>
#include <string.h>

#include "../../errors.h"
#include "../../groups.h"
#include "adze/adze.h"
#include "documented_operator.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

int calls_tests(void);
int refused_tests(void);
int captured_tests(void);
int checked_tests(void);
int exported_tests(void);
int forms_tests(void);
int steps_tests(void);

/** Fails the test if two tensors differ in a bit, or if there is none. */
static inline void assert_same_bits(adz_tensor *a, adz_tensor *b)
{
    if (a == NULL || b == NULL) {
        fail_msg("%s", adz_error_message());
    }
    a = adz_contiguous(a);
    b = adz_contiguous(b);
    assert_int_equal(adz_tensor_dtype(a), adz_tensor_dtype(b));
    assert_int_equal(adz_tensor_numel(a), adz_tensor_numel(b));
    const size_t bytes = (size_t)adz_tensor_numel(a) * adz_dtype_size(adz_tensor_dtype(a));
    if (bytes > 0 && memcmp(adz_tensor_data(a), adz_tensor_data(b), bytes) != 0) {
        fail_msg("the bits differ");
    }
}

/** The documented operator as a function that gradcheck takes. */
static inline int call_cube(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n, (void)user;
    out[0] = cube(in[0]);
    return out[0] != NULL;
}

#endif
