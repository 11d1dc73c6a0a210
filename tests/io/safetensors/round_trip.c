/* What is written comes back, and the bytes are those of the format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "files.h"
#include "../../temporary.h"
#include "tests.h"

static void comes_back_as_it_went(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file = every_dtype();
    assert_int_equal(adz_safetensors_save(file, temporary_path("all")), ADZ_OK);
    for (int map = 0; map < 2; ++map) {
        adz_safetensors_options o = ADZ_SAFETENSORS_OPTIONS;
        o.map = map != 0;
        adz_safetensors *back = adz_safetensors_load(temporary_path("all"), &o);
        assert_non_null(back);
        assert_same(file, back);
        assert_int_equal(adz_safetensors_save(back, temporary_path("again")), ADZ_OK);
        assert_true(files_equal(temporary_path("all"), temporary_path("again")));
        adz_safetensors_free(&back);
        assert_null(back);
    }
    size_t size = 0;
    unsigned char *bytes = read_file(temporary_path("all"), &size);
    adz_tensor *memory = adz_safetensors_to_memory(file);
    assert_int_equal(adz_tensor_numel(memory), size);
    assert_memory_equal(adz_tensor_data(memory), bytes, size);
    adz_safetensors *back = adz_safetensors_from_memory(bytes, size);
    free(bytes);
    assert_same(file, back);
    adz_safetensors_free(&back);
    adz_safetensors_free(&file);
    adz_scope_close(scope);
    temporary_files(true);
}

/* Byte for byte the file that other implementations of the format write and read. */
static void bytes_are_the_formats(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file = adz_safetensors_new();
    adz_safetensors_set_metadata(file, "format", "pt");
    adz_safetensors_add(file, "b", adz_tensor_from((uint8_t[]){ 7 }, ADZ_SHAPE(1), ADZ_U8));
    adz_safetensors_add(file, "w", adz_tensor_from((float[]){ 1, -2 }, ADZ_SHAPE(1, 2), ADZ_F32));
    adz_tensor *bytes = adz_safetensors_to_memory(file);
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\"},\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[8,9]},\"w\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}";
    const unsigned char *at = adz_tensor_data(bytes);
    size_t padded = (strlen(header) + 7) / 8 * 8;
    assert_int_equal(adz_tensor_numel(bytes), 8 + padded + 9);
    assert_int_equal(adzi_read_little(at, 8), padded);
    assert_memory_equal(at + 8, header, strlen(header));
    for (size_t i = strlen(header); i < padded; ++i) {
        assert_int_equal(at[8 + i], ' ');
    }
    assert_memory_equal(at + 8 + padded, "\0\0\x80\x3f\0\0\0\xc0\x07", 9);
    adz_safetensors_free(&file);
    adz_scope_close(scope);
}

/* Without metadata the header has no entry for them. */
static void no_metadata_is_written(void **state)
{
    (void)state;
    adz_safetensors *file = adz_safetensors_new();
    adz_tensor *bytes = adz_safetensors_to_memory(file);
    assert_int_equal(adz_tensor_numel(bytes), 16);
    assert_memory_equal(adz_tensor_data(bytes), "\10\0\0\0\0\0\0\0{}      ", 16);
    adz_safetensors_free(&file);
}

static void any_layout_is_written(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *t = adz_reshape(numbers(ADZ_F32, 6), ADZ_SHAPE(2, 3));
    adz_safetensors *file = adz_safetensors_new();
    adz_safetensors_add(file, "t", adz_transpose(t, 0, 1));
    adz_safetensors_add(file, "e", adz_expand(adz_scalar(3, ADZ_F64), ADZ_SHAPE(2, 2)));
    adz_tensor *bytes = adz_safetensors_to_memory(file);
    adz_safetensors *back =
        adz_safetensors_from_memory(adz_tensor_data(bytes), (size_t)adz_tensor_numel(bytes));
    const float *values = adz_tensor_data_f32(adz_safetensors_get(back, "t"));
    static const float wanted[] = { 1, 4, 2, 5, 3, 6 };
    assert_memory_equal(values, wanted, sizeof wanted);
    assert_true(adz_tensor_data_f64(adz_safetensors_get(back, "e"))[3] == 3);
    adz_safetensors_free(&back);
    adz_safetensors_free(&file);
    adz_scope_close(scope);
}

/* Mapped tensors outlive the collection, and writing to them does not reach the file. */
static void mapped_tensors_are_private(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file = every_dtype();
    const char *path = temporary_path("mapped");
    assert_int_equal(adz_safetensors_save(file, path), ADZ_OK);
    adz_safetensors_free(&file);
    adz_safetensors_options o;
    adz_safetensors_options_init(&o, sizeof o);
    assert_false(o.map);
    o.map = true;
    adz_safetensors *back = adz_safetensors_load(path, &o);
    assert_int_equal(adz_safetensors_get(back, "int64")->storage->bytes, 6 * sizeof(int64_t));
    adz_tensor *t = adz_keep(adz_safetensors_get(back, "float64"));
    adz_safetensors_free(&back);
    assert_true(adz_tensor_data_f64(t)[3] == 4);
    assert_ptr_equal(t->storage->data, t->data);
    assert_ptr_not_equal((char *)t->storage + ADZI_ALIGNMENT,
        t->data); /* The tensor points into the mapped file: it is no copy. */
    assert_int_equal(t->storage->bytes, 4 * sizeof(double));
    adz_tensor_data_f64(t)[3] = 99;
    assert_int_equal(adz_release(&t), ADZ_OK);
    back = adz_safetensors_load(path, NULL);
    assert_true(adz_tensor_data_f64(adz_safetensors_get(back, "float64"))[3] == 4);
    adz_safetensors_free(&back);
    adz_scope_close(scope);
    temporary_files(true);
}

static void bytes_swap(void **state)
{
    (void)state;
    uint64_t eight = 0x0102030405060708u;
    uint32_t four[] = { 0x01020304u, 0xa0b0c0d0u };
    uint16_t two = 0x0102u;
    uint8_t one = 5;
    adzi_swap_bytes(&eight, 1, 8);
    adzi_swap_bytes(four, 2, 4);
    adzi_swap_bytes(&two, 1, 2);
    adzi_swap_bytes(&one, 1, 1);
    assert_true(eight == 0x0807060504030201u);
    assert_true(four[0] == 0x04030201u && four[1] == 0xd0c0b0a0u);
    assert_true(two == 0x0201u && one == 5);
    unsigned char bytes[3];
    adzi_write_little(bytes, 3, 0x030201);
    assert_memory_equal(bytes, "\1\2\3", 3);
    assert_true(adzi_read_little(bytes, 3) == 0x030201u);
}

int round_trip_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back_as_it_went),
        cmocka_unit_test(bytes_are_the_formats),
        cmocka_unit_test(no_metadata_is_written),
        cmocka_unit_test(any_layout_is_written),
        cmocka_unit_test(mapped_tensors_are_private),
        cmocka_unit_test(bytes_swap),
    };
    return cmocka_run_group_tests_name(
        "safetensors: round trip", tests, temporary_begin, temporary_end);
}
