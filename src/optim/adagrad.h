/* The argument block of the kernel behind Adagrad. */
#ifndef ADZI_OPTIM_ADAGRAD_H
#define ADZI_OPTIM_ADAGRAD_H

typedef struct adzi_adagrad_numbers {
    double lr, eps, decay, sign;
} adzi_adagrad_numbers;

/** w, dw and sum are contiguous; units are elements. */
typedef struct adzi_adagrad_args {
    void *w;
    const void *dw;
    void *sum;
    const adzi_adagrad_numbers *numbers; /* read when the kernel runs */
} adzi_adagrad_args;

#endif
