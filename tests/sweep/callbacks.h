/* The functions that the sweep passes as callbacks. The generated table includes this file. */
#ifndef ADZE_TESTS_SWEEP_CALLBACKS_H
#define ADZE_TESTS_SWEEP_CALLBACKS_H

#include <stdlib.h>

#include "sweep.h"

static inline adz_tensor *hook(adz_tensor *grad, void *user)
{
    (void)user;
    return grad;
}

static inline void ended(void *user)
{
    (void)user;
}

static inline adz_status accumulated(adz_tensor *t, void *user)
{
    (void)user;
    return t != NULL ? ADZ_OK : ADZ_ERR_NULL;
}

static inline void on_message(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)message;
    (void)user;
}

static inline adz_status part_of_ours(void *user)
{
    (void)user;
    return ADZ_OK;
}

static inline bool rename_tensor(const char *name, char *renamed, size_t size, void *user)
{
    (void)user;
    return name[0] != '\0' && renamed[0] != '\0' && size > 0;
}

static inline adz_tensor *distance_of_ours(adz_tensor *a, adz_tensor *b, void *user)
{
    (void)user;
    return adz_pairwise_distance(a, b, 2, 0, false);
}

/* The body of a loop: what comes in goes out, and further results are ones. */
static inline adz_status body_of_ours(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    (void)user;
    for (size_t i = 0; i < loop_results; ++i) {
        results[i] = i < loop_inputs ? inputs[i] : adz_ones(ADZ_SHAPE(2), ADZ_F32);
        if (results[i] == NULL) {
            return adz_error_code();
        }
    }
    return ADZ_OK;
}

/* The condition of a loop, which goes on up to its bound or ends at once. */
static inline adz_tensor *condition_of_ours(adz_tensor *const *carries, void *user)
{
    (void)carries;
    (void)user;
    return adz_full(ADZ_SHAPE(1), loop_goes_on, ADZ_F32);
}

/* Gives one batch, and then none. */
static inline adz_tensor *batch_of_ours(void *user)
{
    static bool given;
    (void)user;
    given = !given;
    return given ? adz_ones(ADZ_SHAPE(3, 4), ADZ_F32) : NULL;
}

static inline bool trains_of_ours(const char *name, const adz_tensor *weight, void *user)
{
    (void)user;
    return name[0] != '\0' && weight != NULL;
}

static inline adz_tensor *of_user(adz_tensor *x, void *user)
{
    (void)user;
    return adz_tanh(x);
}

static inline adz_tensor *activation(adz_tensor *x)
{
    return adz_tanh(x);
}

static inline adz_tensor *map_of_ours(adz_tensor *x, void *user)
{
    (void)user;
    return adz_sin(x);
}

static inline adz_tensor *ode_of_ours(adz_tensor *t, adz_tensor *y, void *user)
{
    (void)user;
    return adz_mul(adz_sin(y), t);
}

static inline adz_status visit(adz_module *module, void *user)
{
    (void)user;
    return module != NULL ? ADZ_OK : ADZ_ERR_CANCELLED;
}

static inline int state_shape_of_ours(int state, const adz_tensor *parameter, int64_t *sizes)
{
    (void)state;
    (void)parameter;
    sizes[0] = 2;
    return 1;
}

static inline adz_status check_parameter_of_ours(
    const char *op, const adz_tensor *parameter, size_t i)
{
    (void)i;
    return adz_tensor_rank(parameter) > 3
               ? adz_error_set(op, ADZ_ERR_SHAPE, "a parameter has too many dimensions")
               : ADZ_OK;
}

static inline double scale_of_ours(double x, void *user)
{
    (void)user;
    return x / 2;
}

static inline double lambda(int64_t epoch, int group, void *user)
{
    (void)group;
    (void)user;
    return 1 / ((double)epoch + 1);
}

/* What a plan captures. */
static inline adz_tensor *captured(void *user)
{
    (void)user;
    return adz_exp(adz_ones(ADZ_SHAPE(2, 2), ADZ_F32));
}

