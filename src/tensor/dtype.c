/* The dtypes: their sizes, their names, and how two are promoted. */
#include "adze/base.h"

size_t adz_dtype_size(adz_dtype dtype)
{
    static const unsigned char sizes[] = { 4, 8, 4, 8, 1, 1, 2, 2 };
    return (unsigned)dtype < sizeof sizes ? sizes[dtype] : 0;
}

const char *adz_dtype_name(adz_dtype dtype)
{
    static const char *const names[] = { "float32", "float64", "int32", "int64", "uint8", "bool",
        "float16", "bfloat16" };
    return (unsigned)dtype < 8 ? names[dtype] : "invalid";
}

adz_dtype adz_promote_types(adz_dtype a, adz_dtype b)
{
    enum {
        f4 = ADZ_F32,
        f8 = ADZ_F64,
        i4 = ADZ_I32,
        i8 = ADZ_I64,
        u1 = ADZ_U8,
        b1 = ADZ_BOOL,
        f2 = ADZ_F16,
        bf = ADZ_BF16
    };
    /* torch.promote_types, row a, column b. */
    static const unsigned char table[8][8] = {
        /*          f4  f8  i4  i8  u1  b1  f2  bf */
        /* f4 */ { f4, f8, f4, f4, f4, f4, f4, f4 },
        /* f8 */ { f8, f8, f8, f8, f8, f8, f8, f8 },
        /* i4 */ { f4, f8, i4, i8, i4, i4, f2, bf },
        /* i8 */ { f4, f8, i8, i8, i8, i8, f2, bf },
        /* u1 */ { f4, f8, i4, i8, u1, u1, f2, bf },
        /* b1 */ { f4, f8, i4, i8, u1, b1, f2, bf },
        /* f2 */ { f4, f8, f2, f2, f2, f2, f2, f4 },
        /* bf */ { f4, f8, bf, bf, bf, bf, f4, bf },
    };
    if ((unsigned)a >= 8 || (unsigned)b >= 8) {
        return a;
    }
    return (adz_dtype)table[a][b];
}
