/* The elementwise functions. An entry is all that the library knows of a function besides its
 * public comment: the kernels, the operator, the list of operators, the rows of exports and the
 * table in docs/operators.md are made of it. The kernel files, table.c,
 * meson.build and elementwise.rows.c read this file. Each defines the columns that it needs.
 * columns.h says what the columns mean. Entries are sorted by name. */
#include "ops/elementwise/columns.h"

#define SELU_ALPHA 1.6732632423543772848170429916717
#define SELU_SCALE 1.0507009873554804934193349852946

#define NO_BITS "is an operation on bits, which opset 17 does not have; export what comes before it"

/* clang-format off */
/* |x|: dy sign(x), and 0 at 0. The least integer has no positive counterpart and stays as it is. */
KERNEL1_ALL(abs, VMATH(abs)(x), KERNEL(magnitude)(x))
GRADIENT(abs, x, adz_mul(dy, adz_sign(adz_detach(x))))
OPERATOR1(abs, ANY_TYPE, x, "x itself", .backward = abs_backward)
EXPORT(abs, C99_ELEMENT("$a > 0 ? $a : 0 - $a"),
    .c.integers = "(int32_t)($a < 0 ? 0u - (uint32_t)$a : (uint32_t)$a)", .c.whole = "$a",
    .c.doubles = true, ONNX_NODE("Abs"))
/* -dy / sqrt(1 - x^2) */
FUNCTION(acos, x, VMATH(acos)(x),
    adz_neg(adz_mul(dy, adz_rsqrt(less_square(x)))),
    C99_ELEMENT("@acos($a)"), ONNX_NODE("Acos"))
/* dy / sqrt(x^2 - 1) by the roots of the factors: the square may overflow, and it cancels near 1. */
FUNCTION(acosh, x, VMATH(acosh)(x),
    adz_mul(dy, adz_mul(adz_rsqrt(adz_sub_number(x, 1)), adz_rsqrt(adz_add_number(x, 1)))),
    C99_ELEMENT("@acosh($a)"), ONNX_NODE("Acosh"))
OWN_FILE(add, .attributes = { "alpha" }, .default_value = 1, C99_ELEMENT("$a + %0$b"),
    .c.integers = "(int32_t)((uint32_t)$a + %0(uint32_t)$b)", .c.bools = "$a || %0$b",
    .c.doubles = true, ONNX_NODE("b = alpha*$b; Add($a, b)", .bools = "Or"))
OWN_FILE(addcmul, .attributes = { "value" }, .default_value = 1, C99_ELEMENT("$a + %0$b * $c"),
    .c.integers = "(int32_t)((uint32_t)$a + %0(uint32_t)$b * (uint32_t)$c)", .c.doubles = true)
/* dy / sqrt(1 - x^2) */
FUNCTION(asin, x, VMATH(asin)(x),
    adz_mul(dy, adz_rsqrt(less_square(x))),
    C99_ELEMENT("@asin($a)"), ONNX_NODE("Asin"))
/* dy / sqrt(x^2 + 1), in which the square may overflow */
FUNCTION(asinh, x, VMATH(asinh)(x),
    adz_mul(dy, adz_reciprocal(length_with_one(x))),
    C99_ELEMENT("@asinh($a)"), ONNX_NODE("Asinh"))
/* dy / (1 + x^2) by two divisions: the square of 1 + x^2 in the second derivative may overflow. */
FUNCTION(atan, x, VMATH(atan)(x),
    adz_div(adz_div(dy, length_with_one(x)), length_with_one(x)),
    C99_ELEMENT("@atan($a)"), ONNX_NODE("Atan"))
/* The angle of the point (b, a): dy b / (a^2 + b^2) and -dy a / (a^2 + b^2). */
FUNCTION2(atan2, VMATH(atan2)(a, b),
    angle_gradient(dy, a, b, false),
    angle_gradient(dy, a, b, true),
    C99_ELEMENT("@atan2($a, $b)"),
    NO_ONNX("has no node in ONNX, and atan of a quotient cannot tell the quadrants of zeros and infinities; use adz_atan where the divisor is positive"))
/* dy / (1 - x^2) */
FUNCTION(atanh, x, VMATH(atanh)(x),
    adz_div(dy, less_square(x)),
    C99_ELEMENT("@atanh($a)"), ONNX_NODE("Atanh"))
/* Truth values are bits. */
INTEGERS2(bitwise_and, a & b, NULL,
    C99_ELEMENT("$a & $b"), ONNX_NODE("!" NO_BITS, .bools = "And"))
/* The bits that leave the dtype are lost. PyTorch gives 0 for a shift below 0 or by the whole width, too. */
INTEGERS2(bitwise_left_shift, KERNEL(shift_left)(a, b), "an integer dtype",
    C99_ELEMENT("(uint32_t)$b > 31 ? 0 : (int32_t)((uint32_t)$a << $b)"),
    NO_ONNX(NO_BITS))
INTEGERS2(bitwise_or, a | b, NULL,
    C99_ELEMENT("$a | $b"), ONNX_NODE("!" NO_BITS, .bools = "Or"))
