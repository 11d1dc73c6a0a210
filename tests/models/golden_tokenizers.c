/* Tokenizers that tests/golden/generate_tokenizers.py wrote, against what the library `tokenizers`
 * made of the same texts.
 *
 * usage: golden_tokenizers FILE.json... */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adze/adze.h"
#include "adze/models.h"

static int failures;

static void fail(const char *file, const char *what, const char *text)
{
    printf("%s: %s of \"%s\" differ\n", file, what, text);
    failures += 1;
}

/* Whether a tensor has the numbers of a list, which may hold lists. */
static bool equals(adz_tensor *t, const json_t *list)
{
    const int64_t *at = t != NULL ? adz_tensor_data_i64(t) : NULL;
    size_t n = 0;
    bool good = at != NULL || json_array_size(list) == 0;
    for (size_t i = 0; i < json_array_size(list) && good; ++i) {
        const json_t *one = json_array_get(list, i);
        for (size_t k = 0; k < (json_is_array(one) ? json_array_size(one) : 1) && good; ++k) {
            const json_t *number = json_is_array(one) ? json_array_get(one, k) : one;
            good = (int64_t)n < adz_tensor_numel(t) && at[n] == json_integer_value(number);
            ++n;
        }
    }
    return good && (t == NULL || (int64_t)n == adz_tensor_numel(t));
}

static adz_text text_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return (adz_text){ json_string_value(value), json_string_length(value) };
}

static void check_stream(const adz_tokenizer *t, const char *file, adz_tensor *ids, adz_text wanted)
{
    adz_token_stream *stream = adz_token_stream_new(t);
    char *all = calloc(1, 2 * wanted.size + 64);
    size_t n = 0;
    const int64_t *at = adz_tensor_numel(ids) > 0 ? adz_tensor_data_i64(ids) : NULL;
    for (int64_t i = 0; i <= adz_tensor_numel(ids); ++i) {
        const adz_text part = i < adz_tensor_numel(ids) ? adz_token_stream_next(stream, at[i])
                                                        : adz_token_stream_end(stream);
        if (part.bytes != NULL && n + part.size <= 2 * wanted.size + 64) {
            memcpy(all + n, part.bytes, part.size);
        }
        n += part.size;
    }
    if (n != wanted.size || memcmp(all, wanted.bytes, n) != 0) {
        fail(file, "the streamed ids", wanted.bytes);
    }
    free(all);
    adz_token_stream_free(&stream);
}

static void check_decoded(
    const adz_tokenizer *t, const char *file, adz_tensor *ids, adz_text wanted)
{
    const size_t size = adz_tokenizer_decode(t, ids, NULL, 0);
    char *back = malloc(size + 1);
    adz_tokenizer_decode(t, ids, back, size + 1);
    if (size != wanted.size || memcmp(back, wanted.bytes, size) != 0) {
        fail(file, "the decoded ids", wanted.bytes);
    }
    free(back);
}

static void check_case(const adz_tokenizer *t, const char *file, const json_t *one)
{
    adz_scope *scope = adz_scope_open();
    const adz_text texts[] = { text_of(one, "text"), text_of(one, "pair") };
    const bool pair = json_object_get(one, "pair") != NULL;
    const char *text = texts[0].bytes;
    adz_encoding e;
    if (adz_pretrained_encode(t, texts, pair ? texts + 1 : NULL, 1, NULL, &e) != ADZ_OK) {
        fail(file, adz_error_message(), text);
        adz_error_clear();
        adz_scope_close(scope);
        return;
    }
    adz_tensor *ids = adz_tokenizer_encode_fields(t, texts, pair ? 2 : 1);
    if (!equals(e.input_ids, json_object_get(one, "ids")) ||
        !equals(ids, json_object_get(one, "ids"))) {
        fail(file, "the ids", text);
    }
    if (!equals(e.token_type_ids, json_object_get(one, "types"))) {
        fail(file, "the types", text);
    }
    if (!equals(e.special_tokens_mask, json_object_get(one, "special"))) {
        fail(file, "the special tokens", text);
    }
    if (!pair && !equals(e.offsets, json_object_get(one, "offsets"))) {
        fail(file, "the offsets", text);
    }
    check_decoded(t, file, ids, text_of(one, "decoded"));
    check_stream(t, file, ids, text_of(one, "decoded"));
    adz_scope_close(scope);
}

static void check_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash != NULL ? slash + 1 : path;
    json_t *root = json_load_file(path, JSON_ALLOW_NUL, NULL);
    const adz_text json = text_of(root, "tokenizer");
    adz_tokenizer *t = adz_pretrained_tokenizer_from_memory(json.bytes, json.size, NULL);
    const json_t *cases = json_object_get(root, "cases");
    if (t == NULL || json_array_size(cases) == 0) {
        fail(file, t == NULL ? adz_error_message() : "no cases", "");
    }
    for (size_t i = 0; t != NULL && i < json_array_size(cases); ++i) {
        check_case(t, file, json_array_get(cases, i));
    }
    adz_tokenizer_free(&t);
    json_decref(root);
}

int main(int count, char **paths)
{
    adz_on_error(adz_quiet, NULL);
    for (int i = 1; i < count; ++i) {
        check_file(paths[i]);
    }
    printf("%d tokenizers, %d differences\n", count - 1, failures);
    return failures > 0 || count < 2;
}
