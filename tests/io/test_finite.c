/* Saving refuses weights that are NaN or infinite, unless it is asked for. The file stays as it
 * was.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "adze/adze.h"
#include "errors.h"
#include "optim/optimizer.h"
#include "temporary.h"

static adz_module *network(void)
{
    return ADZ_SEQUENTIAL(
        adz_linear_new(2, 3, NULL), adz_batch_norm1d_new(3, NULL), adz_linear_new(3, 1, NULL));
}

static void set_last(adz_tensor *t, double value)
{
    const int64_t last = adz_tensor_numel(t) - 1;
    if (adz_tensor_dtype(t) == ADZ_F64) {
        adz_tensor_data_f64(t)[last] = value;
    } else {
        adz_tensor_data_f32(t)[last] = (float)value;
    }
}

static adz_status save(adz_module *net, adz_optimizer *optimizer, bool allow)
{
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.model = net;
    c.optimizer = optimizer;
    c.allow_nonfinite = allow;
    return adz_checkpoint_save(&c, temporary_path("run"));
}

/* All ways to save the weights: `says` is the error, or NULL if there must be none. */
static void expect_saved(adz_module *net, const char *says)
{
    adz_module_save_options o = ADZ_MODULE_SAVE_OPTIONS;
    write_file(temporary_path("weights"), "earlier", 8);
    write_file(temporary_path("run"), "earlier", 8);
    for (int way = 0; way < 3; ++way) {
        adz_safetensors *file = NULL;
        adz_status status = ADZ_OK;
        if (way == 0) {
            status = adz_module_save(net, temporary_path("weights"));
        } else if (way == 1) {
            status = save(net, NULL, false);
        } else {
            file = adz_module_to_safetensors(net, NULL);
            status = file != NULL ? ADZ_OK : adz_error_code();
        }
        adz_safetensors_free(&file);
        assert_int_equal(status, says != NULL ? ADZ_ERR_NUMERIC : ADZ_OK);
        if (says != NULL) {
            expect_error(ADZ_ERR_NUMERIC, says);
        }
    }
    if (says != NULL) {
        size_t bytes;
        unsigned char *kept = read_file(temporary_path("weights"), &bytes);
        assert_int_equal(bytes, 8);
        free(kept);
        assert_true(files_equal(temporary_path("weights"), temporary_path("run")));
    }
    o.allow_nonfinite = true;
    assert_int_equal(adz_module_save_with(net, temporary_path("weights"), &o), ADZ_OK);
    assert_int_equal(save(net, NULL, true), ADZ_OK);
    assert_int_equal(adz_module_load(net, temporary_path("weights"), true), ADZ_OK);
}

static void parameters_are_finite(void **state)
{
    (void)state;
    const double values[] = { NAN, INFINITY, -INFINITY };
    for (int i = 0; i < 3; ++i) {
        adz_module *net = network();
        expect_saved(net, NULL);
        set_last(adz_module_get_parameter(net, "2.weight"), values[i]);
        expect_saved(net,
            i == 0 ? "2.weight[1, 3] is NaN at [0, 2]" : "2.weight[1, 3] is infinity at [0, 2]");
        adz_module_release(&net);
    }
}

/* The largest numbers are no infinities. */
static void large_numbers_are_finite(void **state)
{
    (void)state;
    const adz_dtype dtypes[] = { ADZ_F32, ADZ_F64 };
    for (int i = 0; i < 2; ++i) {
        adz_module *net = network();
        adz_module_to(net, dtypes[i]);
        set_last(adz_module_get_parameter(net, "0.weight"), i == 0 ? 3.4028234e38 : 1.7e308);
        expect_saved(net, NULL);
        set_last(adz_module_get_parameter(net, "0.weight"), NAN);
        expect_saved(net, "0.weight[3, 2] is NaN at [2, 1]");
        adz_module_release(&net);
    }
}

static void half_weights_are_looked_at(void **state)
{
    (void)state;
    const adz_dtype dtypes[] = { ADZ_F16, ADZ_BF16 };
    for (int i = 0; i < 2; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_module *net = network();
        set_last(adz_module_get_parameter(net, "0.weight"), INFINITY);
        assert_int_equal(adz_module_store_weights(net, dtypes[i]), ADZ_OK);
        assert_int_equal(adz_module_save(net, temporary_path("half")), ADZ_ERR_NUMERIC);
        expect_error(ADZ_ERR_NUMERIC, "0.weight[3, 2] is infinity at [2, 1]");
        adz_module_release(&net);
        adz_scope_close(scope);
    }
}

/* Masks are buffers of infinities; a NaN among running statistics is none. */
static void buffers_may_be_infinite(void **state)
{
    (void)state;
    adz_module *net = network();
    set_last(adz_module_get_buffer(net, "1.running_mean"), -INFINITY);
    expect_saved(net, NULL);
    set_last(adz_module_get_buffer(net, "1.running_mean"), NAN);
    expect_saved(net, "1.running_mean[3] is NaN at [2]");
    adz_module_release(&net);
}

static void states_are_no_nan(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net = network();
    adz_optimizer *adam = adz_adam_new(adz_module_parameters(net), 0.1, NULL);
    adz_tensor *y = adz_module_forward(net, adz_randn(ADZ_SHAPE(4, 2), ADZ_F32));
    adz_backward(adz_mean(y, ADZ_ALL_DIMS, ADZ_DROPDIM));
    adz_optimizer_step(adam);
    assert_int_equal(save(net, adam, false), ADZ_OK);
    set_last(adam->groups[0]->kept[5].state[0], NAN);
    assert_int_equal(save(net, adam, false), ADZ_ERR_NUMERIC);
    expect_error(ADZ_ERR_NUMERIC, "state.5.exp_avg[1] is NaN at [0]");
    assert_int_equal(save(net, adam, true), ADZ_OK);
    adz_optimizer_release(&adam);
    adz_module_release(&net);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_finite),
        cmocka_unit_test(large_numbers_are_finite),
        cmocka_unit_test(half_weights_are_looked_at),
        cmocka_unit_test(buffers_may_be_infinite),
        cmocka_unit_test(states_are_no_nan),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
