/* npy files: reading what NumPy writes, writing what NumPy reads, and refusing what is no npy file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "adze/io/npy.h"
#include "adze/ops.h"
#include "base/bytes.h"
#include "io/npy.h"
#include "../../errors.h"
#include "../../temporary.h"
#include "tensor/tensor.h"
#include "make.h"
#include "tests.h"

static const char zeros[64];

/* ---- reading -------------------------------------------------------------------------------- */

static void orders_and_versions(void **state)
{
    (void)state;
    static const float c_order[] = { 1, 2, 3, 4, 5, 6 }, f_order[] = { 1, 4, 2, 5, 3, 6 };
    static const char *const texts[] = { HEADER("<f4", "False", "(2, 3)"),
        HEADER("<f4", "True", "(2, 3)") };
    unsigned char bytes[512];
    for (int major = 1; major <= 3; ++major) {
        for (int fortran = 0; fortran < 2; ++fortran) {
            adz_scope *scope = adz_scope_open();
            size_t n = make(bytes, major, texts[fortran], fortran ? f_order : c_order, 24);
            adz_tensor *t = adz_npy_from_memory(bytes, n);
            assert_non_null(t);
            assert_int_equal(adz_tensor_size(t, 0), 2);
            assert_int_equal(adz_tensor_size(t, 1), 3);
            assert_true(adz_tensor_is_contiguous(t));
            assert_memory_equal(adz_tensor_data(t), c_order, sizeof c_order);
            adz_scope_close(scope);
        }
    }
}

static void byte_orders_and_dtypes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *data;
        size_t size;
        adz_dtype dtype;
        double value;
    } files[] = {
        { HEADER("<f4", "False", "()"), "\0\0\x20\x40", 4, ADZ_F32, 2.5 },
        { HEADER(">f4", "False", "()"), "\x40\x20\0\0", 4, ADZ_F32, 2.5 },
        { HEADER(">f8", "False", "()"), "\x40\x04\0\0\0\0\0\0", 8, ADZ_F64, 2.5 },
        { HEADER("<f8", "False", "()"), "\0\0\0\0\0\0\x04\x40", 8, ADZ_F64, 2.5 },
        { HEADER(">f2", "False", "()"), "\x41\0", 2, ADZ_F16, 2.5 },
        { HEADER("<f2", "True", "()"), "\0\x41", 2, ADZ_F16, 2.5 },
        { HEADER(">i4", "False", "()"), "\xff\xff\xff\xfe", 4, ADZ_I32, -2 },
        { HEADER("<i8", "False", "()"), "\xfe\xff\xff\xff\xff\xff\xff\xff", 8, ADZ_I64, -2 },
        { HEADER(">i8", "False", "()"), "\0\0\0\0\0\0\1\0", 8, ADZ_I64, 256 },
        { HEADER("|u1", "False", "()"), "\xc8", 1, ADZ_U8, 200 },
        { HEADER("|i1", "False", "()"), "\xc8", 1, ADZ_I32, -56 },
        { HEADER("<i2", "False", "()"), "\xfe\xff", 2, ADZ_I32, -2 },
        { HEADER(">i2", "False", "()"), "\xff\0", 2, ADZ_I32, -256 },
        { HEADER("<u2", "False", "()"), "\xfe\xff", 2, ADZ_I32, 65534 },
        { HEADER(">u4", "False", "()"), "\xff\xff\xff\xfe", 4, ADZ_I64, 4294967294 },
        { HEADER("<u8", "False", "()"), "\0\0\0\0\0\0\0\x40", 8, ADZ_I64, 4611686018427387904 },
        { HEADER(">u8", "False", "()"), "\0\0\0\0\0\0\1\2", 8, ADZ_I64, 258 },
        { HEADER("uint8", "False", "()"), "\xc8", 1, ADZ_U8, 200 },
        { HEADER("=b1", "False", "()"), "\1", 1, ADZ_BOOL, 1 },
        { HEADER("|b1", "False", "()"), "\1", 1, ADZ_BOOL, 1 },
        { "{\"shape\":(1L,),\"descr\":\"<i4\",\"fortran_order\":False}  ", "\5\0\0\0", 4, ADZ_I32,
            5 },
    };
    unsigned char bytes[512];
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        adz_scope *scope = adz_scope_open();
        size_t n = make(bytes, 1, files[i].text, files[i].data, files[i].size);
        adz_tensor *t = adz_npy_from_memory(bytes, n);
        assert_non_null(t);
        assert_int_equal(adz_tensor_dtype(t), files[i].dtype);
        assert_true(adz_item(t) == files[i].value);
        adz_scope_close(scope);
    }
}

