/**
 * @file type.h
 * Optimizers of your own: the settings, the states and the update of one parameter. adze's own
 * optimizers are described by such types, too.
 *
 * @code
 * // Lion (Chen et al., 2023): w = (1 - lr decay) w - lr sign(beta1 m + (1 - beta1) g)
 * //                           m = beta2 m + (1 - beta2) g
 * enum { LR, BETA1, BETA2, WEIGHT_DECAY };
 *
 * static adz_tensor *mix(adz_tensor *m, adz_tensor *g, adz_tensor *beta)
 * {
 *     return adz_add(g, adz_mul(beta, adz_sub(m, g)));
 * }
 *
 * static adz_status lion_update(adz_tensor **results, const adz_update *u)
 * {
 *     adz_tensor *w = u->parameter, *g = u->gradient, *m = u->states[0];
 *     adz_tensor *lr = u->numbers[LR], *decay = u->numbers[WEIGHT_DECAY];
 *     adz_tensor *c = mix(m, g, u->numbers[BETA1]), *zero = adz_zeros_like(lr);
 *     adz_tensor *down = adz_where(adz_lt_number(c, 0), adz_neg(lr), zero);
 *     adz_tensor *step = adz_where(adz_gt_number(c, 0), lr, down);
 *     results[0] = adz_sub(adz_sub(w, adz_mul(adz_mul(lr, decay), w)), step);
 *     results[1] = mix(m, g, u->numbers[BETA2]);
 *     return ADZ_OK; // a result that is NULL makes the step fail
 * }
 *
 * static const adz_optimizer_type lion_type = {
 *     .size = sizeof(adz_optimizer_type),
 *     .name = "Lion",
 *     .settings = { ADZ_SETTING("lr", 1e-4, ADZ_FINITE_FROM(0)),
 *         ADZ_SETTING("beta1", 0.9, ADZ_BELOW(0, 1)), ADZ_SETTING("beta2", 0.99, ADZ_BELOW(0, 1)),
 *         ADZ_SETTING("weight_decay", 0, ADZ_FINITE_FROM(0)) },
 *     .states = { { "exp_avg" } },
 *     .update = lion_update,
 *     .elementwise = true,
 * };
 *
 * adz_module *model = adz_linear_new(4, 1, NULL);
 * adz_optimizer *lion = adz_optimizer_new(&lion_type, adz_module_parameters(model), NULL, 0);
 * adz_optimizer_set(lion, -1, "weight_decay", 0.1);
 * adz_optimizer_release(&lion);
 * adz_module_release(&model);
 * @endcode
 *
 * The optimizer has groups with their own settings, schedulers, checkpoints, flat parameters and
 * states that are divided among ranks, and plans capture its step. The update is written with
 * adze's operators. Kernels may be added for speed; adz_optimizer_check compares them with the
 * operators.
 */
#ifndef ADZE_OPTIM_TYPE_H
#define ADZE_OPTIM_TYPE_H

#include "adze/optim/optimizer.h"
#include "adze/operator.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ADZ_OPTIMIZER_SETTINGS 16 /**< the most settings of a type */
#define ADZ_OPTIMIZER_STATES   8  /**< the most state tensors of a parameter */
#define ADZ_OPTIMIZER_NUMBERS  16 /**< the most numbers of an update */
#define ADZ_OPTIMIZER_TEXTS    10 /**< the most texts of a type */
#define ADZ_MOMENT_POWERS      2  /**< the most bases of adz_moment_power in a type */

/**
 * Defines functions, and keeps their text as an array, for files in C (adz_plan_write_c_many):
 *
 *     ADZ_C_TEXT(decaying_text,
 *         static void decaying_numbers(double *numbers, const adz_step_context *at) {
 *             numbers[0] = at->settings[0] / sqrt((double)at->step);
 *         })
 *
 * The text is C99 with adz_step_context and without macros. It may call sqrt, pow, exp, log, fmin,
 * fmax, adz_moment_power, functions of adze/real.h and functions of the type's texts. Functions,
 * and constants of an enum, need names that are no other optimizer's. A text has at most 4095
 * characters.
 *
 * @param name  of the array, for `numbers_text` of a type
 * @param ...   definitions of static functions and of enums
 */
