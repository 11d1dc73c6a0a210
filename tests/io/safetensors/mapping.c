/* Files that are mapped into memory, and files that are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <sys/wait.h>

#include "files.h"
#include "../../errors.h"
#include "../../temporary.h"
#include "tests.h"

static adz_safetensors *load(const char *name, bool map)
{
    adz_safetensors_options o = ADZ_SAFETENSORS_OPTIONS;
    o.map = map;
    return adz_safetensors_load(temporary_path(name), &o);
}

/* Without the option the elements are copies, so that the file may become shorter. */
static void a_copy_needs_no_file(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file = every_dtype();
    assert_int_equal(adz_safetensors_save(file, temporary_path("all")), ADZ_OK);
    adz_safetensors *back = load("all", false);
    assert_int_equal(truncate(temporary_path("all"), 0), 0);
    assert_same(file, back);
    adz_safetensors_free(&back);
    adz_safetensors_free(&file);
    adz_scope_close(scope);
    temporary_files(true);
}

/* A pipe cannot be mapped. Its tensors are copied. */
static void a_pipe_is_copied(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file = every_dtype();
    adz_tensor *bytes = adz_safetensors_to_memory(file);
    assert_int_equal(mkfifo(temporary_path("pipe"), 0600), 0);
    pid_t child = fork();
    if (child == 0) {
        write_file(temporary_path("pipe"), adz_tensor_data(bytes), (size_t)adz_tensor_numel(bytes));
        _exit(0);
    }
    adz_safetensors *back = load("pipe", true);
    assert_non_null(back);
    assert_same(file, back);
    assert_int_equal(waitpid(child, NULL, 0), child);
    adz_safetensors_free(&back);
    adz_safetensors_free(&file);
    adz_scope_close(scope);
    temporary_files(true);
}

/* Elements that do not begin at a multiple of their size are copied to where they do. */
static void elements_are_aligned(void **state)
{
    (void)state;
    static const char header[] =
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\"b\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[1,17]},\"c\":{\"dtype\":\"F64\",\"shape\":[0],\"data_offsets\":[17,17]}}";
    static unsigned char bytes[1024];
    for (size_t spaces = 0; spaces < 8; ++spaces) {
        char text[sizeof header + 8];
        snprintf(text, sizeof text, "%s%.*s", header, (int)spaces, "        ");
        write_file(temporary_path("odd"), bytes, make(bytes, text, 17));
        adz_safetensors *file = load("odd", true);
        assert_non_null(file);
        for (size_t i = 1; i < 3; ++i) {
            adz_tensor *t = adz_safetensors_at(file, i);
            assert_true((uintptr_t)adz_tensor_data(t) % sizeof(double) == 0);
        }
        adz_safetensors_free(&file);
    }
    temporary_files(true);
}

/* A file of 4 TB without blocks on the disk. Most systems do not map it, and say so. */
static void a_file_that_cannot_be_mapped_is_said(void **state)
{
    (void)state;
    static const char header[] =
        "{\"t\":{\"dtype\":\"U8\",\"shape\":[4398046511104],\"data_offsets\":[0,4398046511104]}}";
    unsigned char bytes[200];
    size_t size = make(bytes, header, 0);
    write_file(temporary_path("huge"), bytes, size);
    if (truncate(temporary_path("huge"), (off_t)size + ((off_t)1 << 42)) == 0) {
        adz_safetensors *file = load("huge", true);
        if (file == NULL) {
            expect_error(ADZ_ERR_IO, "huge: it cannot be mapped");
        } else {
            assert_int_equal(*(const uint8_t *)adz_tensor_data(adz_safetensors_at(file, 0)), 0);
        }
        adz_safetensors_free(&file);
    }
    temporary_files(true);
}

int mapping_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_needs_no_file),
        cmocka_unit_test(a_pipe_is_copied),
        cmocka_unit_test(elements_are_aligned),
        cmocka_unit_test(a_file_that_cannot_be_mapped_is_said),
    };
    return cmocka_run_group_tests_name(
        "safetensors: mapping", tests, temporary_begin, temporary_end);
}
