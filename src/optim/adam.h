/* The arguments of the kernel of Adam, AdamW, AMSGrad, AdaBelief and RAdam. */
#ifndef ADZI_OPTIM_ADAM_H
#define ADZI_OPTIM_ADAM_H

#include <stdbool.h>

/** How the parameter moves. All modes update the moments and apply the decay. */
typedef enum adzi_adam_mode {
    ADZI_ADAM_ADAPTIVE, /* w = keep w - step m / (root sqrt(v) + eps) */
    ADZI_ADAM_PLAIN,    /* w = keep w - step m */
    ADZI_ADAM_WAIT      /* w = keep w */
} adzi_adam_mode;

/** The numbers of the formula in adam.kernel.c; `belief` chooses AdaBelief's form. */
typedef struct adzi_adam_numbers {
    double beta1, beta2, keep, decay, sign, root, eps, step;
    adzi_adam_mode mode;
    bool belief;
} adzi_adam_numbers;

/**
 * w, dw, m, v and most are contiguous. `most` is the largest v so far, which AMSGrad uses in place
 * of v, and NULL otherwise. A unit is an element.
 *
 *     g = sign dw + decay w
 *     m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2
 *     w = keep w - step m / (root sqrt(v) + eps)
 *
 * With `belief`, (g - m)^2 replaces g^2, and v + eps replaces v under the root.
 */
typedef struct adzi_adam_args {
    void *w;
    const void *dw;
    void *m, *v, *most;
    const adzi_adam_numbers *numbers; /* read when the kernel runs */
} adzi_adam_args;

#endif