/* The sign fills the upper bits. */
INTEGERS2(bitwise_right_shift, KERNEL(shift_right)(a, b), "an integer dtype",
    C99_ELEMENT("$a >> ((uint32_t)$b > 31 ? 31 : $b)"),
    NO_ONNX(NO_BITS))
INTEGERS2(bitwise_xor, a ^ b, NULL,
    C99_ELEMENT("$a ^ $b"), ONNX_NODE("!" NO_BITS, .bools = "Xor"))
STEPS(ceil, KERNEL(above)(x), x, "x itself",
    C99_ELEMENT("@ceil($a)"), .c.whole = "$a", ONNX_NODE("Ceil", .whole = "Identity"))
OWN_FILE(clamp, .attributes = { "min", "max" }, C99_TEXT(clamp), .c.doubles = true, ONNX(clamp, broadcast, NULL))
/* |a| or -|a|. 1 / b tells -0 from 0. */
DERIVED2(copysign, VMATH(sign_of)(a, b),
    adz_where(is_negative(adz_detach(b)), adz_neg(adz_abs(a)), adz_abs(a)),
    C99_ELEMENT("@copysign($a, $b)"))
/* The node saves x: y gives the sine only up to its sign. */
FUNCTION_BY_LOOP(cos, x,
    adz_neg(adz_mul(dy, adz_sin(x))),
    C99_ELEMENT("@cos($a)"), ONNX_NODE("Cos"))
FUNCTION(cosh, x, VMATH(cosh)(x),
    adz_mul(dy, adz_sinh(x)),
    C99_ELEMENT("@cosh($a)"), ONNX_NODE("Cosh"))
/* The derivative of the logarithm of the gamma function. */
FUNCTION(digamma, x, VMATH(digamma)(x),
    adz_mul(dy, adz_polygamma(1, x)),
    C99_OF_DOUBLES("@digamma($a)", "needs double precision near its zero"),
    NO_ONNX("has no counterpart in ONNX; export what comes before it"))
OWN_FILE(div, C99_ELEMENT("$a / $b"), .c.doubles = true, ONNX_NODE("Div"))
/* x above 0, else alpha (e^x - 1). y would not do for the gradient: with a negative alpha it does not tell the
 * sign of x. Third formula: PyTorch's second derivative at 0 is 0, and that of the expression is not. */
NUMBERS1(elu, "alpha")
KERNEL1(elu, x <= 0 ? ELEM(p[0]) * VMATH(expm1)(x) : x)
GRADIENT_KERNEL(elu, x, a * KERNEL(elu_slope)(b, ELEM(p[0])))
EXPRESSION(elu, adz_where(adz_gt_number(x, 0), x, adz_mul_number(adz_expm1(not_above_0(x)), p[0])))
GRADIENT(elu, x,
    adz_where(adz_le_number(x, 0), adz_mul_number(adz_mul(dy, adz_exp(not_above_0(x))), p[0]), dy))
ACTIVATION1(elu, alpha, .backward = elu_backward, .fused = elu_fused, .expression = elu_expression)
EXPORT(elu, .attributes = { "alpha" }, .default_value = 1, C99_ELEMENT("$a > 0 ? $a : $0 * @expm1($a)"),
    ONNX_NODE("Elu($a, alpha=alpha)",
        .doubles = "Where(Greater($a, 0), $a, Mul(alpha, Sub(Exp($a), 1)))"))
COMPARISON(eq, a == b, C99_ELEMENT("$a == $b"), ONNX_NODE("Equal"))
/* dy 2 / sqrt(pi) e^(-x^2) */
FUNCTION(erf, x, VMATH(erf)(x),
    adz_mul(dy, adz_mul_number(adz_exp(adz_neg(adz_mul(x, x))), 1.12837916709551257390)),
    C99_ELEMENT("@erf($a)"), ONNX_NODE("Erf"))
/* Accurate where erf is close to 1. */
DERIVED(erfc, VMATH(erfc)(x),
    adz_number_sub(1, adz_erf(x)),
    C99_ELEMENT("@erfc($a)"))
/* dy sqrt(pi) / 2 e^(y^2) */
FUNCTION(erfinv, y, VMATH(erfinv)(x),
    adz_mul(dy, adz_mul_number(adz_exp(adz_mul(y, y)), 0.88622692545275801365)),
    C99_ELEMENT("@erfinv($a)"), NO_ONNX("has no counterpart in ONNX; export what comes before it"))
FUNCTION(exp, y, VMATH(exp)(x),
    adz_mul(dy, y),
    C99_ELEMENT("@exp($a)"), ONNX_NODE("Exp"))
DERIVED(exp2, VMATH(exp2)(x),
    adz_number_pow(2, x),
    C99_ELEMENT("@exp2($a)"))
