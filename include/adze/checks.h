/**
 * @file checks.h
 * What adze's own modules and operators use to check their arguments and to say what is wrong, for
 * those of your own.
 *
 *     if (!adz_check_tensor("my_layer", "x", x)) {
 *         return NULL;
 *     }
 *     if (adz_tensor_size(x, -1) != width) {
 *         adz_error_format("my_layer", ADZ_ERR_SHAPE, "x%s must end in %lld", adz_text_shape(x),
 *             (long long)width);
 *         return NULL;
 *     }
 *
 * A check returns true, or records an error that names the argument and the value and returns
 * false. None of them is differentiable, and none changes anything else.
 */
#ifndef ADZE_CHECKS_H
#define ADZE_CHECKS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "adze/base.h"
#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Records an error, as adz_error_set does, with a message that printf would write. It is cut to
 * 1,023 bytes.
 *
 * @param op      what failed, for the message and for adz_error_operator
 * @param status  any but ADZ_OK
 * @param format  what is wrong, and the way out
 * @return        the status recorded
 */
#ifdef __GNUC__
__attribute__((format(printf, 3, 4)))
#endif
static inline adz_status
adz_error_format(const char *op, adz_status status, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return adz_error_set(op, status, text);
}

/** A part of a program for adz_error_within. */
typedef adz_status (*adz_error_scope_function)(void *user);

/**
 * Runs a function whose errors begin with a text, such as the path of the file that it reads:
 * "net.onnx: adz_onnx_load: the graph has no output". The texts of functions inside each other, and
 * the modules whose calls are running, are joined by points.
 *
 * @param text  copied
 * @param f     returns ADZ_OK, or the status of an error, which is recorded if it has recorded none
 * @param user  handed to f
 * @return      what f returns, or ADZ_ERR_NULL or ADZ_ERR_MEMORY
 * @errors      ADZ_ERR_NULL, ADZ_ERR_MEMORY, those of f
 */
ADZ_API adz_status adz_error_within(const char *text, adz_error_scope_function f, void *user);

/**
 * Checks that an argument is a living tensor.
 *
 * @param op        the function that was called, for the message
 * @param argument  its argument, for the message
 * @param t         any pointer that adze has handed out, NULL or ADZ_NONE
 * @return          false with ADZ_ERR_NULL (NULL), ADZ_ERR_ARGUMENT (ADZ_NONE) or ADZ_ERR_OWNERSHIP
 *                  (its scope has ended) recorded, or with the earlier error if t is NULL after a
 *                  failure
 */
ADZ_API bool adz_check_tensor(const char *op, const char *argument, const adz_tensor *t);

/**
 * Checks a size of a parameter, such as a number of features.
 *
 * @param op     the function that was called, for the message
 * @param name   of the size, for the message
 * @param size   at most INT64_MAX / 16, so that its products with small numbers do not overflow
 * @param least  the smallest that is allowed
 * @return       false with ADZ_ERR_ARGUMENT recorded
 */
ADZ_API bool adz_check_size(const char *op, const char *name, int64_t size, int64_t least);

/**
 * Checks a whole number.
 *
 * @param op     the function that was called, for the message
 * @param name   of the number, for the message
 * @param n      least .. most
 * @param least  the smallest that is allowed
 * @param most   the largest that is allowed
 * @return       false with ADZ_ERR_ARGUMENT recorded
 */
ADZ_API bool adz_check_range(
    const char *op, const char *name, int64_t n, int64_t least, int64_t most);

/**
 * Checks a probability.
 *
 * @param op    the function that was called, for the message
 * @param name  of the probability, for the message
 * @param p     in [0, 1], not NaN
 * @return      false with ADZ_ERR_ARGUMENT recorded
 */
ADZ_API bool adz_check_probability(const char *op, const char *name, double p);

/**
 * Checks the dtype of parameters.
 *
 * @param op     the function that was called, for the message
 * @param dtype  ADZ_F32 or ADZ_F64
 * @return       false with ADZ_ERR_DTYPE recorded
 */
ADZ_API bool adz_check_parameter_dtype(const char *op, adz_dtype dtype);

/**
 * The sizes of a tensor, for messages.
 *
 * @param t  any pointer that adze has handed out, NULL or ADZ_NONE
 * @return   "[4, 10]"; "(none)" for ADZ_NONE, "(NULL)" for NULL, "(ended)" after its end. Valid
 * until the thread has asked for 8 more texts
 */
ADZ_API const char *adz_text_shape(const adz_tensor *t);

/**
 * Sizes, for messages.
 *
 * @param shape  any
 * @return       "[4, 10]", valid until the thread has asked for 8 more texts
 */
ADZ_API const char *adz_text_sizes(adz_shape shape);

/**
 * A number for messages, with up to 10 digits and a decimal point in every locale.
 *
 * @param x  any
 * @return   "0.5", valid until the thread has asked for 8 more texts
 */
ADZ_API const char *adz_text_number(double x);

/**
 * A number as Python prints a float, for what extra_repr of a module type writes.
 *
 * @param x  any
 * @return   "0.5", "1.0" or "1e-05", valid until the thread has asked for 8 more texts
 */
ADZ_API const char *adz_text_float(double x);

#ifdef __cplusplus
}
#endif

#endif
