#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adze/models.h"

#include "check.h"

static char path[64];
static int file = -1;

static void remove_file(void)
{
    remove(path);
}

/* Writes the input to a file. It stays open and is not cut to nothing, which some file systems
 * answer by writing it to the disk. */
static void write_file(const uint8_t *bytes, size_t size)
{
    if (file < 0) {
        strcpy(path, "adze-fuzz-XXXXXX.gguf");
        file = mkstemps(path, 5);
        MUST(file >= 0);
        atexit(remove_file);
    }
    MUST(pwrite(file, bytes, size, 0) == (ssize_t)size);
    MUST(ftruncate(file, (off_t)size) == 0);
}

/* Every value and every tensor of an open file. */
static void must_read(adz_gguf *gguf)
{
    for (size_t i = 0; i < adz_gguf_tensor_count(gguf); ++i) {
        const char *name = adz_gguf_tensor_name_at(gguf, i);
        MUST(name != NULL && adz_gguf_tensor_index(gguf, name) < adz_gguf_tensor_count(gguf));
        const adz_shape shape = adz_gguf_tensor_shape_at(gguf, i);
        adz_tensor *t = adz_gguf_read(gguf, name, true);
        if (t == NULL) {
            must_have_failed();
        } else {
            MUST(adz_tensor_rank(t) == shape.rank);
        }
    }
    static const char *const keys[] = { "general.architecture", "llama.block_count",
        "tokenizer.ggml.tokens", "tokenizer.ggml.scores" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) {
        size_t n = 0, size = 0;
        if (adz_gguf_kind_of(gguf, keys[i]) != ADZ_GGUF_KIND_ARRAY) {
            continue;
        }
        MUST(adz_gguf_count(gguf, keys[i], &n) == ADZ_OK);
        for (size_t k = 0; k < n && k < 64; ++k) {
            double number;
            if (adz_gguf_text_at(gguf, keys[i], k, &size) == NULL) {
                must_have_failed();
                MUST(adz_gguf_real_at(gguf, keys[i], k, &number) == ADZ_OK);
            }
        }
    }
}

/* A file: its head, its tensors, its model and its tokenizer. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const int64_t tensors = adzi_live_tensors();
    adz_on_error(adz_quiet, NULL);
    write_file(bytes, size);
    adz_scope *scope = adz_scope_open();
    adz_gguf *gguf = adz_gguf_open(path);
    if (gguf == NULL) {
        must_have_failed();
    } else {
        must_read(gguf);
        adz_gguf_close(&gguf);
        adz_pretrained_options o = ADZ_PRETRAINED_OPTIONS;
        o.as_stored = size % 2 != 0;
        o.map = size % 3 == 0; /* the model ends before the file is written again */
        adz_module *model = adz_pretrained_open(path, &o);
        if (model == NULL) {
            must_have_failed();
        }
        adz_module_release(&model);
        adz_tokenizer *t = adz_pretrained_tokenizer_open(path, NULL);
        if (t == NULL) {
            must_have_failed();
        } else if (adz_tokenizer_encode(t, "a b  ab", 7) == NULL) {
            must_have_failed();
        }
        adz_tokenizer_free(&t);
    }
    adz_scope_close(scope);
    MUST(adzi_live_tensors() == tensors);
    return 0;
}
