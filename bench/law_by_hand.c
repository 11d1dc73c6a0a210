/* What bench-written-law compares with: a law of 6-32-32-6 with its Jacobian, by hand. The tangents
 * are carried forward, one for each input. */
#include <math.h>

enum { IN = 6, HIDDEN = 32, OUT = 6 };

/* y = W x + b and dy = W dx for `rows` rows of `columns` elements. */
static inline void layer(const double *restrict w, const double *restrict b, int rows, int columns,
    const double *restrict x, double (*restrict dx)[IN], double *restrict y,
    double (*restrict dy)[IN])
{
    for (int i = 0; i < rows; ++i) {
        double sum = b[i], d[IN] = { 0 };
        for (int j = 0; j < columns; ++j) {
            const double factor = w[i * columns + j];
            sum += factor * x[j];
            for (int k = 0; k < IN; ++k) {
                d[k] += factor * dx[j][k];
            }
        }
        y[i] = sum;
        for (int k = 0; k < IN; ++k) {
            dy[i][k] = d[k];
        }
    }
}

static inline void activate(double *restrict h, double (*restrict dh)[IN])
{
    for (int i = 0; i < HIDDEN; ++i) {
        h[i] = tanh(h[i]);
        for (int k = 0; k < IN; ++k) {
            dh[i][k] *= 1 - h[i] * h[i];
        }
    }
}

/* w has the weight and the bias of each layer. */
void by_hand(
    const double *const w[6], const double *restrict x, double *restrict y, double *restrict dydx)
{
    double h[HIDDEN], g[HIDDEN], dh[HIDDEN][IN], dg[HIDDEN][IN];
    for (int i = 0; i < HIDDEN; ++i) {
        double sum = w[1][i];
        for (int k = 0; k < IN; ++k) {
            sum += w[0][i * IN + k] * x[k];
            dh[i][k] = w[0][i * IN + k];
        }
        h[i] = sum;
    }
    activate(h, dh);
    layer(w[2], w[3], HIDDEN, HIDDEN, h, dh, g, dg);
    activate(g, dg);
    layer(w[4], w[5], OUT, HIDDEN, g, dg, y, (double(*)[IN])dydx);
}