/* What a plan with one result captures. */
static inline adz_status captured_results(adz_tensor **results, void *user)
{
    results[0] = captured(user);
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static inline bool progress(int64_t batch, int64_t batches, void *user)
{
    (void)user;
    return batch <= batches;
}

static inline void deleter(void *data, void *user)
{
    (void)data;
    (void)user;
}

static inline int function_checked(
    adz_tensor *const *inputs, size_t n, adz_tensor **outputs, void *user)
{
    (void)n;
    (void)user;
    outputs[0] = adz_tanh(inputs[0]);
    return outputs[0] != NULL;
}

static inline void *allocate(size_t bytes, size_t alignment, void *user)
{
    (void)user;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static inline void deallocate(void *block, size_t bytes, void *user)
{
    (void)bytes;
    (void)user;
    free(block);
}

static inline adz_status init_module(adz_module *module)
{
    return module != NULL ? ADZ_OK : ADZ_ERR_NULL;
}

static inline adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    (void)self;
    return adz_mul_number(x, 2);
}

static inline adz_status call(adz_module *self, const adz_values *in, adz_values *out)
{
    return adz_values_add(out, "y", forward(self, adz_values_at(in, 0)));
}

static inline size_t extra_repr(adz_module *self, char *buffer, size_t size)
{
    (void)self;
    if (size > 0) {
        buffer[0] = '\0';
    }
    return 0;
}

static inline void destroy(adz_module *self)
{
    (void)self;
}

static inline adz_status copy_data(adz_module *copy, adz_module *original)
{
    return copy != original ? ADZ_OK : ADZ_ERR_ARGUMENT;
}

static inline adz_status select_hidden(adz_module *self, adz_tensor *rows)
{
    (void)self;
    return rows != NULL ? ADZ_OK : ADZ_ERR_NULL;
}

static inline adz_status right_inverse(adz_module *self, adz_tensor *given, adz_values *originals)
{
    (void)self;
    return adz_values_add(originals, "", given);
}

static inline size_t cell_states(adz_module *self, adz_cell_state *states)
{
    (void)self;
    states[0].name = "h";
    states[0].shape = ADZ_SHAPE(3);
    return 1;
}

static inline void linear_parts(adz_module *self, adz_tensor **weight, adz_tensor **bias)
{
    (void)self;
    *weight = NULL;
    *bias = NULL;
}

static inline bool elementwise_step(adz_module *self, adz_bias_activation_options *step)
{
    return self != NULL && step != NULL;
}

static inline adz_status backward_of_ours(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    if (adz_node_needs_input_grad(node, 0)) {
        dx[0] = dy[0];
    }
    return ADZ_OK;
}

static inline bool rules_of_ours(adz_text text, adz_token_put put, void *to)
{
    return put(to, text);
}

static inline bool encode_of_ours(const char *op, const adz_tokenizer *self, const adz_text *fields,
    size_t n, adz_ids_put put, void *to)
{
    static const int64_t none;
    return op != NULL && self != NULL && (fields != NULL || n == 0) && put(to, &none, 1);
}

static inline int64_t count_of_ours(const adz_tokenizer *self)
{
    return self != NULL;
}

static inline adz_text token_of_ours(const adz_tokenizer *self, int64_t id)
{
    return (adz_text){ "t", self != NULL && id == 0 };
}

static inline bool decode_of_ours(const adz_tokenizer *self, void *notes, const int64_t *ids,
    size_t n, bool last, adz_token_put put, void *to)
{
    return self != NULL && notes != NULL && (ids != NULL || n == 0) &&
           (last || put(to, (adz_text){ "d", 1 }));
}

static inline bool write_of_ours(
    const char *op, const adz_tokenizer *self, adz_token_put put, void *to)
{
    return op != NULL && self != NULL && put(to, (adz_text){ "w", 1 });
}

static inline void end_of_ours(adz_tokenizer *self)
{
    (void)self;
}

static inline int64_t id_of_ours(const adz_tokenizer *self, adz_text token)
{
    return self != NULL && token.size == 1 ? 0 : -1;
}

static inline adz_status expression_of_ours(
    adz_tensor **results, adz_tensor *const *inputs, const void *attributes)
{
    (void)attributes;
    results[0] = inputs[0];
    return ADZ_OK;
}

static inline void kernel_of_ours(const adz_kernel_call *call, int64_t begin, int64_t end)
{
    const bool floats = call->inputs[0].dtype == ADZ_F32; /* the sweep may have made it another */
    const float *from = floats ? call->inputs[0].data : NULL;
    float *to = call->results[0].data;
    for (int64_t i = begin; i < end; ++i) {
        to[i] = from != NULL && i < call->inputs[0].numel ? from[i] : 0;
    }
}

static inline adz_status shape_rule_of_ours(
    adz_result *results, adz_tensor *const *inputs, void *attributes)
{
    (void)inputs;
    (void)attributes;
    results[0].shape = ADZ_SHAPE(2);
    return ADZ_OK;
}

static inline adz_status input_check_of_ours(adz_tensor *const *inputs, const void *attributes)
{
    (void)inputs;
    (void)attributes;
    return ADZ_OK;
}

/* The loss of a step, for optimizers that need one number only. */
static inline adz_tensor *closure_of_ours(void *user)
{
    (void)user;
    return adz_ones(ADZ_SHAPE(1), ADZ_F32);
}

/* An optimizer that leaves everything as it is. */
static inline adz_status update_of_ours(adz_tensor **results, const adz_update *update)
{
    results[0] = update->parameter;
    for (int k = 0; k < ADZ_OPTIMIZER_STATES; ++k) {
        results[1 + k] = update->states[k];
    }
    return ADZ_OK;
}

static inline void update_kernel_of_ours(const adz_update_call *call, int64_t begin, int64_t end)
{
    (void)call;
    (void)begin;
    (void)end;
}

static inline adz_status check_settings(const char *op, const double *settings)
{
    return op != NULL && settings != NULL ? ADZ_OK : ADZ_ERR_NULL;
}

static inline uint32_t needed_states(const double *settings)
{
    (void)settings;
    return 0;
}

static inline void numbers_of_ours(double *numbers, const adz_step_context *at)
{
    numbers[0] = at->settings[0];
}

static inline void attributes_free(void *attributes)
{
    (void)attributes;
}

static inline adz_status start_send(
    void *user, const void *data, size_t bytes, int to, int tag, adz_request *request)
{
    (void)user;
    (void)to;
    (void)tag;
    request->words[0] = bytes;
    return data != NULL ? ADZ_OK : ADZ_ERR_NULL;
}

static inline adz_status start_receive(
    void *user, void *data, size_t bytes, int from, int tag, adz_request *request)
{
    return start_send(user, data, bytes, from, tag, request);
}

static inline adz_status test_request(void *user, adz_request *request, bool *done)
{
    (void)user;
    *done = request != NULL;
    return ADZ_OK;
}

static inline adz_status wait_request(void *user, adz_request *request)
{
    (void)user;
    return request != NULL ? ADZ_OK : ADZ_ERR_NULL;
}

static inline adz_status start_all_reduce(
    void *user, void *data, size_t count, adz_dtype dtype, adz_group_op op, adz_request *request)
{
    (void)count;
    (void)dtype;
    (void)op;
    return start_send(user, data, 0, 0, 0, request);
}

static inline adz_status ready_transport(void *user)
{
    (void)user;
    return ADZ_OK;
}

static inline void abort_transport(void *user, int code, const char *message)
{
    (void)user;
    (void)code;
    (void)message;
}

static inline void free_transport(void *user)
{
    (void)user;
}

static inline void dlpack_deleter(adz_dl_managed_tensor *self)
{
    (void)self;
}

static double dlpack_numbers[ROOM];
static int64_t dlpack_sizes[ROOM] = { 3, 3 };
static const adz_dl_managed_tensor dlpack_of_ours = {
    { dlpack_numbers, { 1, 0 }, 2, { 2, 32, 1 }, dlpack_sizes, NULL, 0 }, NULL, dlpack_deleter
};

#endif
