/* Plans that pack the weights of products once (src/plan/weights.c).
 *
 * All products are given to adze's own tiles, whatever the processor is. k is above DEPTH of
 * gemm_blocked.kernel.c, so a product has several layers, and no width is a multiple of a strip.
 * Each test compares the bits of a plan with those of an ordinary forward.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "adze/zoo.h"
#include "base/alloc.h"
#include "errors.h"
#include "plan/plan.h"
#include "tensor/gemm/gemm.h"

enum { INPUTS = 800, HIDDEN = 1601, OUTPUTS = 290, ROWS = 110 };

typedef struct network {
    adz_module *model;
    adz_optimizer *optimizer;
    adz_tensor *x, *y;
} network;

static network begin(adz_module *model, int64_t rows, adz_dtype dtype)
{
    network n = { .model = model };
    adz_scope *scope = adz_scope_open();
    adz_module_to(model, dtype);
    n.x = adz_keep(adz_randn(ADZ_SHAPE(rows, INPUTS), dtype));
    n.y = adz_keep(adz_randn(ADZ_SHAPE(rows, OUTPUTS), dtype));
    n.optimizer = adz_sgd_new(adz_module_parameters(model), 0.1, NULL);
    assert_non_null(n.optimizer);
    adz_scope_close(scope);
    return n;
}

static void end(network *n)
{
    adz_release(&n->x);
    adz_release(&n->y);
    adz_optimizer_release(&n->optimizer);
    adz_module_release(&n->model);
}

/* Two weights that are stored [out, in], as Linear has them. */
static adz_module *linears(void)
{
    adz_manual_seed(3);
    return ADZ_SEQUENTIAL(adz_linear_new(INPUTS, HIDDEN, NULL), adz_relu_new(),
        adz_linear_new(HIDDEN, OUTPUTS, NULL));
}

/* Two weights that are stored [in, out], as GPT-2 has them. */
static adz_module *conv1ds(void)
{
    adz_manual_seed(4);
    return ADZ_SEQUENTIAL(adz_gpt2_conv1d_new(HIDDEN, INPUTS, NULL), adz_relu_new(),
        adz_gpt2_conv1d_new(OUTPUTS, HIDDEN, NULL));
}

static adz_tensor *forward(void *user)
{
    network *n = user;
    adz_tensor *y = NULL;
    ADZ_NO_GRAD
    {
        y = adz_module_forward(n->model, n->x);
    }
    return y;
}

static adz_tensor *step(void *user)
{
    network *n = user;
    adz_tensor *loss = adz_mse_loss(adz_module_forward(n->model, n->x), n->y, ADZ_REDUCE_MEAN);
    const bool done = adz_backward(loss) == ADZ_OK && adz_optimizer_step(n->optimizer) == ADZ_OK &&
                      adz_optimizer_zero_grad(n->optimizer) == ADZ_OK;
    return done ? loss : NULL;
}

static adz_plan *plan_of(adz_plan_function function, network *n, int runs)
{
    adz_plan_options options = ADZ_PLAN_OPTIONS;
    options.module = n->model;
    options.pack_weights = true;
    adz_plan *plan = adz_plan_new(function, n, &options);
    assert_non_null(plan);
    for (int i = 0; i < runs; ++i) {
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
    }
    return plan;
}

static size_t packed_bytes(const adz_plan *plan)
{
    adz_plan_info info;
    assert_int_equal(adz_plan_get_info(plan, &info, sizeof info), ADZ_OK);
    assert_true(info.captured);
    return info.packed_bytes;
}

static void assert_same_forward(const adz_plan *plan, network *n)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *expected = forward(n), *found = adz_plan_output(plan);
    assert_non_null(expected);
    const size_t bytes =
        (size_t)adz_tensor_numel(expected) * adz_dtype_size(adz_tensor_dtype(expected));
    assert_memory_equal(adz_tensor_data(expected), adz_tensor_data(found), bytes);
    adz_scope_close(scope);
}

/* Bytes of a weight whose columns fill whole strips of the widest vectors. */
static size_t bytes_of(size_t in, size_t out, size_t element)
{
    const size_t widest = 192 / element;
    return (out + widest - 1) / widest * widest * in * element;
}

