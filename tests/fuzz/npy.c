#include "adze/io/npy.h"

#include <string.h>

#include "check.h"

static void write_and_read_again(adz_tensor *t, int how)
{
    adz_npy_options o = ADZ_NPY_OPTIONS;
    o.version = 1 + how % 3;
    o.fortran_order = how / 3 % 2 != 0;
    o.big_endian = how / 6 % 2 != 0;
    adz_tensor *written = adz_npy_to_memory(t, &o);
    MUST(written != NULL);
    adz_tensor *back =
        adz_npy_from_memory(adz_tensor_data(written), (size_t)adz_tensor_numel(written));
    MUST(back != NULL && adz_tensor_numel(back) == adz_tensor_numel(t));
    size_t bytes = (size_t)adz_tensor_numel(t) * adz_dtype_size(adz_tensor_dtype(t));
    MUST(memcmp(adz_tensor_data(back), adz_tensor_data(t), bytes) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    int64_t tensors = adzi_live_tensors();
    adz_scope *scope = adz_scope_open();
    adz_tensor *t = adz_npy_from_memory(size > 0 ? bytes : (const uint8_t *)"", size);
    if (t == NULL) {
        must_have_failed();
    } else {
        write_and_read_again(t, bytes[size - 1]);
    }
    adz_scope_close(scope);
    MUST(adzi_live_tensors() == tensors);
    return 0;
}
