/* Safetensors files that several tests use. */
#ifndef ADZE_TESTS_IO_SAFETENSORS_FILES_H
#define ADZE_TESTS_IO_SAFETENSORS_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "adze/io/safetensors.h"
#include "adze/ops.h"
#include "base/bytes.h"
#include "tensor/tensor.h"

/* Writes a file to memory: the length of the header, the header, and `data` bytes of 0. Returns the
 * file's size. */
static inline size_t make(unsigned char *to, const char *header, size_t data)
{
    size_t n = strlen(header);
    adzi_write_little(to, 8, n);
    memcpy(to + 8, header, n);
    memset(to + 8 + n, 0, data);
    return 8 + n + data;
}

static inline adz_tensor *numbers(adz_dtype dtype, int64_t count)
{
    adz_tensor *t = adz_empty(ADZ_SHAPE(count), ADZ_F64);
    for (int64_t i = 0; i < count; ++i) {
        adz_tensor_data_f64(t)[i] = dtype == ADZ_BOOL ? (double)(i % 2) : (double)(i + 1);
    }
    return adz_to(t, dtype);
}

static inline adz_safetensors *every_dtype(void)
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

static inline void assert_same(adz_safetensors *a, adz_safetensors *b)
{
    assert_int_equal(adz_safetensors_count(a), adz_safetensors_count(b));
    for (size_t i = 0; i < adz_safetensors_count(a); ++i) {
        adz_tensor *t = adz_safetensors_at(a, i), *u = adz_safetensors_at(b, i);
        assert_string_equal(adz_safetensors_name_at(a, i), adz_safetensors_name_at(b, i));
        assert_int_equal(adz_tensor_dtype(t), adz_tensor_dtype(u));
        assert_int_equal(adz_tensor_rank(t), adz_tensor_rank(u));
        assert_int_equal(adz_tensor_numel(t), adz_tensor_numel(u));
        adz_tensor *c = adz_contiguous(t);
        assert_memory_equal(adz_tensor_data(c), adz_tensor_data(u),
            (size_t)adz_tensor_numel(t) * adz_dtype_size(adz_tensor_dtype(t)));
    }
    assert_int_equal(adz_safetensors_metadata_count(a), adz_safetensors_metadata_count(b));
    for (size_t i = 0; i < adz_safetensors_metadata_count(a); ++i) {
        const char *key = adz_safetensors_metadata_key_at(a, i);
        assert_string_equal(key, adz_safetensors_metadata_key_at(b, i));
        assert_string_equal(
            adz_safetensors_get_metadata(a, key), adz_safetensors_get_metadata(b, key));
    }
}

#endif
