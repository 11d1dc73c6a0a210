/* What the programs with ggml and kann share: their arguments, the start that adze-bench saved,
 * and the answers to bench/c_peers.py.
 *
 *     PROGRAM START ROWS INPUTS HIDDEN OUTPUTS THREADS STEPS
 *
 * START holds the f32 of both weights and biases, the inputs and the targets. Both weights are
 * stored [outputs, inputs]. The line "first" on standard input asks for the loss before any step.
 * Every other line asks for STEPS training steps: the median of their microseconds is printed. */
#ifndef ADZE_BENCH_C_PEERS_SIDE_H
#define ADZE_BENCH_C_PEERS_SIDE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct side {
    int rows, in, hidden, out, threads, steps;
    float *w1, *b1, *w2, *b2, *x, *target;
} side;

static double microseconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Reads arguments and start; ends the program if they do not fit. */
static side side_begin(int argc, char **argv)
{
    if (argc != 8) {
        fprintf(stderr, "usage: %s START ROWS INPUTS HIDDEN OUTPUTS THREADS STEPS\n", argv[0]);
        exit(2);
    }
    side s = { atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), atoi(argv[5]), atoi(argv[6]),
        atoi(argv[7]), NULL, NULL, NULL, NULL, NULL, NULL };
    const size_t sizes[] = { (size_t)s.hidden * (size_t)s.in, (size_t)s.hidden,
        (size_t)s.out * (size_t)s.hidden, (size_t)s.out, (size_t)s.rows * (size_t)s.in,
        (size_t)s.rows * (size_t)s.out };
    float **parts[] = { &s.w1, &s.b1, &s.w2, &s.b2, &s.x, &s.target };
    FILE *file = fopen(argv[1], "rb");
    for (int i = 0; i < 6; ++i) {
        *parts[i] = malloc(sizes[i] * sizeof(float));
        if (file == NULL || *parts[i] == NULL ||
            fread(*parts[i], sizeof(float), sizes[i], file) != sizes[i]) {
            fprintf(stderr, "%s: part %d of %s cannot be read\n", argv[0], i, argv[1]);
            exit(1);
        }
    }
    fclose(file);
    return s;
}

/* Answers the lines of standard input. */
static void side_answer(const side *s, void (*step)(void *), double (*loss)(void *), void *user)
{
    char line[64];
    double *times = malloc((size_t)s->steps * sizeof(double));
    while (times != NULL && fgets(line, sizeof line, stdin) != NULL) {
        if (strncmp(line, "first", 5) == 0) {
            printf("%.9g\n", loss(user));
        } else {
            for (int i = 0; i < s->steps; ++i) {
                const double start = microseconds_now();
                step(user);
                times[i] = microseconds_now() - start;
            }
            qsort(times, (size_t)s->steps, sizeof(double), by_value);
            printf("%.3f\n", times[s->steps / 2]);
        }
        fflush(stdout);
    }
    free(times);
}

#endif
