/* Integers that are widened, and tensors that adze cannot hold, in files with others that it can.
 */
#include "files.h"
#include "../../errors.h"
#include "../../temporary.h"
#include "tests.h"

static char warning[512];

static void on_warning(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)user;
    snprintf(warning, sizeof warning, "%s", message);
}

#define ENTRY(name, dtype, shape, from, to)                                                        \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" #from "," #to \
    "]}"

static void integers_are_widened(void **state)
{
    (void)state;
    static const char header[] = "{" ENTRY("i1", "I8", "2", 0, 2) "," ENTRY(
        "i2", "I16", "2", 2, 6) "," ENTRY("u2", "U16", "2", 6, 10) "," ENTRY("u4", "U32", "1", 10,
        14) "," ENTRY("u8", "U64", "1", 14, 22) "," ENTRY("f", "F32", "1", 22, 26) "}";
    static const char data[] = "\x80\x7f"
                               "\x00\x80\xff\x7f"
                               "\x00\x80\xff\xff"
                               "\xfe\xff\xff\xff"
                               "\xff\xff\xff\xff\xff\xff\xff\x7f"
                               "\0\0\x20\x40";
    static const struct {
        const char *name;
        adz_dtype dtype;
        double first;
    } expected[] = { { "i1", ADZ_I32, -128 }, { "i2", ADZ_I32, -32768 }, { "u2", ADZ_I32, 32768 },
        { "u4", ADZ_I64, 4294967294 }, { "u8", ADZ_I64, 9223372036854775807.0 },
        { "f", ADZ_F32, 2.5 } };
    unsigned char bytes[1024];
    size_t size = make(bytes, header, 26);
    memcpy(bytes + size - 26, data, 26);
    const char *path = temporary_path("widened");
    write_file(path, bytes, size);
    for (int way = 0; way < 3; ++way) {
        adz_safetensors_options o = ADZ_SAFETENSORS_OPTIONS;
        o.map = way == 2;
        adz_safetensors *file =
            way == 0 ? adz_safetensors_from_memory(bytes, size) : adz_safetensors_load(path, &o);
        assert_non_null(file);
        assert_int_equal(adz_safetensors_unread_count(file), 0);
        for (size_t i = 0; i < sizeof expected / sizeof *expected; ++i) {
            adz_tensor *t = adz_safetensors_get(file, expected[i].name);
            assert_int_equal(adz_tensor_dtype(t), expected[i].dtype);
            assert_true(adz_tensor_at(t, (int64_t[]){ 0 }) == expected[i].first);
        }
        assert_true(adz_tensor_at(adz_safetensors_get(file, "i1"), (int64_t[]){ 1 }) == 127);
        assert_true(adz_tensor_at(adz_safetensors_get(file, "u2"), (int64_t[]){ 1 }) == 65535);
        adz_safetensors_free(&file);
    }
    temporary_files(true);
}

static void what_cannot_be_held_is_left_out(void **state)
{
    (void)state;
    static const char header[] = "{" ENTRY("a", "U8", "1", 0, 1) "," ENTRY("scale", "F8_E8M0", "1",
        1, 2) "," ENTRY("count", "U64", "1", 2, 10) "," ENTRY("deep", "U8", "1,1,1,1,1,1,1,1,1", 10,
        11) "," ENTRY("z", "C64", "1", 11, 19) "," ENTRY("b", "U8", "1", 19, 20) "}";
    static const struct {
        const char *name, *reason;
    } unread[] = { { "scale",
                       "tensor scale of the file was not read: dtype F8_E8M0 is not offered" },
        { "count", "element 0 of its U64 does not fit int64" },
        { "deep", "9 dimensions are above 8" }, { "z", "dtype C64 is not offered" } };
    unsigned char bytes[1024];
    size_t size = make(bytes, header, 20);
    memset(bytes + size - 20, 0x81, 20);
    int64_t tensors = adzi_live_tensors(), live = adzi_live_bytes();
    adz_on_warning(on_warning, NULL);
    adz_safetensors *file = adz_safetensors_from_memory(bytes, size);
    adz_on_warning(NULL, NULL);
    assert_non_null(file);
    assert_non_null(strstr(warning, "tensor scale and more are left out, the other 2 are read"));
    assert_int_equal(adz_safetensors_count(file), 2);
    assert_true(adz_item(adz_safetensors_get(file, "b")) == 0x81);
    assert_int_equal(adz_safetensors_unread_count(file), 4);
    for (size_t i = 0; i < 4; ++i) {
        assert_string_equal(adz_safetensors_unread_at(file, i), unread[i].name);
        assert_false(adz_safetensors_has(file, unread[i].name));
        assert_null(adz_safetensors_get(file, unread[i].name));
        expect_error(ADZ_ERR_UNSUPPORTED, unread[i].reason);
    }
    assert_null(adz_safetensors_unread_at(file, 4));
    expect_error(ADZ_ERR_INDEX, "index 4");
    adz_safetensors_free(&file);
    expect_null(adz_safetensors_unread_count(NULL) == 0, "adz_safetensors_unread_count", "file");
    expect_null(adz_safetensors_unread_at(NULL, 0) == NULL, "adz_safetensors_unread_at", "file");
    assert_int_equal(adzi_live_tensors(), tensors);
    assert_int_equal(adzi_live_bytes(), live);
}

/* A collection that lacks tensors of its file does not replace the file without a word. */
static void a_part_of_a_file_is_not_saved(void **state)
{
    (void)state;
    static const char header[] =
        "{" ENTRY("a", "U8", "1", 0, 1) "," ENTRY("scale", "F8_E8M0", "1", 1, 2) "}";
    unsigned char bytes[1024];
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file = adz_safetensors_from_memory(bytes, make(bytes, header, 2));
    assert_null(adz_safetensors_to_memory(file));
    expect_error(ADZ_ERR_STATE, "tensor scale of the file that was loaded");
    assert_int_equal(adz_safetensors_save(file, temporary_path("part")), ADZ_ERR_STATE);
    adz_error_clear();
    assert_int_equal(adz_safetensors_add(file, "scale", adz_scalar(1, ADZ_F32)), ADZ_OK);
    assert_int_equal(adz_safetensors_unread_count(file), 0);
    assert_non_null(adz_safetensors_to_memory(file));
    adz_safetensors_free(&file);
    adz_scope_close(scope);
    temporary_files(true);
}

int unread_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_widened),
        cmocka_unit_test(what_cannot_be_held_is_left_out),
        cmocka_unit_test(a_part_of_a_file_is_not_saved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
