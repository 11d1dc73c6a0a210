/* The tensors and the metadata of a file: names, NULL arguments, refused memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "files.h"
#include "io/safetensors.h"
#include "../../errors.h"
#include "../../temporary.h"
#include "tests.h"

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
    assert_string_equal(adz_safetensors_name_at(file, 999), "layer.999");
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
    assert_null(adz_safetensors_at(file, 1000));
    assert_int_equal(adz_error_code(), ADZ_ERR_INDEX);
    adz_error_clear();
    assert_int_equal(adz_safetensors_set_metadata(file, "k", "1"), ADZ_OK);
    assert_int_equal(adz_safetensors_set_metadata(file, "l", "2"), ADZ_OK);
    assert_int_equal(adz_safetensors_set_metadata(file, "k", "3"), ADZ_OK);
    assert_int_equal(adz_safetensors_metadata_count(file), 2);
    assert_string_equal(adz_safetensors_get_metadata(file, "k"), "3");
    assert_null(adz_safetensors_get_metadata(file, "m"));
    assert_int_equal(adz_error_code(), ADZ_OK);
    assert_int_equal(adz_safetensors_set_metadata(file, "k", "\xc3"), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    adz_safetensors_free(&file);
    adz_scope_close(scope);
}

/* The well-formed characters of more than one byte, as RFC 3629 lists them: the ranges of the first
 * and the second byte. All further bytes are 80 to BF. */
static const struct {
    size_t length;
    unsigned char first[2], second[2];
} characters[] = {
    { 2, { 0xc2, 0xdf }, { 0x80, 0xbf } },
    { 3, { 0xe0, 0xe0 }, { 0xa0, 0xbf } },
    { 3, { 0xe1, 0xec }, { 0x80, 0xbf } },
    { 3, { 0xed, 0xed }, { 0x80, 0x9f } },
    { 3, { 0xee, 0xef }, { 0x80, 0xbf } },
    { 4, { 0xf0, 0xf0 }, { 0x90, 0xbf } },
    { 4, { 0xf1, 0xf3 }, { 0x80, 0xbf } },
    { 4, { 0xf4, 0xf4 }, { 0x80, 0x8f } },
};

static bool within(unsigned char c, const unsigned char range[2])
{
    return c >= range[0] && c <= range[1];
}

/* The offset of the first character that is not well-formed, or n. */
static size_t first_bad(const unsigned char *text, size_t n)
{
    static const unsigned char tail[2] = { 0x80, 0xbf };
    size_t i = 0, length = 1;
    for (; i < n && length > 0; i += length) {
        length = text[i] < 0x80 ? 1 : 0;
        for (size_t k = 0; k < sizeof characters / sizeof *characters; ++k) {
            bool fits = characters[k].length <= n - i && within(text[i], characters[k].first) &&
                        within(text[i + 1], characters[k].second);
            for (size_t at = 2; at < characters[k].length && fits; ++at) {
                fits = within(text[i + at], tail);
            }
            length = fits ? characters[k].length : length;
        }
    }
    return i;
}

/* All texts of up to 4 bytes after an "a", whose bytes are borders of the ranges. Behind the end
 * stands a byte that would continue a character. */
static void only_utf8_is_accepted(void **state)
{
    (void)state;
    static const unsigned char borders[] = { 0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0,
        0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff };
    enum { N = sizeof borders };
    for (size_t k = 0; k < (size_t)N * N * N * N; ++k) {
        unsigned char text[] = { 'a', borders[k % N], borders[k / N % N], borders[k / N / N % N],
            borders[k / N / N / N], 0x80, 0x80, 0x80 };
        for (size_t n = 2; n <= 5; ++n) {
            size_t expected = first_bad(text, n), bad = n;
            bool good = adzi_is_utf8((const char *)text, n, &bad);
            if (good != (expected == n) || bad != expected) {
                fail_msg("%02x %02x %02x %02x: byte %zu of %zu, expected %zu", text[1], text[2],
                    text[3], text[4], bad, n, expected);
            }
        }
    }
}

static adz_status save_some(void *user)
{
    return adz_safetensors_save(user, temporary_path("kept"));
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
    /* The last attempt, with no request refused, replaced the file. */
    assert_false(kept_is_intact(NULL));
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

static void what_is_null_is_named(void **state)
{
    (void)state;
    adz_safetensors *file = adz_safetensors_new();
    adz_tensor *t = adz_scalar(1, ADZ_F32);
    expect_null(adz_safetensors_add(NULL, "x", t) == ADZ_ERR_NULL, "adz_safetensors_add", "file");
    expect_null(adz_safetensors_add(file, NULL, t) == ADZ_ERR_NULL, "adz_safetensors_add", "name");
    expect_null(adz_safetensors_add(file, "x", NULL) == ADZ_ERR_NULL, "adz_safetensors_add", "t");
    expect_null(adz_safetensors_get(NULL, "x") == NULL, "adz_safetensors_get", "file");
    expect_null(adz_safetensors_get(file, NULL) == NULL, "adz_safetensors_get", "name");
    expect_null(
        adz_safetensors_get_metadata(NULL, "x") == NULL, "adz_safetensors_get_metadata", "file");
    expect_null(
        adz_safetensors_get_metadata(file, NULL) == NULL, "adz_safetensors_get_metadata", "key");
    expect_null(
        adz_safetensors_metadata_count(NULL) == 0, "adz_safetensors_metadata_count", "file");
    expect_null(adz_safetensors_metadata_key_at(NULL, 0) == NULL, "adz_safetensors_metadata_key_at",
        "file");
    expect_null(adz_safetensors_name_at(NULL, 0) == NULL, "adz_safetensors_name_at", "file");
    expect_null(adz_safetensors_at(NULL, 0) == NULL, "adz_safetensors_at", "file");
    expect_null(adz_safetensors_set_metadata(NULL, "k", "v") == ADZ_ERR_NULL,
        "adz_safetensors_set_metadata", "file");
    expect_null(adz_safetensors_set_metadata(file, NULL, "v") == ADZ_ERR_NULL,
        "adz_safetensors_set_metadata", "key");
    expect_null(adz_safetensors_set_metadata(file, "k", NULL) == ADZ_ERR_NULL,
        "adz_safetensors_set_metadata", "value");
    expect_null(adz_safetensors_save(file, NULL) == ADZ_ERR_NULL, "adz_safetensors_save", "path");
    expect_null(adz_safetensors_to_memory(NULL) == NULL, "adz_safetensors_to_memory", "file");
    assert_int_equal(adz_safetensors_count(file), 0);
    assert_int_equal(adz_safetensors_metadata_count(file), 0);
    assert_false(adz_safetensors_has(NULL, "x") || adz_safetensors_has(file, NULL));
    assert_int_equal(adz_error_code(), ADZ_OK);
    adz_safetensors_free(&file);
}

int collection_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique_and_found),
        cmocka_unit_test(only_utf8_is_accepted),
        cmocka_unit_test(refused_memory_harms_nothing),
        cmocka_unit_test(null_is_said),
        cmocka_unit_test(what_is_null_is_named),
    };
    return cmocka_run_group_tests_name(
        "safetensors: collection", tests, temporary_begin, temporary_end);
}
