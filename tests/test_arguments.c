/* Arguments that no call can work with are refused in words that say what to do. The sweep of
 * tests/sweep finds what crashes; here stands what the messages and the results have to be. */
#include "nn.h"
#include "temporary.h"

#include <limits.h>

static adz_optimizer *sgd_with(const adz_sgd_options *options)
{
    adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(2), ADZ_F64), true);
    return adz_sgd_new(adz_tensor_list_of(&w, 1), 0.1, options);
}

/* ---- structs that begin with their size ------------------------------------------------------ */

static void options_without_a_size_are_refused(void **state)
{
    (void)state;
    assert_null(sgd_with(&(adz_sgd_options){ .momentum = 0.9 }));
    expect_error(ADZ_ERR_ARGUMENT, "adz_sgd_new: the struct's size is 0");
    assert_null(sgd_with(&(adz_sgd_options){ .size = 7, .momentum = 0.9 }));
    expect_error(ADZ_ERR_ARGUMENT, "begin with ADZ_SGD_OPTIONS");
    assert_null(adz_linear_new(2, 3, &(adz_linear_options){ .bias = false }));
    expect_error(ADZ_ERR_ARGUMENT, "begin with ADZ_LINEAR_OPTIONS");
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE_SCALAR, ADZ_F64), true);
    assert_int_equal(
        adz_backward_with(&x, NULL, 1, &(adz_backward_options){ .retain_graph = true }),
        ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "begin with ADZ_BACKWARD_OPTIONS");
    assert_null(adz_tensor_grad(x));
}

/* A caller that was compiled with other headers, of which the struct has more or fewer fields. */
static void options_of_other_versions_are_read_as_far_as_both_know_them(void **state)
{
    (void)state;
    struct {
        adz_sgd_options o;
        double unknown;
    } newer = { ADZ_SGD_OPTIONS, 7 };
    newer.o.size = sizeof newer;
    newer.o.momentum = 0.9;
    adz_optimizer *sgd = sgd_with(&newer.o);
    assert_true(adz_optimizer_get(sgd, 0, "momentum") == 0.9);
    adz_optimizer_free(&sgd);

    adz_sgd_options older = {
        .size = offsetof(adz_sgd_options, dampening), .momentum = 0.8, .dampening = 0.7
    };
    sgd = sgd_with(&older);
    assert_true(adz_optimizer_get(sgd, 0, "momentum") == 0.8);
    assert_true(adz_optimizer_get(sgd, 0, "dampening") == 0);
    adz_optimizer_free(&sgd);
    older.size = sizeof older.size; /* knows of no field */
    sgd = sgd_with(&older);
    assert_true(adz_optimizer_get(sgd, 0, "momentum") == 0);
    adz_optimizer_free(&sgd);
}

static void options_are_filled_only_where_there_is_room(void **state)
{
    (void)state;
    adz_sgd_options o;
    memset(&o, 1, sizeof o);
    adz_sgd_options_init(&o, 7);
    expect_error(ADZ_ERR_ARGUMENT, "adz_sgd_options_init: size is 7");
    assert_int_equal(((unsigned char *)&o)[0], 1);
    adz_sgd_options_init(NULL, sizeof o);
    expect_error(ADZ_ERR_NULL, "adz_sgd_options_init");
    adz_backward_options_init(NULL, sizeof(adz_backward_options));
    expect_error(ADZ_ERR_NULL, "adz_backward_options_init");
    adz_sgd_options_init(&o, sizeof o);
    assert_int_equal(o.size, sizeof o);
    assert_int_equal(adz_error_code(), ADZ_OK);
}

static void a_checkpoint_without_a_size_is_not_written(void **state)
{
    (void)state;
    adz_module *model = adz_linear_new(2, 3, NULL);
    adz_checkpoint run = { .model = model };
    const char *path = temporary_path("run");
    assert_int_equal(adz_checkpoint_save(&run, path), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "begin with ADZ_CHECKPOINT");
    assert_int_equal(temporary_files(false), 0);
    run.size = sizeof run;
    assert_int_equal(adz_checkpoint_save(&run, path), ADZ_OK);
    run.size = 0;
    assert_int_equal(adz_checkpoint_load(&run, path), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "begin with ADZ_CHECKPOINT");
    adz_module_free(&model);
}

static void types_without_a_size_are_refused(void **state)
{
    (void)state;
    assert_null(adz_module_new(&(adz_module_type){ .name = "Odd" }, 0));
    expect_error(ADZ_ERR_ARGUMENT, "set it to sizeof(adz_module_type)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_without_a_size_are_refused),
        cmocka_unit_test(options_of_other_versions_are_read_as_far_as_both_know_them),
        cmocka_unit_test(options_are_filled_only_where_there_is_room),
        cmocka_unit_test(a_checkpoint_without_a_size_is_not_written),
        cmocka_unit_test(types_without_a_size_are_refused),
    };
    return cmocka_run_group_tests_name("arguments", tests, temporary_begin, temporary_end);
}
