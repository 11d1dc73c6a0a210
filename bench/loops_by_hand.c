#include "loops_by_hand.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { UNITS = 32, GATES = 3 * UNITS, MOST = 16 };

/* exp(x) for |x| below 80, within 2 units in the last place. The loops that call it become vector
 * code. */
static inline float exponential(float x)
{
    const float shifted = x * 1.44269504f + 12582912.0f, n = shifted - 12582912.0f;
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1;
    int32_t bits;
    memcpy(&bits, &p, sizeof bits);
    bits += (int32_t)n * (1 << 23);
    memcpy(&p, &bits, sizeof p);
    return p;
}

static inline float sigmoid(float x)
{
    return 1 / (1 + exponential(-x));
}

/* One row: h and the products of the inputs give the next h. `weight` is [32, 96]. */
static float advance_row(const float (*weight)[GATES], const float *bias, const float *x, float *h)
{
    float g[GATES], sum = 0;
    memcpy(g, bias, sizeof g);
    for (int k = 0; k < UNITS; ++k) {
        for (int j = 0; j < GATES; ++j) {
            g[j] += h[k] * weight[k][j];
        }
    }
    float both[2 * UNITS], next[UNITS];
    for (int j = 0; j < 2 * UNITS; ++j) {
        both[j] = sigmoid(x[j] + g[j]);
    }
    for (int j = 0; j < UNITS; ++j) {
        const float n = 2 * sigmoid(2 * (x[2 * UNITS + j] + both[j] * g[2 * UNITS + j])) - 1;
        next[j] = n + both[UNITS + j] * (h[j] - n);
    }
    for (int j = 0; j < UNITS; ++j) {
        h[j] = next[j];
        sum += h[j] * h[j];
    }
    return sum;
}

void run_gru_by_hand(gru_by_hand *g)
{
    float weight[UNITS][GATES], h[MOST][UNITS] = { { 0 } };
    double sum = 0;
    for (int k = 0; k < UNITS; ++k) { /* the transposed weight */
        for (int j = 0; j < GATES; ++j) {
            weight[k][j] = g->weight[j * UNITS + k];
        }
    }
    for (int t = 0; t < g->steps; ++t) {
        for (int b = 0; b < g->batch; ++b) {
            const float *x = g->x + ((int64_t)t * g->batch + b) * GATES;
            sum += (double)advance_row((const float(*)[GATES])weight, g->bias, x, h[b]);
        }
    }
    g->loss = (float)(sum / ((double)g->steps * g->batch * UNITS));
}

/* ---- the pendulum ---------------------------------------------------------------------------- */

/* Angle and rate, and their derivatives by pull and damping. */
typedef struct {
    double y[2], by[2][2]; /* by[k] is the derivative of y by parameter k */
} motion;

static motion slope(const pendulum_by_hand *p, const motion *m)
{
    const double s = sin(m->y[0]), c = cos(m->y[0]);
    motion d = { { m->y[1], -p->pull * s - p->damping * m->y[1] }, { { 0 } } };
    for (int k = 0; k < 2; ++k) {
        d.by[k][0] = m->by[k][1];
        d.by[k][1] = -p->pull * c * m->by[k][0] - p->damping * m->by[k][1];
    }
    d.by[0][1] -= s;
    d.by[1][1] -= m->y[1];
    return d;
}

static motion ahead(const motion *m, const motion *d, double step)
{
    motion to;
    for (int i = 0; i < 2; ++i) {
        to.y[i] = m->y[i] + step * d->y[i];
        for (int k = 0; k < 2; ++k) {
            to.by[k][i] = m->by[k][i] + step * d->by[k][i];
        }
    }
    return to;
}

void run_pendulum_by_hand(pendulum_by_hand *p)
{
    const double h = PENDULUM_STEP;
    motion m = { { 1, 0 }, { { 0 } } };
    double sums[2] = { 0, 0 };
    for (int t = 0; t < p->steps; ++t) {
        const motion a = slope(p, &m), ma = ahead(&m, &a, h / 2);
        const motion b = slope(p, &ma), mb = ahead(&m, &b, h / 2);
        const motion c = slope(p, &mb), mc = ahead(&m, &c, h);
        const motion d = slope(p, &mc);
        m = ahead(&m, &a, h / 6);
        m = ahead(&m, &b, h / 3);
        m = ahead(&m, &c, h / 3);
        m = ahead(&m, &d, h / 6);
        for (int k = 0; k < 2; ++k) {
            sums[k] += 2 * m.y[0] * m.by[k][0];
        }
    }
    for (int k = 0; k < 2; ++k) {
        p->gradient[k] = sums[k] / p->steps;
    }
}
