/* safetensors: round trips, every way in which a file can lie, refused memory, full disks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "adze/io/safetensors.h"
#include "adze/ops.h"
#include "base/bytes.h"
#include "../errors.h"
#include "../temporary.h"
#include "tensor/kernel/half.h"
#include "tensor/tensor.h"

/* ---- files by hand -------------------------------------------------------------------------- */

/* Length, header and `data` zero bytes. */
static size_t make(unsigned char *to, const char *header, size_t data)
{
    size_t n = strlen(header);
    adzi_write_little(to, 8, n);
    memcpy(to + 8, header, n);
    memset(to + 8 + n, 0, data);
    return 8 + n + data;
}

static adz_tensor *numbers(adz_dtype dtype, int64_t count)
{
    adz_tensor *t = adz_empty(ADZ_SHAPE(count), ADZ_F64);
    for (int64_t i = 0; i < count; ++i) {
        adz_tensor_data_f64(t)[i] = dtype == ADZ_BOOL ? (double)(i % 2) : (double)(i + 1);
    }
    return adz_to(t, dtype);
}

static adz_safetensors *every_dtype(void)
{
    adz_safetensors *file = adz_safetensors_new();
    static const adz_dtype dtypes[] = { ADZ_U8, ADZ_F16, ADZ_F32, ADZ_F64, ADZ_I32, ADZ_I64,
        ADZ_BOOL, ADZ_BF16 };
    for (size_t i = 0; i < 8; ++i) {
        assert_int_equal(adz_safetensors_add(
                             file, adz_dtype_name(dtypes[i]), numbers(dtypes[i], (int64_t)i + 1)),
            ADZ_OK);
    }
    assert_int_equal(adz_safetensors_set_metadata(file, "format", "pt"), ADZ_OK);
    assert_int_equal(adz_safetensors_set_metadata(file, "note", "a \"quoted\" \xc3\xa4\n"), ADZ_OK);
    assert_int_equal(adz_safetensors_add(file, "empty", numbers(ADZ_F32, 0)), ADZ_OK);
    assert_int_equal(adz_safetensors_add(file, "scalar", adz_scalar(2.5, ADZ_F32)), ADZ_OK);
    return file;
}

static void assert_same(adz_safetensors *a, adz_safetensors *b)
{
    assert_int_equal(adz_safetensors_count(a), adz_safetensors_count(b));
    for (size_t i = 0; i < adz_safetensors_count(a); ++i) {
        adz_tensor *t = adz_safetensors_tensor(a, i), *u = adz_safetensors_tensor(b, i);
        assert_string_equal(adz_safetensors_name(a, i), adz_safetensors_name(b, i));
        assert_int_equal(adz_tensor_dtype(t), adz_tensor_dtype(u));
        assert_int_equal(adz_tensor_rank(t), adz_tensor_rank(u));
        assert_int_equal(adz_tensor_numel(t), adz_tensor_numel(u));
        adz_tensor *c = adz_contiguous(t);
        assert_memory_equal(adz_tensor_data(c), adz_tensor_data(u),
            (size_t)adz_tensor_numel(t) * adz_dtype_size(adz_tensor_dtype(t)));
    }
    assert_int_equal(adz_safetensors_metadata_count(a), adz_safetensors_metadata_count(b));
    for (size_t i = 0; i < adz_safetensors_metadata_count(a); ++i) {
        const char *key = adz_safetensors_metadata_key(a, i);
        assert_string_equal(key, adz_safetensors_metadata_key(b, i));
        assert_string_equal(adz_safetensors_metadata(a, key), adz_safetensors_metadata(b, key));
    }
}

/* ---- round trips ---------------------------------------------------------------------------- */

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

/* The very bytes: what another implementation writes and reads. */
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
        "{\"__metadata__\":{\"format\":\"pt\"},"
        "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[8,9]},"
        "\"w\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}";
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
    adz_tensor *t = adz_keep(adz_safetensors_get(back, "float64"));
    adz_safetensors_free(&back);
    assert_true(adz_tensor_data_f64(t)[3] == 4);
    assert_ptr_equal(t->storage->data, t->data);
    assert_ptr_not_equal((char *)t->storage + ADZI_ALIGNMENT, t->data); /* not a copy */
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

