/* The special tokens, and rules of a program's own on texts (adz_token_rules). */
#include "data/tokenizer_rules.h"

#include <string.h>

#include "base/door.h"
#include "base/error.h"
#include "base/source.h"
#include "data/unicode.h"

const char *const adzi_special_tokens[ADZI_SPECIAL_TOKENS] = { "xxunk", "xxpad", "xxbos", "xxeos",
    "xxfld", "xxmaj", "xxup", "xxrep", "xxwrep" };

enum { LONGEST_NAME = 63 };

bool adzi_check_rules(const char *op, const adz_token_rules *rules)
{
    const size_t least = offsetof(adz_token_rules, on_word) + sizeof rules->on_word;
    if (rules->size < least) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "the rules' size is %zu; set it to sizeof(adz_token_rules)", rules->size);
        return false;
    }
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    const char *name = rules->name;
    const size_t length = name != NULL ? strlen(name) : 0;
    if (length < 1 || length > LONGEST_NAME || strspn(name, allowed) < length) {
        adzi_shown shown;
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "the rules are called \"%s\", but a name has 1 to %d letters, digits, '-', '_' and '.'",
            adzi_show(&shown, name != NULL ? name : ""), (int)LONGEST_NAME);
        return false;
    }
    return true;
}

bool adzi_put_piece(void *to, adz_text piece)
{
    adzi_text *text = to;
    if (piece.size > 0) {
        adzi_text_add_n(text, piece.bytes, piece.size);
    }
    return !text->failed;
}

bool adzi_apply_rules(const char *op, adzi_text *text, const adz_token_rules *rules)
{
    if (rules == NULL || rules->on_text == NULL || text->failed) {
        return !text->failed;
    }
    adzi_text written = { 0 };
    const adz_text whole = { adzi_text_get(text), text->length };
    bool good = rules->on_text(whole, adzi_put_piece, &written);
    if (!good && !written.failed) {
        adzi_callback_failed(op, ADZ_ERR_ARGUMENT, "the rules %s failed on a text", rules->name);
    }
    const char *bytes = adzi_text_get(&written);
    if (good && adzi_utf8_valid(bytes, written.length) < written.length) {
        adzi_error(op, ADZ_ERR_FORMAT, "the rules %s wrote a text that is not UTF-8 at byte %zu",
            rules->name, adzi_utf8_valid(bytes, written.length));
        good = false;
    }
    adzi_text_free(text);
    *text = written;
    return good && !text->failed;
}
