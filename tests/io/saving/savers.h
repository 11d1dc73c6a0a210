/* Every kind of file that the library saves. */
#ifndef ADZE_TESTS_IO_SAVING_SAVERS_H
#define ADZE_TESTS_IO_SAVING_SAVERS_H

#include "../../nn.h"
#include "../../temporary.h"

static inline adz_status save_npy(const char *path)
{
    return adz_npy_save(adz_arange(0, 5000, 1, ADZ_F64), path, NULL);
}

static inline adz_status save_safetensors(const char *path)
{
    adz_safetensors *file = adz_safetensors_new();
    adz_status status = adz_safetensors_add(file, "x", adz_arange(0, 5000, 1, ADZ_F64));
    status = status == ADZ_OK ? adz_safetensors_save(file, path) : status;
    adz_safetensors_free(&file);
    return status;
}

static inline adz_status save_module(const char *path)
{
    adz_module *module = adz_linear_new(60, 60, NULL);
    adz_status status = adz_module_save(module, path);
    adz_module_release(&module);
    return status;
}

static inline adz_status save_checkpoint(const char *path)
{
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.model = adz_linear_new(60, 60, NULL);
    adz_status status = adz_checkpoint_save(&c, path);
    adz_module_release(&c.model);
    return status;
}

static inline adz_status save_tokenizer(const char *path)
{
    adz_tokenizer *t = adz_tokenizer_build(ADZ_TOKENS_BYTES, NULL, 0, NULL);
    adz_status status = adz_tokenizer_save(t, path);
    adz_tokenizer_free(&t);
    return status;
}

typedef adz_status (*saver)(const char *path);
static const saver savers[] = { save_npy, save_safetensors, save_module, save_checkpoint,
    save_tokenizer };
enum { SAVERS = sizeof savers / sizeof *savers };

static inline ino_t inode(const char *path)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return about.st_ino;
}

#endif
