/* The trace of a function: which calls and values a trace holds, what it refuses, and that nothing
 * is different after it. */
#include "export/trace.h"

#include "adze/adze.h"
#include "errors.h"
#include "groups.h"

/* ---- helpers -------------------------------------------------------------------------------- */

typedef struct {
    adz_module *module;
    adz_tensor *x, *z;
} given;

static adzi_trace *trace_of(adzi_export_function function, given *g)
{
    adz_tensor *const inputs[] = { g->x };
    const adzi_export what = {
        .function = function, .user = g, .inputs = { inputs, 1 }, .module = g->module
    };
    return adzi_trace_new("test", &what, NULL);
}

/* "linear relu linear": the calls that the output needs. */
static const char *used_calls(const adzi_trace *trace, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; trace != NULL && i < trace->n_calls; ++i) {
        if (trace->calls[i].used) {
            size_t n = strlen(text);
            snprintf(text + n, size - n, "%s%s", n > 0 ? " " : "", trace->calls[i].op->name);
        }
    }
    return text;
}

static void expect_calls(const adzi_trace *trace, const char *expected)
{
    char text[512];
    if (trace == NULL) {
        fail_msg("%s", adz_error_message());
    }
    assert_string_equal(used_calls(trace, text, sizeof text), expected);
}

static adz_tensor *forward(void *user)
{
    const given *g = user;
    return adz_module_forward(g->module, g->x);
}

/* ---- what a trace holds --------------------------------------------------------------------- */

static void calls_and_names_of_a_network(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net =
        adz_sequential_new((adz_module *[]){ adz_linear_new(3, 5, NULL), adz_tanh_new(),
                               adz_dropout_new(0.5, NULL), adz_linear_new(5, 2, NULL) },
            4);
    adz_module_eval(net);
    given g = { .module = net, .x = adz_ones(ADZ_SHAPE(4, 3), ADZ_F32) };
    adzi_trace *trace = trace_of(forward, &g);
    expect_calls(trace, "linear tanh linear");
    const adzi_traced_call *last = &trace->calls[trace->n_calls - 1];
    assert_int_equal(last->n_in, 3);
    assert_string_equal(trace->values[last->in[1]].name, "3.weight");
    assert_int_equal(trace->values[last->in[1]].kind, ADZI_VALUE_PARAMETER);
    assert_string_equal(last->path, "3");
    assert_string_equal(trace->values[0].name, "input");
    assert_int_equal(last->out[0], trace->outputs[0]);
    assert_int_equal(trace->values[trace->outputs[0]].sizes[1], 2);
    adzi_trace_free(&trace);
    assert_null(trace);
    adz_module_release(&net);
    adz_scope_close(scope);
}

static adz_tensor *in_place(void *user)
{
    const given *g = user;
    adz_tensor *y = adz_mul_number(g->x, 2), *before = adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_add_(y, g->z);
    return adz_add(y, before);
}

/* An in-place call makes a new value, and what was computed from the old value keeps it. */
static void in_place_calls_make_values(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    given g = { .x = adz_ones(ADZ_SHAPE(3), ADZ_F32), .z = adz_full(ADZ_SHAPE(3), 2, ADZ_F32) };
    adzi_trace *trace = trace_of(in_place, &g);
    expect_calls(trace, "mul sum add add");
    const adzi_traced_call *c = trace->calls;
    assert_true(c[2].inplace && !c[3].inplace);
    assert_int_equal(c[1].in[0], c[0].out[0]);
    assert_int_equal(c[2].in[0], c[0].out[0]);
    assert_true(c[2].out[0] != c[0].out[0]);
    assert_int_equal(c[3].in[0], c[2].out[0]);
    assert_int_equal(trace->values[c[2].in[1]].kind, ADZI_VALUE_CONSTANT);
    adzi_trace_free(&trace);
    adz_scope_close(scope);
}

static adz_tensor *change_constant(void *user)
{
    const given *g = user;
    adz_fill_(g->z, 7);
    return adz_add(g->x, g->z);
}

static adz_tensor *indices(void *user)
{
    const given *g = user;
    adz_tensor *index = NULL;
    adz_max_dim(g->x, 0, ADZ_DROPDIM, &index);
    return adz_eq(index, adz_argmax(g->x, ADZ_DIMS(0), ADZ_DROPDIM));
}