/* ---- hostile files -------------------------------------------------------------------------- */

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
    { "{\"a\":{},\"a\":{}}", 0, ADZ_ERR_FORMAT, "gives a name twice" },
    { "{\"t\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", 1,
        ADZ_ERR_FORMAT, "gives a name twice" },
    { "{\"t\":1}", 0, ADZ_ERR_FORMAT, "tensor t: its entry is not an object" },
    { "{\"t\":{}}", 0, ADZ_ERR_FORMAT, "must have dtype" },
    { "{\"t\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1],\"x\":1}}", 1, ADZ_ERR_FORMAT,
        "and no more" },
    { "{\"t\":{\"dtype\":8,\"shape\":[],\"data_offsets\":[0,1]}}", 1, ADZ_ERR_FORMAT,
        "dtype is not a string" },
    { T("F99", "1", 0, 4), 4, ADZ_ERR_FORMAT, "dtype F99 is unknown" },
    { T("U16", "1", 0, 2), 2, ADZ_ERR_UNSUPPORTED, "dtype U16 is not offered; convert" },
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
    adzi_write_little(bytes, 8, UINT64_MAX);
    assert_refused(bytes, 100, ADZ_ERR_FORMAT, "above 100000000");
    adzi_write_little(bytes, 8, 93);
    assert_refused(bytes, 100, ADZ_ERR_FORMAT, "the file has 100; is it cut short");
    size_t size = make(bytes, T("BOOL", "3", 0, 3), 3);
    bytes[size - 1] = 2;
    assert_refused(bytes, size, ADZ_ERR_FORMAT, "element 2 is the byte 2");
    temporary_files(true);
}

/* Every prefix of a good file is refused, and no flipped byte brings the reader down. */
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
        { "{\"\":{\"data_offsets\":[0,1],\"shape\":[1],\"dtype\":\"U8\"}}", 1, 1 },
        /* Brackets in a name do not nest, whatever escapes stand before them. */
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

/* ---- the collection ------------------------------------------------------------------------- */

