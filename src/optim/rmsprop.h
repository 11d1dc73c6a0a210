/* The argument block of the kernel behind RMSprop. */
#ifndef ADZI_OPTIM_RMSPROP_H
#define ADZI_OPTIM_RMSPROP_H

/** w, dw, v, mean (NULL unless centered) and m (NULL without momentum) are contiguous; units are
 * elements. */
typedef struct adzi_rmsprop_args {
    void *w;
    const void *dw;
    void *v, *mean, *m;
    double lr, alpha, eps, momentum, decay, sign;
} adzi_rmsprop_args;

#endif
