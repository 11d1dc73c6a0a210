/* Memory that is refused to the library for JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <jansson.h>

#include "files.h"
#include "../../errors.h"
#include "../../temporary.h"
#include "tests.h"

/* The number of the request that fails, counted from now. If it is 0 none does. All later requests
 * fail as well, unless `recovers` is set. */
static int fails_in;
static bool recovers, refused;

static void *refusing_malloc(size_t size)
{
    bool fails = fails_in > 0 && --fails_in == 0;
    refused = refused || fails;
    if (fails && !recovers) {
        fails_in = 1;
    }
    return fails ? NULL : malloc(size);
}

/* Saves to memory, to a file, or loads, depending on `way`. Returns true if it succeeds. */
static bool act(int way, adz_safetensors *file, adz_tensor *bytes)
{
    size_t size = (size_t)adz_tensor_numel(bytes);
    if (way == 0) {
        const adz_tensor *written = adz_safetensors_to_memory(file);
        assert_true(written == NULL || adz_equal(written, bytes));
        return written != NULL;
    }
    if (way == 1) {
        adz_status status = adz_safetensors_save(file, temporary_path("new"));
        assert_int_equal(temporary_files(true), status == ADZ_OK ? 1 : 0);
        return status == ADZ_OK;
    }
    adz_safetensors *back = adz_safetensors_from_memory(adz_tensor_data(bytes), size);
    bool good = back != NULL;
    if (good && !recovers) { /* else jansson may have left out a byte of a string */
        assert_same(file, back);
    }
    adz_safetensors_free(&back);
    return good;
}

/* The parser of jansson sometimes takes a string that it could not store for a wrong one. */
static adz_status expect_refusal(int way)
{
    adz_status code = adz_error_code();
    assert_true(code == ADZ_ERR_MEMORY || (way == 2 && code == ADZ_ERR_FORMAT));
    expect_error(code, way == 0   ? "adz_safetensors_to_memory: "
                       : way == 1 ? "adz_safetensors_save: "
                                  : "adz_safetensors_from_memory: ");
    return code;
}

/* Returns how often memory was refused. */
static int attempts(int way, adz_safetensors *file, adz_tensor *bytes)
{
    int failures = 0;
    refused = true;
    for (int n = 1; refused; ++n) {
        adz_scope *scope = adz_scope_open();
        int64_t tensors = adzi_live_tensors(), live = adzi_live_bytes();
        refused = false;
        fails_in = n;
        bool good = act(way, file, bytes);
        fails_in = 0;
        if (!good) {
            failures += expect_refusal(way) == ADZ_ERR_MEMORY ? 1 : 0;
        }
        assert_int_equal(adz_error_code(), ADZ_OK);
        assert_true(good || (adzi_live_tensors() == tensors && adzi_live_bytes() == live));
        adz_scope_close(scope);
    }
    return failures;
}

static void refused_json_harms_nothing(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file = every_dtype();
    adz_tensor *bytes = adz_safetensors_to_memory(file);
    json_malloc_t old_malloc;
    json_free_t old_free;
    json_get_alloc_funcs(&old_malloc, &old_free);
    json_set_alloc_funcs(refusing_malloc, free);
    for (int k = 0; k < 6; ++k) {
        recovers = k % 2 != 0;
        assert_true(attempts(k / 2, file, bytes) >= 20);
    }
    json_set_alloc_funcs(old_malloc, old_free);
    adz_safetensors_free(&file);
    adz_scope_close(scope);
}

int refused_json_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_json_harms_nothing),
    };
    return cmocka_run_group_tests_name(
        "safetensors: refused JSON", tests, temporary_begin, temporary_end);
}