static void names_are_unique_and_found(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file = adz_safetensors_new();
    adz_tensor *t = adz_scalar(1, ADZ_F32);
    char name[32];
    for (int i = 0; i < 1000; ++i) {
        snprintf(name, sizeof name, "layer.%d", i);
        assert_int_equal(adz_safetensors_add(file, name, t), ADZ_OK);
    }
    assert_true(adz_safetensors_has(file, "layer.567"));
    assert_false(adz_safetensors_has(file, "layer.1000"));
    assert_string_equal(adz_safetensors_name(file, 999), "layer.999");
    assert_ptr_equal(adz_safetensors_get(file, "layer.0"), t);
    assert_null(adz_safetensors_get(file, "layer"));
    assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "no tensor named layer among the 1000");
    assert_int_equal(adz_safetensors_add(file, "layer.7", t), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    assert_int_equal(adz_safetensors_add(file, "__metadata__", t), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    assert_int_equal(adz_safetensors_add(file, "\xff", t), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    assert_int_equal(adz_safetensors_add(file, "none", ADZ_NONE), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    assert_int_equal(adz_safetensors_add(file, "null", NULL), ADZ_ERR_NULL);
    adz_error_clear();
    assert_null(adz_safetensors_tensor(file, 1000));
    assert_int_equal(adz_error_code(), ADZ_ERR_INDEX);
    adz_error_clear();
    assert_int_equal(adz_safetensors_set_metadata(file, "k", "1"), ADZ_OK);
    assert_int_equal(adz_safetensors_set_metadata(file, "l", "2"), ADZ_OK);
    assert_int_equal(adz_safetensors_set_metadata(file, "k", "3"), ADZ_OK);
    assert_int_equal(adz_safetensors_metadata_count(file), 2);
    assert_string_equal(adz_safetensors_metadata(file, "k"), "3");
    assert_null(adz_safetensors_metadata(file, "m"));
    assert_int_equal(adz_error_code(), ADZ_OK);
    assert_int_equal(adz_safetensors_set_metadata(file, "k", "\xc3"), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    adz_safetensors_free(&file);
    adz_scope_close(scope);
}

/* ---- refused memory ------------------------------------------------------------------------- */

static adz_status save_some(void *user)
{
    return adz_safetensors_save(user, temporary_path("kept"));
}

static bool kept_is_intact(void *user)
{
    (void)user;
    return files_equal(temporary_path("kept"), temporary_path("copy")) &&
           temporary_files(false) == 2;
}

static adz_status load_some(void *user)
{
    adz_safetensors *file = adz_safetensors_load(temporary_path("kept"), user);
    adz_status status = file == NULL ? adz_error_code() : ADZ_OK;
    adz_safetensors_free(&file);
    return status;
}

static adz_status build_some(void *user)
{
    adz_safetensors *file = adz_safetensors_new();
    adz_status status = file == NULL ? adz_error_code() : ADZ_OK;
    for (int i = 0; i < 20 && status == ADZ_OK; ++i) {
        char name[8];
        snprintf(name, sizeof name, "%d", i);
        status = adz_safetensors_add(file, name, user);
        status = status == ADZ_OK ? adz_safetensors_set_metadata(file, name, "x") : status;
        status = status == ADZ_OK ? adz_safetensors_set_metadata(file, name, "yy") : status;
    }
    adz_safetensors_free(&file);
    return status;
}

static void refused_memory_harms_nothing(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_safetensors *small = adz_safetensors_new(), *file = every_dtype();
    adz_tensor *t = adz_reshape(numbers(ADZ_F32, 6), ADZ_SHAPE(2, 3));
    adz_safetensors_add(file, "t", adz_transpose(t, 0, 1));
    adz_safetensors_save(small, temporary_path("kept"));
    adz_safetensors_save(small, temporary_path("copy"));
    int saving = refuse_each(save_some, kept_is_intact, file);
    assert_true(saving >= 3);
    assert_false(kept_is_intact(NULL)); /* the last attempt replaced it */
    int loading = refuse_each(load_some, NULL, NULL);
    assert_true(loading >= 25);
    adz_safetensors_options map = ADZ_SAFETENSORS_OPTIONS;
    map.map = true;
    int mapping = refuse_each(load_some, NULL, &map);
    assert_true(mapping >= 40);
    int building = refuse_each(build_some, NULL, t);
    assert_true(building >= 60);
    print_message("refused: %d saving, %d loading, %d mapping, %d building\n", saving, loading,
        mapping, building);
    adz_safetensors_free(&file);
    adz_safetensors_free(&small);
    adz_scope_close(scope);
    temporary_files(true);
}

/* ---- refusing systems ----------------------------------------------------------------------- */

static adz_safetensors *large(void)
{
    adz_safetensors *file = adz_safetensors_new();
    adz_safetensors_add(file, "big", adz_zeros(ADZ_SHAPE(100000), ADZ_F32));
    return file;
}

static void full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_safetensors *small = adz_safetensors_new(), *big = large();
    adz_safetensors_save(small, temporary_path("kept"));
    adz_safetensors_save(small, temporary_path("copy"));
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    limit.rlim_cur = 100000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    adz_status status = adz_safetensors_save(big, temporary_path("kept"));
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(status, ADZ_ERR_IO);
    expect_error(ADZ_ERR_IO, "kept: cannot be written, what was there is "
                             "unchanged: File too large");
    assert_true(kept_is_intact(NULL));
    const char *device = device_path("full");
    if (device != NULL) {
        assert_int_equal(adz_safetensors_save(big, device), ADZ_ERR_IO);
        expect_error(ADZ_ERR_IO, "full: cannot be written: No space left");
    }
    device = device_path("null");
    if (device != NULL) {
        assert_int_equal(adz_safetensors_save(big, device), ADZ_OK); /* and is not replaced */
        struct stat about;
        assert_int_equal(stat(device, &about), 0);
        assert_true(S_ISCHR(about.st_mode));
    }
    adz_safetensors_free(&big);
    adz_safetensors_free(&small);
    adz_scope_close(scope);
    temporary_files(true);
}

/* In a child that has given up root, if it ever was: exit code 0 when all is as it should be. */
static int without_rights(void)
{
    adz_safetensors *small = adz_safetensors_new();
    if (geteuid() == 0 && setuid(65534) != 0) {
        return 77;
    }
    if (adz_safetensors_save(small, temporary_path("kept")) != ADZ_ERR_IO ||
        strstr(adz_error_message(),
            "cannot create a temporary file beside it: Permission denied") == NULL) {
        return 1;
    }
    adz_error_clear();
    adz_safetensors_free(&small);
    return 0;
}

static void unwritable_folder_is_said(void **state)
{
    (void)state;
    adz_safetensors *small = adz_safetensors_new();
    adz_safetensors_save(small, temporary_path("kept"));
    chmod(temporary_folder, 0555);
    pid_t child = fork();
    if (child == 0) {
        _exit(without_rights());
    }
    int result = 0;
    waitpid(child, &result, 0);
    chmod(temporary_folder, 0755);
    assert_true(WIFEXITED(result));
    assert_true(WEXITSTATUS(result) == 0 || WEXITSTATUS(result) == 77);

    static const struct {
        const char *path, *says;
    } bad[] = { { "kept/x", "Not a directory" }, { "none/x", "No such file or directory" },
        { ".", "Is a directory" } };
    for (size_t i = 0; i < 3; ++i) {
        assert_int_equal(adz_safetensors_save(small, temporary_path(bad[i].path)), ADZ_ERR_IO);
        assert_non_null(strstr(adz_error_message(), bad[i].says));
        adz_error_clear();
        assert_null(adz_safetensors_load(temporary_path(bad[i].path), NULL));
        assert_int_equal(adz_error_code(), ADZ_ERR_IO);
        assert_non_null(strstr(adz_error_message(), bad[i].says));
        adz_error_clear();
    }
    assert_int_equal(temporary_files(true), 1);
    adz_safetensors_free(&small);
}

/* The mode and a symbolic link survive the replacement. */
static void replacing_keeps_mode_and_link(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_safetensors *small = adz_safetensors_new(), *big = large();
    adz_safetensors_save(small, temporary_path("kept"));
    chmod(temporary_path("kept"), 0640);
    assert_int_equal(symlink("kept", temporary_path("link")), 0);
    assert_int_equal(adz_safetensors_save(big, temporary_path("link")), ADZ_OK);
    struct stat about;
    assert_int_equal(lstat(temporary_path("link"), &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(stat(temporary_path("kept"), &about), 0);
    assert_int_equal(about.st_mode & 07777, 0640);
    assert_true(about.st_size > 400000);
    adz_safetensors_free(&big);
    adz_safetensors_free(&small);
    adz_scope_close(scope);
    temporary_files(true);
}

/* Killed at any moment while it saves, over and over, it leaves a whole file. */
static void killed_while_saving(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_safetensors *big = large();
    const char *path = temporary_path("kept");
    assert_int_equal(adz_safetensors_save(big, path), ADZ_OK);
    for (int round = 0; round < 10; ++round) {
        pid_t child = fork();
        if (child == 0) {
            for (;;) {
                adz_safetensors_save(big, path);
            }
        }
        usleep((useconds_t)(500 + 700 * round));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        adz_safetensors *back = adz_safetensors_load(path, NULL);
        assert_non_null(back);
        adz_safetensors_free(&back);
    }
    assert_int_equal(adz_safetensors_save(big, path), ADZ_OK);
    assert_int_equal(temporary_files(true), 1); /* none of what they were writing */
    adz_safetensors_free(&big);
    adz_scope_close(scope);
}

static void null_is_said(void **state)
{
    (void)state;
    adz_safetensors *none = NULL;
    adz_safetensors_free(&none);
    adz_safetensors_free(NULL);
    assert_null(adz_safetensors_load(NULL, NULL));
    assert_int_equal(adz_error_code(), ADZ_ERR_NULL);
    adz_error_clear();
    assert_null(adz_safetensors_from_memory(NULL, 3));
    assert_int_equal(adz_error_code(), ADZ_ERR_NULL);
    adz_error_clear();
    assert_int_equal(adz_safetensors_save(NULL, "x"), ADZ_ERR_NULL);
    adz_error_clear();
    assert_int_equal(adz_safetensors_count(NULL), 0);
    assert_int_equal(adz_error_code(), ADZ_ERR_NULL);
    adz_error_clear();
}

static void expect_null_said(bool refused, const char *says)
{
    if (!refused || adz_error_code() != ADZ_ERR_NULL || strstr(adz_error_message(), says) == NULL) {
        fail_msg("\"%s\" instead of \"%s\"", adz_error_message(), says);
    }
    adz_error_clear();
}

static void what_is_null_is_named(void **state)
{
    (void)state;
    adz_safetensors *file = adz_safetensors_new();
    adz_tensor *t = adz_scalar(1, ADZ_F32);
    expect_null_said(
        adz_safetensors_add(NULL, "x", t) == ADZ_ERR_NULL, "adz_safetensors_add: file is");
    expect_null_said(
        adz_safetensors_add(file, NULL, t) == ADZ_ERR_NULL, "adz_safetensors_add: name is");
    expect_null_said(
        adz_safetensors_add(file, "x", NULL) == ADZ_ERR_NULL, "adz_safetensors_add: t is");
    expect_null_said(adz_safetensors_get(NULL, "x") == NULL, "adz_safetensors_get: file is NULL");
    expect_null_said(adz_safetensors_get(file, NULL) == NULL, "adz_safetensors_get: name is NULL");
    expect_null_said(
        adz_safetensors_metadata(NULL, "x") == NULL, "adz_safetensors_metadata: file is NULL");
    expect_null_said(
        adz_safetensors_metadata(file, NULL) == NULL, "adz_safetensors_metadata: key is NULL");
    expect_null_said(
        adz_safetensors_metadata_count(NULL) == 0, "adz_safetensors_metadata_count: file");
    expect_null_said(
        adz_safetensors_metadata_key(NULL, 0) == NULL, "adz_safetensors_metadata_key: file");
    expect_null_said(adz_safetensors_name(NULL, 0) == NULL, "adz_safetensors_name: file is NULL");
    expect_null_said(
        adz_safetensors_tensor(NULL, 0) == NULL, "adz_safetensors_tensor: file is NULL");
    expect_null_said(adz_safetensors_set_metadata(NULL, "k", "v") == ADZ_ERR_NULL,
        "adz_safetensors_set_metadata: file is NULL");
    expect_null_said(adz_safetensors_set_metadata(file, NULL, "v") == ADZ_ERR_NULL,
        "adz_safetensors_set_metadata: key is NULL");
    expect_null_said(adz_safetensors_set_metadata(file, "k", NULL) == ADZ_ERR_NULL,
        "adz_safetensors_set_metadata: value is NULL");
    expect_null_said(
        adz_safetensors_save(file, NULL) == ADZ_ERR_NULL, "adz_safetensors_save: path is");
    expect_null_said(
        adz_safetensors_to_memory(NULL) == NULL, "adz_safetensors_to_memory: file is NULL");
    assert_int_equal(adz_safetensors_count(file), 0);
    assert_int_equal(adz_safetensors_metadata_count(file), 0);
    assert_false(adz_safetensors_has(NULL, "x") || adz_safetensors_has(file, NULL));
    assert_int_equal(adz_error_code(), ADZ_OK);
    adz_safetensors_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back_as_it_went),
        cmocka_unit_test(bytes_are_the_formats),
        cmocka_unit_test(any_layout_is_written),
        cmocka_unit_test(mapped_tensors_are_private),
        cmocka_unit_test(bytes_swap),
        cmocka_unit_test(lies_are_found),
        cmocka_unit_test(damage_is_survived),
        cmocka_unit_test(good_oddities_are_read),
        cmocka_unit_test(names_are_unique_and_found),
        cmocka_unit_test(refused_memory_harms_nothing),
        cmocka_unit_test(full_disk_leaves_the_old_file),
        cmocka_unit_test(unwritable_folder_is_said),
        cmocka_unit_test(replacing_keeps_mode_and_link),
        cmocka_unit_test(killed_while_saving),
        cmocka_unit_test(null_is_said),
        cmocka_unit_test(what_is_null_is_named),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