/* e^x - 1. The derivative is e^x and not y + 1: for x < 0, y has lost the digits of e^x. */
FUNCTION(expm1, x, VMATH(expm1)(x),
    adz_mul(dy, adz_exp(x)),
    C99_ELEMENT("@expm1($a)"),
    /* ONNX has no node. With u = e^x, rounding errors of u cancel in (u - 1) x / log u, the formula
     * for small x (Kahan). */
    ONNX_NODE("one = 1; u = Exp($a); d = Sub(u, one); ratio = Div($a, Log(u));"
              " small = Where(Equal(u, one), $a, Mul(d, ratio)); Where(Greater(Abs($a), 0.5), d, small)"))
OWN_FILE(fill, .overwrites = true, .attributes = { "value" }, C99_ELEMENT("$0"), .c.doubles = true,
    ONNX_TEXT("Expand(value, [y])", none))
STEPS(floor, KERNEL(below)(x), x, "x itself",
    C99_ELEMENT("@floor($a)"), .c.whole = "$a", ONNX_NODE("Floor", .whole = "Identity"))
/* The quotient, rounded down. It belongs to the remainder, so 1 / 0.1 gives 9, as in Python. A float divided by 0
 * is what div gives. In ONNX files a divisor of -1 negates, because Div of the smallest integer by -1 ends onnxruntime. */
KERNEL2_ALL(floor_divide, KERNEL(whole_quotient)(a, b), KERNEL(whole_quotient)(a, b))
OPERATOR2(floor_divide, ANY_TYPE, ADZI_SAVES_NOTHING, ADZI_SAVES_NOTHING, "numbers", has_no_zero,
    .backward = zeros_for_both)
BY_NUMBER(floor_divide)
EXPORT(floor_divide, C99_ELEMENT("@floor_divide($a, $b)"), .c.whole = "@whole_floor_divide($a, $b)",
    ONNX_NODE("m = Mod($a, $b, fmod=1); q = Round(Div(Sub($a, m), $b)); zero = 0; ratio = Div($a, $b);"
              " down = And(Not(Equal(m, zero)), Xor(Less($b, zero), Less(m, zero)));"
              " y = Where(down, Sub(q, 1), q);"
              " Where(Equal($b, zero), ratio, Where(Equal(y, zero), Mul(ratio, zero), y))",
        .whole = "zero = 0; own = And(Less($b, zero), Equal($b, -1)); b = Where(own, 1, $b); q = Div($a, b);"
                 " down = And(Not(Equal(Mod($a, b), zero)), Xor(Less($a, zero), Less(b, zero)));"
                 " Where(own, Neg($a), Where(down, Sub(q, 1), q))"))
/* a - b trunc(a / b), with the sign of a. */
KERNEL2_ALL(fmod, FMOD(a, b), KERNEL(modulo)(a, b))
OPERATOR2(fmod, ANY_TYPE, ADZI_SAVES_NOTHING, ADZI_SAVES_A | ADZI_SAVES_B | ADZI_SAVES_Y, "numbers",
    has_no_zero, .backward = remainder_backward)
BY_NUMBER(fmod)
EXPORT(fmod, C99_ELEMENT("@fmod($a, $b)"), .c.whole = "@modulo($a, $b)", ONNX_NODE("Mod($a, $b, fmod=1)"))
/* The greatest common divisor, which is not negative. */
INTEGERS2(gcd, KERNEL(common_divisor)(a, b), "an integer dtype",
    C99_ELEMENT("@gcd($a, $b)"), NO_ONNX("has no counterpart in ONNX; export what comes before it"))
COMPARISON(ge, a >= b, C99_ELEMENT("$a >= $b"), ONNX_NODE("GreaterOrEqual"))
OWN_FILE(gelu, .attributes = { "approximate" }, C99_ELEMENT("@gelu($a)"), .c.special = tanh_gelu,
    .c.n_special = 1)
COMPARISON(gt, a > b, C99_ELEMENT("$a > $b"), ONNX_NODE("Greater"))
/* A sigmoid of straight lines. The slope is 0 at -3, 3 and NaN, as in PyTorch. */
DERIVED(hardsigmoid,
    (x < ELEM(-3) ? ELEM(0) : x > ELEM(3) ? ELEM(6) : x + ELEM(3)) / ELEM(6),
    adz_div_number(adz_where(adz_lt_number(adz_abs(adz_detach(x)), 3), adz_add_number(x, 3),
        adz_clamp(adz_add_number(adz_detach(x), 3), 0, 6)), 6),
    C99_ELEMENT("($a < -3 ? 0 : $a > 3 ? 6 : $a + 3) / 6"))
/* x times a sigmoid of straight lines. The slope is 0 from -3 down, and 1 from 3 up and at NaN, as in
 * PyTorch. x outside the parabola is replaced by 0 there, because infinity has no slope on it. */
DERIVED(hardswish,
    x * ((x < ELEM(-3) ? ELEM(0) : x > ELEM(3) ? ELEM(6) : x + ELEM(3)) / ELEM(6)),
    hardswish_pieces(x),
    C99_ELEMENT("$a * (($a < -3 ? 0 : $a > 3 ? 6 : $a + 3) / 6)"))