/* Eight dimensions, the most that a tensor can have, in row-major and in Fortran's order. */
static void eight_dimensions(void **state)
{
    (void)state;
    static const char *const texts[] = { HEADER("<i4", "False", "(1, 2, 1, 1, 1, 1, 3, 1)"),
        HEADER("<i4", "True", "(1, 2, 1, 1, 1, 1, 3, 1)") };
    static const int32_t items[] = { 0, 1, 2, 3, 4, 5 }, columns[] = { 0, 2, 4, 1, 3, 5 };
    unsigned char bytes[512];
    for (int fortran = 0; fortran < 2; ++fortran) {
        adz_scope *scope = adz_scope_open();
        size_t n = make(bytes, 1, texts[fortran], items, sizeof items);
        adz_tensor *t = adz_npy_from_memory(bytes, n);
        assert_non_null(t);
        assert_int_equal(adz_tensor_rank(t), 8);
        assert_memory_equal(adz_tensor_data(t), fortran ? columns : items, sizeof items);
        adz_tensor *again = adz_npy_to_memory(t, NULL);
        t = adz_npy_from_memory(adz_tensor_data(again), (size_t)adz_tensor_numel(again));
        assert_int_equal(adz_tensor_rank(t), 8);
        assert_memory_equal(adz_tensor_data(t), fortran ? columns : items, sizeof items);
        adz_scope_close(scope);
    }
}