#define ADZ_C_TEXT(name, ...) \
    __VA_ARGS__               \
    static const char name[] = #__VA_ARGS__;

#ifndef __cplusplus
/**
 * A setting: its name as in PyTorch, by which files and adz_optimizer_get know it, its default, and
 * its bounds: ADZ_SETTING("beta1", 0.9, ADZ_BELOW(0, 1)). Settings are doubles.
 */
#define ADZ_SETTING(its_name, its_default, ...)                                        \
    {                                                                                  \
        .name = (its_name), .kind = ADZ_FIELD_F64, .value = (its_default), __VA_ARGS__ \
    }
/** A setting that is 0 or 1; files have false or true. */
#define ADZ_SETTING_FLAG(its_name, its_default)                            \
    {                                                                      \
        .name = (its_name), .kind = ADZ_FIELD_BOOL, .value = (its_default) \
    }
#endif

/** A tensor that an optimizer keeps for each parameter, with the parameter's dtype. It has the
 * parameter's shape, too, unless `state_shape` of the type gives another one. */
typedef struct adz_optimizer_state {
    const char *name; /**< as in PyTorch; the name in files */
    int initial;      /**< with what a new state is filled: the number of a setting, 0 for zeros, or
                           an adz_state_initial */
} adz_optimizer_state;

/** Values of adz_optimizer_state.initial that are no number of a setting. */
typedef enum adz_state_initial {
    ADZ_INITIAL_LR = -1, /**< the rate of the step that makes the state; in C that an export
                              writes, too */
    ADZ_INITIAL_ONE = -2 /**< 1 */
} adz_state_initial;

/** What `state_shape` of a type returns instead of a rank. */
typedef enum adz_state_rank {
    ADZ_STATE_LIKE_PARAMETER = -1, /**< the state has the parameter's shape */
    ADZ_STATE_ABSENT = -2          /**< this parameter has no such state */
} adz_state_rank;

/** What the numbers of one parameter's update are computed from. */
typedef struct adz_step_context {
    const double *settings; /**< of the parameter's group, in the order of the type */
    int64_t step;           /**< 1 in the first step in which the parameter has a gradient. 0 if the
                                 type is `uncounted` */
    uint32_t fresh;         /**< bit k: state k was made for this step */
} adz_step_context;

/** What the update of one parameter is computed from. */
typedef struct adz_update {
    adz_tensor *parameter;        /**< w[...], f32 or f64, without a gradient */
    adz_tensor *gradient;         /**< dw, like w */
    adz_tensor *const *states;    /**< state k, like w unless the type has `state_shape`, for k <
                                       ADZ_OPTIMIZER_STATES; ADZ_NONE if the settings or the parameter
                                       need no state k, or the type has none */
    adz_tensor *const *numbers;   /**< number k, a scalar of the dtype of w */
    const struct adzi_moment *at; /**< for adz_update_setting */
} adz_update;

/**
 * The update of one parameter, by adze's operators. It is called without a gradient mode, in a
 * scope of the call. results[0] becomes the new parameter, and results[1 + k] the new state k. Each
 * has the shape and dtype of the tensor that it replaces. A state that stays as it is becomes
 * update->states[k]. Results of states that are ADZ_NONE are not read.
 *
 * The function changes no tensor of the update in place and reads no elements on the host. What
 * changes from step to step is among the numbers, because a plan records the operators once.
 *
 * Returns ADZ_OK, or a status with an error recorded. A missing result is an error, so that the
 * failure of an operator needs no further check.
 */
typedef adz_status (*adz_update_function)(adz_tensor **results, const adz_update *update);

/** The arrays of an update, for a kernel: `count` elements in row-major order, without gaps. */
typedef struct adz_update_call {
    void *parameter;      /**< changed by the kernel */
    const void *gradient; /**< of the same dtype */
    void *const *states;  /**< state k, changed by the kernel, for k < ADZ_OPTIMIZER_STATES; NULL if
                               there is no state k */
    const double *numbers; /**< as in adz_update, in f64; to be converted to the dtype */
} adz_update_call;

