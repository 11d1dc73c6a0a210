/* Anomaly mode finds the operator inside a checkpoint. */
#include "nn/activation_checkpoint.h"

/* x is 1e30, so a gradient of 1e20 of y makes the gradient of the weight infinite. */
static adz_status overflow(adz_module *m, adz_tensor *x)
{
    adz_tensor *y = adz_mul_number(adz_module_forward(m, x), 1);
    adz_tensor *up = adz_full(ADZ_SHAPE(3, 1), 1e20, ADZ_F32);
    return adz_autograd_backward(&y, &up, 1, NULL);
}

static adz_module *of_numbers(adz_generator *g)
{
    adz_linear_options o = ADZ_LINEAR_OPTIONS;
    o.bias = false;
    return ADZ_SEQUENTIAL(dropout(g, 0), adz_linear_new(1, 1, &o), adz_identity_new());
}

static size_t live_bytes(void)
{
    adz_memory_info now;
    adz_get_memory_info(&now, sizeof now);
    return now.live_bytes;
}

/* With a checkpoint the message is that of a module without one. Nothing leaks, and the module can
 * be used again. */
void anomaly_mode_sees_what_is_inside(void **state)
{
    (void)state;
    adz_generator *g = adz_generator_new(5);
    adz_module *inner = of_numbers(g);
    adz_module *modules[] = { adz_module_keep(inner),
        adz_activation_checkpoint_new(adz_module_keep(inner)),
        adz_activation_checkpoint_new(
            ADZ_SEQUENTIAL(adz_activation_checkpoint_new(adz_module_keep(inner)))) };
    adz_tensor *weight = adz_module_get_parameter(inner, "1.weight");
    size_t before = 0;
    for (int k = 0; k < 6; ++k) { /* In the second round, nothing has to be made any more. */
        int i = k / 2;
        adz_scope *scope = adz_scope_open();
        fill(weight, 1e-30);
        adz_tensor *x = adz_requires_grad_(adz_full(ADZ_SHAPE(3, 1), 1e30, ADZ_F32), true);
        adz_generator_state drawn = adz_generator_get_state(g);
        adz_set_anomaly_enabled(true);
        assert_int_equal(overflow(modules[i], x), ADZ_ERR_NUMERIC);
        expect_error(ADZ_ERR_NUMERIC, "linear: the backward of linear made NaN or infinity");
        assert_true(adz_is_anomaly_enabled());
        assert_true(adz_is_grad_enabled());
        assert_int_equal(adz_generator_get_state(g).offset, drawn.offset);
        assert_null(adz_tensor_grad(weight));
        assert_null(adz_tensor_grad(x));
        adz_set_anomaly_enabled(false);
        /* Without anomaly mode, there is no error. */
        assert_int_equal(overflow(modules[i], x), ADZ_OK);
        assert_true(isinf(adz_item(adz_tensor_grad(weight))));
        adz_module_zero_grad(modules[i]);
        adz_scope_close(scope);
        assert_true(k % 2 == 0 || live_bytes() == before);
        before = live_bytes();
    }
    for (int i = 0; i < 3; ++i) {
        adz_module_release(&modules[i]);
    }
    adz_module_release(&inner);
    adz_generator_free(&g);
}

/* The error names the operator that made the first infinity, not one that passed it on. */
void anomaly_mode_names_the_first(void **state)
{
    (void)state;
    adz_module *m = adz_activation_checkpoint_new(
        ADZ_SEQUENTIAL(adz_tanh_new(), of_numbers(NULL), adz_tanh_new()));
    adz_tensor *x = adz_requires_grad_(adz_full(ADZ_SHAPE(3, 1), 1, ADZ_F32), true);
    fill(adz_module_get_parameter(m, "module.1.1.weight"), 1e30);
    adz_tensor *y = adz_module_forward(m, adz_mul_number(x, 1e-30)); /* tanh(1) */
    adz_tensor *up = adz_full(ADZ_SHAPE(3, 1), 1e20, ADZ_F32);
    adz_set_anomaly_enabled(true);
    assert_int_equal(adz_autograd_backward(&y, &up, 1, NULL), ADZ_ERR_NUMERIC);
    adz_set_anomaly_enabled(false);
    expect_error(ADZ_ERR_NUMERIC, "the backward of linear made");
    adz_module_release(&m);
}