/* sqrt(a^2 + b^2): dy a / y and dy b / y. y is computed again, because most calls need no gradient. */
FUNCTION2(hypot, VMATH(hypot)(a, b),
    adz_mul(dy, adz_div(a, adz_hypot(a, b))),
    adz_mul(dy, adz_div(b, adz_hypot(a, b))),
    C99_ELEMENT("@hypot($a, $b)"),
    /* m sqrt(1 + (n / m)^2) of the larger side m and the smaller side n; 0 and infinity have rules. */
    ONNX_NODE("a = Abs($a); b = Abs($b); m = Max(a, b); ratio = Div(Min(a, b), m);"
              " y = Mul(m, Sqrt(Add(Mul(ratio, ratio), 1))); all = Or(Equal(a, inf), Equal(b, inf));"
              " Where(all, inf, Where(Equal(m, 0), m, y))"))
/* Infinity minus infinity is NaN. */
TEST(isfinite, x - x == 0, ((void)x, 1), C99_ELEMENT("$a - $a == 0"), .c.whole = "1",
    ONNX_NODE("Not(Or(IsNaN($a), IsInf($a)))", .whole = "Equal($a, $a)"))
TEST(isinf, VMATH(abs)(x) == (elem)INFINITY, ((void)x, 0), C99_ELEMENT("$a == $a && $a - $a != 0"),
    .c.whole = "0", ONNX_NODE("Equal(Abs($a), inf)", .whole = "Not(Equal($a, $a))"))
TEST(isnan, x != x, ((void)x, 0), C99_ELEMENT("$a != $a"), .c.whole = "0",
    ONNX_NODE("IsNaN", .whole = "Not(Equal($a, $a))"))
TEST(isneginf, x == (elem)-INFINITY, ((void)x, 0), C99_ELEMENT("$a < 0 && $a - $a != 0"), .c.whole = "0",
    ONNX_NODE("Equal($a, -inf)", .whole = "Not(Equal($a, $a))"))
TEST(isposinf, x == (elem)INFINITY, ((void)x, 0), C99_ELEMENT("$a > 0 && $a - $a != 0"), .c.whole = "0",
    ONNX_NODE("Equal($a, inf)", .whole = "Not(Equal($a, $a))"))
COMPARISON(le, a <= b, C99_ELEMENT("$a <= $b"), ONNX_NODE("LessOrEqual"))
/* x above 0, else negative_slope x. y would not do for the gradient: with a negative slope it does not tell the
 * sign of x. At 0 the gradient is negative_slope dy, as in PyTorch. */
NUMBERS1(leaky_relu, "negative_slope")
KERNEL1(leaky_relu, x > 0 ? x : ELEM(p[0]) * x)
GRADIENT_KERNEL(leaky_relu, x, b > 0 ? a : ELEM(p[0]) * a)
EXPRESSION(leaky_relu, adz_mul(x, slope_by_sign(x, p[0])))
ACTIVATION1(leaky_relu, negative_slope, .backward = adzi_derived_slope, .fused = leaky_relu_fused,
    .expression = leaky_relu_expression)
EXPORT(leaky_relu, .attributes = { "negative_slope" }, .default_value = 0.01,
    C99_ELEMENT("$a > 0 ? $a : $0 * $a"), ONNX_NODE("LeakyRelu($a, alpha=negative_slope)",
        .doubles = "Where(Greater($a, 0), $a, Mul(negative_slope, $a))"))
OWN_FILE(lerp, C99_ELEMENT("@lerp($a, $b, $c)"), ONNX_NODE(LERP("$c")))
/* lerp.c */
EXPORT(lerp_number, .attributes = { "weight" }, C99_ELEMENT("@lerp($a, $b, $0)"), ONNX_NODE(LERP("weight")))
/* log |gamma(x)| */
FUNCTION(lgamma, x, VMATH(lgamma)(x),
    adz_mul(dy, adz_digamma(x)),
    C99_ELEMENT("@lgamma($a)"), NO_ONNX("has no counterpart in ONNX; export what comes before it"))
FUNCTION(log, x, VMATH(log)(x),
    adz_div(dy, x),
    C99_ELEMENT("@log($a)"), ONNX_NODE("Log"))
DERIVED(log10, VMATH(log10)(x),
    adz_mul_number(adz_log(x), 0.43429448190325183),
    C99_ELEMENT("@log10($a)"))
/* log(1 + x) */
FUNCTION(log1p, x, VMATH(log1p)(x),
    adz_div(dy, adz_add_number(x, 1)),
    C99_ELEMENT("@log1p($a)"),
    /* ONNX has no node. With u = 1 + x, the rounding error of u cancels in log u * x / (u - 1), and
     * x itself is right where u is 1. */
    ONNX_NODE("one = 1; u = Add($a, one); d = Sub(u, one); log = Log(u);"
              " mended = Mul(log, Div($a, d)); large = Where(Equal(d, $a), log, mended);"
              " Where(Equal(d, 0), $a, large)"))
DERIVED(log2, VMATH(log2)(x),
    adz_mul_number(adz_log(x), 1.4426950408889634),
    C99_ELEMENT("@log2($a)"))
