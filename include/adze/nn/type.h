/**
 * @file type.h
 * Modules of your own: the type, and the calls that fill a module. adze's own modules are made with
 * these calls too.
 *
 * @code
 * typedef struct {
 *     double factor;
 * } scale_state;
 *
 * static const adz_field scale_fields[] = { ADZ_FIELD(scale_state, factor, ADZ_FINITE) };
 *
 * static adz_tensor *scale_forward(adz_module *self, adz_tensor *x)
 * {
 *     const scale_state *state = (const scale_state *)adz_module_data(self);
 *     return adz_mul_number(adz_mul(x, adz_module_parameter_at(self, 0)), state->factor);
 * }
 *
 * static const adz_module_type scale_type = { .size = sizeof(adz_module_type),
 *     .name = "Scale",
 *     .forward = scale_forward,
 *     .fields = scale_fields, // printed as Scale(factor=0.5)
 *     .n_fields = 1 };
 *
 * static adz_module *scale_new(int64_t width, double factor)
 * {
 *     const scale_state state = { factor };
 *     if (!adz_fields_check("scale_new", scale_fields, 1, &state)) {
 *         return NULL; // factor is nan, but must be finite
 *     }
 *     adz_module *self = adz_module_new(&scale_type, sizeof(scale_state));
 *     adz_scope *scope = adz_scope_open();
 *     if (!adz_module_add_parameter(self, "weight", adz_ones(ADZ_SHAPE(width), ADZ_F32))) {
 *         adz_module_release(&self);
 *     } else {
 *         *(scale_state *)adz_module_data(self) = state;
 *     }
 *     adz_scope_close(scope);
 *     return self;
 * }
 *
 * adz_module *scale = scale_new(8, 0.5);
 * adz_tensor *y = adz_module_forward(scale, adz_ones(ADZ_SHAPE(3, 8), ADZ_F32));
 * adz_module_release(&scale);
 * @endcode
 */
#ifndef ADZE_NN_TYPE_H
#define ADZE_NN_TYPE_H

#include "adze/fields.h"
#include "adze/nn/module.h"
#include "adze/ops/activation.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The most states of a recurrent cell. */
#define ADZ_CELL_STATES 8

/** A state that a recurrent cell carries from step to step. */
typedef struct adz_cell_state {
    const char *name; /**< "h": the result of a layer that has this name; its argument is "h0". Up
                         to ADZ_VALUE_NAME - 1 characters, which live as long as the type */
    adz_shape shape;  /**< without the batch, which stands before it */
} adz_cell_state;