/* Operators without a gradient and second results are calls and values as others are. */
static void calls_without_gradient(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    given g = { .x = adz_ones(ADZ_SHAPE(3, 2), ADZ_F32) };
    adzi_trace *trace = trace_of(indices, &g);
    expect_calls(trace, "max argmax eq");
    assert_int_equal(trace->calls[2].in[0], trace->calls[0].out[1]);
    assert_int_equal(trace->values[trace->calls[0].out[1]].dtype, ADZ_I64);
    adzi_trace_free(&trace);
    adz_scope_close(scope);
}

/* ---- nothing is different afterwards -------------------------------------------------------- */

static void nothing_is_changed(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    given g = { .x = adz_ones(ADZ_SHAPE(3), ADZ_F32), .z = adz_full(ADZ_SHAPE(3), 2, ADZ_F32) };
    adzi_trace *trace = trace_of(change_constant, &g);
    expect_calls(trace, "fill add");
    assert_true(adz_equal(g.z, adz_full(ADZ_SHAPE(3), 2, ADZ_F32)));
    adzi_trace_free(&trace);

    adz_module *norm = adz_batch_norm1d_new(2, NULL); /* in training: its statistics move */
    adz_module *drop = adz_dropout_new(0.5, NULL);
    g.module = adz_sequential_new((adz_module *[]){ norm, drop }, 2);
    g.x = adz_randn(ADZ_SHAPE(5, 2), ADZ_F32);
    adz_state_dict *before = adz_module_state_dict(g.module);
    adz_tensor *mean = adz_clone(adz_state_dict_get(before, "0.running_mean"));
    adz_generator_state drawn = adz_generator_get_state(NULL);
    trace = trace_of(forward, &g);
    assert_non_null(trace);
    adzi_trace_free(&trace);
    assert_true(adz_equal(mean, adz_state_dict_get(before, "0.running_mean")));
    assert_int_equal(adz_item_i64(adz_state_dict_get(before, "0.num_batches_tracked")), 0);
    assert_int_equal(adz_generator_get_state(NULL).offset, drawn.offset);
    adz_state_dict_free(&before);
    adz_module_release(&g.module);
    adz_scope_close(scope);
}

/* ---- nothing outside the trace -------------------------------------------------------------- */

/* dx of relu, summed, with y squared before. */
static adz_tensor *gradient_of_relu(void *user)
{
    given *g = user;
    adz_tensor *y = adz_sum(adz_square(adz_relu(g->x)), ADZ_ALL_DIMS, ADZ_DROPDIM), *dx = NULL;
    return adz_autograd_grad(&y, NULL, 1, &g->x, 1, NULL, &dx) == ADZ_OK ? dx : NULL;
}

static adz_tensor *gradient_of_pool(void *user)
{
    given *g = user;
    adz_tensor *x = adz_reshape(g->x, ADZ_SHAPE(1, 3)), *dx = NULL;
    adz_tensor *y = adz_sum(adz_square(adz_max_pool1d(x, 2, NULL, NULL)), ADZ_ALL_DIMS, 0);
    return adz_autograd_grad(&y, NULL, 1, &g->x, 1, NULL, &dx) == ADZ_OK ? dx : NULL;
}

/* The mask of relu's gradient and the indices of a maximum come from traced calls, so they depend
 * on the input. */
static void gradients_are_calls(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    given g = { .x = adz_requires_grad_(adz_ones(ADZ_SHAPE(3), ADZ_F32), true) };
    adzi_trace *trace = trace_of(gradient_of_relu, &g);
    expect_calls(trace, "relu reshape expand mul mul le masked_fill");
    adzi_trace_free(&trace);
    trace = trace_of(gradient_of_pool, &g);
    expect_calls(trace, "reshape max_pool1d reshape expand mul mul scatter_add reshape");
    adzi_trace_free(&trace);
    adz_scope_close(scope);
}

/* A launch that belongs to no operator, over the result of one. */
static adz_tensor *launch_over_result(void *user)
{
    const given *g = user;
    adz_tensor *y = adz_neg(g->x);
    adzi_fill(y, 2);
    return adz_add(y, g->x);
}

/* A loop of the host in the library's own code. */
static adz_tensor *loop_over_new(void *user)
{
    const given *g = user;
    adz_tensor *y = adzi_scratch_like("my_loop", g->x);
    for (int i = 0; i < 3; ++i) {
        ((float *)(void *)y->data)[i] = 2 * ((float *)(void *)g->x->data)[i];
    }
    return adz_add(y, g->x);
}

