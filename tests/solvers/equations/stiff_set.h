/* Five stiff equations of the test set of Bari and CWI (Mazzia, Magherini and Iavernaro, Test Set
 * for Initial Value Problem Solvers, release 2.4; also Hairer and Wanner, Solving Ordinary
 * Differential Equations II, section IV.10), with the solutions that it gives for the last time.
 * SciPy's Radau method at a relative tolerance of 1e-13 agrees with all of these in 12 digits. */
#ifndef ADZE_TESTS_AUTOGRAD_STIFF_SET_H
#define ADZE_TESTS_AUTOGRAD_STIFF_SET_H

#include "adze/adze.h"

enum { STIFF_MOST = 20, STIFF_SET = 5 };

typedef struct stiff_problem {
    const char *name;
    int n;
    adz_ode_map f; /* `user` is made by `data` */
    adz_tensor *(*data)(void);
    double end; /* the last time; the first one is 0 */
    double y0[STIFF_MOST], at_end[STIFF_MOST];
    double size; /* the absolute tolerance as a part of the relative one */
    double tiny; /* if not 0, that of the second element */
} stiff_problem;

static inline adz_tensor *stiff_part(adz_tensor *y, int i)
{
    return adz_narrow(y, 0, i, 1);
}

/* Robertson's reactions. */
static inline adz_tensor *stiff_rober(adz_tensor *t, adz_tensor *y, void *user)
{
    (void)t;
    (void)user;
    adz_tensor *a = stiff_part(y, 0), *b = stiff_part(y, 1), *c = stiff_part(y, 2);
    adz_tensor *back = adz_mul_number(adz_mul(b, c), 1e4);
    adz_tensor *first = adz_sub(back, adz_mul_number(a, 0.04));
    adz_tensor *last = adz_mul_number(adz_square(b), 3e7);
    return adz_cat((adz_tensor *[]){ first, adz_neg(adz_add(first, last)), last }, 3, 0);
}

/* The response of a plant to light. The matrix has a column for 280 y[5] y[7], and one for 1. */
static inline adz_tensor *stiff_hires(adz_tensor *t, adz_tensor *y, void *matrix)
{
    (void)t;
    adz_tensor *meets = adz_mul(stiff_part(y, 5), stiff_part(y, 7));
    adz_tensor *one = adz_ones(ADZ_SHAPE(1), ADZ_F64);
    return adz_matmul(matrix, adz_cat((adz_tensor *[]){ y, meets, one }, 3, 0));
}

static inline adz_tensor *stiff_hires_data(void)
{
    const double matrix[8][10] = {
        { -1.71, 0.43, 8.32, 0, 0, 0, 0, 0, 0, 0.0007 },
        { 1.71, -8.75 },
        { 0, 0, -10.03, 0.43, 0.035 },
        { 0, 8.32, 1.71, -1.12 },
        { 0, 0, 0, 0, -1.745, 0.43, 0.43 },
        { 0, 0, 0, 0.69, 1.71, -0.43, 0.69, 0, -280 },
        { 0, 0, 0, 0, 0, 0, -1.81, 0, 280 },
        { 0, 0, 0, 0, 0, 0, 1.81, 0, -280 },
    };
    return adz_tensor_from(matrix, ADZ_SHAPE(8, 10), ADZ_F64);
}

/* The reaction of Belousov and Zhabotinsky. */
static inline adz_tensor *stiff_orego(adz_tensor *t, adz_tensor *y, void *user)
{
    (void)t;
    (void)user;
    adz_tensor *a = stiff_part(y, 0), *b = stiff_part(y, 1), *c = stiff_part(y, 2);
    adz_tensor *product = adz_mul(a, b);
    adz_tensor *grows =
        adz_sub(adz_add(a, b), adz_add(product, adz_mul_number(adz_square(a), 8.375e-6)));
    adz_tensor *second = adz_div_number(adz_sub(c, adz_add(b, product)), 77.27);
    return adz_cat((adz_tensor *[]){ adz_mul_number(grows, 77.27), second,
                       adz_mul_number(adz_sub(a, c), 0.161) },
        3, 0);
}

/* Van der Pol's oscillator with 1e-6. */
static inline adz_tensor *stiff_vdpol(adz_tensor *t, adz_tensor *y, void *user)
{
    (void)t;
    (void)user;
    adz_tensor *a = stiff_part(y, 0), *b = stiff_part(y, 1);
    adz_tensor *damped = adz_mul(adz_number_sub(1, adz_square(a)), b);
    return adz_cat((adz_tensor *[]){ b, adz_mul_number(adz_sub(damped, a), 1e6) }, 2, 0);
}

