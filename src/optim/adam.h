/* The argument block of the kernel behind Adam and its relatives. */
#ifndef ADZI_OPTIM_ADAM_H
#define ADZI_OPTIM_ADAM_H

#include <stdbool.h>

typedef enum adzi_adam_mode {
    ADZI_ADAM_ADAPTIVE, /* w -= step m / (root sqrt(v) + eps) */
    ADZI_ADAM_PLAIN,    /* w -= step m */
    ADZI_ADAM_WAIT      /* the moments alone change */
} adzi_adam_mode;

typedef struct adzi_adam_numbers {
    double beta1, beta2, keep, decay, sign, root, eps, step;
    adzi_adam_mode mode;
    bool belief;
} adzi_adam_numbers;

/**
 * w, dw, m, v and most (NULL unless the largest v so far takes the place of v) are contiguous;
 * units are elements.
 *
 *     g = sign dw + decay w
 *     m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2
 *     w = keep w - step m / (root sqrt(v) + eps)
 *
 * With belief (g - m)^2 takes the place of g^2, and v + eps that of v under the root.
 */
typedef struct adzi_adam_args {
    void *w;
    const void *dw;
    void *m, *v, *most;
    const adzi_adam_numbers *numbers; /* read when the kernel runs */
} adzi_adam_args;

#endif