static const struct {
    const char *text;
    size_t data;
    adz_status code;
    const char *says;
} hostile[] = {
    { "", 0, ADZ_ERR_FORMAT, "a dict must begin" },
    { "[]", 0, ADZ_ERR_FORMAT, "a dict must begin" },
    { "{}", 0, ADZ_ERR_FORMAT, "must all be given" },
    { "{", 0, ADZ_ERR_FORMAT, "a key and a colon" },
    { "{'descr", 0, ADZ_ERR_FORMAT, "a key and a colon" },
    { "{'descr' '<f4'}", 0, ADZ_ERR_FORMAT, "a key and a colon" },
    { "{'descr': '<f4'", 0, ADZ_ERR_FORMAT, "a comma or the dict's end" },
    { "{'descr': '<f4' 'shape': ()}", 0, ADZ_ERR_FORMAT, "a comma or the dict's end" },
    { "{'other': 1}", 0, ADZ_ERR_FORMAT, "an unknown key" },
    { "{'descr': '<f4', 'descr': '<f4'}", 0, ADZ_ERR_FORMAT, "for the second time" },
    { "{'descr': '<f4', 'fortran_order': False}", 0, ADZ_ERR_FORMAT, "must all be given" },
    { HEADER("<f4", "Maybe", "()"), 4, ADZ_ERR_FORMAT, "True or False" },
    { "{'fortran_order': False, 'shape': ()}", 0, ADZ_ERR_FORMAT, "must all be given" },
    { "{'descr': '<f4', 'shape': ()}", 0, ADZ_ERR_FORMAT, "must all be given" },
    { "{'': 1}", 0, ADZ_ERR_FORMAT, "an unknown key" },
    { "{dDescrd: '<f4', 'fortran_order': False, 'shape': ()}", 4, ADZ_ERR_FORMAT,
        "a key and a colon" },
    { "{xdescrx: '<f4', 'fortran_order': False, 'shape': ()}", 4, ADZ_ERR_FORMAT,
        "a key and a colon" },
    { HEADER("<f4x", "False", "()"), 4, ADZ_ERR_UNSUPPORTED, "'<f4x' is not offered" },
    { HEADER("xf4", "False", "()"), 4, ADZ_ERR_UNSUPPORTED, "'xf4' is not offered" },
    { HEADER("<f", "False", "()"), 4, ADZ_ERR_UNSUPPORTED, "'<f' is not offered" },
    { HEADER("", "False", "()"), 4, ADZ_ERR_UNSUPPORTED, "'' is not offered" },
    { HEADER("<f4f4", "False", "()"), 4, ADZ_ERR_UNSUPPORTED, "'<f4f4' is not offered" },
    { HEADER("<c8", "False", "()"), 8, ADZ_ERR_UNSUPPORTED, "'<c8' is not offered; convert" },
    { HEADER("|O", "False", "()"), 8, ADZ_ERR_UNSUPPORTED, "'|O' is not offered" },
    { "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': ()}", 4, ADZ_ERR_UNSUPPORTED,
        "structured" },
    { "{'descr': 3, 'fortran_order': False, 'shape': ()}", 4, ADZ_ERR_FORMAT, "must be a string" },
    { HEADER("<f4", "False", "3"), 12, ADZ_ERR_FORMAT, "must be a tuple" },
    { HEADER("<f4", "False", "(3)"), 12, ADZ_ERR_FORMAT, "must be a tuple of sizes" },
    { HEADER("<f4", "False", "(3 4)"), 12, ADZ_ERR_FORMAT, "must be a tuple of sizes" },
    { HEADER("<f4", "False", "(1, 1 3)"), 12, ADZ_ERR_FORMAT, "must be a tuple of sizes" },
    { HEADER("<f4", "False", "(-3,)"), 12, ADZ_ERR_FORMAT, "whole number" },
    { HEADER("<f4", "False", "(1.5,)"), 12, ADZ_ERR_FORMAT, "tuple of sizes" },
    { HEADER("<f4", "False", "(99999999999999999999,)"), 0, ADZ_ERR_FORMAT, "fits 64 bits" },
    { HEADER("<f4", "False", "(4294967296, 4294967296)"), 0, ADZ_ERR_FORMAT, "does not fit" },
    { HEADER("<f4", "False", "(0, 4294967296, 4294967296)"), 0, ADZ_ERR_FORMAT, "does not fit" },
    { HEADER("<f4", "False", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), 4, ADZ_ERR_UNSUPPORTED,
        "more than 8 dimensions" },
    { HEADER("<f4", "False", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"),
        4, ADZ_ERR_UNSUPPORTED, "more than 8 dimensions" },
    { HEADER("<f4", "False", "(3,)"), 8, ADZ_ERR_FORMAT,
        "takes 12 bytes, 8 are there; is the file cut" },
    { HEADER("<f4", "False", "(2,)"), 12, ADZ_ERR_FORMAT, "takes 8 bytes, 12 are there" },
    { HEADER("<f4", "False", "()") " x", 4, ADZ_ERR_FORMAT, "nothing may follow" },
};

static void assert_refused(
    const unsigned char *bytes, size_t size, adz_status code, const char *says)
{
    int64_t tensors = adzi_live_tensors(), live = adzi_live_bytes();
    const char *path = temporary_path("hostile");
    write_file(path, bytes, size);
    for (int way = 0; way < 2; ++way) {
        adz_scope *scope = adz_scope_open();
        assert_null(way == 0 ? adz_npy_from_memory(bytes, size) : adz_npy_load(path));
        if (adz_error_code() != code || strstr(adz_error_message(), says) == NULL) {
            fail_msg("%s, wanted %s with \"%s\"", adz_error_message(), adz_status_name(code), says);
        }
        adz_error_clear();
        adz_scope_close(scope);
    }
    assert_int_equal(adzi_live_tensors(), tensors);
    assert_int_equal(adzi_live_bytes(), live);
}

static void lies_are_found(void **state)
{
    (void)state;
    unsigned char bytes[512];
    adz_scope_close(adz_scope_open()); /* the thread keeps the struct of a scope for reuse */
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; ++i) {
        size_t n = make(bytes, 1, hostile[i].text, zeros, hostile[i].data);
        assert_refused(bytes, n, hostile[i].code, hostile[i].says);
    }
    size_t n = make(bytes, 1, HEADER("|b1", "False", "(2,)"), "\1\3", 2);
    assert_refused(bytes, n, ADZ_ERR_FORMAT, "element 1 is the byte 3");
    assert_refused(bytes, 9, ADZ_ERR_FORMAT, "does not begin as");
    assert_refused(bytes, n - 2 - 1, ADZ_ERR_FORMAT, "is it cut short");
    assert_refused(bytes, 0, ADZ_ERR_FORMAT, "does not begin as");
    assert_refused(bytes, 20, ADZ_ERR_FORMAT, "the file has 20; is it cut short");
    bytes[6] = 4;
    assert_refused(bytes, n, ADZ_ERR_UNSUPPORTED, "format version 4.0");
    bytes[6] = 2;
    assert_refused(bytes, 11, ADZ_ERR_FORMAT, "is it cut short");
    bytes[0] = 'P';
    assert_refused(bytes, n, ADZ_ERR_FORMAT, "does not begin as");
    temporary_files(true);
}

