/* Hearing which tensors a function of the program uses that want a gradient, also while calls are
 * not recorded. */
#ifndef ADZI_AUTOGRAD_LISTENER_H
#define ADZI_AUTOGRAD_LISTENER_H

#include "adze/tensor.h"

/** Hears of the inputs of each operator of which one wants a gradient. It may call nothing of the
 * library. */
typedef struct adzi_listener {
    void (*hear)(struct adzi_listener *listener, adz_tensor *const *in, int n);
    struct adzi_listener *before; /* which hears again when this one ends; or NULL */
} adzi_listener;

/** The calling thread's listener, or NULL. */
extern __thread adzi_listener *adzi_listener_current __attribute__((tls_model("initial-exec")));

#endif
