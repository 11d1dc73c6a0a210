/**
 * @file functions.h
 * Functions as modules, for a position in a Sequential.
 */
#ifndef ADZE_NN_FUNCTIONS_H
#define ADZE_NN_FUNCTIONS_H

#include "adze/nn/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A function of your own with data of your own. It returns a tensor, or NULL with an error
 * recorded. */
typedef adz_tensor *(*adz_lambda_function)(adz_tensor *x, void *user);

/** The length of the longest name of a function. */
#define ADZ_LAMBDA_NAME 63

/**
 * Makes a module of a function of your own.
 *
 * A call gives the function the first argument; further ones, such as the last state of an LSTM
 * before it, are ignored. The function computes with operators, so gradients, plans and exports
 * work as in any module. A module has no parameters of its own here: write a type if you need them
 * (adze/nn/type.h).
 *
 *     static adz_tensor *scaled(adz_tensor *x, void *user)
 *     {
 *         return adz_mul_number(x, *(const double *)user);
 *     }
 *
 * @param name      for printed trees, "Lambda(scaled)"; 1 to 63 bytes, copied
 * @param function  called in each forward
 * @param user      handed to the function; stays yours and must outlive the module and its copies;
 *                  may be NULL
 * @return          yours, end it with adz_module_release; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT
 * or ADZ_ERR_MEMORY recorded
 * @see             adz_function_new, for operators with one argument
 */
ADZ_API adz_module *adz_lambda_new(const char *name, adz_lambda_function function, void *user);

/**
 * Makes a module that takes one position of a dimension, which the result does not have.
 *
 * After a recurrent network it takes the last step: adz_select_new(1, -1) of [B, T, D], or
 * adz_select_new(0, -1) of [T, B, D], gives [B, D]. Of padded sequences that is the last step of
 * the longest one; the result "h" of the network is what belongs to each. A call takes the first
 * argument and ignores further ones.
 *
 * @param dim    of x, negative counted from the last
 * @param index  position in that dimension, negative counted from its end
 * @return       yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see          torch.select
 */
ADZ_API adz_module *adz_select_new(int dim, int64_t index);

#ifdef __cplusplus
}
#endif

#endif
