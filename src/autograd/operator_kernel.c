/* Calls of programs' operators that their kernels compute. */
#include <string.h>

#include "autograd/operator_call.h"
#include "base/capture.h"

enum { GRAIN_ELEMENTS = 4096 };

/* The arguments of a launch. The inputs come last, so that a launch is no longer than its call. */
typedef struct {
    adz_kernel_function kernel;
    size_t n_inputs, n_results, attributes_size;
    int64_t slice_size, slice_stride;
    _Alignas(max_align_t) unsigned char attributes[ADZI_OPERATOR_ATTRIBUTES];
    adz_array results[ADZI_OPERATOR_RESULTS];
    adz_const_array inputs[ADZI_OPERATOR_INPUTS];
} launch_args;

/* ADZI_ADDRESS_OF_EACH of pointers to constant bytes. */
#define ADZI_ADDRESS_OF_EACH_READ(type, array, pointer)                                            \
    {                                                                                              \
        offsetof(type, array[0].pointer), sizeof(((type *)0)->array) / sizeof *((type *)0)->array, \
            sizeof *((type *)0)->array, 1                                                          \
    }

ADZI_ADDRESS_TABLE(launch_args, ADZI_ADDRESS_OF_EACH(launch_args, results, data),
    ADZI_ADDRESS_OF_EACH_READ(launch_args, inputs, data));

/* The kernel of every launch: calls the user's. */
static void run_kernel(const void *block, int64_t begin, int64_t end)
{
    const launch_args *args = block;
    const adz_kernel_call call = { .inputs = args->inputs,
        .results = args->results,
        .attributes = args->attributes_size > 0 ? args->attributes : NULL,
        .n_inputs = args->n_inputs,
        .n_results = args->n_results,
        .slice_size = args->slice_size,
        .slice_stride = args->slice_stride };
    args->kernel(&call, begin, end);
}

/* How many units the kernel counts, and how many of them are worth a thread. */
static int64_t count_units(const adzi_operator_call *c, const adz_tensor *y, int64_t *grain)
{
    const int64_t last = y->rank > 0 ? y->sizes[y->rank - 1] : 1;
    const bool rows = c->op.units == ADZ_UNITS_ROWS;
    *grain = rows && last > 1 ? 1 + (GRAIN_ELEMENTS - 1) / last : GRAIN_ELEMENTS;
    *grain = c->op.grain > 0 ? c->op.grain : *grain;
    if (c->op.units == ADZ_UNITS_SLICES) {
        *grain = c->op.grain > 0
                     ? c->op.grain
                     : 1 + (GRAIN_ELEMENTS - 1) / (c->slice_size > 0 ? c->slice_size : 1);
        return c->slices;
    }
    if (c->op.units == ADZ_UNITS_CALL) {
        *grain = 1;
        return 1;
    }
    return !rows ? y->numel : last > 0 ? y->numel / last : 0;
}

/* Tells the capture of a plan what distinguishes this call from others of the launch below, which
 * all users' operators share: the kernel and the attributes. */
static void tell_capture(const adzi_operator_call *c)
{
    if (adzi_capture_of(adzi_self()) == NULL) {
        return;
    }
    adzi_capture_number((double)(uintptr_t)c->op.kernels[c->leading->dtype]);
    for (size_t at = 0; at < c->op.attributes_size; ++at) {
        adzi_capture_number((double)((const unsigned char *)c->attributes)[at]);
    }
}

static void launch(const adzi_operator_call *c, adz_tensor *const *out, adz_tensor *const *read)
{
    const size_t bytes = offsetof(launch_args, inputs) + (size_t)c->n_in * sizeof(adz_const_array);
    launch_args args;
    memset(&args, 0, bytes);
    args.kernel = c->op.kernels[c->leading->dtype];
    args.n_inputs = (size_t)c->n_in;
    args.n_results = (size_t)c->n_out;
    args.attributes_size = c->op.attributes_size;
    args.slice_size = c->slice_size;
    args.slice_stride = c->slice_stride;
    memcpy(args.attributes, c->attributes, c->op.attributes_size);
    int64_t elements = 0, grain;
    for (int k = 0; k < adzi_form_made(&c->op); ++k) {
        const adz_tensor *t = out[k];
        adz_array *a = &args.results[k];
        *a = (adz_array){
            .data = t->data, .numel = t->numel, .rank = t->rank, .dtype = (adz_dtype)t->dtype
        };
        memcpy(a->sizes, t->sizes, (size_t)t->rank * sizeof *a->sizes);
        elements += t->numel;
    }
    for (int i = 0; i < c->n_in; ++i) {
        const adz_tensor *t = read[i];
        adz_const_array *a = &args.inputs[i];
        if (!adzi_is_none(t)) {
            *a = (adz_const_array){
                .data = t->data, .numel = t->numel, .rank = t->rank, .dtype = (adz_dtype)t->dtype
            };
            memcpy(a->sizes, t->sizes, (size_t)t->rank * sizeof *a->sizes);
            memcpy(a->strides, t->strides, (size_t)t->rank * sizeof *a->strides);
        }
    }
    const int64_t units = count_units(c, out[0], &grain);
    if (elements > 0 && units > 0) {
        tell_capture(c);
        adzi_launch_part(run_kernel, launch_args, &args, bytes, units, grain);
    }
}

/* The inputs as the kernel reads them: broadcast, and contiguous unless it takes strides. */
static bool prepare_inputs(adzi_operator_call *c, adz_tensor **read)
{
    for (int i = 0; i < c->n_in; ++i) {
        adz_tensor *t = c->in[i];
        if (c->op.broadcasts && !adzi_is_none(t)) {
            int64_t strides[ADZ_MAX_RANK];
            adzi_broadcast_strides(t, c->shape.rank, c->shape.sizes, strides);
            t = adzi_new_view(&c->call, t, c->shape.rank, c->shape.sizes, strides, 0);
        }
        read[i] = t == NULL || c->op.strided_inputs >> i & 1 ? t : adzi_compact(c->op.name, t);
        if (read[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* The tensor that the kernel writes, of a call that changes its first input. It is the input itself
 * if the kernel computes element by element, and a new tensor otherwise. */
static adz_tensor *inplace_target(const adzi_operator_call *c)
{
    adz_tensor *x = c->out[0];
    const bool direct = c->op.units == ADZ_UNITS_ELEMENTS && adzi_is_contiguous(x);
    return direct ? x : adzi_scratch_like(c->op.name, x);
}

bool adzi_compute_by_kernel(adzi_operator_call *c)
{
    adz_tensor *read[ADZI_OPERATOR_INPUTS], *written[ADZI_OPERATOR_RESULTS];
    if (!prepare_inputs(c, read) || !adzi_form_make(&c->call, &c->op, c->results, c->out)) {
        return false;
    }
    memcpy(written, c->out, (size_t)adzi_form_made(&c->op) * sizeof *written);
    if (c->inplace && (written[0] = inplace_target(c)) == NULL) {
        return false;
    }
    if (!adzi_record_operator(c)) {
        return false;
    }
    launch(c, written, read);
    if (written[0] != c->out[0]) {
        adzi_copy(c->out[0], written[0]);
    }
    return true;
}