/**
 * A kernel: updates the elements begin .. end-1 of a parameter and of its states. It has the rules
 * of adz_kernel_function: the elements may be cut among threads and ranks, and a plan calls it
 * again. It computes what the type's `update` computes, which adz_optimizer_check compares.
 */
typedef void (*adz_update_kernel)(const adz_update_call *call, int64_t begin, int64_t end);

/**
 * Describes an optimizer. Name the members that you set, as in .name = "Lion"; the others are zero
 * then. The struct grows at its end, and a program that was compiled with fewer members goes on to
 * work.
 *
 * Functions of a type that get settings get them in the order of the type.
 */
typedef struct adz_optimizer_type {
    size_t size;      /**< sizeof(adz_optimizer_type) */
    const char *name; /**< for messages and files, which are loaded by an optimizer of this name */

    /** ADZ_SETTING or ADZ_SETTING_FLAG for each, "lr" first, which schedulers change. A row may
     * also be that of a member of a struct of options, ADZ_FIELD(my_options, beta1, ...), by which
     * adz_options_take reads the struct. Rows are single numbers: ADZ_FIELD_BOOL, ADZ_FIELD_INT,
     * ADZ_FIELD_I64, ADZ_FIELD_U64 or ADZ_FIELD_F64. */
    adz_field settings[ADZ_OPTIMIZER_SETTINGS];

    adz_optimizer_state states[ADZ_OPTIMIZER_STATES]; /**< none is allowed */
    adz_update_function update;                       /**< the formula, needed */

    /** Checks settings that depend on each other. Each is within its bounds already. Returns
     * ADZ_OK, or what adz_error_set(op, ...) returns. NULL if there is nothing to check. */
    adz_status (*check)(const char *op, const double *settings);

    /** The states that these settings need: bit k for state k. NULL: all of them. */
    uint32_t (*needs)(const double *settings);

    /** Computes the numbers of an update, such as a bias correction from the step. It runs in every
     * replay of a plan, and calls no function of adze that can fail. NULL: the numbers are the
     * settings. */
    void (*numbers)(double *numbers, const adz_step_context *at);
    size_t n_numbers; /**< how many numbers `numbers` writes, 1 to ADZ_OPTIMIZER_NUMBERS; 0 without
                           that function */

    adz_update_kernel kernels[ADZ_KERNEL_DTYPES]; /**< a faster `update` by the parameter's dtype,
                           as in .kernels = { [ADZ_F32] = lion_f32 }. Where there is NULL, `update`
                           computes the step */
    bool whole;     /**< an element's update depends on other elements, such as their norm. The
                         states cannot be divided among ranks then, and there are no kernels */
    bool uncounted; /**< files have no "step", and no number depends on the step; as in SGD */

    /** The text of `numbers`, by which a file in C computes them: arrays of ADZ_C_TEXT in the order
     * in which they need each other. The last one ends with the function `numbers` itself. Empty:
     * such a file cannot be written, unless `numbers` is NULL. */
    const char *numbers_text[ADZ_OPTIMIZER_TEXTS];

    const char *constructor; /**< for messages: the function of yours that makes such an optimizer,
                                  as in "lion_new"; NULL: "adz_optimizer_new" */

    /** Fills `sizes` with the sizes of a state of this parameter, and returns its rank, 0 to
     * ADZ_MAX_RANK, or an adz_state_rank. The answer depends on the arguments alone. A type with
     * this function has no kernels. Unless the type is `whole`, states of another shape depend on
     * the numbers and on each other only, and ranks that divide the parameter all keep them. NULL:
     * all states have the parameter's shape. */
    int (*state_shape)(int state, const adz_tensor *parameter, int64_t *sizes);

    /** Says whether the optimizer takes a parameter, such as a matrix only. Returns ADZ_OK, or what
     * adz_error_set(op, ...) returns. `i` is its number in its group, for the message. NULL: it
     * takes every contiguous f32 or f64 leaf. */
    adz_status (*check_parameter)(const char *op, const adz_tensor *parameter, size_t i);

    /** All operators of `update` are elementwise. The type is not `whole`. A large parameter is
     * updated faster then: `update` gets slices of some ten thousand elements one after the other,
     * each of rank 1, with the same slices of the gradient and of the states like the parameter.
     * The old slices are overwritten before the next ones come. Other states have the same old
     * value each time, and their new value is that of the first call. If the first call succeeds,
     * the others have to: a step that fails later has changed some of the elements. */
    bool elementwise;
} adz_optimizer_type;