static adz_status parse_part(const char *text, size_t length)
{
    adzi_npy_header header;
    return adzi_npy_parse("test", "text", text, length, &header);
}

/* A header that is cut short is refused, although its missing part follows it in memory. */
static void a_header_ends_where_it_ends(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }",
        "{'shape': (3,), 'fortran_order': True, 'descr': '<f4'}",
        "{'shape': (), 'descr': '<f4', 'fortran_order': False}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        size_t whole = strlen(texts[i]);
        for (size_t n = 0; n < whole; ++n) {
            assert_int_equal(parse_part(texts[i], n), ADZ_ERR_FORMAT);
            adz_error_clear();
        }
        assert_int_equal(parse_part(texts[i], whole), ADZ_OK);
    }
}

/* Spaces and line breaks may stand between any two parts of a header. */
static void spaces_mean_nothing(void **state)
{
    (void)state;
    static const char text[] =
        " { 'descr' : '<f4' , 'fortran_order' :\tTrue\r\n, 'shape' : ( 12 , 3 L , ) , } \n";
    adzi_npy_header h;
    assert_int_equal(adzi_npy_parse("test", "text", text, sizeof text - 1, &h), ADZ_OK);
    assert_true(h.rank == 2 && h.sizes[0] == 12 && h.sizes[1] == 3 && h.fortran_order);
}

/* A header of up to 1 MiB is read, and a longer one is refused. */
static void headers_have_a_most(void **state)
{
    (void)state;
    enum { MOST = 1 << 20, ITEM = 4 };
    static unsigned char bytes[12 + MOST + 1 + ITEM];
    static const char text[] = HEADER("<f4", "False", "()");
    for (size_t more = 0; more < 2; ++more) {
        memset(bytes, ' ', sizeof bytes);
        make(bytes, 2, text, "", 0);
        adzi_write_little(bytes + 8, 4, MOST + more);
        adz_scope *scope = adz_scope_open();
        adz_tensor *t = adz_npy_from_memory(bytes, 12 + MOST + more + ITEM);
        assert_true((t != NULL) == (more == 0));
        if (more > 0) {
            assert_int_equal(adz_error_code(), ADZ_ERR_FORMAT);
            assert_non_null(strstr(adz_error_message(), "a header of 1048577 bytes is too long"));
        }
        adz_error_clear();
        adz_scope_close(scope);
    }
}

/* An empty tensor may have a size of 0 and another size, whose bytes just fit int64_t. */
static void empty_shapes(void **state)
{
    (void)state;
    unsigned char bytes[512];
    adz_scope *scope = adz_scope_open();
    size_t n = make(bytes, 1, HEADER("<f8", "False", "(0, 1152921504606846975, 1, 1, 1)"), "", 0);
    adz_tensor *t = adz_npy_from_memory(bytes, n);
    assert_non_null(t);
    assert_int_equal(adz_tensor_numel(t), 0);
    n = make(bytes, 1, HEADER("<f8", "False", "(0, 1152921504606846976, 1, 1, 1)"), "", 0);
    assert_null(adz_npy_from_memory(bytes, n));
    assert_non_null(strstr(adz_error_message(), "does not fit"));
    adz_error_clear();
    adz_scope_close(scope);
}

