/* Files: their bytes, and tensors that lie in files of their own. */
#include <limits.h>
#include <stdio.h>

#include "model.h"

adz_tensor *adzi_reader_file(const char *op, const char *path)
{
    FILE *file = fopen(path, "rb");
    long size = -1;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
        size = ftell(file);
    }
    if (size < 0 || size == LONG_MAX || fseek(file, 0, SEEK_SET) != 0) {
        adz_error_format(op, ADZ_ERR_IO, "the file cannot be opened");
    } else {
        adz_tensor *bytes = adz_empty(ADZ_SHAPE((int64_t)size), ADZ_U8);
        if (bytes != NULL && fread(adz_tensor_data(bytes), 1, (size_t)size, file) == (size_t)size) {
            fclose(file);
            return bytes;
        }
        adz_error_format(op, ADZ_ERR_IO, "the file cannot be read");
    }
    if (file != NULL) {
        fclose(file);
    }
    return NULL;
}

typedef struct loading {
    const char *path;
    adz_tensor *t;
} loading;

static adz_status load_tensor(void *state)
{
    loading *l = state;
    reader_model model = { .op = "adz_onnx_tensor_load" };
    int element;
    adz_tensor *file = adzi_reader_file(model.op, l->path);
    l->t = file != NULL
               ? adzi_reader_tensor(&model,
                     (reader_bytes){ adz_tensor_data(file), (size_t)adz_tensor_numel(file) },
                     l->path, &element)
               : NULL;
    return l->t != NULL ? ADZ_OK : adz_error_code();
}

adz_tensor *adz_onnx_tensor_load(const char *path)
{
    loading l = { .path = path };
    if (path == NULL) {
        adz_error_null("adz_onnx_tensor_load", "path");
        return NULL;
    }
    adz_scope *scope = adz_scope_open();
    adz_error_within(path, load_tensor, &l);
    return adz_scope_return(scope, l.t);
}
