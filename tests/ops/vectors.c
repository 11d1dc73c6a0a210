#include "ops/vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_all(vector_file *v, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return false;
    }
    fseek(f, 0, SEEK_END);
    v->size = (size_t)ftell(f);
    rewind(f);
    v->bytes = malloc(v->size + 1);
    bool ok = v->bytes != NULL && fread(v->bytes, 1, v->size, f) == v->size;
    fclose(f);
    return ok;
}

/* True if the library's reader accepts the file. It refuses a file that is cut off or changed, with
 * the error recorded. */
static bool is_whole(const char *path)
{
    adz_safetensors *file = adz_safetensors_load(path, NULL);
    bool whole = file != NULL;
    adz_safetensors_free(&file);
    return whole;
}

bool vector_open(vector_file *v, const char *path)
{
    memset(v, 0, sizeof *v);
    uint64_t length = 0;
    if (!is_whole(path) || !read_all(v, path)) {
        return false;
    }
    memcpy(&length, v->bytes, sizeof length);
    v->data = 8 + (size_t)length;
    v->header = json_loadb(v->bytes + 8, (size_t)length, 0, NULL);
    v->config = json_loads(vector_meta(v, "config"), 0, NULL);
    return v->header != NULL && v->config != NULL;
}

void vector_close(vector_file *v)
{
    json_decref(v->header);
    json_decref(v->config);
    free(v->bytes);
}

const char *vector_meta(const vector_file *v, const char *key)
{
    const char *text =
        json_string_value(json_object_get(json_object_get(v->header, "__metadata__"), key));
    return text != NULL ? text : "";
}

adz_tensor *vector_tensor(const vector_file *v, const char *name)
{
    const json_t *entry = json_object_get(v->header, name);
    if (entry == NULL) {
        return NULL;
    }
    const json_t *shape = json_object_get(entry, "shape");
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    int64_t sizes[ADZ_MAX_RANK];
    int rank = (int)json_array_size(shape);
    for (int i = 0; i < rank && i < ADZ_MAX_RANK; ++i) {
        sizes[i] = json_integer_value(json_array_get(shape, (size_t)i));
    }
    json_int_t start =
        json_integer_value(json_array_get(json_object_get(entry, "data_offsets"), 0));
    adz_dtype type = strcmp(dtype, "F64") == 0   ? ADZ_F64
                     : strcmp(dtype, "I64") == 0 ? ADZ_I64
                     : strcmp(dtype, "F32") == 0 ? ADZ_F32
                                                 : ADZ_BOOL;
    return adz_tensor_from(
        (const void *)(v->bytes + v->data + start), adz_shape_of(rank, sizes), type);
}
