/* Tokenizers in folders. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "gguf/tokenizer.h"
#include "legacy.h"
#include "models.h"

static const char op[] = "adz_pretrained_tokenizer_open";

enum { MOST_BYTES = 1 << 28 }; /* of a file; the largest known one has 33 MB */

/* Records why a file cannot be opened or read. */
static void refuse(const char *path)
{
    adz_error_format(op, ADZ_ERR_IO, "%s cannot be read: %s", path,
        errno == ENOENT ? "there is no such file" : "the system refuses");
}

bool adzi_tok_read_file(const char *path, adzi_tok_bytes *to)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        refuse(path);
        return false;
    }
    bool good = true;
    char block[16384];
    size_t n;
    while (good && (n = fread(block, 1, sizeof block, file)) > 0) {
        good = adzi_tok_append(to, block, n);
        if (good && to->size > MOST_BYTES) {
            adz_error_format(
                op, ADZ_ERR_FORMAT, "%s: it has more than %d bytes", path, (int)MOST_BYTES);
            good = false;
        }
    }
    if (good && ferror(file)) {
        refuse(path);
        good = false;
    }
    fclose(file);
    return good;
}

char *adzi_tok_path_in(const char *folder, const char *name)
{
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *path = adzi_tok_alloc(size);
    if (path != NULL) {
        snprintf(path, size, "%s/%s", folder, name);
    }
    return path;
}

bool adzi_tok_has(const char *folder, const char *name)
{
    struct stat about;
    char *path = adzi_tok_path_in(folder, name);
    const bool has = path != NULL && stat(path, &about) == 0;
    adzi_tok_free(path);
    return has;
}

adz_tokenizer *adz_pretrained_tokenizer_open(
    const char *path, const adz_pretrained_tokenizer_options *options)
{
    struct stat about;
    if (path == NULL) {
        adz_error_null(op, "path");
        return NULL;
    }
    if (stat(path, &about) != 0) {
        refuse(path);
        return NULL;
    }
    const size_t length = strlen(path);
    if (S_ISREG(about.st_mode) && length > 5 && strcmp(path + length - 5, ".gguf") == 0) {
        return adzi_gguf_tokenizer(op, path, options);
    }
    if (S_ISDIR(about.st_mode) && !adzi_tok_has(path, "tokenizer.json") &&
        (adzi_tok_has(path, "vocab.txt") || adzi_tok_has(path, "vocab.json"))) {
        return adzi_tok_legacy(op, path, options);
    }
    char *inside = S_ISDIR(about.st_mode) ? adzi_tok_path_in(path, "tokenizer.json") : NULL;
    if (inside == NULL && S_ISDIR(about.st_mode)) {
        return NULL;
    }
    const char *file = inside != NULL ? inside : path;
    adzi_tok_bytes bytes = { 0 };
    adz_tokenizer *t = NULL;
    if (adzi_tok_read_file(file, &bytes)) {
        t = adzi_tok_new(op, file, (adz_text){ bytes.at, bytes.size }, options);
    }
    adzi_tok_free(bytes.at);
    adzi_tok_free(inside);
    return t;
}
