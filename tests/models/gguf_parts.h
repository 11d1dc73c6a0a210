/* Small models as folders and as GGUF files, from one table of their weights. */
#ifndef ADZE_TESTS_MODELS_GGUF_PARTS_H
#define ADZE_TESTS_MODELS_GGUF_PARTS_H

#include <stdio.h>

#include "../temporary.h"
#include "adze/adze.h"
#include "gguf_writer.h"

enum { MOST_PARTS = 32 };

/* A weight; 0 columns for a vector. Both dimensions are those of the folder. */
typedef struct gguf_part {
    const char *name, *own; /* in the folder, and in GGUF files */
    int rows, columns;
    bool transposed; /* in GGUF files */
} gguf_part;

static inline void write_text(const char *name, const char *chars)
{
    FILE *file = fopen(temporary_path(name), "wb");
    assert_non_null(file);
    fwrite(chars, 1, strlen(chars), file);
    fclose(file);
}

/* Draws the weights. */
static inline void draw_parts(const gguf_part *parts, int n, adz_tensor **t)
{
    for (int i = 0; i < n; ++i) {
        t[i] = adz_randn(parts[i].columns > 0 ? ADZ_SHAPE(parts[i].rows, parts[i].columns)
                                              : ADZ_SHAPE(parts[i].rows),
            ADZ_F32);
    }
}

static inline void write_folder(
    const gguf_part *parts, int n, adz_tensor *const *t, const char *config)
{
    write_text("config.json", config);
    adz_safetensors *out = adz_safetensors_new();
    for (int i = 0; i < n; ++i) {
        assert_int_equal(adz_safetensors_add(out, parts[i].name, t[i]), ADZ_OK);
    }
    assert_int_equal(adz_safetensors_save(out, temporary_path("model.safetensors")), ADZ_OK);
    adz_safetensors_free(&out);
}

/* How a file stores matrices: 0 F32, 1 F16, 8 Q8_0. */
static inline adz_tensor *stored_as(adz_tensor *t, unsigned type)
{
    return type == 8 ? adz_quantize_q8_0(t) : type == 1 ? adz_to(t, ADZ_F16) : t;
}

static inline size_t part_bytes(const adz_tensor *t)
{
    return (size_t)adz_tensor_numel(t) * adz_dtype_size(adz_tensor_dtype(t));
}

/* Adds the tensors to a writer that has the head and the values, and writes the file. */
static inline const char *write_parts(
    writer *w, const gguf_part *parts, int n, adz_tensor *const *t, unsigned type)
{
    static char path[512];
    adz_tensor *made[MOST_PARTS];
    uint64_t offset = 0;
    for (int i = 0; i < n; ++i) {
        adz_tensor *one = parts[i].transposed ? adz_contiguous(adz_transpose(t[i], 0, 1)) : t[i];
        const adz_shape shape = adz_tensor_shape(one);
        const unsigned as = shape.rank > 1 ? type : 0;
        made[i] = stored_as(one, as);
        text(w, parts[i].own);
        number(w, (uint64_t)shape.rank, 4);
        for (int k = shape.rank; k-- > 0;) {
            number(w, (uint64_t)shape.sizes[k], 8);
        }
        number(w, as, 4);
        number(w, offset, 8);
        offset += (part_bytes(made[i]) + 31) / 32 * 32;
    }
    align(w, 32);
    snprintf(path, sizeof path, "%s", temporary_path("parts.gguf"));
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(w->bytes, 1, w->size, file);
    for (int i = 0; i < n; ++i) {
        static const char zeros[32];
        const size_t bytes = part_bytes(made[i]);
        fwrite(adz_tensor_data(made[i]), 1, bytes, file);
        fwrite(zeros, 1, (32 - bytes % 32) % 32, file);
    }
    fclose(file);
    return path;
}

#endif
