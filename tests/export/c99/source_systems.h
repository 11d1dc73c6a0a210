/* Tests of the functions for systems of linear equations that files in C bring along. */
#ifndef ADZE_TESTS_EXPORT_C99_SOURCE_SYSTEMS_H
#define ADZE_TESTS_EXPORT_C99_SOURCE_SYSTEMS_H

enum { SIDE = 5, SIDES = 2 };

/* A matrix whose largest elements are off its diagonal; with `definite` a positive definite one. */
static float element_of(int i, int j, int definite)
{
    const float u = (float)((i * 7 + j * 3) % 11) / 11.0f,
                v = (float)((j * 7 + i * 3) % 11) / 11.0f;
    return definite ? u * v + (i == j ? 3.0f : 0.0f) : u + (i + j == SIDE - 1 ? 4.0f : 0.0f);
}

/* The largest element of a x - b, where b[i] is i + 1, with a taken from (i, j) or (j, i). */
static float residual(const float *a, const float *x, int turned)
{
    float most = 0;
    for (int i = 0; i < SIDE; ++i) {
        for (int q = 0; q < SIDES; ++q) {
            float sum = -(float)(i * SIDES + q + 1);
            for (int j = 0; j < SIDE; ++j) {
                sum += a[turned ? j * SIDE + i : i * SIDE + j] * x[j * SIDES + q];
            }
            if (isnan(sum)) {
                return INFINITY;
            }
            most = sum > most ? sum : -sum > most ? -sum : most;
        }
    }
    return most;
}

static void fill_sides(float *x)
{
    for (int i = 0; i < SIDE * SIDES; ++i) {
        x[i] = (float)(i + 1);
    }
}

static void systems(void **state)
{
    (void)state;
    float a[SIDE * SIDE], kept[SIDE * SIDE], x[SIDE * SIDES];
    for (int i = 0; i < SIDE * SIDE; ++i) {
        kept[i] = a[i] = element_of(i / SIDE, i % SIDE, 0);
    }
    fill_sides(x);
    net_solve(a, x, SIDE, SIDES);
    assert_true(residual(kept, x, 0) < 1e-5f);
    for (int kind = 0; kind < 8; ++kind) {
        const int upper = kind % 2, turned = kind / 2 % 2, unit = kind / 4;
        for (int i = 0; i < SIDE * SIDE; ++i) {
            const int row = turned ? i % SIDE : i / SIDE, column = turned ? i / SIDE : i % SIDE;
            const int outside = upper ? row > column : row < column;
            a[i] = 0.5f + element_of(row, column, 1);
            kept[i] = outside ? 0.0f : unit && row == column ? 1.0f : a[i];
        }
        fill_sides(x);
        net_solve_triangular(a, turned ? 1 : SIDE, turned ? SIDE : 1, x, SIDE, SIDES, upper, unit);
        assert_true(residual(kept, x, turned) < 1e-4f);
    }
    for (int i = 0; i < SIDE * SIDE; ++i) {
        a[i] = 0;
    }
    fill_sides(x);
    net_solve(a, x, SIDE, SIDES);     /* singular */
    assert_true(!(x[0] - x[0] == 0)); /* infinite or NaN */
}

/* y y^T is the matrix, of which the other triangle is not read. */
static void cholesky_factors(void **state)
{
    (void)state;
    for (int upper = 0; upper < 2; ++upper) {
        float a[SIDE * SIDE];
        for (int i = 0; i < SIDE * SIDE; ++i) {
            const int row = i / SIDE, column = i % SIDE;
            a[i] = (upper ? row > column : row < column) ? NAN : element_of(row, column, 1);
        }
        net_cholesky(a, upper ? 1 : SIDE, upper ? SIDE : 1, SIDE);
        for (int i = 0; i < SIDE * SIDE; ++i) {
            float sum = 0;
            for (int k = 0; k < SIDE; ++k) {
                const int row = i / SIDE, column = i % SIDE;
                sum += upper ? a[k * SIDE + row] * a[k * SIDE + column]
                             : a[row * SIDE + k] * a[column * SIDE + k];
            }
            assert_true(fabsf(sum - element_of(i / SIDE, i % SIDE, 1)) < 1e-5f);
        }
    }
    float negative[1] = { -1 };
    net_cholesky(negative, 1, 1, 1);
    assert_true(isnan(negative[0]));
}

#endif
