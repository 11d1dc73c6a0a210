/* Text that grows, for the rules of the tokenizer. */
#include "fastai/token_text.h"

#include <string.h>

#include "zoo.h"

void adzi_zoo_text_reserve(zoo_text *text, size_t length)
{
    if (text->failed || length < text->capacity) {
        return;
    }
    const size_t capacity = length + length / 2 + 64;
    char *data = adzi_zoo_alloc(capacity);
    if (data == NULL) {
        text->failed = true;
        return;
    }
    if (text->length > 0) {
        memcpy(data, text->data, text->length);
    }
    if (!text->borrowed) {
        adzi_zoo_free(text->data);
    }
    text->data = data;
    text->capacity = capacity;
    text->borrowed = false;
}

void adzi_zoo_text_add_n(zoo_text *text, const char *bytes, size_t n)
{
    adzi_zoo_text_reserve(text, text->length + n);
    if (text->failed) {
        return;
    }
    if (n > 0) {
        memcpy(text->data + text->length, bytes, n);
    }
    text->length += n;
    text->data[text->length] = '\0';
}

void adzi_zoo_text_add(zoo_text *text, const char *string)
{
    adzi_zoo_text_add_n(text, string, strlen(string));
}

void adzi_zoo_text_free(zoo_text *text)
{
    if (!text->borrowed) {
        adzi_zoo_free(text->data);
    }
    text->data = NULL;
}