/* ---- writing -------------------------------------------------------------------------------- */

static void comes_back_as_it_went(void **state)
{
    (void)state;
    static const adz_dtype dtypes[] = { ADZ_F32, ADZ_F64, ADZ_F16, ADZ_I32, ADZ_I64, ADZ_U8,
        ADZ_BOOL };
    adz_scope *scope = adz_scope_open();
    static const double values[] = { 0, 1, 2, 3, 4, 5 };
    adz_tensor *x = adz_tensor_from(values, ADZ_SHAPE(1, 2, 3), ADZ_F64);
    int round = 0;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; ++i) {
        adz_tensor *t = adz_to(x, dtypes[i]);
        for (int how = 0; how < 24; ++how, ++round) {
            adz_npy_options o = ADZ_NPY_OPTIONS;
            o.version = 1 + how % 3;
            o.fortran_order = how / 3 % 2 != 0;
            o.big_endian = how / 6 % 2 != 0;
            adz_tensor *written = how < 12 ? t : adz_transpose(t, 0, 2);
            assert_int_equal(adz_npy_save(written, temporary_path("t.npy"), &o), ADZ_OK);
            adz_tensor *back = adz_npy_load(temporary_path("t.npy"));
            assert_non_null(back);
            assert_int_equal(adz_tensor_dtype(back), dtypes[i]);
            assert_int_equal(adz_tensor_rank(back), 3);
            adz_tensor *plain = adz_contiguous(written);
            assert_memory_equal(
                adz_tensor_data(back), adz_tensor_data(plain), 6 * adz_dtype_size(dtypes[i]));
            size_t size = 0;
            unsigned char *bytes = read_file(temporary_path("t.npy"), &size);
            adz_tensor *memory = adz_npy_to_memory(written, &o);
            assert_int_equal(adz_tensor_numel(memory), size);
            assert_memory_equal(adz_tensor_data(memory), bytes, size);
            assert_int_equal((size - 6 * adz_dtype_size(dtypes[i])) % 64, 0);
            free(bytes);
        }
    }
    assert_int_equal(round, 7 * 24);
    adz_scope_close(scope);
    temporary_files(true);
}

