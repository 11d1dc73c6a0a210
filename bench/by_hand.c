#include "by_hand.h"

enum { SIDE = 32 };

void update_by_hand(float *value, const float *grad, int64_t n)
{
    for (int64_t i = 0; i < n; ++i) {
        value[i] -= 0.01f * grad[i];
    }
}

void run_by_hand(void *user)
{
    by_hand *n = user;
    float h[SIDE][SIDE], dy[SIDE], dw1[SIDE] = { 0 }, db1[SIDE] = { 0 }, dw2[SIDE] = { 0 }, db2 = 0;
    for (int r = 0; r < SIDE; ++r) {
        float y = n->b2;
        for (int j = 0; j < SIDE; ++j) {
            float v = n->x[r] * n->w1[j] + n->b1[j];
            h[r][j] = v > 0 ? v : 0;
            y += h[r][j] * n->w2[j];
        }
        dy[r] = (y - n->target[r]) * (2.0f / SIDE);
    }
    for (int r = 0; r < SIDE; ++r) {
        db2 += dy[r];
        for (int j = 0; j < SIDE; ++j) {
            float dh = h[r][j] > 0 ? dy[r] * n->w2[j] : 0;
            dw2[j] += dy[r] * h[r][j];
            db1[j] += dh;
            dw1[j] += dh * n->x[r];
        }
    }
    for (int j = 0; j < SIDE; ++j) {
        n->w1[j] -= 0.01f * dw1[j];
        n->b1[j] -= 0.01f * db1[j];
        n->w2[j] -= 0.01f * dw2[j];
    }
    n->b2 -= 0.01f * db2;
}
