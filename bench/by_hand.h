/* The step of `adze-bench toy` written by hand for this one network. No library can be much faster.
 * It is plain loops, compiled for the processor at hand with gcc -O3. The update of parameters that
 * the step through the library calls is compiled in this way too. */
#ifndef ADZE_BENCH_BY_HAND_H
#define ADZE_BENCH_BY_HAND_H

#include <stdint.h>

typedef struct {
    float w1[32], b1[32], w2[32], b2, x[32], target[32];
} by_hand;

void run_by_hand(void *user);

/* value[n] -= 0.01 grad[n] */
void update_by_hand(float *value, const float *grad, int64_t n);

#endif
