/* Files that are damaged or whose header is false are refused. */
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

typedef struct hostile {
    const char *header;
    size_t data;
    adz_status code;
    const char *says;
} hostile;

#define T(dtype, shape, from, to) \
    "{\"t\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" #from "," #to "]}}"
#define TWO(from1, to1, from2, to2)                                                   \
    "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[" #from1 "," #to1 "]}," \
    "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[" #from2 "," #to2 "]}}"

static const hostile hostile_files[] = {
    { "", 0, ADZ_ERR_FORMAT, "does not begin with '{'" },
    { "[]", 0, ADZ_ERR_FORMAT, "does not begin with '{'" },
    { " {}", 0, ADZ_ERR_FORMAT, "does not begin with '{'" },
    { "{", 0, ADZ_ERR_FORMAT, "is not JSON" },
    { "{}x", 0, ADZ_ERR_FORMAT, "is not JSON" },
    { "{\"\xff\":1}", 0, ADZ_ERR_FORMAT, "byte 2 of its header is not UTF-8" },
    { "{\"\xc0\x80\":1}", 0, ADZ_ERR_FORMAT, "not UTF-8" },
    { "{\"\xed\xa0\x80\":1}", 0, ADZ_ERR_FORMAT, "not UTF-8" },
    { "{\"a\\u0000b\":1}", 0, ADZ_ERR_FORMAT, "is not JSON" },
    { "{\"a\":[[[[1]]]]}", 0, ADZ_ERR_FORMAT, "nests deeper" },
    { "{\"a\":[[[1]]]}", 0, ADZ_ERR_FORMAT, "nests deeper" },
    { "{\"a\":[[1]]}", 0, ADZ_ERR_FORMAT, "its entry is not an object" },
    { "{\"a\":{},\"a\":{}}", 0, ADZ_ERR_FORMAT, "gives a name twice" },
    { "{\"t\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", 1,
        ADZ_ERR_FORMAT, "gives a name twice" },
    { "{\"t\":1}", 0, ADZ_ERR_FORMAT, "tensor t: its entry is not an object" },
    { "{\"t\":{}}", 0, ADZ_ERR_FORMAT, "must have dtype" },
    { "{\"t\":{\"x\":1,\"shape\":[],\"data_offsets\":[0,1]}}", 1, ADZ_ERR_FORMAT,
        "must have dtype" },
    { "{\"t\":{\"dtype\":\"U8\",\"x\":1,\"data_offsets\":[0,1]}}", 1, ADZ_ERR_FORMAT,
        "must have dtype" },
    { "{\"t\":{\"dtype\":\"U8\",\"shape\":[],\"x\":1}}", 1, ADZ_ERR_FORMAT, "must have dtype" },
    { "{\"t\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1],\"x\":1}}", 1, ADZ_ERR_FORMAT,
        "and no more" },
    { "{\"t\":{\"dtype\":8,\"shape\":[],\"data_offsets\":[0,1]}}", 1, ADZ_ERR_FORMAT,
        "dtype is not a string" },
    { T("F99", "1", 0, 4), 4, ADZ_ERR_FORMAT, "dtype F99 is unknown" },
    { T("F8_E4M3", "1", 0, 1), 1, ADZ_ERR_UNSUPPORTED,
        "tensor t: dtype F8_E4M3 is not offered; convert" },
    { T("F8_E4M3", "2", 0, 1), 1, ADZ_ERR_FORMAT, "F8_E4M3[2] takes 2 bytes" },
    { T("U16", "1", 0, 1), 1, ADZ_ERR_FORMAT, "U16[1] takes 2 bytes" },
    { T("F4", "3", 0, 2), 2, ADZ_ERR_FORMAT, "do not fill whole bytes" },
    { T("F6_E2M3", "4", 0, 3), 3, ADZ_ERR_UNSUPPORTED, "dtype F6_E2M3 is not offered" },
    { "{\"t\":{\"dtype\":\"U8\",\"shape\":3,\"data_offsets\":[0,3]}}", 3, ADZ_ERR_FORMAT,
        "shape is not a list" },
    { T("U8", "-1", 0, 1), 1, ADZ_ERR_FORMAT, "whole number" },
    { T("U8", "1.0", 0, 1), 1, ADZ_ERR_FORMAT, "whole number" },
    { T("U8", "\"1\"", 0, 1), 1, ADZ_ERR_FORMAT, "whole number" },
    { T("U8", "99999999999999999999", 0, 1), 1, ADZ_ERR_FORMAT, "is not JSON" },
    { T("U8", "4294967296,4294967296", 0, 0), 0, ADZ_ERR_FORMAT, "does not fit" },
    { T("F64", "2305843009213693952", 0, 0), 0, ADZ_ERR_FORMAT, "does not fit" },
    { T("U8", "4294967296,4294967296,0", 0, 0), 0, ADZ_ERR_FORMAT, "does not fit" },
    { T("U8", "0,4294967296,4294967296", 0, 0), 0, ADZ_ERR_FORMAT, "does not fit" },
    { T("U8", "1,1,1,1,1,1,1,1,1", 0, 1), 1, ADZ_ERR_UNSUPPORTED, "9 dimensions" },
    { "{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]}}", 1, ADZ_ERR_FORMAT,
        "list of two" },
    { "{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,2]}}", 1, ADZ_ERR_FORMAT,
        "list of two" },
    { "{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":7}}", 1, ADZ_ERR_FORMAT,
        "list of two" },
    { T("U8", "1", -1, 0), 1, ADZ_ERR_FORMAT, "data offset is not a whole number" },
    { T("U8", "1", 0.0, 1.0), 1, ADZ_ERR_FORMAT, "data offset is not a whole number" },
    { T("U8", "1", 1, 0), 1, ADZ_ERR_FORMAT, "run backwards" },
    { T("U8", "4", 0, 4), 3, ADZ_ERR_FORMAT, "ends at byte 4 of the data, of which there are 3" },
    { T("U8", "4", 0, 9223372036854775807), 4, ADZ_ERR_FORMAT, "ends at byte 9223372036854775807" },
    { T("F32", "2,3", 0, 20), 20, ADZ_ERR_FORMAT,
        "F32[2, 3] takes 24 bytes, its data offsets give 20" },
    { T("F32", "2,3", 4, 24), 24, ADZ_ERR_FORMAT,
        "F32[2, 3] takes 24 bytes, its data offsets give 20" },
    { T("U8", "2", 0, 2), 3, ADZ_ERR_FORMAT, "1 bytes at its end belong to no tensor" },
    { "{}", 1, ADZ_ERR_FORMAT, "1 bytes at its end" },
    { T("U8", "2", 1, 3), 3, ADZ_ERR_FORMAT, "1 bytes before tensor t" },
    { TWO(0, 4, 3, 7), 7, ADZ_ERR_FORMAT, "a and b overlap" },
    { TWO(0, 4, 0, 4), 4, ADZ_ERR_FORMAT, "overlap" },
    { TWO(0, 4, 6, 10), 10, ADZ_ERR_FORMAT, "2 bytes before tensor b" },
    { "{\"__metadata__\":3}", 0, ADZ_ERR_FORMAT, "__metadata__ is not an object" },
    { "{\"__metadata__\":{\"k\":3}}", 0, ADZ_ERR_FORMAT, "metadata k is not a string" },
    { "{\"__metadata__\":{\"k\":{\"l\":\"m\"}}}", 0, ADZ_ERR_FORMAT, "metadata k is not a string" },
};