/* log(e^a + e^b) = max(a, b) + log(1 + e^-|a - b|), and dy sigmoid(a - b) and dy sigmoid(b - a). Third
 * formula: the second derivative where a = b is 1/4, and that of the expression 0. */
FUNCTION2_EXPRESSED(logaddexp, VMATH(logaddexp)(a, b),
    adz_add(adz_maximum(a, b), adz_log1p(adz_exp(adz_neg(adz_abs(difference(a, b)))))),
    adz_mul(dy, adz_sigmoid(difference(a, b))),
    adz_mul(dy, adz_sigmoid(difference(b, a))),
    BY_EXPRESSION)
LOGICAL(logical_and, mul, C99_ELEMENT("$a && $b"), ONNX_NODE("And($a:bool, $b:bool)"))
/* NaN is true. */
TEST(logical_not, x == 0, x == 0, C99_ELEMENT("!$a"), ONNX_NODE("Not($a:bool)"))
LOGICAL(logical_or, add, C99_ELEMENT("$a || $b"), ONNX_NODE("Or($a:bool, $b:bool)"))
LOGICAL(logical_xor, ne, C99_ELEMENT("!$a != !$b"), ONNX_NODE("Xor($a:bool, $b:bool)"))
/* log(x / (1 - x)), of x held in [eps, 1 - eps] unless eps is below 0. */
NUMBERS1(logit, "eps")
KERNEL1(logit, VMATH(log)(KERNEL(held)(x, p[0]) / (ELEM(1) - KERNEL(held)(x, p[0]))))
EXPRESSION(logit, log_odds(held_in(x, p[0])))
GRADIENT(logit, x, logit_gradient(dy, x, p[0]))
DESCRIPTION1(logit, TO_FLOAT, x, .backward = logit_backward, .expression = logit_expression)
EXPORT(logit, .attributes = { "eps" }, .default_value = -1)
/* log(1 / (1 + e^-x)), and dy sigmoid(-x): 1 - sigmoid(x) loses all digits where x is large. Third formula: the
 * derived one takes 1.6 times the memory. */
KERNEL1(logsigmoid, VMATH(logsigmoid)(x))
GRADIENT_KERNEL(logsigmoid, x, a * VMATH(sigmoid)(-b))
EXPRESSION(logsigmoid, adz_sub(not_above_0(x), adz_log1p(adz_exp(adz_neg(adz_abs(x))))))
GRADIENT(logsigmoid, x, adz_mul(dy, adz_sigmoid(adz_neg(x))))
OPERATOR1(logsigmoid, TO_FLOAT, x, NULL, .backward = logsigmoid_backward, .fused = logsigmoid_fused,
    .expression = logsigmoid_expression)
EXPORT(logsigmoid, C99_ELEMENT("($a < 0 ? $a : 0) - @log1p(@exp($a < 0 ? $a : -$a))"))
COMPARISON(lt, a < b, C99_ELEMENT("$a < $b"), ONNX_NODE("Less"))
OWN_FILE(masked_fill, .attributes = { "value" }, C99_ELEMENT("$b ? $0 : $a"), .c.doubles = true,
    ONNX_NODE("number = value; Where($b, number, $a)"))
/* The larger of a and b, and NaN if one of them is NaN. The larger one gets dy, and each gets dy / 2 if they are
 * equal. In the kernel of the gradient, a is the input whose gradient is computed, b the other one, and c is dy. */
KERNEL2_ALL(maximum, a > b || a != a ? a : b, a > b ? a : b)
GRADIENT_KERNEL2(maximum, a == b ? c * ELEM(0.5) : a < b ? ELEM(0) : c)
GRADIENTS2(maximum, share_of(dy, a, b, adz_lt(a, b)), share_of(dy, b, a, adz_lt(b, a)))
OPERATOR2(maximum, ANY_TYPE, ADZI_SAVES_A | ADZI_SAVES_B, ADZI_SAVES_NOTHING, NULL, NULL,
    .backward = maximum_backward, .fused = maximum_fused)
EXPORT(maximum, C99_ELEMENT("$a > $b || $a != $a ? $a : $b"), .c.whole = "$a > $b ? $a : $b",
    .c.doubles = true, ONNX_NODE("Max"))
/* The smaller of a and b, and NaN if one of them is NaN. The smaller one gets dy, and each gets dy / 2 if they are
 * equal. In the kernel of the gradient, a is the input whose gradient is computed, b the other one, and c is dy. */
KERNEL2_ALL(minimum, a < b || a != a ? a : b, a < b ? a : b)
GRADIENT_KERNEL2(minimum, a == b ? c * ELEM(0.5) : a > b ? ELEM(0) : c)
GRADIENTS2(minimum, share_of(dy, a, b, adz_gt(a, b)), share_of(dy, b, a, adz_gt(b, a)))
OPERATOR2(minimum, ANY_TYPE, ADZI_SAVES_A | ADZI_SAVES_B, ADZI_SAVES_NOTHING, NULL, NULL,
    .backward = minimum_backward, .fused = minimum_fused)
