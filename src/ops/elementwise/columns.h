/* The columns of table.h: what they mean, and what its short entries consist of.
 *
 * Most functions are one call:
 *
 * FUNCTION(name, saved, kernel, gradient, row): y = f(x) for f32 and f64. An integer x becomes f32.
 * The node saves x or y. `kernel` computes y from x, both of the type elem. `gradient` is dx, made
 * of recorded operators from dy and from what is saved, so it can be differentiated again.
 *
 * FUNCTION_BY_LOOP(name, saved, gradient, row): a FUNCTION whose kernel is a loop in
 * table.kernel.c.
 *
 * DERIVED(name, kernel, expression, row): `expression` is the function of x as recorded operators.
 * The gradient is derived from it, and a writer that `row` leaves out writes it. The node saves x.
 *
 * FUNCTION2(name, kernel, gradient_a, gradient_b, row) and DERIVED2(name, kernel, expression, row):
 * y = f(a, b), whose shapes broadcast. The node saves a and b.
 *
 * FUNCTION_EXPRESSED(name, kernel, expression, gradient, row) and FUNCTION2_EXPRESSED(name, kernel,
 * expression, gradient_a, gradient_b, row): functions with an expression, which exports write,
 * whose derivative would lose digits, and with gradients of their own. The node saves the inputs.
 *
 * STEPS(name, kernel, kernel_of_integers, instead, row): a function that is constant between its
 * jumps, so dx is 0 and nothing is saved. y has the dtype of x. bool is refused with the advice to
 * use `instead`, unless that is NULL.
 *
 * COMPARISON(name, kernel, row), TEST(name, kernel, kernel_of_integers, row) and LOGICAL(name,
 * kernel_of, row): y is bool and has no gradient. A comparison promotes a and b to one dtype, and
 * adz_name_number takes a number as b. NaN compares false, except by ne. A test reads x. A logical
 * operator reads truth values by the kernel that another function has for bool.
 *
 * INTEGERS2(name, kernel, instead, row): a function of two integers or truth values, of which no
 * float is taken. bool is refused with the advice to use `instead`, unless that is NULL.
 *
 * OWN_FILE(name, row): the operator has a file of its own in this folder, which says why.
 *
 * All others are several columns, one below the other:
 *
 * NUMBERS1(name, "first"), NUMBERS2(name, "first", "second"): arguments that are numbers. All
 * other columns read them as p[0] and p[1].
 * KERNEL1, KERNEL2(name, kernel): computes y from x, or from a and b, for f32 and f64.
 * KERNEL1_ALL, KERNEL2_ALL(name, kernel, kernel_of_integers): for six dtypes.
 * UNROLLED1_ALL: the same with a loop that is unrolled, for less work than loads and stores.
 * KERNEL1_AT_ALL_LEVELS: f64 has kernels for AVX-512, too (base/isa.h).
 * GRADIENT_KERNEL(name, saved, kernel): the fused backward, from a = dy and b = the saved x or y;
 * UNROLLED_GRADIENT_KERNEL and GRADIENT_KERNEL_AT_ALL_LEVELS likewise.
 * GRADIENT_KERNEL2(name, kernel): that of a function of two inputs.
 * EXPRESSION(name, expression), GRADIENT(name, saved, gradient), GRADIENTS2(name, gradient_a,
 * gradient_b): as above.
 * OPERATOR1(name, types, saved, instead, members): the operator, and the public function. `types`
 * is an adzi_types without its ADZI_, `saved` is x, y or nothing, and `members` are those of
 * adzi_op. OPERATOR2(name, types, saves, saves_for_b, instead, check, members): see
 * adzi_elementwise. DESCRIPTION1(name, types, saved, members): an operator with one
 * number, whose public function is in table.c.
 * ACTIVATION(name, members), ACTIVATION1(name, number, members), ACTIVATION2(name, first, second,
 * check, members): functions of f32 and f64 alone that save x. A backward may compute y again.
 * IN_PLACE(name): adz_name_ writes over x. BY_NUMBER(name): b may be a number.
 * EXPORT(name, row): what exports write.
 *
 * `row` is what exports write (export/rows/row.h, export/rows.h): the expression of an element in
 * C, and the node in ONNX. What C files bring along for programs without libm is in
 * export/c99/sources/floats.c. */

/* Columns that the file which reads the table does not need. */
#ifndef KERNEL1
#define KERNEL1(...)
#define KERNEL2(...)
#endif
#ifndef KERNEL1_ALL
#define KERNEL1_ALL(...)
#define KERNEL2_ALL(...)
#define UNROLLED1_ALL(...)
#define TRUTH1(...)
#define TRUTH2(...)
#endif
#ifndef KERNEL1_BY_LOOP
#define KERNEL1_BY_LOOP(...)
#endif
#ifndef KERNEL1_AT_ALL_LEVELS
#define KERNEL1_AT_ALL_LEVELS(...)
#endif
#ifndef GRADIENT_KERNEL
#define GRADIENT_KERNEL(...)
#define UNROLLED_GRADIENT_KERNEL(...)
#define GRADIENT_KERNEL2(...)
#endif
#ifndef GRADIENT_KERNEL_AT_ALL_LEVELS
#define GRADIENT_KERNEL_AT_ALL_LEVELS(...)
#endif
#ifndef OPERATOR1
#define NUMBERS1(...)
#define NUMBERS2(...)
#define GRADIENT(...)
#define GRADIENTS2(...)
#define EXPRESSION(...)
#define EXPRESSION2(...)
#define OPERATOR1(...)
#define OPERATOR2(...)
#define DESCRIPTION1(...)
#define ACTIVATION(...)
#define ACTIVATION1(...)
#define ACTIVATION2(...)
#define TRUTH_OPERATOR1(...)
#define TRUTH_OPERATOR2(...)
#define IN_PLACE(...)
#define BY_NUMBER(...)
#endif
#ifndef EXPORT
#define EXPORT(...)
#endif

