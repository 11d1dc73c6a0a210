/* Files that hold a model's weights and nothing else of a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "run.h"
#include "tied.h"
#include "../../errors.h"
#include "tests.h"

static void tied_weights(void **state)
{
    (void)state;
    adz_manual_seed(3);
    adz_module *model = tied(), *other = tied();
    for (int dedup = 0; dedup < 2; ++dedup) {
        adz_module_save_options o;
        memset(&o, 0xff, sizeof o);
        adz_module_save_options_init(&o, sizeof o);
        assert_true(o.size == sizeof o);
        assert_false(o.dedup);
        o.dedup = dedup != 0;
        assert_int_equal(adz_module_save_with(model, temporary_path("tied"), &o), ADZ_OK);
        adz_safetensors *file = adz_safetensors_load(temporary_path("tied"), NULL);
        assert_int_equal(adz_safetensors_count(file), dedup ? 3 : 4);
        assert_string_equal(adz_safetensors_get_metadata(file, "format"), "pt");
        assert_int_equal(adz_safetensors_has(file, "decoder.weight"), !dedup);
        if (dedup) {
            assert_string_equal(
                adz_safetensors_get_metadata(file, "decoder.weight"), "encoder.weight");
        }
        adz_safetensors_free(&file);
        adz_module_reset_parameters(other);
        assert_int_equal(adz_module_load(other, temporary_path("tied"), true), ADZ_OK);
        for (size_t i = 0; i < 3; ++i) {
            assert_true(adz_equal(
                adz_module_parameters(model).items[i], adz_module_parameters(other).items[i]));
        }
        assert_ptr_equal(adz_module_get_parameter(other, "encoder.weight"),
            adz_module_get_parameter(other, "decoder.weight"));
    }
    adz_module_release(&model);
    adz_module_release(&other);
    temporary_files(true);
}

/* A checkpoint stores a tied weight once; loading sets it under both names. */
static void tied_weights_in_a_checkpoint(void **state)
{
    (void)state;
    adz_manual_seed(3);
    adz_checkpoint c = ADZ_CHECKPOINT;
    adz_module *model = tied(), *other = tied();
    c.model = model;
    assert_int_equal(adz_checkpoint_save(&c, temporary_path("tied")), ADZ_OK);
    adz_safetensors *file = adz_safetensors_load(temporary_path("tied"), NULL);
    assert_int_equal(adz_safetensors_count(file), 3);
    assert_string_equal(
        adz_safetensors_get_metadata(file, "model.decoder.weight"), "model.encoder.weight");
    adz_safetensors_free(&file);
    c.model = other;
    assert_int_equal(adz_checkpoint_load(&c, temporary_path("tied")), ADZ_OK);
    for (size_t i = 0; i < 3; ++i) {
        assert_true(adz_equal(
            adz_module_parameters(model).items[i], adz_module_parameters(other).items[i]));
    }
    adz_module_release(&model);
    adz_module_release(&other);
    temporary_files(true);
}

/* Metadata is taken for the name of a tied weight only if that tensor exists in the file. */
static void odd_aliases(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *model = adz_linear_new(2, 2, NULL);
    adz_safetensors *file = adz_safetensors_new();
    adz_tensor *square = adz_ones(ADZ_SHAPE(2, 2), ADZ_F32), *two = adz_ones(ADZ_SHAPE(2), ADZ_F32);
    adz_safetensors_add(file, "weight", square);
    adz_safetensors_set_metadata(
        file, "bias", "nowhere"); /* The file has no tensor of this name. */
    assert_int_equal(adz_module_load_safetensors(model, file, true), ADZ_ERR_STATE);
    assert_non_null(strstr(adz_error_message(), "missing: bias"));
    assert_null(strstr(adz_error_message(), "unexpected: "));
    adz_error_clear();
    adz_safetensors_add(file, "bias", two);
    adz_safetensors_set_metadata(file, "bias", "weight");  /* ignored: the file has "bias" */
    adz_safetensors_set_metadata(file, "other", "weight"); /* ignored: the module has no "other" */
    adz_safetensors_set_metadata(file, "", "weight");
    assert_int_equal(adz_module_load_safetensors(model, file, true), ADZ_OK);
    assert_true(adz_equal(adz_module_get_parameter(model, "bias"), two));
    adz_safetensors_free(&file);
    adz_module_release(&model);
    adz_scope_close(scope);
}

