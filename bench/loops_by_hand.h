/* Rows of `adze-bench loops` written by hand for one cell and one law. They are plain loops,
 * compiled for the processor at hand with gcc -O3. */
#ifndef ADZE_BENCH_LOOPS_BY_HAND_H
#define ADZE_BENCH_LOOPS_BY_HAND_H

#define PENDULUM_STEP 0.01

typedef struct {
    int steps, batch;               /* a batch of 16 at most */
    const float *weight, *bias, *x; /* [96, 32], [96], [steps, batch, 96] */
    float loss;                     /* the mean square of all states */
} gru_by_hand;

/* The forward. */
void run_gru_by_hand(gru_by_hand *g);

typedef struct {
    int steps; /* 1000 at most */
    double pull, damping;
    double gradient[2]; /* of the mean square of all angles, by pull and damping */
} pendulum_by_hand;

/* The solution, and its gradient in the forward direction. */
void run_pendulum_by_hand(pendulum_by_hand *p);

#endif