/* Pollution of air: 25 reactions of one or two of 20 species. */
static inline adz_tensor *stiff_pollu(adz_tensor *t, adz_tensor *y, void *data)
{
    (void)t;
    static const int first[25] = { 0, 1, 4, 6, 6, 6, 8, 8, 10, 10, 12, 9, 13, 0, 2, 3, 3, 15, 15,
        16, 18, 18, 0, 18, 19 };
    static const int second[25] = { -1, 3, 1, -1, -1, 5, -1, 5, 1, 0, -1, 1, -1, 5, -1, -1, -1, -1,
        -1, 5, -1, -1, 3, 0, -1 };
    int64_t one[25], two[25];
    for (int i = 0; i < 25; ++i) {
        one[i] = first[i];
        two[i] = second[i] < 0 ? 20 : second[i];
    }
    adz_tensor *with_one = adz_cat((adz_tensor *[]){ y, adz_ones(ADZ_SHAPE(1), ADZ_F64) }, 2, 0);
    adz_tensor *a = adz_index_select(y, 0, adz_tensor_from(one, ADZ_SHAPE(25), ADZ_I64));
    adz_tensor *b = adz_index_select(with_one, 0, adz_tensor_from(two, ADZ_SHAPE(25), ADZ_I64));
    return adz_matmul(data, adz_mul(a, b));
}

static inline adz_tensor *stiff_pollu_data(void)
{
    static const double rate[25] = { 0.35, 26.6, 1.23e4, 8.6e-4, 8.2e-4, 1.5e4, 1.3e-4, 2.4e4,
        1.65e4, 9e3, 0.022, 1.2e4, 1.88, 1.63e4, 4.8e6, 3.5e-4, 0.0175, 1e8, 4.44e11, 1.24e3, 2.1,
        5.78, 0.0474, 1.78e3, 3.12 };
    /* What each reaction takes and makes: numbers of species from 1 on, made ones positive. */
    static const int changes[25][5] = { { -1, 2, 3 }, { -2, -4, 1 }, { -5, -2, 1, 6 },
        { -7, 5, 5, 8 }, { -7, 8 }, { -7, -6, 8, 5 }, { -9, 5, 8, 10 }, { -9, -6, 11 },
        { -11, -2, 1, 10, 12 }, { -11, -1, 13 }, { -13, 1, 11 }, { -10, -2, 1, 14 }, { -14, 7, 5 },
        { -1, -6, 15 }, { -3, 4 }, { -4, 16 }, { -4, 3 }, { -16, 6, 6 }, { -16, 3 },
        { -17, -6, 5, 18 }, { -19, 2 }, { -19, 1, 3 }, { -1, -4, 19 }, { -19, -1, 20 },
        { -20, 1, 19 } };
    double matrix[20][25] = { { 0 } };
    for (int r = 0; r < 25; ++r) {
        for (int i = 0; i < 5 && changes[r][i] != 0; ++i) {
            const int k = changes[r][i];
            matrix[k < 0 ? -k - 1 : k - 1][r] += k < 0 ? -rate[r] : rate[r];
        }
    }
    return adz_tensor_from(matrix, ADZ_SHAPE(20, 25), ADZ_F64);
}

static inline adz_tensor *stiff_no_data(void)
{
    return NULL;
}

static const stiff_problem stiff_set[STIFF_SET] = {
    { "rober", 3, stiff_rober, stiff_no_data, 1e11, { 1 },
        { 0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050 }, 1e-2, 1e-8 },
    { "hires", 8, stiff_hires, stiff_hires_data, 321.8122, { 1, [7] = 0.0057 },
        { 0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4,
            0.1175651343283149e-2, 0.2386356198831331e-2, 0.6238968252742796e-2,
            0.2849998395185769e-2, 0.2850001604814231e-2 },
        1e-2, 0 },
    { "orego", 3, stiff_orego, stiff_no_data, 360, { 1, 2, 3 },
        { 0.1000814870318523e1, 0.1228178521549917e4, 0.1320554942846706e3 }, 1, 0 },
    { "vdpol", 2, stiff_vdpol, stiff_no_data, 2, { 2, 0 },
        { 0.1706167732170483e1, -0.8928097010247975 }, 1, 0 },
    { "pollu", 20, stiff_pollu, stiff_pollu_data, 60,
        { 0, 0.2, 0, 0.04, 0, 0, 0.1, 0.3, 0.01, 0, 0, 0, 0, 0, 0, 0, 0.007 },
        { 0.5646255480022769e-1, 0.1342484130422339, 0.4139734331099427e-8, 0.5523140207484359e-2,
            0.2018977262302196e-6, 0.1464541863493966e-6, 0.7784249118997964e-1, 0.3245075353396018,
            0.7494013383880406e-2, 0.1622293157301561e-7, 0.1135863833257075e-7,
            0.2230505975721359e-2, 0.2087162882798630e-3, 0.1396921016840158e-4,
            0.8964884856898295e-2, 0.4352846369330103e-17, 0.6899219696263405e-2,
            0.1007803037365946e-3, 0.1772146513969984e-5, 0.5682943292316392e-4 },
        1e-2, 0 },
};

#endif