static void assert_refused(
    const unsigned char *bytes, size_t size, adz_status code, const char *says)
{
    int64_t tensors = adzi_live_tensors(), live = adzi_live_bytes();
    const char *path = temporary_path("hostile");
    write_file(path, bytes, size);
    for (int way = 0; way < 3; ++way) {
        adz_safetensors_options o = ADZ_SAFETENSORS_OPTIONS;
        o.map = way == 2;
        adz_safetensors *file =
            way == 0 ? adz_safetensors_from_memory(bytes, size) : adz_safetensors_load(path, &o);
        assert_null(file);
        if (adz_error_code() != code || strstr(adz_error_message(), says) == NULL) {
            fail_msg("%s, wanted %s with \"%s\"", adz_error_message(), adz_status_name(code), says);
        }
        assert_non_null(strstr(adz_error_message(), way == 0 ? "the buffer" : "hostile"));
        adz_error_clear();
    }
    assert_int_equal(adzi_live_tensors(), tensors);
    assert_int_equal(adzi_live_bytes(), live);
}

static void lies_are_found(void **state)
{
    (void)state;
    static unsigned char bytes[4096];
    for (size_t i = 0; i < sizeof hostile_files / sizeof *hostile_files; ++i) {
        const hostile *h = &hostile_files[i];
        size_t size = make(bytes, h->header, h->data);
        assert_refused(bytes, size, h->code, h->says);
    }
    assert_refused(bytes, 7, ADZ_ERR_FORMAT, "7 bytes are too few");
    adzi_write_little(bytes, 8, 100000001);
    assert_refused(bytes, 100, ADZ_ERR_FORMAT, "above 100000000");
    adzi_write_little(bytes, 8, 100000000);
    assert_refused(bytes, 100, ADZ_ERR_FORMAT, "the file has 100; is it cut short");
    adzi_write_little(bytes, 8, UINT64_MAX);
    assert_refused(bytes, 100, ADZ_ERR_FORMAT, "above 100000000");
    adzi_write_little(bytes, 8, 93);
    assert_refused(bytes, 100, ADZ_ERR_FORMAT, "the file has 100; is it cut short");
    size_t size = make(bytes, T("BOOL", "3", 0, 3), 3);
    bytes[size - 1] = 2;
    assert_refused(bytes, size, ADZ_ERR_FORMAT, "element 2 is the byte 2");
    temporary_files(true);
}

