/* The argument block of the kernel behind RMSprop. */
#ifndef ADZI_OPTIM_RMSPROP_H
#define ADZI_OPTIM_RMSPROP_H

typedef struct adzi_rmsprop_numbers {
    double lr, alpha, eps, momentum, decay, sign;
} adzi_rmsprop_numbers;

/** w, dw, v, mean (NULL unless centered) and m (NULL without momentum) are contiguous; units are
 * elements. */
typedef struct adzi_rmsprop_args {
    void *w;
    const void *dw;
    void *v, *mean, *m;
    const adzi_rmsprop_numbers *numbers; /* read when the kernel runs */
} adzi_rmsprop_args;

#endif