static void wrong_weights_are_said(void **state)
{
    (void)state;
    adz_module *small = adz_linear_new(3, 2, NULL), *wide = adz_linear_new(5, 2, NULL);
    adz_linear_options o = ADZ_LINEAR_OPTIONS;
    o.bias = false;
    adz_module *bare = adz_linear_new(3, 2, &o);
    assert_int_equal(adz_module_save(small, temporary_path("small")), ADZ_OK);
    assert_int_equal(adz_module_load(wide, temporary_path("small"), true), ADZ_ERR_STATE);
    assert_non_null(strstr(adz_error_message(),
        "small: adz_module_load_state_dict: 0 missing, 0 unexpected, 1 of another shape"));
    assert_non_null(strstr(adz_error_message(), "weight ([2, 3] given, [2, 5] here)"));
    assert_int_equal(adz_module_load(small, temporary_path("small"), true), ADZ_ERR_STATE);
    adz_error_clear(); /* the load above failed because of this recorded error */
    assert_int_equal(adz_module_load(bare, temporary_path("small"), true), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "unexpected: bias");
    assert_int_equal(adz_module_load(bare, temporary_path("small"), false), ADZ_OK);
    assert_true(adz_equal(
        adz_module_get_parameter(bare, "weight"), adz_module_get_parameter(small, "weight")));
    assert_int_equal(adz_module_load(small, temporary_path("none"), true), ADZ_ERR_IO);
    adz_error_clear();
    size_t size = 0;
    unsigned char *bytes = read_file(temporary_path("small"), &size);
    write_file(temporary_path("cut"), bytes, size - 3);
    free(bytes);
    assert_int_equal(adz_module_load(small, temporary_path("cut"), true), ADZ_ERR_FORMAT);
    expect_error(ADZ_ERR_FORMAT, "the file is cut short or its header is wrong");
    adz_module_release(&small);
    adz_module_release(&wide);
    adz_module_release(&bare);
    temporary_files(true);
}

/* Loading converts half precision to f32. No other conversion is done. */
static void dtypes_convert(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *model = adz_linear_new(3, 2, NULL);
    adz_safetensors *file = adz_safetensors_new();
    adz_tensor *weight = adz_reshape(adz_arange(0, 6, 1, ADZ_F32), ADZ_SHAPE(2, 3));
    adz_safetensors_add(file, "weight", adz_to(weight, ADZ_BF16));
    adz_safetensors_add(file, "bias", adz_to(adz_ones(ADZ_SHAPE(2), ADZ_F32), ADZ_F16));
    assert_int_equal(adz_module_load_safetensors(model, file, true), ADZ_OK);
    assert_true(adz_equal(adz_module_get_parameter(model, "weight"), weight));
    assert_int_equal(adz_tensor_dtype(adz_module_get_parameter(model, "weight")), ADZ_F32);
    adz_safetensors_free(&file);
    file = adz_safetensors_new();
    adz_safetensors_add(file, "weight", adz_zeros(ADZ_SHAPE(2, 3), ADZ_F32));
    adz_safetensors_add(file, "bias", adz_zeros(ADZ_SHAPE(2), ADZ_F32));
    adz_module_to(model, ADZ_F64);
    adz_tensor *before = adz_clone(adz_module_get_parameter(model, "weight"));
    assert_int_equal(adz_module_load_safetensors(model, file, false), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "weight (float32 given, float64 here), bias (float32");
    assert_true(adz_equal(adz_module_get_parameter(model, "weight"), before));
    adz_safetensors_free(&file);
    adz_module_release(&model);
    adz_scope_close(scope);
}

int weights_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tied_weights),
        cmocka_unit_test(tied_weights_in_a_checkpoint),
        cmocka_unit_test(odd_aliases),
        cmocka_unit_test(wrong_weights_are_said),
        cmocka_unit_test(dtypes_convert),
    };
    return cmocka_run_group_tests_name(
        "checkpoint: weights", tests, temporary_begin, temporary_end);
}