static void compare(adz_module *(*make)(void), adz_dtype dtype)
{
    const size_t element = adz_dtype_size(dtype);
    for (int threads = 1; threads < 4; ++threads) {
        adz_set_num_threads(threads);
        network n = begin(make(), ROWS, dtype);
        adz_plan *plan = plan_of(forward, &n, 3);
        assert_int_equal(packed_bytes(plan),
            bytes_of(INPUTS, HIDDEN, element) + bytes_of(HIDDEN, OUTPUTS, element));
        assert_same_forward(plan, &n);
        adz_plan_free(&plan);
        end(&n);
    }
    adz_set_num_threads(0);
}

static void packed_weights_change_no_bit(void **state)
{
    (void)state;
    compare(linears, ADZ_F32);
    compare(linears, ADZ_F64);
    compare(conv1ds, ADZ_F32);
    compare(conv1ds, ADZ_F64);
}

static void products_of_few_rows_read_the_weight_in_position(void **state)
{
    (void)state;
    network n = begin(linears(), 8, ADZ_F32);
    adz_plan *plan = plan_of(forward, &n, 3);
    assert_int_equal(packed_bytes(plan), 0);
    assert_same_forward(plan, &n);
    adz_plan_free(&plan);
    end(&n);
}

static void a_weight_that_is_used_twice_has_one_copy(void **state)
{
    (void)state;
    adz_manual_seed(5);
    adz_module *shared = adz_linear_new(INPUTS, INPUTS, NULL);
    network n = begin(
        ADZ_SEQUENTIAL(adz_module_keep(shared), adz_module_keep(shared), shared), ROWS, ADZ_F32);
    adz_plan *plan = plan_of(forward, &n, 3);
    assert_int_equal(packed_bytes(plan), bytes_of(INPUTS, INPUTS, sizeof(float)));
    assert_same_forward(plan, &n);
    adz_plan_free(&plan);
    end(&n);
}

/* ---- several products of one weight ---------------------------------------------------------- */

enum { SIDE = 272, FEW = 208 };

static adz_tensor *nothing(adz_module *self, adz_tensor *x)
{
    (void)self;
    return x;
}

static const adz_module_type holder_type = {
    .size = sizeof holder_type, .name = "Holder", .forward = nothing
};

/* A module of two weights, and what a function multiplies with them. */
typedef struct holder {
    adz_module *module;
    adz_tensor *x, *first, *second, *outside;
} holder;

static holder holder_new(void)
{
    holder h = { .module = adz_module_new(&holder_type, 0) };
    adz_manual_seed(6);
    adz_module_add_parameter(h.module, "first", adz_randn(ADZ_SHAPE(SIDE, SIDE), ADZ_F32));
    adz_module_add_parameter(h.module, "second", adz_randn(ADZ_SHAPE(SIDE, SIDE), ADZ_F32));
    h.first = adz_module_get_parameter(h.module, "first");
    h.second = adz_module_get_parameter(h.module, "second");
    h.x = adz_randn(ADZ_SHAPE(ROWS, SIDE), ADZ_F32);
    h.outside = adz_randn(ADZ_SHAPE(SIDE, SIDE), ADZ_F32);
    assert_non_null(h.outside);
    return h;
}

static adz_plan *plan_of_holder(adz_plan_function function, holder *h)
{
    adz_plan_options options = ADZ_PLAN_OPTIONS;
    options.module = h->module;
    options.pack_weights = true;
    adz_plan *plan = adz_plan_new(function, h, &options);
    assert_non_null(plan);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    return plan;
}

static void assert_same_result(const adz_plan *plan, adz_plan_function function, holder *h)
{
    adz_scope *scope = adz_scope_open();
    assert_true(adz_equal(function(h), adz_plan_output(plan)));
    adz_scope_close(scope);
}

/* The weight and parts of it, each as [n, k] or as [k, n]. All of them begin at one address. */
static adz_tensor *multiplies_parts(void *user)
{
    holder *h = user;
    adz_tensor *parts[8];
    ADZ_NO_GRAD
    {
        adz_tensor *w = h->first, *x = h->x, *narrow = adz_slice(x, 1, 0, FEW, 1);
        adz_tensor *half = adz_reshape(w, ADZ_SHAPE(SIDE / 2, 2 * SIDE));
        parts[0] = adz_linear(x, w, ADZ_NONE);
        parts[1] = adz_matmul(x, w);
        parts[2] = adz_linear(x, adz_slice(w, 0, 0, FEW, 1), ADZ_NONE);
        parts[3] = adz_linear(narrow, adz_slice(w, 1, 0, FEW, 1), ADZ_NONE);
        parts[4] = adz_linear(x, adz_slice(w, 0, 0, SIDE / 2, 1), ADZ_NONE);
        parts[5] = adz_linear(x, adz_slice(half, 1, 0, SIDE, 1), ADZ_NONE);
        parts[6] = adz_linear(x, h->second, ADZ_NONE);
        parts[7] = adz_linear(x, w, ADZ_NONE); /* as the first one */
        parts[0] = adz_cat(parts, 8, 1);
    }
    return parts[0];
}

