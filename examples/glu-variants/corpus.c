/* Reads a text and turns its characters into numbers. */
#include "corpus.h"

#include <stdlib.h>

#include "../shared/command_line.h"
#include "../shared/files.h"
#include "../text/encoding.h"
#include "../text/text.h"

static void on_error(adz_status status, const char *message, void *user)
{
    (void)status;
    fail("%s: %s", (const char *)user, message);
}

corpus load_corpus(const char *path)
{
    corpus t = { .name = path != NULL ? path : embedded_name };
    size_t size = 0;
    char *bytes = path != NULL ? read_whole_file(path, &size) : embedded_text(&size);
    if (size == 0) {
        fail("%s: is empty", t.name);
    }
    check_utf8(t.name, bytes, size, "");
    adz_on_error(on_error, (void *)(uintptr_t)t.name);
    const adz_text all = { bytes, size };
    adz_scope *scope = adz_scope_open();
    adz_tokenizer *letters = adz_tokenizer_build(ADZ_TOKENS_CHARACTERS, &all, 1, NULL);
    t.tensor = adz_keep(adz_tokenizer_encode(letters, bytes, size));
    t.ids = adz_tensor_data_i64(t.tensor);
    t.characters = adz_tensor_numel(t.tensor);
    t.vocabulary = adz_tokenizer_count(letters);
    adz_tokenizer_free(&letters);
    adz_scope_close(scope);
    free(bytes);
    if (t.vocabulary == 1) {
        fail("%s: is one character over and over: there is nothing to learn", t.name);
    }
    t.train_count = t.characters - t.characters / 10;
    return t;
}

void check_corpus(const corpus *t, int64_t length, int64_t batch)
{
    int64_t needed = length * batch + 1;
    if (t->train_count < needed) {
        fail(
            "%s: %lld of its %lld characters are for training, but a batch takes %lld; give a longer text, or a smaller --batch or --length",
            t->name, (long long)t->train_count, (long long)t->characters, (long long)needed);
    }
    if (t->characters - t->train_count < 2) {
        fail("%s: %lld characters leave nothing for validation", t->name, (long long)t->characters);
    }
}

void free_corpus(corpus *t)
{
    t->ids = NULL;
    adz_release(&t->tensor);
}
