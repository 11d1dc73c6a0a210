/* The models of the regressions, as NIST's pages give them. */
#include <math.h>

#include "strd.h"

/* One parameter, as a tensor of one element. */
static adz_tensor *b_(adz_tensor *b, int k)
{
    return adz_narrow(b, 0, k - 1, 1);
}

#define B(k)       b_(b, k)
#define ADD(a, c)  adz_add(a, c)
#define SUB(a, c)  adz_sub(a, c)
#define MUL(a, c)  adz_mul(a, c)
#define DIV(a, c)  adz_div(a, c)
#define NUM(a, c)  adz_mul_number(a, c)
#define PLUS(a, c) adz_add_number(a, c)
#define EXP(a)     adz_exp(a)
#define NEG(a)     adz_neg(a)

static adz_tensor *bennett5(adz_tensor *b, adz_tensor *x)
{
    return MUL(B(1), adz_pow(ADD(B(2), x), NEG(adz_reciprocal(B(3)))));
}

static adz_tensor *rising(adz_tensor *b, adz_tensor *x) /* BoxBOD, Misra1a */
{
    return MUL(B(1), PLUS(NEG(EXP(NEG(MUL(B(2), x)))), 1));
}

static adz_tensor *chwirut(adz_tensor *b, adz_tensor *x)
{
    return DIV(EXP(NEG(MUL(B(1), x))), ADD(B(2), MUL(B(3), x)));
}

static adz_tensor *dan_wood(adz_tensor *b, adz_tensor *x)
{
    return MUL(B(1), adz_pow(x, B(2)));
}

static adz_tensor *wave(adz_tensor *b, adz_tensor *x, adz_tensor *period, int k)
{
    adz_tensor *angle = NUM(DIV(x, period), 2 * 3.141592653589793);
    return ADD(MUL(B(k), adz_cos(angle)), MUL(B(k + 1), adz_sin(angle)));
}

static adz_tensor *enso(adz_tensor *b, adz_tensor *x)
{
    adz_tensor *year = wave(b, x, adz_full(ADZ_SHAPE(1), 12, ADZ_F64), 2);
    return ADD(ADD(B(1), year), ADD(wave(b, x, B(4), 5), wave(b, x, B(7), 8)));
}

static adz_tensor *eckerle4(adz_tensor *b, adz_tensor *x)
{
    adz_tensor *z = DIV(SUB(x, B(3)), B(2));
    return MUL(DIV(B(1), B(2)), EXP(NUM(MUL(z, z), -0.5)));
}

static adz_tensor *peak(adz_tensor *b, adz_tensor *x, int k)
{
    adz_tensor *z = DIV(SUB(x, B(k + 1)), B(k + 2));
    return MUL(B(k), EXP(NEG(MUL(z, z))));
}

static adz_tensor *gauss(adz_tensor *b, adz_tensor *x)
{
    return ADD(MUL(B(1), EXP(NEG(MUL(B(2), x)))), ADD(peak(b, x, 3), peak(b, x, 6)));
}

/* b[first] + b[first + 1] x + ... */
static adz_tensor *polynomial(adz_tensor *b, adz_tensor *x, int first, int count)
{
    adz_tensor *sum = B(first + count - 1);
    for (int k = first + count - 2; k >= first; --k) {
        sum = ADD(MUL(sum, x), B(k));
    }
    return sum;
}

static adz_tensor *cubic_by_cubic(adz_tensor *b, adz_tensor *x) /* Hahn1, Thurber */
{
    return DIV(polynomial(b, x, 1, 4), PLUS(MUL(polynomial(b, x, 5, 3), x), 1));
}

static adz_tensor *kirby2(adz_tensor *b, adz_tensor *x)
{
    return DIV(polynomial(b, x, 1, 3), PLUS(MUL(polynomial(b, x, 4, 2), x), 1));
}

static adz_tensor *lanczos(adz_tensor *b, adz_tensor *x)
{
    adz_tensor *sum = MUL(B(1), EXP(NEG(MUL(B(2), x))));
    sum = ADD(sum, MUL(B(3), EXP(NEG(MUL(B(4), x)))));
    return ADD(sum, MUL(B(5), EXP(NEG(MUL(B(6), x)))));
}

