#include "adze/io/safetensors.h"

#include <string.h>

#include "check.h"

static void write_and_read_again(adz_safetensors *file)
{
    adz_tensor *once = adz_safetensors_to_memory(file);
    MUST(once != NULL);
    size_t size = (size_t)adz_tensor_numel(once);
    adz_safetensors *again = adz_safetensors_from_memory(adz_tensor_data(once), size);
    MUST(again != NULL);
    MUST(adz_safetensors_count(again) == adz_safetensors_count(file));
    adz_tensor *twice = adz_safetensors_to_memory(again);
    MUST(twice != NULL && (size_t)adz_tensor_numel(twice) == size);
    MUST(memcmp(adz_tensor_data(once), adz_tensor_data(twice), size) == 0);
    adz_safetensors_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    int64_t tensors = adzi_live_tensors();
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file =
        adz_safetensors_from_memory(size > 0 ? bytes : (const uint8_t *)"", size);
    if (file == NULL) {
        must_have_failed();
    } else {
        for (size_t i = 0; i < adz_safetensors_count(file); ++i) {
            const char *name = adz_safetensors_name_at(file, i);
            MUST(adz_safetensors_get(file, name) == adz_safetensors_at(file, i));
        }
        write_and_read_again(file);
        adz_safetensors_free(&file);
    }
    adz_scope_close(scope);
    MUST(adzi_live_tensors() == tensors);
    return 0;
}