static void each_shape_of_a_weight_has_its_copy(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    holder h = holder_new();
    adz_plan *plan = plan_of_holder(multiplies_parts, &h);
    const size_t element = sizeof(float);
    assert_int_equal(packed_bytes(plan),
        3 * bytes_of(SIDE, SIDE, element) + bytes_of(SIDE, FEW, element) +
            bytes_of(FEW, SIDE, element) + 2 * bytes_of(SIDE, SIDE / 2, element));
    assert_same_result(plan, multiplies_parts, &h);
    adz_tensor *before = adz_clone(adz_plan_output(plan));
    adz_tensor_data_f32(h.first)[0] += 1; /* the copies are read, and no adz_tensor_touch follows */
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    assert_true(adz_equal(before, adz_plan_output(plan)));
    adz_plan_free(&plan);
    adz_module_release(&h.module);
    adz_scope_close(scope);
}

/* The second weight changes in each call, and the third one is no parameter. */
static adz_tensor *writes_one(void *user)
{
    holder *h = user;
    adz_tensor *y = NULL;
    ADZ_NO_GRAD
    {
        adz_mul_number_(h->second, 0.5);
        y = adz_linear(h->x, h->second, ADZ_NONE);
        y = adz_add(y, adz_linear(h->x, h->first, ADZ_NONE));
        y = adz_add(y, adz_linear(h->x, h->outside, ADZ_NONE));
        adz_mul_number_(h->second, 2);
    }
    return y;
}

static void what_a_run_writes_and_foreign_tensors_are_not_packed(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    holder h = holder_new();
    adz_plan *plan = plan_of_holder(writes_one, &h);
    assert_int_equal(packed_bytes(plan), bytes_of(SIDE, SIDE, sizeof(float)));
    assert_same_result(plan, writes_one, &h);
    adz_tensor_data_f32(h.outside)[0] = 9; /* which no plan needs to be told */
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    assert_same_result(plan, writes_one, &h);
    adz_plan_info info;
    adz_plan_get_info(plan, &info, sizeof info);
    assert_true(info.captures == 1);
    adz_plan_free(&plan);
    adz_module_release(&h.module);
    adz_scope_close(scope);
}

static adz_tensor *multiplies_second(void *user)
{
    holder *h = user;
    adz_tensor *y = NULL;
    ADZ_NO_GRAD
    {
        y = adz_linear(h->x, h->second, ADZ_NONE);
    }
    return y;
}

/* In a flat buffer the second weight begins where the first one ends. */
static void a_weight_is_told_from_its_neighbour(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    holder h = holder_new();
    adz_flat_parameters *flat = adz_flat_parameters_new(adz_module_parameters(h.module));
    assert_true((char *)adz_tensor_data(h.first) + SIDE * SIDE * sizeof(float) ==
                (char *)adz_tensor_data(h.second));
    adz_plan *plan = plan_of_holder(multiplies_second, &h);
    assert_int_equal(packed_bytes(plan), bytes_of(SIDE, SIDE, sizeof(float)));
    for (int run = 0; run < 3; ++run) {
        ADZ_NO_GRAD
        {
            adz_mul_number_(h.second, 3);
        }
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        assert_same_result(plan, multiplies_second, &h);
    }
    assert_true(packed_bytes(plan) > 0);
    adz_plan_free(&plan);
    adz_flat_parameters_free(&flat);
    adz_module_release(&h.module);
    adz_scope_close(scope);
}

static void an_option_is_needed(void **state)
{
    (void)state;
    network n = begin(linears(), ROWS, ADZ_F32);
    adz_plan *plan = adz_plan_new(forward, &n, NULL);
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
    }
    assert_int_equal(packed_bytes(plan), 0);
    adz_plan_free(&plan);
    adz_plan_options options = ADZ_PLAN_OPTIONS;
    options.pack_weights = true;
    assert_null(adz_plan_new(forward, &n, &options));
    expect_error(ADZ_ERR_ARGUMENT, "adz_plan_new: pack_weights needs the option module");
    end(&n);
}

