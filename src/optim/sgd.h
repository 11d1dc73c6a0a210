/* The argument block of the kernel behind stochastic gradient descent. */
#ifndef ADZI_OPTIM_SGD_H
#define ADZI_OPTIM_SGD_H

#include <stdbool.h>

typedef struct adzi_sgd_numbers {
    double lr, momentum, fresh_part, weight_decay; /* m = momentum m + fresh_part g */
    double sign;                                   /* of the gradient: -1 ascends */
    bool nesterov;
} adzi_sgd_numbers;

/** w, dw and m (NULL without momentum) are contiguous; units are elements. */
typedef struct adzi_sgd_args {
    void *w;
    const void *dw;
    void *m;
    const adzi_sgd_numbers *numbers; /* read when the kernel runs */
} adzi_sgd_args;

#endif