/* The result of a launch that depends on constants, which the code says. */
static adz_tensor *declared(void *user)
{
    const given *g = user;
    adz_tensor *y = adzi_scratch_like("declared", g->x);
    adzi_fill_constant(y, 2);
    return adz_add(y, g->x);
}

static adz_tensor *read_pointer(void *user)
{
    const given *g = user;
    adz_tensor *y = adz_neg(g->x), *z = adz_empty_like(y);
    const float *from = adz_tensor_data_constant(y);
    float *to = adz_tensor_data_f32(z);
    for (int i = 0; i < 3 && from != NULL && to != NULL; ++i) {
        to[i] = 2 * from[i];
    }
    return adz_add(z, y);
}

static adz_tensor *read_constant(void *user)
{
    const given *g = user;
    const float *z = adz_tensor_data_constant(g->z);
    return z != NULL ? adz_mul_number(g->x, (double)z[0]) : NULL;
}

static adz_tensor *constant_result(void *user)
{
    const given *g = user;
    adz_neg(g->x);
    return adz_add(g->z, adz_zeros_like(g->x));
}

static adz_tensor *overwritten_input(void *user)
{
    const given *g = user;
    adz_tensor *x = adz_detach(g->x);
    return adz_neg(adz_fill_(x, 3));
}

static adz_tensor *short_lived_generator(void *user)
{
    const given *g = user;
    adz_generator *own = adz_generator_new(3);
    adz_tensor *y = adz_dropout(g->x, 0.5, true, own);
    adz_generator_free(&own);
    return y;
}

/* What is allowed outside the calls: constants that say so, and a generator that ends. */
static void constants_and_generators(void **state)
{
    static const struct {
        adzi_export_function function;
        const char *calls;
    } cases[] = { { declared, "add" }, { read_constant, "mul" },
        { short_lived_generator, "dropout" } };
    (void)state;
    adz_scope *scope = adz_scope_open();
    given g = { .x = adz_ones(ADZ_SHAPE(3), ADZ_F32), .z = adz_ones(ADZ_SHAPE(3), ADZ_F32) };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        adzi_trace *trace = trace_of(cases[i].function, &g);
        expect_calls(trace, cases[i].calls);
        adzi_trace_free(&trace);
    }
    assert_null(atomic_load(&adzi_launch_observer));
    adz_scope_close(scope);
}

static adz_tensor *two_inputs(void *user)
{
    const given *g = user;
    return adz_neg(g->z);
}