/* Every prefix of a good file is refused, and no flipped byte makes the reader crash. */
static void damage_is_survived(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file = every_dtype();
    adz_tensor *whole = adz_safetensors_to_memory(file);
    adz_safetensors_free(&file);
    size_t size = (size_t)adz_tensor_numel(whole);
    unsigned char *bytes = malloc(size);
    memcpy(bytes, adz_tensor_data(whole), size);
    for (size_t n = 0; n < size; ++n) {
        assert_null(adz_safetensors_from_memory(bytes, n));
        assert_int_equal(adz_error_code(), ADZ_ERR_FORMAT);
        adz_error_clear();
    }
    int refused = 0;
    for (size_t i = 0; i < size; ++i) {
        for (int bit = 0; bit < 8; ++bit) {
            bytes[i] ^= (unsigned char)(1 << bit);
            adz_safetensors *read = adz_safetensors_from_memory(bytes, size);
            refused += read == NULL;
            adz_error_clear();
            adz_safetensors_free(&read);
            bytes[i] ^= (unsigned char)(1 << bit);
        }
    }
    assert_true(refused >= (int)size && refused < 8 * (int)size);
    free(bytes);
    adz_scope_close(scope);
}

static void good_oddities_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t data, count;
    } good[] = {
        { "{}", 0, 0 },
        { "{}      ", 0, 0 },
        { "{\"__metadata__\":{}}", 0, 0 },
        { T("U8", "0,5", 0, 0), 0, 1 },
        { T("F64", "", 0, 8), 8, 1 },
        { TWO(4, 8, 0, 4), 8, 2 },
        { T("U8", "1,1,1,1,1,1,1,1", 0, 1), 1, 1 },
        { T("U8", "1,0,4611686018427387904", 0, 0), 0, 1 },
        /* A tensor without bytes stands before and behind another tensor. */
        { "{\"z\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[4,4]},\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
            4, 2 },
        { "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},\"z\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
            4, 2 },
        { "{\"\":{\"data_offsets\":[0,1],\"shape\":[1],\"dtype\":\"U8\"}}", 1, 1 },
        /* Brackets in a name do not count as nesting, also after an escaped quote. */
        { "{\"\\\"[[[[\":{\"data_offsets\":[0,1],\"shape\":[1],\"dtype\":\"U8\"}}", 1, 1 },
        { "{\"\\\\\":{\"data_offsets\":[0,1],\"shape\":[1],\"dtype\":\"U8\"}}", 1, 1 },
        { "{\"\\\\\\\"{{{{\":{\"data_offsets\":[0,1],\"shape\":[1],\"dtype\":\"U8\"}}", 1, 1 },
    };
    static unsigned char bytes[4096];
    for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
        size_t size = make(bytes, good[i].header, good[i].data);
        adz_safetensors *file = adz_safetensors_from_memory(bytes, size);
        assert_non_null(file);
        assert_int_equal(adz_safetensors_count(file), good[i].count);
        adz_safetensors_free(&file);
    }
}

int hostile_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lies_are_found),
        cmocka_unit_test(damage_is_survived),
        cmocka_unit_test(good_oddities_are_read),
    };
    return cmocka_run_group_tests_name(
        "safetensors: hostile", tests, temporary_begin, temporary_end);
}
