/* The functions of real.h. */
#define ADZI_VMATH_SAME_BITS
#include <stdbool.h>

#include "tensor/kernel/real.h"

#include "adze/real.h"
#include "tensor/kernel/vmath.h"

double adzi_real_exp(double x)
{
    return adzi_exp_f64(x);
}

double adzi_real_log(double x)
{
    return adzi_log_f64(x);
}

double adzi_real_sin(double x)
{
    return adzi_sin_f64(x);
}

double adzi_real_cos(double x)
{
    return adzi_cos_f64(x);
}

double adzi_real_erfc(double x)
{
    return adzi_erfc_f64(x);
}

double adzi_real_hypot(double x, double y)
{
    const double a = adzi_abs_f64(x), b = adzi_abs_f64(y);
    const double most = a > b ? a : b, least = a > b ? b : a;
    if (isinf(a) || isinf(b)) {
        return INFINITY;
    }
    if (most == 0.0 || isnan(a) || isnan(b)) {
        return a + b;
    }
    int exponent; /* scaling by powers of two is exact */
    frexp(most, &exponent);
    const double large = ldexp(most, -exponent), small = ldexp(least, -exponent);
    return ldexp(sqrt(large * large + small * small), exponent);
}

/* ---- sin and cos of large arguments ---------------------------------------------------------- */

/* 2/pi in words of 32 bits, behind two words of zeros. */
static const uint32_t two_over_pi[] = { 0, 0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
    0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c,
    0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4,
    0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7,
    0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08,
    0x56033046, 0xfc7b6bab, 0xf0cfbc20 };

enum { LIMBS = 6 }; /* of 32 bits, the most significant one first */

/* product = mantissa * the LIMBS words of 2/pi from bit `skip` of two_over_pi on, without what
 * overflows. */
static void multiply_window(uint64_t mantissa, int skip, uint32_t product[LIMBS])
{
    const uint32_t *from = two_over_pi + skip / 32;
    const int shift = skip % 32;
    const uint64_t low = mantissa & 0xffffffffu, high = mantissa >> 32;
    uint64_t carry = 0, below = 0; /* of the lower half's products, and the word below */
    for (int i = LIMBS; i-- > 0;) {
        const uint64_t word = (uint32_t)(((uint64_t)from[i] << 32 | from[i + 1]) << shift >> 32);
        const uint64_t sum = low * word + (carry & 0xffffffffu);
        const uint64_t more = high * below + (sum & 0xffffffffu);
        product[i] = (uint32_t)more;
        carry = (carry >> 32) + (sum >> 32) + (more >> 32);
        below = word;
    }
}

/* Payne and Hanek's reduction (1983): x = M 2^e with an integer M. Bits of 2/pi whose product with
 * x is a multiple of 4 are left out. The next 192 bits give x 2/pi modulo 4 within 2^-137. */
double adzi_sin_far(double x, uint64_t quarters)
{
    const uint64_t bits = adzi_bits_f64(x) & 0x7fffffffffffffffu;
    if (bits >= 0x7ff0000000000000u) {
        return x - x;
    }
    uint32_t p[LIMBS];
    const int exponent = (int)(bits >> 52) - 1075;
    multiply_window((bits & 0xfffffffffffffu) | 0x10000000000000u, exponent - 2 + 64, p);
    uint64_t quarter = ((uint64_t)p[0] + 0x20000000u) >> 30; /* the nearest one; may be 4 */
    /* The rest of p, below the two bits of the quadrant, is a signed fraction. */
    const uint32_t negative = p[0] << 2 >> 31 != 0 ? 0xffffffffu : 0;
    p[0] = (p[0] ^ negative) & 0x3fffffffu;
    double r = 0.0, rest = 0.0, unit = 0x1p-30;
    for (int i = 0; i < LIMBS; ++i, unit *= 0x1p-32) {
        rest += adzi_difference_f64(r, -(double)(i == 0 ? p[0] : p[i] ^ negative) * unit, &r);
    }
    /* times pi/2 */
    double angle = r * 0x1.921fb54442d18p0;
    rest = adzi_product_error_f64(r, 0x1.921fb54442d18p0, angle) + r * 0x1.1a62633145c07p-54 +
           rest * 0x1.921fb54442d18p0;
    if ((negative != 0) != (x < 0.0)) {
        angle = -angle;
        rest = -rest;
    }
    return adzi_sin_reduced_f64(angle, rest, (x < 0.0 ? 0 - quarter : quarter) + quarters);
}

/* ---- powers ---------------------------------------------------------------------------------- */

/* Logarithms of c for 64 intervals of the mantissa, which begin at 0.6875. They are 2^-7 wide below
 * 1 and 2^-6 wide above. A row is 256 / c and log c in two parts. The first part has a unit of
 * 2^-42, so that its sum with k ADZI_LN2_HI_F64 is exact. Next to 1, c is 1. */