/* One input must be used, not all of them. */
static void inputs_decide(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    given g = { .x = adz_ones(ADZ_SHAPE(3), ADZ_F32), .z = adz_ones(ADZ_SHAPE(3), ADZ_F32) };
    adz_tensor *const inputs[] = { g.x, g.z };
    adzi_export what = { .function = two_inputs, .user = &g, .inputs = { inputs, 2 } };
    adzi_trace *trace = adzi_trace_new("test", &what, NULL);
    expect_calls(trace, "neg");
    adzi_trace_free(&trace);
    what.inputs.count = 0;
    assert_null(adzi_trace_new("test", &what, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "there are no inputs");
    adz_scope_close(scope);
}

/* ---- what a trace refuses ------------------------------------------------------------------- */

static adz_tensor *read_on_host(void *user)
{
    const given *g = user;
    adz_tensor *y = adz_sum(g->x, ADZ_ALL_DIMS, ADZ_DROPDIM);
    return adz_mul_number(g->x, adz_item(y));
}

static adz_tensor *write_on_host(void *user)
{
    const given *g = user;
    adz_tensor *y = adz_neg(g->x);
    float *data = adz_tensor_data_f32(y);
    if (data != NULL) {
        data[0] = 3;
    }
    return y;
}

static adz_tensor *fresh_on_host(void *user)
{
    const given *g = user;
    adz_tensor *y = adz_empty(ADZ_SHAPE(3), ADZ_F32);
    for (int i = 0; i < 3; ++i) {
        adz_tensor_data_f32(y)[i] = (float)i;
    }
    return adz_add(g->x, y);
}

/* Its classes are counted, as elements of a constant may be, which one_hot converts. */
static adz_tensor *counted_classes(void *user)
{
    const given *g = user;
    const int32_t ids[] = { 0, 2, 1 };
    adz_tensor *y = adz_one_hot(adz_tensor_from(ids, ADZ_SHAPE(3), ADZ_I32), -1);
    return adz_mul(g->x, adz_to(y, ADZ_F32));
}

static adz_tensor *draw(void *user)
{
    const given *g = user;
    return adz_add(g->x, adz_randn(ADZ_SHAPE(3), ADZ_F32));
}

static adz_tensor *stale_view(void *user)
{
    const given *g = user;
    adz_tensor *y = adz_neg(g->x), *part = adz_narrow(y, 0, 0, 2);
    adz_fill_(part, 1);
    return y;
}

static adz_tensor *train(void *user)
{
    const given *g = user;
    adz_tensor *loss = adz_sum(adz_mul(g->x, g->z), ADZ_ALL_DIMS, ADZ_DROPDIM);
    return adz_backward(loss) == ADZ_OK ? loss : NULL;
}

static adz_tensor *nothing(void *user)
{
    (void)user;
    return NULL;
}

static void refusals(void **state)
{
    static const struct {
        adzi_export_function function;
        adz_status status;
        const char *says;
    } cases[] = {
        { read_on_host, ADZ_ERR_UNSUPPORTED, "item accesses elements of sum[]" },
        { write_on_host, ADZ_ERR_UNSUPPORTED, "adz_tensor_data_f32 accesses elements of neg[3]" },
        { draw, ADZ_ERR_UNSUPPORTED, "randn draws random numbers" },
        { stale_view, ADZ_ERR_UNSUPPORTED, "is read after fill changed its memory" },
        { train, ADZ_ERR_UNSUPPORTED, "calls adz_backward" },
        { launch_over_result, ADZ_ERR_UNSUPPORTED,
            "code after the call of neg computes elements by a kernel" },
        { loop_over_new, ADZ_ERR_UNSUPPORTED, "my_loop has made a tensor [3] whose elements no" },
        { read_pointer, ADZ_ERR_UNSUPPORTED, "data_constant accesses elements of neg[3]" },
        { constant_result, ADZ_ERR_UNSUPPORTED, "the result does not depend on input" },
        { overwritten_input, ADZ_ERR_UNSUPPORTED, "the result does not depend on input" },
        { nothing, ADZ_ERR_STATE, "the function returned NULL without an error" },
        { NULL, ADZ_ERR_NULL, "function is NULL" },
    };
    (void)state;
    adz_scope *scope = adz_scope_open();
    given g = { .x = adz_ones(ADZ_SHAPE(3), ADZ_F32), .z = adz_ones(ADZ_SHAPE(3), ADZ_F32) };
    adz_requires_grad_(g.z, true);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_null(trace_of(cases[i].function, &g));
        expect_error(cases[i].status, cases[i].says);
    }
    assert_null(adz_tensor_grad(g.z));
    adzi_trace *trace = trace_of(fresh_on_host, &g);
    expect_calls(trace, "add");
    adzi_trace_free(&trace);
    trace = trace_of(counted_classes, &g);
    assert_non_null(trace);
    adzi_trace_free(&trace);
    adz_scope_close(scope);
}

/* Every refused request for memory is an error, and nothing is lost. */
static void memory_is_refused(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net = adz_sequential_new(
        (adz_module *[]){ adz_linear_new(3, 5, NULL), adz_batch_norm1d_new(5, NULL) }, 2);
    given g = { .module = net, .x = adz_ones(ADZ_SHAPE(4, 3), ADZ_F32) };
    adzi_trace *warm = trace_of(forward, &g);
    adzi_trace_free(&warm);
    int64_t live = adzi_live_bytes();
    for (int64_t n = 1;; ++n) {
        adzi_alloc_fail_at(n);
        adzi_trace *trace = trace_of(forward, &g);
        const bool refused = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        adzi_trace_free(&trace);
        if (!refused) {
            assert_true(n > 10);
            break;
        }
        assert_int_equal(adz_error_code(), ADZ_ERR_MEMORY);
        adz_error_clear();
    }
    assert_int_equal(adzi_live_bytes(), live);
    adz_module_release(&net);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_and_names_of_a_network),
        cmocka_unit_test(in_place_calls_make_values),
        cmocka_unit_test(calls_without_gradient),
        cmocka_unit_test(nothing_is_changed),
        cmocka_unit_test(gradients_are_calls),
        cmocka_unit_test(constants_and_generators),
        cmocka_unit_test(inputs_decide),
        cmocka_unit_test(refusals),
        cmocka_unit_test(memory_is_refused),
    };
    return run_group("trace", tests, sizeof tests / sizeof *tests);
}