/* A weight changes by a step, by a copy, and through its pointer. */
static void a_plan_notices_that_a_weight_was_written(void **state)
{
    (void)state;
    network n = begin(linears(), ROWS, ADZ_F32);
    adz_plan *plan = plan_of(forward, &n, 3);
    adz_tensor *weight = adz_module_parameters(n.model).items[0];
    for (int change = 0; change < 3; ++change) {
        adz_scope *scope = adz_scope_open();
        if (change == 0) {
            assert_non_null(step(&n));
        } else if (change == 1) {
            ADZ_NO_GRAD
            {
                assert_non_null(adz_copy_(weight, adz_randn(ADZ_SHAPE(HIDDEN, INPUTS), ADZ_F32)));
            }
        } else {
            adz_tensor_data_f32(weight)[5] = 3;
            adz_tensor_touch(weight);
        }
        adz_scope_close(scope);
        for (int i = 0; i < 4; ++i) {
            assert_int_equal(adz_plan_run(plan), ADZ_OK);
            assert_same_forward(plan, &n);
        }
        assert_true(packed_bytes(plan) > 0);
    }
    adz_plan_free(&plan);
    end(&n);
}

/* A run that updates the weights packs none of them, and trains as ordinary steps do. */
static void weights_that_a_run_writes_are_not_packed(void **state)
{
    (void)state;
    network planned = begin(linears(), ROWS, ADZ_F32), ordinary = begin(linears(), ROWS, ADZ_F32);
    adz_scope *scope = adz_scope_open();
    adz_copy_(planned.x, ordinary.x);
    adz_copy_(planned.y, ordinary.y);
    adz_plan *plan = plan_of(step, &planned, 4);
    for (int i = 0; i < 5; ++i) {
        assert_non_null(step(&ordinary));
    }
    assert_int_equal(packed_bytes(plan), 0);
    assert_memory_equal(adz_tensor_data(adz_module_parameters(planned.model).items[0]),
        adz_tensor_data(adz_module_parameters(ordinary.model).items[0]),
        HIDDEN * INPUTS * sizeof(float));
    adz_scope_close(scope);
    adz_plan_free(&plan);
    end(&planned);
    end(&ordinary);
}

static void refused_memory(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    holder h = holder_new();
    adz_plan_options options = ADZ_PLAN_OPTIONS;
    options.module = h.module;
    options.pack_weights = true;
    assert_int_equal(adz_module_parameters(h.module).count, 2); /* the module keeps the list */
    const int64_t live = adzi_live_bytes();
    bool failed = true;
    for (int64_t k = 1; failed; ++k) {
        adzi_alloc_fail_at(k);
        adz_plan *plan = adz_plan_new(multiplies_second, &h, &options);
        adz_status status = plan != NULL ? adz_plan_run(plan) : adz_error_code();
        failed = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        assert_true(status == ADZ_ERR_MEMORY || (status == ADZ_OK && plan != NULL));
        adz_error_clear();
        if (plan != NULL) { /* what was refused once is tried again */
            for (int i = 0; i < 3; ++i) {
                assert_int_equal(adz_plan_run(plan), ADZ_OK);
            }
            assert_true(packed_bytes(plan) > 0);
            assert_int_equal(plan->last->n_seen, 1); /* the version of the weight */
        }
        adz_plan_free(&plan);
        assert_int_equal(adzi_live_bytes(), live);
        assert_true(failed || k > 20);
    }
    adz_module_release(&h.module);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_shape_of_a_weight_has_its_copy),
        cmocka_unit_test(what_a_run_writes_and_foreign_tensors_are_not_packed),
        cmocka_unit_test(a_weight_is_told_from_its_neighbour),
        cmocka_unit_test(refused_memory),
        cmocka_unit_test(packed_weights_change_no_bit),
        cmocka_unit_test(products_of_few_rows_read_the_weight_in_position),
        cmocka_unit_test(a_weight_that_is_used_twice_has_one_copy),
        cmocka_unit_test(an_option_is_needed),
        cmocka_unit_test(a_plan_notices_that_a_weight_was_written),
        cmocka_unit_test(weights_that_a_run_writes_are_not_packed),
    };
    adzi_gemm_backend_choice = ADZI_GEMM_OURS;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