const double adzi_log_table[3][64] = {
    { 370, 366, 362, 358, 354, 350, 347, 343, 340, 336, 333, 329, 326, 323, 320, 317, 314, 311, 308,
        305, 302, 299, 297, 294, 291, 289, 286, 284, 281, 279, 277, 274, 272, 270, 267, 265, 263,
        261, 259, 256, 256, 250, 246, 243, 239, 236, 232, 229, 226, 223, 220, 217, 214, 211, 209,
        206, 204, 201, 199, 196, 194, 192, 189, 187 },
    { -0x1.792a55fdd4p-2, -0x1.6e08eaa2bap-2, -0x1.62c82f2b9cp-2, -0x1.5767717456p-2,
        -0x1.4be5f95778p-2, -0x1.404308686ap-2, -0x1.3772662bfep-2, -0x1.2b9303ab8ap-2,
        -0x1.22941fbcf8p-2, -0x1.1675cababap-2, -0x1.0d46b579abp-2, -0x1.00e6c45ad5p-2,
        -0x1.ef0adcbdc6p-3, -0x1.dc1bca0abep-3, -0x1.c8ff7c79aap-3, -0x1.b5b519e8fcp-3,
        -0x1.a23bc1fe2cp-3, -0x1.8e928de886p-3, -0x1.7ab890210ep-3, -0x1.66acd4272ap-3,
        -0x1.526e5e3a1cp-3, -0x1.3dfc2b0eccp-3, -0x1.303d718e48p-3, -0x1.1b72ad52f6p-3,
        -0x1.0671512ca6p-3, -0x1.f0a30c0118p-4, -0x1.c5e548f5bcp-4, -0x1.a926d3a4acp-4,
        -0x1.7da766d7bp-4, -0x1.60658a9374p-4, -0x1.42edcbea64p-4, -0x1.16536eea38p-4,
        -0x1.f0a30c0118p-5, -0x1.b42dd71198p-5, -0x1.58a5bafc9p-5, -0x1.1b0d98924p-5,
        -0x1.b9fc027bp-6, -0x1.3cea44347p-6, -0x1.7dc475f82p-7, 0, 0, 0x1.8492528c9p-6,
        0x1.466aed42ep-5, 0x1.aaef2d0fbp-5, 0x1.1973bd1464p-4, 0x1.4d3115d208p-4, 0x1.9335e5d594p-4,
        0x1.c885801bc4p-4, 0x1.fe89139dbcp-4, 0x1.1aa2b7e24p-3, 0x1.365fcb015ap-3,
        0x1.527e5e4a1cp-3, 0x1.6f0128b756p-3, 0x1.8beafeb39p-3, 0x1.9f6c40708ap-3,
        0x1.bd087383bep-3, 0x1.d1037f2656p-3, 0x1.ef5ade4ddp-3, 0x1.01eae5626cp-2,
        0x1.1178e8227ep-2, 0x1.1bf99635a7p-2, 0x1.269621134ep-2, 0x1.36b6776be1p-2,
        0x1.419b423d5fp-2 },
    { -0x1.e89f0577p-44, -0x1.e38c1393p-46, -0x1.e54bdbd8p-44, 0x1.64ead952p-44, 0x1.d7c92cdap-44,
        -0x1.f8ef4305p-44, 0x1.e9436ac5p-44, 0x1.6db12d6cp-45, 0x1.a6976f5fp-44, -0x1.8380e732p-44,
        -0x1.d2c81f64p-44, -0x1.cc68d52ep-50, 0x1.b26b79c8p-45, -0x1.8fac1a63p-44, 0x1.7794f68ap-45,
        0x1.4b722ecp-44, 0x1.539cd91ep-44, -0x1.a8154b14p-44, 0x1.bdb90725p-45, -0x1.aa1bdbfcp-44,
        0x1.790ba38p-44, -0x1.8a72a62cp-45, 0x1.680b5ce4p-50, -0x1.e80a4181p-45, 0x1.a47579cep-45,
        0x1.d599e833p-44, -0x1.d0c57586p-46, -0x1.563650bdp-44, -0x1.2cc84448p-44,
        -0x1.0c3b1defp-44, -0x1.bc0eeea8p-46, 0x1.47c5e769p-46, 0x1.d599e833p-45, 0x1.c827ae5dp-46,
        0x1.b2b73957p-45, 0x1.3401e9afp-44, 0x1.b9a010aep-44, 0x1.6a2c432dp-44, 0x1.eb1245b6p-44, 0,
        0, -0x1.aa0ba326p-45, -0x1.c167375cp-45, 0x1.0fc1a354p-45, 0x1.566d155p-44,
        -0x1.53a2582fp-48, 0x1.3115c3acp-45, 0x1.646d1c66p-45, 0x1.56594d83p-44, -0x1.1ac38ddep-44,
        -0x1.fd3a0afcp-44, -0x1.4e60b8d5p-44, 0x1.577390d3p-44, -0x1.73d54aafp-47,
        -0x1.337d94bdp-44, -0x1.d4bc4595p-45, -0x1.84a7e75bp-47, -0x1.a211565cp-51,
        0x1.a43dcfaep-44, 0x1.1ef78ce3p-44, -0x1.1ac89576p-44, -0x1.1b61f105p-44, 0x1.16ecdb0fp-46,
        -0x1.ce379227p-44 }
};

double adzi_real_pow(double x, double y)
{
    return adzi_pow_f64(x, y);
}

/* ---- public functions ----------------------------------------------------------------------- */

double adz_real_exp(double x)
{
    return adzi_real_exp(x);
}

double adz_real_log(double x)
{
    return adzi_real_log(x);
}

double adz_real_pow(double x, double y)
{
    return adzi_real_pow(x, y);
}

double adz_real_sin(double x)
{
    return adzi_real_sin(x);
}

double adz_real_cos(double x)
{
    return adzi_real_cos(x);
}
