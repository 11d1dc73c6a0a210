/**
 * @file typed.h
 * Checks that the array which adz_tensor_from copies has elements of the dtype. adze.h includes it.
 *
 * In C11, with gcc and clang, a call whose dtype is a constant does not compile if the array has
 * elements of another type:
 *
 * | dtype               | elements                        |
 * |---------------------|---------------------------------|
 * | ADZ_F32, ADZ_F64    | float, double                   |
 * | ADZ_I32             | int                             |
 * | ADZ_I64             | long or long long of 64 bits    |
 * | ADZ_U8              | unsigned char, char             |
 * | ADZ_BOOL            | bool, unsigned char, char       |
 * | ADZ_F16, ADZ_BF16   | uint16_t                        |
 *
 * A pointer to void is taken for any dtype. Where the dtype is a variable, the call fails with
 * ADZ_ERR_DTYPE if the elements have another size. An array literal of more than 64 elements, an
 * array of three or more dimensions and a call in C++ are not checked.
 *
 * `(adz_tensor_from)(...)`, with the name in parentheses, is the function without the check.
 */
#ifndef ADZE_TYPED_H
#define ADZE_TYPED_H

#include "adze/tensor.h"

/** @cond the macro is the function of the same name */
#if !defined(__cplusplus) && defined(__GNUC__) && defined(__STDC_VERSION__) && \
    __STDC_VERSION__ >= 201112L

/* ---- the arguments --------------------------------------------------------------------------
 *
 * The commas of an array literal separate arguments of a macro, too. All arguments but the last two
 * are therefore put together again, one after the other. A literal that is too long goes to the
 * function as it is: ADZ_FEW_ stands behind the arguments only if they are at most 66. */

#define ADZ_AFTER_66_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17,  \
    a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, \
    a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, a51, a52, a53, a54, a55, \
    a56, a57, a58, a59, a60, a61, a62, a63, a64, a65, a66, found, ...)                             \
    found
#define ADZ_COUNT_(...)                                                                            \
    ADZ_AFTER_66_(__VA_ARGS__, 66, 65, 64, 63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, \
        49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28,    \
        27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4,  \
        3, 2, 1, 0)
#define ADZ_FEW_ ~, ADZ_CHECKED_
#define ADZ_IS_FEW_(...)                                                                          \
    ADZ_AFTER_66_(__VA_ARGS__, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_,        \
        ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, \
        ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, \
        ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, \
        ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, \
        ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, \
        ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, \
        ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, ADZ_FEW_, 0)
#define ADZ_SECOND_(first, second, ...) second
#define ADZ_CHOOSE_(...)                ADZ_SECOND_(__VA_ARGS__)
#define ADZ_JOIN_(a, b, c)              a##b##c
#define ADZ_JOINED_(a, b, c)            ADZ_JOIN_(a, b, c)
#define ADZ_BARE_(...)                  __VA_ARGS__

#define ADZ_ARGS_3_(data, shape, dtype) ADZ_FROM_DATA_(shape, dtype, ADZ_BARE_ data)
#define ADZ_ARGS_4_(data, e, ...)       ADZ_ARGS_3_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_5_(data, e, ...)       ADZ_ARGS_4_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_6_(data, e, ...)       ADZ_ARGS_5_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_7_(data, e, ...)       ADZ_ARGS_6_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_8_(data, e, ...)       ADZ_ARGS_7_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_9_(data, e, ...)       ADZ_ARGS_8_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_10_(data, e, ...)      ADZ_ARGS_9_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_11_(data, e, ...)      ADZ_ARGS_10_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_12_(data, e, ...)      ADZ_ARGS_11_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_13_(data, e, ...)      ADZ_ARGS_12_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_14_(data, e, ...)      ADZ_ARGS_13_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_15_(data, e, ...)      ADZ_ARGS_14_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_16_(data, e, ...)      ADZ_ARGS_15_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_17_(data, e, ...)      ADZ_ARGS_16_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_18_(data, e, ...)      ADZ_ARGS_17_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_19_(data, e, ...)      ADZ_ARGS_18_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_20_(data, e, ...)      ADZ_ARGS_19_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_21_(data, e, ...)      ADZ_ARGS_20_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_22_(data, e, ...)      ADZ_ARGS_21_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_23_(data, e, ...)      ADZ_ARGS_22_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_24_(data, e, ...)      ADZ_ARGS_23_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_25_(data, e, ...)      ADZ_ARGS_24_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_26_(data, e, ...)      ADZ_ARGS_25_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_27_(data, e, ...)      ADZ_ARGS_26_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_28_(data, e, ...)      ADZ_ARGS_27_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_29_(data, e, ...)      ADZ_ARGS_28_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_30_(data, e, ...)      ADZ_ARGS_29_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_31_(data, e, ...)      ADZ_ARGS_30_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_32_(data, e, ...)      ADZ_ARGS_31_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_33_(data, e, ...)      ADZ_ARGS_32_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_34_(data, e, ...)      ADZ_ARGS_33_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_35_(data, e, ...)      ADZ_ARGS_34_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_36_(data, e, ...)      ADZ_ARGS_35_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_37_(data, e, ...)      ADZ_ARGS_36_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_38_(data, e, ...)      ADZ_ARGS_37_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_39_(data, e, ...)      ADZ_ARGS_38_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_40_(data, e, ...)      ADZ_ARGS_39_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_41_(data, e, ...)      ADZ_ARGS_40_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_42_(data, e, ...)      ADZ_ARGS_41_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_43_(data, e, ...)      ADZ_ARGS_42_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_44_(data, e, ...)      ADZ_ARGS_43_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_45_(data, e, ...)      ADZ_ARGS_44_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_46_(data, e, ...)      ADZ_ARGS_45_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_47_(data, e, ...)      ADZ_ARGS_46_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_48_(data, e, ...)      ADZ_ARGS_47_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_49_(data, e, ...)      ADZ_ARGS_48_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_50_(data, e, ...)      ADZ_ARGS_49_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_51_(data, e, ...)      ADZ_ARGS_50_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_52_(data, e, ...)      ADZ_ARGS_51_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_53_(data, e, ...)      ADZ_ARGS_52_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_54_(data, e, ...)      ADZ_ARGS_53_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_55_(data, e, ...)      ADZ_ARGS_54_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_56_(data, e, ...)      ADZ_ARGS_55_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_57_(data, e, ...)      ADZ_ARGS_56_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_58_(data, e, ...)      ADZ_ARGS_57_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_59_(data, e, ...)      ADZ_ARGS_58_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_60_(data, e, ...)      ADZ_ARGS_59_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_61_(data, e, ...)      ADZ_ARGS_60_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_62_(data, e, ...)      ADZ_ARGS_61_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_63_(data, e, ...)      ADZ_ARGS_62_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_64_(data, e, ...)      ADZ_ARGS_63_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_65_(data, e, ...)      ADZ_ARGS_64_((ADZ_BARE_ data, e), __VA_ARGS__)
#define ADZ_ARGS_66_(data, e, ...)      ADZ_ARGS_65_((ADZ_BARE_ data, e), __VA_ARGS__)

/* ---- the check ------------------------------------------------------------------------------ */

/* The dtypes that elements may have, one bit for each; 0 for a type that is not known here. */
#define ADZ_LONG_BITS_        (sizeof(long) == 8 ? 1 << ADZ_I64 : 1 << ADZ_I32)
#define ADZ_BYTE_BITS_        (1 << ADZ_U8 | 1 << ADZ_BOOL)
#define ADZ_HALF_BITS_        (1 << ADZ_F16 | 1 << ADZ_BF16)
#define ADZ_ALL_BITS_         0xff
#define ADZ_NO_BITS_          0x100
#define ADZ_BOTH_(type, bits) type * : (bits), const type * : (bits)
#define ADZ_BITS_(p, others)                                                             \
    _Generic((p), ADZ_BOTH_(void, ADZ_ALL_BITS_), ADZ_BOTH_(float, 1 << ADZ_F32),        \
             ADZ_BOTH_(double, 1 << ADZ_F64), ADZ_BOTH_(int, 1 << ADZ_I32),              \
             ADZ_BOTH_(long, ADZ_LONG_BITS_), ADZ_BOTH_(long long, 1 << ADZ_I64),        \
             ADZ_BOTH_(_Bool, 1 << ADZ_BOOL), ADZ_BOTH_(unsigned char, ADZ_BYTE_BITS_),  \
             ADZ_BOTH_(char, ADZ_BYTE_BITS_), ADZ_BOTH_(unsigned short, ADZ_HALF_BITS_), \
             ADZ_BOTH_(signed char, ADZ_NO_BITS_), ADZ_BOTH_(short, ADZ_NO_BITS_),       \
             ADZ_BOTH_(unsigned, ADZ_NO_BITS_), ADZ_BOTH_(unsigned long, ADZ_NO_BITS_),  \
             ADZ_BOTH_(unsigned long long, ADZ_NO_BITS_), default                        \
             : (others))

/* The first element, which a pointer to void does not have. */
#define ADZ_FIRST_(p) \
    (_Generic((p), void * : (char *)0, const void * : (const char *)0, default : (p))[0])
/* The dtypes of the elements of an array, or of an array of arrays. */
#define ADZ_ALLOWED_(p) ADZ_BITS_(p, ADZ_BITS_(ADZ_FIRST_(p), ADZ_ALL_BITS_))
/* The bytes of an element, or 0 for elements that may be of any size. */
#define ADZ_ITEM_(p) \
    (ADZ_BITS_(p, ADZ_ALL_BITS_) == ADZ_ALL_BITS_ ? (size_t)0 : sizeof ADZ_FIRST_(p))

/* 1 for an integer constant expression: only such a zero makes a null pointer, so that the result
 * of
 * ?: points to int. */
#define ADZ_IS_CONSTANT_(x) _Generic((1 ? (void *)((long)(x)*0) : (int *)0), int * : 1, void * : 0)
#define ADZ_IS_ALLOWED_(dtype, allowed) \
    (!ADZ_IS_CONSTANT_(dtype) ||        \
        ((allowed) >> __builtin_choose_expr(ADZ_IS_CONSTANT_(dtype), dtype, 0) & 1))
/* The assertion stands in a block and not in a struct, in which clang takes a compound literal for
 * a static one. */
#define ADZ_FROM_DATA_(shape, dtype, ...)                                                      \
    (adz_tensor_from_sized)(                                                                   \
        (__VA_ARGS__), (shape), (dtype), ADZ_ITEM_((__VA_ARGS__)) + 0 * sizeof(__extension__({ \
            _Static_assert(ADZ_IS_ALLOWED_((dtype), ADZ_ALLOWED_((__VA_ARGS__))),              \
                "adz_tensor_from: the array has elements of another type than the "            \
                "dtype; make them equal, or cast the array to void *");                        \
            0;                                                                                 \
        })))

#define ADZ_CHECKED_(first, ...) \
    ADZ_JOINED_(ADZ_ARGS_, ADZ_COUNT_(first, __VA_ARGS__), _)((first), __VA_ARGS__)
#define ADZ_FROM_(...)       ADZ_CHOOSE_(ADZ_IS_FEW_(__VA_ARGS__), (adz_tensor_from), 0)(__VA_ARGS__)
#define adz_tensor_from(...) ADZ_FROM_(__VA_ARGS__)
#endif
/** @endcond */

#endif