/* The bytes of a file are those that numpy.save writes. */
static void bytes_are_numpys(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *t = adz_tensor_from((float[]){ 1, 2, 3 }, ADZ_SHAPE(3), ADZ_F32);
    adz_tensor *bytes = adz_npy_to_memory(t, NULL);
    static const char text[] =
        "\x93NUMPY\1\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
    const char *at = adz_tensor_data(bytes);
    assert_int_equal(adz_tensor_numel(bytes), 128 + 12);
    assert_memory_equal(at, text, sizeof text - 1);
    for (size_t i = sizeof text - 1; i < 127; ++i) {
        assert_int_equal(at[i], ' ');
    }
    assert_int_equal(at[127], '\n');
    assert_memory_equal(at + 128, "\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 12);
    adz_scope_close(scope);
}

/* The padding fills the header up to the next multiple of 64 bytes, and no further. */
static void padding_is_the_least(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    for (int version = 1; version <= 3; ++version) {
        int64_t sizes[8] = { 0, 1, 1, 1, 1, 1, 1, 1 };
        for (int64_t k = 0; k < 60; ++k) {
            sizes[1 + k % 7] *= 10;
            adz_npy_options o = ADZ_NPY_OPTIONS;
            o.version = version;
            adz_tensor *t = adz_empty(adz_shape_of(8, sizes), ADZ_F32);
            adz_tensor *bytes = t != NULL ? adz_npy_to_memory(t, &o) : NULL;
            if (bytes == NULL) { /* the bytes of the shape do not fit int64_t */
                adz_error_clear();
                break;
            }
            size_t total = (size_t)adz_tensor_numel(bytes), prefix = version == 1 ? 10 : 12;
            const unsigned char *at = adz_tensor_data(bytes);
            const char *end = strchr((const char *)at + prefix, '}');
            assert_non_null(end);
            size_t used = (size_t)(end + 1 - (const char *)at) + 1; /* + 1 for the newline */
            assert_true(total % 64 == 0 && total >= used && total - used < 64);
            assert_int_equal(adzi_read_little(at + 8, prefix - 8), total - prefix);
            assert_int_equal(at[total - 1], '\n');
            adz_tensor *back = adz_npy_from_memory(at, total);
            assert_int_equal(adz_tensor_rank(back), 8);
            assert_int_equal(adz_tensor_size(back, 1), sizes[1]);
        }
    }
    adz_scope_close(scope);
}

static void bad_arguments_are_said(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *t = adz_scalar(1, ADZ_BF16);
    assert_int_equal(adz_npy_save(t, temporary_path("x"), NULL), ADZ_ERR_DTYPE);
    expect_error(ADZ_ERR_DTYPE, "NumPy has no bfloat16; convert");
    adz_npy_options o;
    adz_npy_options_init(&o, sizeof o);
    assert_int_equal(o.version, 1);
    o.version = 4;
    assert_null(adz_npy_to_memory(adz_scalar(1, ADZ_F32), &o));
    assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    assert_int_equal(adz_npy_save(NULL, "x", NULL), ADZ_ERR_NULL);
    adz_error_clear();
    assert_null(adz_npy_from_memory(NULL, 0));
    assert_int_equal(adz_error_code(), ADZ_ERR_NULL);
    adz_error_clear();
    assert_null(adz_npy_load(temporary_path("none")));
    assert_int_equal(adz_error_code(), ADZ_ERR_IO);
    expect_error(ADZ_ERR_IO, "none: cannot be opened: No such file");
    assert_int_equal(temporary_files(false), 0);
    adz_scope_close(scope);
}

/* ---- refused memory ------------------------------------------------------------------------- */

static adz_status save_and_load(void *user)
{
    adz_npy_options o = ADZ_NPY_OPTIONS;
    o.fortran_order = true;
    adz_scope *scope = adz_scope_open();
    if (scope == NULL) {
        return adz_error_code();
    }
    adz_status status = adz_npy_save(user, temporary_path("t.npy"), &o);
    if (status == ADZ_OK && adz_npy_load(temporary_path("t.npy")) == NULL) {
        status = adz_error_code();
    }
    adz_scope_close(scope);
    return status;
}

static adz_status write_to_memory(void *user)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *bytes = adz_npy_to_memory(user, NULL);
    adz_status status = bytes != NULL ? ADZ_OK : adz_error_code();
    adz_scope_close(scope);
    return status;
}

static bool one_whole_file(void *user)
{
    (void)user;
    return temporary_files(false) <= 1;
}

static void refused_memory_harms_nothing(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *t = adz_ones(ADZ_SHAPE(3, 5), ADZ_F32);
    assert_int_equal(
        save_and_load(t), ADZ_OK); /* inner scopes are kept by the thread from here on */
    int points = refuse_each(save_and_load, one_whole_file, t);
    assert_true(points >= 5);
    assert_true(refuse_each(write_to_memory, NULL, t) >= 1);
    print_message("refused: %d saving and loading\n", points);
    adz_scope_close(scope);
    temporary_files(true);
}

int files_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_and_versions),
        cmocka_unit_test(byte_orders_and_dtypes),
        cmocka_unit_test(eight_dimensions),
        cmocka_unit_test(lies_are_found),
        cmocka_unit_test(a_header_ends_where_it_ends),
        cmocka_unit_test(spaces_mean_nothing),
        cmocka_unit_test(headers_have_a_most),
        cmocka_unit_test(empty_shapes),
        cmocka_unit_test(comes_back_as_it_went),
        cmocka_unit_test(padding_is_the_least),
        cmocka_unit_test(bytes_are_numpys),
        cmocka_unit_test(bad_arguments_are_said),
        cmocka_unit_test(refused_memory_harms_nothing),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
