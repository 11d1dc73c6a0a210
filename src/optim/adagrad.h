/* The arguments of the kernel of Adagrad. */
#ifndef ADZI_OPTIM_ADAGRAD_H
#define ADZI_OPTIM_ADAGRAD_H

/** The numbers of the formula in adagrad.kernel.c. */
typedef struct adzi_adagrad_numbers {
    double lr, eps, decay, sign;
} adzi_adagrad_numbers;

/** w (the parameter), dw (its gradient) and sum are contiguous. A unit is an element. */
typedef struct adzi_adagrad_args {
    void *w;
    const void *dw;
    void *sum;
    const adzi_adagrad_numbers *numbers; /* read when the kernel runs */
} adzi_adagrad_args;

#endif
