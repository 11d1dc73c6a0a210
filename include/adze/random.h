/**
 * @file random.h
 * Random numbers: Philox 4x32-10 generators and the factories that draw from them.
 *
 * Draws do not depend on the number of threads. They are not PyTorch's numbers.
 */
#ifndef ADZE_RANDOM_H
#define ADZE_RANDOM_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Makes a random number generator.
 *
 * @param seed  any number
 * @return      yours, end it with adz_generator_free; NULL when memory was refused
 */
ADZ_API adz_generator *adz_generator_new(uint64_t seed);

/**
 * Ends a generator.
 *
 * @param generator  address of the pointer, which becomes NULL; a NULL inside is left alone
 */
ADZ_API void adz_generator_free(adz_generator **generator);

/**
 * The default generator of the thread's context. A call without a generator draws from it.
 *
 * @return borrowed from the context
 */
ADZ_API adz_generator *adz_default_generator(void);

/**
 * Restarts the default generator from a seed.
 *
 * @param seed  any number
 * @return      ADZ_OK
 * @see         torch.manual_seed
 */
ADZ_API adz_status adz_manual_seed(uint64_t seed);

/**
 * Reads a generator's state.
 *
 * @param generator  NULL for the default one
 * @return           the state; {0, 0} with ADZ_ERR_OWNERSHIP (the generator has ended) or
 *                   ADZ_ERR_STATE (in a function that a plan captures) recorded
 */
ADZ_API adz_generator_state adz_generator_get_state(const adz_generator *generator);

/**
 * Restores a generator's state.
 *
 * @param generator  NULL for the default one
 * @param state      from adz_generator_get_state
 * @return           ADZ_OK; or ADZ_ERR_OWNERSHIP if the generator has ended
 */
ADZ_API adz_status adz_generator_set_state(adz_generator *generator, adz_generator_state state);

/**
 * Uniform numbers in [0, 1).
 *
 * @param shape  rank 0 to 8, sizes 0 or more
 * @param dtype  f32 or f64
 * @return       borrowed from the scope, or NULL (ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY)
 * @see          torch.rand
 */
ADZ_API adz_tensor *adz_rand(adz_shape shape, adz_dtype dtype);

/**
 * Normal numbers with mean 0 and deviation 1.
 *
 * @param shape  rank 0 to 8, sizes 0 or more
 * @param dtype  f32 or f64
 * @return       borrowed from the scope, or NULL (ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY)
 * @see          torch.randn
 */
ADZ_API adz_tensor *adz_randn(adz_shape shape, adz_dtype dtype);

/**
 * Integers drawn evenly from [low, high).
 *
 * @param low    smallest value
 * @param high   above low
 * @param shape  rank 0 to 8, sizes 0 or more
 * @param dtype  i64, f32 or f64; i32 or u8 if they hold the whole range
 * @return       borrowed from the scope, or NULL (ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE,
 *               ADZ_ERR_MEMORY)
 * @see          torch.randint
 */
ADZ_API adz_tensor *adz_randint(int64_t low, int64_t high, adz_shape shape, adz_dtype dtype);

/**
 * The numbers 0 .. n-1 in random order.
 *
 * @param n  0 or more
 * @return   y[n] i64, borrowed from the scope, or NULL (ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY)
 * @see      torch.randperm
 */
ADZ_API adz_tensor *adz_randperm(int64_t n);

/**
 * The number at one position of a random order of 0 .. n-1. The order is a function of (seed,
 * epoch, n), computed for the position alone: nothing is stored, and any position may be asked for
 * at any time by any thread or process. Use it to visit rows in an order that several processes
 * share.
 *
 * A loader that shuffles visits its rows in this order; its position holds the seed.
 *
 * @param seed   any number
 * @param epoch  any number; each one has another order
 * @param n      0 to 2^62
 * @param i      the position, 0 .. n-1
 * @return       0 .. n-1, another number for each position; -1 with ADZ_ERR_ARGUMENT (n) or
 *               ADZ_ERR_INDEX (i) recorded
 */
ADZ_API int64_t adz_shuffle_index(uint64_t seed, uint64_t epoch, int64_t n, int64_t i);

/**
 * Ones with probability p, else zeros.
 *
 * @param p      in [0, 1]
 * @param shape  rank 0 to 8, sizes 0 or more
 * @param dtype  any dtype but f16 and bf16
 * @return       borrowed from the scope, or NULL (ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE,
 *               ADZ_ERR_MEMORY)
 * @see          torch.bernoulli
 */
ADZ_API adz_tensor *adz_bernoulli(double p, adz_shape shape, adz_dtype dtype);

/**
 * Uniform numbers in [0, 1), in another tensor's shape and dtype.
 *
 * @param t  f32 or f64
 * @return   borrowed from the scope, or NULL (ADZ_ERR_NULL, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY)
 * @see      torch.rand_like
 */
ADZ_API adz_tensor *adz_rand_like(const adz_tensor *t);

/**
 * Normal numbers with mean 0 and deviation 1, in another tensor's shape and dtype.
 *
 * @param t  f32 or f64
 * @return   borrowed from the scope, or NULL (ADZ_ERR_NULL, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY)
 * @see      torch.randn_like
 */
ADZ_API adz_tensor *adz_randn_like(const adz_tensor *t);

/**
 * Uniform numbers in [0, 1) from a given generator.
 *
 * @param generator  NULL for the default one
 * @param shape      rank 0 to 8, sizes 0 or more
 * @param dtype      f32 or f64
 * @return           borrowed from the scope, or NULL (ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY)
 */
ADZ_API adz_tensor *adz_generator_rand(adz_generator *generator, adz_shape shape, adz_dtype dtype);

/**
 * Normal numbers with mean 0 and deviation 1 from a given generator.
 *
 * @param generator  NULL for the default one
 * @param shape      rank 0 to 8, sizes 0 or more
 * @param dtype      f32 or f64
 * @return           borrowed from the scope, or NULL (ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY)
 */
ADZ_API adz_tensor *adz_generator_randn(adz_generator *generator, adz_shape shape, adz_dtype dtype);

/**
 * Integers drawn evenly from [low, high), from a given generator.
 *
 * @param generator  NULL for the default one
 * @param low        smallest value
 * @param high       above low
 * @param shape      rank 0 to 8, sizes 0 or more
 * @param dtype      i64, f32 or f64; i32 or u8 if they hold the whole range
 * @return           borrowed from the scope, or NULL (ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE,
 *                   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY)
 */
ADZ_API adz_tensor *adz_generator_randint(
    adz_generator *generator, int64_t low, int64_t high, adz_shape shape, adz_dtype dtype);

/**
 * The numbers 0 .. n-1 in random order, from a given generator.
 *
 * @param generator  NULL for the default one
 * @param n          0 or more
 * @return           y[n] i64, borrowed from the scope, or NULL (ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY)
 */
ADZ_API adz_tensor *adz_generator_randperm(adz_generator *generator, int64_t n);

/**
 * Ones with probability p, else zeros, from a given generator.
 *
 * @param generator  NULL for the default one
 * @param p          in [0, 1]
 * @param shape      rank 0 to 8, sizes 0 or more
 * @param dtype      any dtype but f16 and bf16
 * @return           borrowed from the scope, or NULL (ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE,
 *                   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY)
 */
ADZ_API adz_tensor *adz_generator_bernoulli(
    adz_generator *generator, double p, adz_shape shape, adz_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif
