/* The step of `adze-bench toy` written out by hand for this one network: what nothing can undercut
 * by much. Plain loops, compiled for the processor at
 * hand with gcc -O3. */
#ifndef ADZE_BENCH_BY_HAND_H
#define ADZE_BENCH_BY_HAND_H

typedef struct {
    float w1[32], b1[32], w2[32], b2, x[32], target[32];
} by_hand;

void run_by_hand(void *user);

#endif