/** What modules of one kind share. Give `forward`, `call` or both; the rest may be NULL. */
typedef struct adz_module_type {
    size_t size;      /**< sizeof(adz_module_type) */
    const char *name; /**< "Linear": in printed trees and in messages; stays as long as the modules
                         do */

    /** One tensor in, one out; NULL with an error recorded for a failure. Results are borrowed from
     * the innermost scope, which the call has opened. */
    adz_tensor *(*forward)(adz_module *self, adz_tensor *x);

    /** Reads the arguments of `in`, appends the results to `out`. The call is an error if an
     * argument was not read: by adz_values_argument, adz_values_get or adz_values_at, or by
     * handing `in` on to another module. A module that ignores some arguments reads them all the
     * same. */
    adz_status (*call)(adz_module *self, const adz_values *in, adz_values *out);

    /** Draws the module's own parameters again; its children's are drawn by their own types. */
    adz_status (*reset_parameters)(adz_module *self);

    /** Writes what stands between the parentheses of the printed tree, as snprintf does, and
     * returns the length. Write it only for what `fields` cannot say. */
    size_t (*extra_repr)(adz_module *self, char *buffer, size_t size);

    /** Ends what the state owns, before parameters and children end. The state may be all zeros. */
    void (*destroy)(adz_module *self);

    /** Fills the state of a deep copy, which is all zeros. Without it the bytes are copied. */
    adz_status (*copy_data)(adz_module *copy, adz_module *original);

    /** Forgets what the module carries from one call to the next. That is best kept in buffers that
     * are not persistent: copies and dtypes then follow by themselves, a failed adz_module_reset or
     * adz_module_select_hidden puts them back, and adz_data_parallel gives each micro-batch its
     * own. */
    adz_status (*reset)(adz_module *self);

    /** Keeps these batch rows, i64[n], of what the module carries from one call to the next; may
     * replace buffers, but not add any. */
    adz_status (*select_hidden)(adz_module *self, adz_tensor *rows);

    /** Declares that the module computes x weight^T + bias and nothing else: gives weight[out, in]
     * and bias[out], or ADZ_NONE for no bias; NULL as weight means not now. Containers may then
     * compute the elementwise steps after it along, instead of calling `forward`. */
    void (*linear_parts)(adz_module *self, adz_tensor **weight, adz_tensor **bias);

    /** Declares that the module maps each element by itself, so that a linear layer before it may
     * compute it along: an activation function sets step->activation; dropout sets step->dropout,
     * step->training and step->generator. `step` begins as the identity. Returns false where the
     * module's settings cannot be written there; it is called by `forward` then. */
    bool (*elementwise_step)(adz_module *self, adz_bias_activation_options *step);

    /** Declares that each element of the result is the largest one of some elements of x, as in
     * MaxPool2d. A Sequential may then compute a ReLU that stands before the module after it. The
     * results and gradients are the same, the sign of a zero aside. */
    bool takes_maximum;

    /** Declares which parameters adz_module_store_weights may store in half precision: bit i stands
     * for the i-th parameter that was added. `forward` may only give such a parameter to adz_linear
     * or adz_matmul, with f32 tensors, or convert what it reads of it with adz_to. */
    uint32_t half_parameters;

    /** What the state consists of (adze/fields.h). Without extra_repr these fields are what stands
     * between the parentheses of the printed tree. A state that begins with a struct of options is
     * read and checked by the same rows (adz_options_take). NULL: nothing is printed. */
    const adz_field *fields;
    size_t n_fields; /**< rows of fields; 0 */

    /** For a parametrisation (adze/nn/parametrize.h): appends the tensors of which the module
     * computes `value`, or the nearest it can. Runs without a graph. NULL: the value itself. */
    adz_status (*right_inverse)(adz_module *self, adz_tensor *value, adz_values *originals);

    /** Declares that the module is a recurrent cell: a call takes x[B, ...] and its states by
     * position. It gives the next states, of which the first one is the output, too; or an output
     * y[B, ...] and behind it the next states. Fills `states`, room for ADZ_CELL_STATES, and
     * returns their number; 0 if the module is no cell. adz_recurrent_new makes a layer of such a
     * module. */
    size_t (*cell_states)(adz_module *self, adz_cell_state *states);

    /** Declares which parameters adz_module_quantize_weights may store in blocks of Q8_0, with the
     * bits of half_parameters. `forward` may only give such a parameter to adz_linear as its
     * weight, or convert what it reads of it with adz_dequantize_q8_0. */
    uint32_t block_parameters;
} adz_module_type;

/**
 * A module of a type, in training mode, without parameters and children.
 *
 * @param type        stays as long as the module does
 * @param state_size  bytes of the module's own state, which start as zeros; 0 for none
 * @return            yours, end it with adz_module_release; NULL with ADZ_ERR_NULL,
 * ADZ_ERR_ARGUMENT (neither forward nor call) or ADZ_ERR_MEMORY recorded
 */
ADZ_API adz_module *adz_module_new(const adz_module_type *type, size_t state_size);

/**
 * The module's own state.
 *
 * @param module  any module
 * @return        state_size bytes that live as long as the module; NULL when there are none
 */
ADZ_API void *adz_module_data(adz_module *module);

/**
 * The description that a module was made from.
 *
 * @param module  any module
 * @return        as given to adz_module_new; NULL when module is NULL
 */
ADZ_API const adz_module_type *adz_module_type_of(const adz_module *module);

/**
 * Adds a parameter: a tensor that training changes and the state contains.
 *
 * @param module  changed
 * @param name    not empty, without a dot, not taken by a parameter, buffer or child; copied
 * @param t       a contiguous f32 or f64 leaf, kept; it starts to want a gradient. One that is
 *                another module's parameter too is tied: listed once, saved under each name.
 *                f16, bf16 and blocks of Q8_0, without a gradient, where the type's
 *                half_parameters and block_parameters allow them.
 *                ADZ_NONE keeps the position of a parameter that is left out.
 * @return        t, borrowed from the module; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (the name),
 *                ADZ_ERR_DTYPE, ADZ_ERR_GRAPH (no leaf), ADZ_ERR_SHAPE (not contiguous) or
 *                ADZ_ERR_MEMORY
 * @see           torch.nn.Module.register_parameter
 */