/**
 * Makes an optimizer of a type, with one group of parameters.
 *
 * A step by kernels changes the parameters one by one. A step by `update` computes all new
 * parameters and states before the first one is stored, so it needs memory for them. It does not
 * if the type is `elementwise`.
 *
 * @param type        stays as long as the optimizer does
 * @param parameters  one or more contiguous f32 or f64 leaves, kept
 * @param settings    the values of the first n_settings settings; NULL if n_settings is 0
 * @param n_settings  at most as many as the type has; the remaining settings have their defaults
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT (the message names what is wrong with the type or with a
 *                    setting), ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE, ADZ_ERR_STATE (in a
 *                    function that a plan captures) or ADZ_ERR_MEMORY recorded
 * @see               torch.optim.Optimizer
 */
ADZ_API adz_optimizer *adz_optimizer_new(const adz_optimizer_type *type, adz_tensor_list parameters,
    const double *settings, size_t n_settings);

/**
 * The type of an optimizer, adze's own included.
 *
 * @param optimizer  any optimizer
 * @return           for adz_optimizer_new the type that was given; NULL when optimizer is NULL
 */
ADZ_API const adz_optimizer_type *adz_optimizer_type_of(const adz_optimizer *optimizer);

/**
 * A setting by which an update chooses its operators: `if (adz_update_setting(u, NESTEROV) != 0)`.
 * After a change of such a setting a plan captures again. "lr", "momentum" and "beta1" are refused,
 * because schedulers change them from step to step; the numbers have them.
 *
 * @param update   as given to the type's `update`
 * @param setting  the number of the setting in the type
 * @return         the value, 0 or 1 for a flag; NaN with ADZ_ERR_NULL, ADZ_ERR_INDEX or
 *                 ADZ_ERR_ARGUMENT recorded
 */
ADZ_API double adz_update_setting(const adz_update *update, int setting);

/**
 * base^step, for corrections such as 1 - beta1^step. Every processor gets the same bits. The last
 * power of each base is kept, because most parameters have the step of the parameter before them.
 *
 * @param at    as the type's `numbers` got it
 * @param i     the number of the base among those of the type, below ADZ_MOMENT_POWERS
 * @param base  any number
 * @return      the power; NaN when `at` is NULL or i is out of range
 */
ADZ_API double adz_moment_power(const adz_step_context *at, int i, double base);

/**
 * Compares what an optimizer's type says twice: its kernels with its `update`. Also checks what a
 * type promises: an update is that of every element by itself (unless the type is `whole`), changes
 * nothing in place and gives all results.
 *
 * It makes steps from equal parameters, states and gradients in both ways, in f32 and f64. Sizes
 * are 0, 1, odd numbers and a size that threads share. Settings are the given ones, and then each
 * of them changed, alone and in pairs: flags are toggled, numbers are 0 or not 0. Combinations that
 * `check` refuses are left out. The gradients contain zeros of both signs, denormal, very small and
 * very large numbers, infinities and NaN.
 *
 * @param type        with or without kernels
 * @param settings    as adz_optimizer_new takes them
 * @param n_settings  as adz_optimizer_new takes it
 * @param ulps        the largest difference, 0 for equal bits: in units in the last place of the
 *                    largest of the element's old and new values, and 0 or more. NaN equals NaN,
 * and 0 equals -0
 * @return            ADZ_OK; ADZ_ERR_NUMERIC (the message names dtype, settings, step and element),
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_STATE and ADZ_ERR_UNSUPPORTED (in a function that a
 *                    plan captures or an export traces), or an error of adz_optimizer_new or of a
 *                    step
 */
ADZ_API adz_status adz_optimizer_check(
    const adz_optimizer_type *type, const double *settings, size_t n_settings, double ulps);

#ifdef __cplusplus
}
#endif

#endif