EXPORT(minimum, C99_ELEMENT("$a < $b || $a != $a ? $a : $b"), .c.whole = "$a < $b ? $a : $b",
    .c.doubles = true, ONNX_NODE("Min"))
/* x tanh(log(1 + e^x)) */
DERIVED(mish, x * VMATH(tanh)(VMATH(softplus)(x)),
    adz_mul(x, adz_tanh(adz_softplus(x, 1, 20))),
    C99_ELEMENT("$a * @tanh(@softplus($a))"))
OWN_FILE(mul, C99_ELEMENT("$a * $b"), .c.integers = "(int32_t)((uint32_t)$a * (uint32_t)$b)",
    .c.doubles = true, ONNX_NODE("Mul", .bools = "And"))
COMPARISON(ne, a != b, C99_ELEMENT("$a != $b"), ONNX_NODE("Not(Equal($a, $b))"))
UNROLLED1_ALL(neg, -x, 0 - (uint64_t)x)
GRADIENT(neg, nothing, adz_neg(dy))
OPERATOR1(neg, ANY_TYPE, nothing, "adz_logical_not", .backward = neg_backward)
IN_PLACE(neg)
EXPORT(neg, C99_ELEMENT("-$a"), .c.integers = "(int32_t)(0u - (uint32_t)$a)", .c.doubles = true,
    ONNX_NODE("Neg"))
/* Derivative n of digamma, a sum of terms whose number depends on x. */
NUMBERS1(polygamma, "n")
KERNEL1(polygamma, VMATH(polygamma)((int)p[0], x))
GRADIENT(polygamma, x, adz_mul(dy, adz_polygamma((int)p[0] + 1, x)))
DESCRIPTION1(polygamma, TO_FLOAT, x, .backward = polygamma_backward)
EXPORT(polygamma, .attributes = { "n" }, C99_OF_DOUBLES("@polygamma((int)$0, $a)", "needs double precision"),
    NO_ONNX("has no counterpart in ONNX; export what comes before it"))
/* a^b: dy b a^(b - 1), and 0 where b = 0; dy y log a, and 0 where a = 0 and b >= 0. Integer powers wrap. A fused
 * backward would save passes over memory alone, and not the powers and logarithms. */
KERNEL2_ALL(pow, VMATH(pow)(a, b), adzi_integer_power((int64_t)a, (int64_t)b))
GRADIENTS2(pow, gradient_of_base(dy, a, b), gradient_of_exponent(dy, a, b, adzi_saved_result(node, 0)))
OPERATOR2(pow, ANY_TYPE, ADZI_SAVES_A | ADZI_SAVES_B, ADZI_SAVES_Y, "an integer dtype", NULL,
    .backward = pow_backward)
EXPORT(pow, C99_ELEMENT("@pow($a, $b)"), .c.whole = "@whole_pow($a, $b)", ONNX_NODE("Pow",
        .whole = "!is a power of integers, which runtimes compute in floating point"))
OWN_FILE(pow_number, .attributes = { "exponent" }, .default_value = 1, C99_ELEMENT("@pow($a, $0)"),
    .c.special = powers, .c.n_special = sizeof powers / sizeof *powers, .c.whole = "@whole_pow($a, $0)",
    ONNX(pow_number, broadcast, NULL))
/* The node saves y, so that the gradient needs products alone and no division. dy comes first, because y^2
 * may leave the range where dy y^2 does not. */
FUNCTION(reciprocal, y, ELEM(1) / x,
    adz_neg(adz_mul(adz_mul(dy, y), y)),
    C99_ELEMENT("1 / $a"), .c.doubles = true, ONNX_NODE("Reciprocal"))
/* max(x, 0); NaN stays NaN, and dy passes there. The node saves y, which is above 0 where x is. A linear layer
 * after it saves y as well, so this costs no memory, and relu can be computed in place. The gradient is filled
 * and not multiplied by 0, because an infinite dy times 0 would be NaN. */
UNROLLED1_ALL(relu, x < 0 ? ELEM(0) : x, x > 0 ? x : 0)
UNROLLED_GRADIENT_KERNEL(relu, y, b <= 0 ? ELEM(0) : a)
GRADIENT(relu, y, adz_masked_fill(dy, adz_le_number(y, 0), 0))
OPERATOR1(relu, ANY_TYPE, y, "x itself", .backward = relu_backward, .fused = relu_fused)
IN_PLACE(relu)
EXPORT(relu, C99_ELEMENT("$a < 0 ? 0 : $a"), .c.whole = "$a > 0 ? $a : 0", ONNX_NODE("Relu", .whole = "Max($a, 0)"))
/* a - b floor(a / b), with the sign of b, as Python's %. */
KERNEL2_ALL(remainder, KERNEL(rest)(a, b), KERNEL(rest)(a, b))
OPERATOR2(remainder, ANY_TYPE, ADZI_SAVES_NOTHING, ADZI_SAVES_A | ADZI_SAVES_B | ADZI_SAVES_Y, "numbers",
    has_no_zero, .backward = remainder_backward)
