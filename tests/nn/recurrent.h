/* A helper of the tests of QRNNs. */
#ifndef ADZE_TESTS_NN_RECURRENT_H
#define ADZE_TESTS_NN_RECURRENT_H

#include "nn/case.h"

/* Calls the module with the initial state `hid`. Returns y and, unless h is NULL, stores the last
 * state. */
static inline adz_tensor *call_from(adz_module *m, adz_tensor *x, adz_tensor *hid, adz_tensor **h)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "x", x);
    adz_values_add(in, "hid", hid);
    bool good = adz_module_call(m, in, out) == ADZ_OK;
    adz_tensor *y = good ? adz_values_at(out, 0) : NULL;
    if (h != NULL) {
        *h = good ? adz_values_get(out, "h") : NULL;
    }
    adz_values_free(&in);
    adz_values_free(&out);
    return y;
}

#endif