ADZ_API adz_tensor *adz_module_add_parameter(adz_module *module, const char *name, adz_tensor *t);

/**
 * adz_module_add_parameter that replaces a parameter of that name, as tying weights does.
 *
 * @param module  changed
 * @param name    of one of its own parameters, or new
 * @param t       a contiguous f32 or f64 leaf, kept; it starts to want a gradient. One that is
 *                another module's parameter too is tied: listed once, saved under each name.
 *                ADZ_NONE keeps the position of a parameter that is left out.
 * @return        t, borrowed from the module; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (the name),
 *                ADZ_ERR_DTYPE, ADZ_ERR_GRAPH (no leaf), ADZ_ERR_SHAPE (not contiguous),
 *                ADZ_ERR_STATE (the parameter there lies in a flat buffer) or ADZ_ERR_MEMORY
 */
ADZ_API adz_tensor *adz_module_set_parameter(adz_module *module, const char *name, adz_tensor *t);

/**
 * Adds a buffer: a tensor that belongs to the module and is not trained.
 *
 * @param module      changed
 * @param name        not empty, without a dot, not taken by a parameter, buffer or child; copied
 * @param t           a contiguous tensor outside any graph, kept; ADZ_NONE keeps the position of
 * one that is left out
 * @param persistent  whether the state contains it
 * @return            t, borrowed from the module; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (the
 *                    name), ADZ_ERR_DTYPE, ADZ_ERR_GRAPH (no leaf), ADZ_ERR_SHAPE (not contiguous)
 *                    or ADZ_ERR_MEMORY
 * @see               torch.nn.Module.register_buffer
 */
ADZ_API adz_tensor *adz_module_add_buffer(
    adz_module *module, const char *name, adz_tensor *t, bool persistent);

/**
 * adz_module_add_buffer that replaces a buffer of that name, which stays as persistent as it was.
 *
 * @param module  changed
 * @param name    of one of its own buffers, or new (then persistent)
 * @param t       a contiguous tensor outside any graph, kept; ADZ_NONE keeps the position of one
 * that is left out
 * @return        t, borrowed from the module; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (the name),
 *                ADZ_ERR_DTYPE, ADZ_ERR_GRAPH (no leaf), ADZ_ERR_SHAPE (not contiguous) or
 *                ADZ_ERR_MEMORY
 */
ADZ_API adz_tensor *adz_module_set_buffer(adz_module *module, const char *name, adz_tensor *t);

/**
 * Adds a child.
 *
 * @param module  changed
 * @param name    not empty, without a dot, not taken by a parameter, buffer or child; copied
 * @param child   its reference is taken over in every case, failure included, so constructor calls
 *                nest; take one more with adz_module_keep to go on using it elsewhere. A module may
 *                occur several times, with a reference for each, but not inside itself.
 * @return        child, borrowed from the module; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT,
 *                ADZ_ERR_OWNERSHIP (a parent has the only reference to the child, or it has ended)
 * or ADZ_ERR_MEMORY recorded
 * @see           torch.nn.Module.add_module
 */
ADZ_API adz_module *adz_module_add_child(adz_module *module, const char *name, adz_module *child);

/**
 * adz_module_add_child that replaces a child of that name.
 *
 * @param module  changed
 * @param name    of one of its own children, or new
 * @param child   its reference is taken over in every case, failure included, so constructor calls
 *                nest; take one more with adz_module_keep to go on using it elsewhere. A module may
 *                occur several times, with a reference for each, but not inside itself.
 * @return        child, borrowed from the module; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT,
 *                ADZ_ERR_OWNERSHIP (a parent has the only reference to the child, or it has ended)
 * or ADZ_ERR_MEMORY recorded
 */
ADZ_API adz_module *adz_module_set_child(adz_module *module, const char *name, adz_module *child);

/**
 * Says that something has changed on which the module's forward depends and which is no tensor, no
 * child and no mode: a switch or a number in its state. A function of its own that sets such a
 * value calls this; plans (plan.h) then call their function again instead of replaying it.
 *
 * In a function that a plan captures the call does nothing, because the plan calls the setter
 * itself.
 *
 * @param module  whose state has changed
 * @return        ADZ_OK, or ADZ_ERR_NULL
 */
ADZ_API adz_status adz_module_forward_changed(adz_module *module);

#ifdef __cplusplus
}
#endif

#endif