BY_NUMBER(remainder)
EXPORT(remainder, C99_ELEMENT("@remainder($a, $b)"), .c.whole = "@whole_remainder($a, $b)",
    ONNX_NODE("y = Mod($a, $b, fmod=1); zero = 0; none = Equal(y, zero); below = Less(y, zero);"
              " apart = Xor(Less($b, zero), below); moved = Where(apart, Add(y, $b), y);"
              " Where(none, y, moved)",
        .whole = "Mod"))
/* The even one of two nearest integers. */
STEPS(round, KERNEL(nearest)(x), x, "x itself",
    C99_ELEMENT("@round($a)"), .c.whole = "$a", ONNX_NODE("Round", .whole = "Identity"))
/* 1 / sqrt(x), and -dy y^3 / 2 without the third power, which may leave the range */
FUNCTION(rsqrt, y, ELEM(1) / SQUARE_ROOT(x),
    adz_mul(adz_mul(adz_mul(adz_mul_number(dy, -0.5), y), y), y),
    C99_ELEMENT("1 / @sqrt($a)"), ONNX_NODE("Reciprocal(Sqrt($a))"))
/* The self-normalising unit with the constants of its paper: scale x where x > 0, else scale alpha
 * (e^x - 1). */
DERIVED(selu,
    ELEM(SELU_SCALE) * (x <= 0 ? ELEM(SELU_ALPHA) * VMATH(expm1)(x) : x),
    adz_mul_number(adz_elu(x, SELU_ALPHA), SELU_SCALE),
    C99_ELEMENT("1.0507009873554805f * ($a > 0 ? $a : 1.6732632423543772f * @expm1($a))"))
/* 1 / (1 + e^-x), and dy y (1 - y). The node saves y, so that the gradient needs no second exponential. */
KERNEL1_AT_ALL_LEVELS(sigmoid, VMATH(sigmoid)(x))
GRADIENT_KERNEL_AT_ALL_LEVELS(sigmoid, y, a * (b * (ELEM(1) - b)))
GRADIENT(sigmoid, y, adz_mul(dy, adz_mul(y, adz_number_sub(1, y))))
OPERATOR1(sigmoid, TO_FLOAT, y, NULL, .backward = sigmoid_backward, .fused = sigmoid_fused)
EXPORT(sigmoid, C99_ELEMENT("@sigmoid($a)"), ONNX_NODE("Sigmoid"))
/* 0 for NaN, as in PyTorch. */
STEPS(sign, (elem)((x > 0) - (x < 0)), x > 0 ? 1 : x == 0 ? 0 : -1, NULL,
    C99_ELEMENT("($a > 0) - ($a < 0)"), .c.integers = "($a > 0) - ($a < 0)", .c.whole = "$a != 0",
    .c.doubles = true, ONNX_NODE("Where(IsNaN($a), 0, Sign($a))", .whole = "Sign", .bools = "Identity"))
/* True for -0. The sign of NaN does not count, because processors differ in it. */
TEST(signbit, x < 0 || (x == 0 && ELEM(1) / x < 0), KERNEL(is_negative)(x),
    C99_ELEMENT("$a < 0 || ($a == 0 && 1 / $a < 0)"), .c.integers = "$a < 0", .c.whole = "0",
    ONNX_NODE("Or(Less($a, 0), Less(Reciprocal($a), 0))", .whole = "Less($a, 0)", .bools = "Not(Equal($a, $a))"))
/* x sigmoid(x), which falls and rises again, so that y does not determine x. */
KERNEL1(silu, VMATH(silu)(x))
GRADIENT_KERNEL(silu, x, a * VMATH(silu_derivative)(b))
EXPRESSION(silu, adz_mul(x, adz_sigmoid(x)))
ACTIVATION(silu, .backward = adzi_derived_slope, .fused = silu_fused, .expression = silu_expression)
EXPORT(silu, C99_ELEMENT("$a * @sigmoid($a)"))
/* The node saves x: y gives the cosine only up to its sign. */
FUNCTION_BY_LOOP(sin, x,
    adz_mul(dy, adz_cos(x)),
    C99_ELEMENT("@sin($a)"), ONNX_NODE("Sin"))
/* sin(pi x) / (pi x), and 1 at 0. */
DERIVED(sinc, VMATH(sinc)(x), sinc_of(x), BY_EXPRESSION)
FUNCTION(sinh, x, VMATH(sinh)(x),
    adz_mul(dy, adz_cosh(x)),
    C99_ELEMENT("@sinh($a)"), ONNX_NODE("Sinh"))
/* log(1 + e^(beta x)) / beta, and x where beta x exceeds the threshold. Above PyTorch's default threshold of 20,
 * log(1 + e^z) exceeds z by less than e^-20, about 2e-9. Third formula: PyTorch's second derivative at the
 * threshold is 0, that of the expression not. */
