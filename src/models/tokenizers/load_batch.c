/* Reading truncation and padding. */
#include "loading.h"

/* The position of a member's text among `names`, or -1 with the error recorded. */
static int choice(const models_json *object, const char *name, const char *const *names)
{
    const models_json at = adzi_models_json_member(object, name);
    const char *text = adzi_models_json_text_of(&at);
    for (int i = 0; text != NULL && names[i] != NULL; ++i) {
        if (strcmp(text, names[i]) == 0) {
            return i;
        }
    }
    if (text != NULL) {
        adzi_tok_unknown(&at, name, text);
    }
    return -1;
}

/* A side, right where the member is missing. */
static bool read_side(const models_json *object, adz_side *side)
{
    static const char *const sides[] = { "Right", "Left", NULL };
    const models_json at = adzi_models_json_member(object, "direction");
    const int i = at.value == NULL ? 0 : choice(object, "direction", sides);
    *side = i == 1 ? ADZ_SIDE_LEFT : ADZ_SIDE_RIGHT;
    return i >= 0;
}

static bool read_truncation(adzi_tok_batch *b, const models_json *at)
{
    static const char *const known[] = { "direction", "max_length", "strategy", "stride", NULL };
    static const char *const strategies[] = { "LongestFirst", "OnlyFirst", "OnlySecond", NULL };
    const int strategy = adzi_models_json_only(at, known) ? choice(at, "strategy", strategies) : -1;
    int64_t stride = 0;
    if (strategy < 0 || !read_side(at, &b->truncation_side) ||
        !adzi_models_json_whole(at, "max_length", 1, INT32_MAX, &b->max_length) ||
        !adzi_models_json_whole(at, "stride", 0, INT32_MAX, &stride)) {
        return false;
    }
    /* The stride is between the parts that are cut off, which nobody gets. */
    b->truncation = (adz_truncation)((int)ADZ_TRUNCATION_LONGEST_FIRST + strategy);
    return true;
}

static bool read_padding(adzi_tok_batch *b, const models_json *at)
{
    static const char *const known[] = { "strategy", "direction", "pad_to_multiple_of", "pad_id",
        "pad_type_id", "pad_token", NULL };
    const models_json strategy = adzi_models_json_member(at, "strategy");
    const models_json multiple = adzi_models_json_member(at, "pad_to_multiple_of");
    b->padding = ADZ_PADDING_LONGEST;
    if (json_is_object(strategy.value)) {
        b->padding = ADZ_PADDING_FIXED;
        if (!adzi_models_json_whole(&strategy, "Fixed", 0, INT32_MAX, &b->pad_length)) {
            return false;
        }
    } else {
        static const char *const strategies[] = { "BatchLongest", NULL };
        if (choice(at, "strategy", strategies) < 0) {
            return false;
        }
    }
    return adzi_models_json_only(at, known) && read_side(at, &b->padding_side) &&
           adzi_models_json_whole(at, "pad_id", 0, INT32_MAX, &b->pad_id) &&
           adzi_models_json_whole(at, "pad_type_id", 0, INT32_MAX, &b->pad_type_id) &&
           (adzi_tok_is_null(&multiple) ||
               adzi_models_json_whole_of(&multiple, 0, INT32_MAX, &b->multiple));
}

bool adzi_tok_load_batch(adzi_tok *t, const models_json *root)
{
    const models_json truncation = adzi_models_json_member(root, "truncation");
    const models_json padding = adzi_models_json_member(root, "padding");
    adzi_tok_batch *b = &t->batch;
    *b = (adzi_tok_batch){ .truncation = ADZ_TRUNCATION_NONE,
        .truncation_side = ADZ_SIDE_RIGHT,
        .padding = ADZ_PADDING_LONGEST,
        .padding_side = ADZ_SIDE_RIGHT };
    return (adzi_tok_is_null(&truncation) || read_truncation(b, &truncation)) &&
           (adzi_tok_is_null(&padding) || read_padding(b, &padding));
}