static adz_tensor *mgh09(adz_tensor *b, adz_tensor *x)
{
    adz_tensor *square = MUL(x, x);
    return DIV(MUL(B(1), ADD(square, MUL(x, B(2)))), ADD(ADD(square, MUL(x, B(3))), B(4)));
}

static adz_tensor *mgh10(adz_tensor *b, adz_tensor *x)
{
    return MUL(B(1), EXP(DIV(B(2), ADD(x, B(3)))));
}

static adz_tensor *mgh17(adz_tensor *b, adz_tensor *x)
{
    adz_tensor *sum = ADD(B(1), MUL(B(2), EXP(NEG(MUL(x, B(4))))));
    return ADD(sum, MUL(B(3), EXP(NEG(MUL(x, B(5))))));
}

static adz_tensor *misra1b(adz_tensor *b, adz_tensor *x)
{
    adz_tensor *base = adz_reciprocal(PLUS(NUM(MUL(B(2), x), 0.5), 1));
    return MUL(B(1), PLUS(NEG(MUL(base, base)), 1));
}

static adz_tensor *misra1c(adz_tensor *b, adz_tensor *x)
{
    return MUL(B(1), PLUS(NEG(adz_rsqrt(PLUS(NUM(MUL(B(2), x), 2), 1))), 1));
}

static adz_tensor *misra1d(adz_tensor *b, adz_tensor *x)
{
    adz_tensor *z = MUL(B(2), x);
    return DIV(MUL(B(1), z), PLUS(z, 1));
}

static adz_tensor *nelson(adz_tensor *b, adz_tensor *x)
{
    adz_tensor *x1 = adz_select(x, 1, 0), *x2 = adz_select(x, 1, 1);
    return SUB(B(1), MUL(MUL(B(2), x1), EXP(NEG(MUL(B(3), x2)))));
}

static adz_tensor *rat42(adz_tensor *b, adz_tensor *x)
{
    return DIV(B(1), PLUS(EXP(SUB(B(2), MUL(B(3), x))), 1));
}

static adz_tensor *rat43(adz_tensor *b, adz_tensor *x)
{
    adz_tensor *base = PLUS(EXP(SUB(B(2), MUL(B(3), x))), 1);
    return MUL(B(1), adz_pow(base, NEG(adz_reciprocal(B(4)))));
}

static adz_tensor *roszman1(adz_tensor *b, adz_tensor *x)
{
    adz_tensor *angle = adz_atan(DIV(B(3), SUB(x, B(4))));
    return SUB(SUB(B(1), MUL(B(2), x)), NUM(angle, 1 / 3.141592653589793));
}

const char *const strd_names[STRD_PROBLEMS] = { "Bennett5", "BoxBOD", "Chwirut1", "Chwirut2",
    "DanWood", "ENSO", "Eckerle4", "Gauss1", "Gauss2", "Gauss3", "Hahn1", "Kirby2", "Lanczos1",
    "Lanczos2", "Lanczos3", "MGH09", "MGH10", "MGH17", "Misra1a", "Misra1b", "Misra1c", "Misra1d",
    "Nelson", "Rat42", "Rat43", "Roszman1", "Thurber" };

static adz_tensor *(*const models[STRD_PROBLEMS])(adz_tensor *, adz_tensor *) = { bennett5, rising,
    chwirut, chwirut, dan_wood, enso, eckerle4, gauss, gauss, gauss, cubic_by_cubic, kirby2,
    lanczos, lanczos, lanczos, mgh09, mgh10, mgh17, rising, misra1b, misra1c, misra1d, nelson,
    rat42, rat43, roszman1, cubic_by_cubic };

adz_tensor *strd_model(const strd_problem *p, adz_tensor *b, adz_tensor *x)
{
    for (int k = 0; k < STRD_PROBLEMS; ++k) {
        if (strcmp(p->name, strd_names[k]) == 0) {
            return models[k](b, x);
        }
    }
    return NULL;
}