#define FUNCTION(fn, saved, kernel, gradient, ...) \
    KERNEL1(fn, kernel)                            \
    FUNCTION_OPERATOR(fn, saved, gradient, __VA_ARGS__)
#define FUNCTION_BY_LOOP(fn, saved, gradient, ...) \
    KERNEL1_BY_LOOP(fn)                            \
    FUNCTION_OPERATOR(fn, saved, gradient, __VA_ARGS__)
#define FUNCTION_OPERATOR(fn, saved, gradient, ...)                 \
    GRADIENT(fn, saved, gradient)                                   \
    OPERATOR1(fn, TO_FLOAT, saved, NULL, .backward = fn##_backward) \
    EXPORT(fn, __VA_ARGS__)
#define FUNCTION_EXPRESSED(fn, kernel, expression_, gradient, ...)                             \
    KERNEL1(fn, kernel)                                                                        \
    GRADIENT(fn, x, gradient)                                                                  \
    EXPRESSION(fn, expression_)                                                                \
    OPERATOR1(fn, TO_FLOAT, x, NULL, .backward = fn##_backward, .expression = fn##_expression) \
    EXPORT(fn, __VA_ARGS__)
#define FUNCTION2(fn, kernel, gradient_a, gradient_b, ...)                                         \
    KERNEL2(fn, kernel)                                                                            \
    GRADIENTS2(fn, gradient_a, gradient_b)                                                         \
    OPERATOR2(fn, TO_FLOAT, ADZI_SAVES_A | ADZI_SAVES_B, 0, NULL, NULL, .backward = fn##_backward) \
    EXPORT(fn, __VA_ARGS__)
#define FUNCTION2_EXPRESSED(fn, kernel, expression_, gradient_a, gradient_b, ...)                  \
    KERNEL2(fn, kernel)                                                                            \
    GRADIENTS2(fn, gradient_a, gradient_b)                                                         \
    EXPRESSION2(fn, expression_)                                                                   \
    OPERATOR2(fn, TO_FLOAT, ADZI_SAVES_A | ADZI_SAVES_B, 0, NULL, NULL, .backward = fn##_backward, \
        .expression = fn##_expression)                                                             \
    EXPORT(fn, __VA_ARGS__)
#define DERIVED(fn, kernel, expression_, ...)                       \
    KERNEL1(fn, kernel)                                             \
    EXPRESSION(fn, expression_)                                     \
    OPERATOR1(fn, TO_FLOAT, x, NULL, .expression = fn##_expression) \
    EXPORT(fn, __VA_ARGS__)
#define DERIVED2(fn, kernel, expression_, ...)                                                   \
    KERNEL2(fn, kernel)                                                                          \
    EXPRESSION2(fn, expression_)                                                                 \
    OPERATOR2(                                                                                   \
        fn, TO_FLOAT, ADZI_SAVES_A | ADZI_SAVES_B, 0, NULL, NULL, .expression = fn##_expression) \
    EXPORT(fn, __VA_ARGS__)
#define STEPS(fn, kernel, kernel_of_integers, instead, ...)                    \
    KERNEL1_ALL(fn, kernel, kernel_of_integers)                                \
    OPERATOR1(fn, ANY_TYPE, nothing, instead, .backward = adzi_backward_zeros) \
    EXPORT(fn, __VA_ARGS__)
#define COMPARISON(fn, kernel, ...) \
    TRUTH2(fn, kernel)              \
    TRUTH_OPERATOR2(fn, fn, TRUTH)  \
    BY_NUMBER(fn)                   \
    EXPORT(fn, __VA_ARGS__)
#define TEST(fn, kernel, kernel_of_integers, ...) \
    TRUTH1(fn, kernel, kernel_of_integers)        \
    TRUTH_OPERATOR1(fn)                           \
    EXPORT(fn, __VA_ARGS__)
#define LOGICAL(fn, kernel_of, ...)              \
    TRUTH_OPERATOR2(fn, kernel_of, TRUTH_VALUES) \
    EXPORT(fn, __VA_ARGS__)
#define INTEGERS2(fn, kernel, instead, ...)                                                \
    KERNEL2_ALL(fn, a + b, kernel)                                                         \
    OPERATOR2(fn, ANY_TYPE, ADZI_SAVES_NOTHING, ADZI_SAVES_NOTHING, instead, are_integers, \
        .backward = NULL)                                                                  \
    EXPORT(fn, __VA_ARGS__)
#define OWN_FILE EXPORT