NUMBERS2(softplus, "beta", "threshold")
KERNEL1(softplus, x * ELEM(p[0]) > ELEM(p[1]) ? x : VMATH(softplus)(x * ELEM(p[0])) * ELEM(1 / p[0]))
GRADIENT_KERNEL(softplus, x, b * ELEM(p[0]) > ELEM(p[1]) ? a : a * VMATH(sigmoid)(b * ELEM(p[0])))
EXPRESSION(softplus, softplus_of(x, p[0], p[1]))
GRADIENT(softplus, x, softplus_gradient(dy, x, p[0], p[1]))
ACTIVATION2(softplus, beta, threshold, is_sharpness(beta), .backward = softplus_backward, .fused = softplus_fused,
    .expression = softplus_expression)
EXPORT(softplus, .attributes = { "beta", "threshold" }, .default_value = 1,
    C99_ELEMENT("$0 * $a > $1 ? $a : @softplus($0 * $a) / $0"))
/* x / (1 + |x|), and dy / (1 + |x|)^2. Third formula: the derivative of the quotient cancels where |x| is
 * large. */
FUNCTION_EXPRESSED(softsign, x / (ELEM(1) + VMATH(abs)(x)),
    adz_div(x, adz_add_number(adz_abs(x), 1)),
    adz_div(adz_div(dy, adz_add_number(adz_abs(x), 1)), adz_add_number(adz_abs(x), 1)),
    C99_ELEMENT("$a / (1 + ($a < 0 ? -$a : $a))"))
/* dy / (2 y). At x = 0 the gradient is infinite, or NaN where dy is 0. */
FUNCTION(sqrt, y, SQUARE_ROOT(x),
    adz_div(dy, adz_mul_number(y, 2)),
    C99_ELEMENT("@sqrt($a)"), ONNX_NODE("Sqrt"))
/* The factor 2 comes last: in front it would make a new tensor of a dy that was expanded. */
KERNEL1_ALL(square, x * x, (uint64_t)x * (uint64_t)x)
GRADIENT_KERNEL(square, x, ELEM(2) * a * b)
GRADIENT(square, x, adz_mul_number(adz_mul(dy, x), 2))
OPERATOR1(square, COUNTED, x, NULL, .backward = square_backward, .fused = square_fused)
EXPORT(square, C99_ELEMENT("$a * $a"), .c.integers = "(int32_t)((uint32_t)$a * (uint32_t)$a)",
    .c.doubles = true, ONNX_NODE("Mul($a, $a)"))
/* add.c */
EXPORT(sub, .attributes = { "alpha" }, .default_value = 1, C99_ELEMENT("$a - %0$b"),
    .c.integers = "(int32_t)((uint32_t)$a - %0(uint32_t)$b)", .c.doubles = true,
    ONNX_NODE("b = alpha*$b; Sub($a, b)", .bools = "Or"))
/* dy (1 + y^2) */
FUNCTION_BY_LOOP(tan, y,
    adz_mul(dy, adz_add_number(adz_mul(y, y), 1)),
    C99_ELEMENT("@tan($a)"), ONNX_NODE("Tan"))
/* dy (1 - y^2). The node saves y, so that the gradient needs no second exponential. tanh.c makes the gradient an
 * operator, of which second derivatives take one kernel each. */
KERNEL1_AT_ALL_LEVELS(tanh, VMATH(tanh)(x))
GRADIENT_KERNEL_AT_ALL_LEVELS(tanh, y, a * (ELEM(1) - b * b))
GRADIENT(tanh, y, adzi_tanh_gradient(dy, y))
OPERATOR1(tanh, TO_FLOAT, y, NULL, .backward = tanh_backward, .fused = tanh_fused)
EXPORT(tanh, C99_ELEMENT("@tanh($a)"), ONNX_NODE("Tanh"))
/* x - tanh(x), and dy tanh(x)^2, in which nothing cancels near 0. */
FUNCTION_EXPRESSED(tanhshrink, x - VMATH(tanh)(x),
    adz_sub(x, adz_tanh(x)),
    adz_mul(dy, adz_square(adz_tanh(x))),
    BY_EXPRESSION)
STEPS(trunc, VMATH(sign_of)(KERNEL(below)(VMATH(abs)(x)), x), x, "x itself",
    C99_ELEMENT("@trunc($a)"), .c.whole = "$a", ONNX_NODE("size = Floor(Abs($a)); Mul(Sign($a), size)", .whole = "Identity"))
OWN_FILE(where, C99_ELEMENT("$a ? $b : $c"), .c.doubles = true, ONNX_NODE("Where"))
/* a log(b), and 0 where a = 0, unless b is NaN. */
FUNCTION2(xlogy, a == 0 && b == b ? ELEM(0) : a * VMATH(log)(b),
    xlogy_gradient(dy, a, b),
    adz_mul(adz_div(dy, b), a),
    C99_ELEMENT("$a == 0 && $b == $b ? 0 : $a * @log($b)"),
    ONNX_NODE("none = And(Equal($a, 0), Equal($b, $b)); Where(none, 0, Mul($a, Log($b)))"))
/* clang-format on */

#undef NO_BITS
#undef SELU_ALPHA
#undef SELU_SCALE
#include "ops/elementwise/columns_end.h"
