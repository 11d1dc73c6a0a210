/* Batches: texts are encoded, cut to a length, put into the template and filled to one length. */
#include "adze/checks.h"
#include "adze/options.h"
#include "adze/tensor.h"
#include "stages.h"
#include "tokenizer.h"

static const char op[] = "adz_pretrained_encode";

static const char *const truncations[] = { "as_file", "none", "longest_first", "only_first",
    "only_second", NULL };
static const char *const paddings[] = { "as_file", "longest", "fixed", NULL };
static const char *const sides[] = { "as_file", "right", "left", NULL };

static const adz_field fields[] = {
    ADZ_FIELD(adz_pretrained_encode_options, add_special_tokens, .value = true),
    ADZ_FIELD_AS(adz_pretrained_encode_options, truncation, "truncation", ADZ_FIELD_ENUM,
        .values = truncations),
    ADZ_FIELD(adz_pretrained_encode_options, max_length, ADZ_CLOSED(0, INT32_MAX)),
    ADZ_FIELD_AS(adz_pretrained_encode_options, truncation_side, "truncation_side", ADZ_FIELD_ENUM,
        .values = sides),
    ADZ_FIELD_AS(
        adz_pretrained_encode_options, padding, "padding", ADZ_FIELD_ENUM, .values = paddings),
    ADZ_FIELD(adz_pretrained_encode_options, pad_length, ADZ_CLOSED(0, INT32_MAX)),
    ADZ_FIELD(adz_pretrained_encode_options, pad_to_multiple_of, ADZ_CLOSED(0, INT32_MAX)),
    ADZ_FIELD_AS(adz_pretrained_encode_options, padding_side, "padding_side", ADZ_FIELD_ENUM,
        .values = sides),
    ADZ_FIELD(adz_pretrained_encode_options, pad_id, .value = -1, ADZ_CLOSED(-1, INT32_MAX)),
};

ADZ_OPTIONS_TABLE(adz_pretrained_encode_options, ADZ_PRETRAINED_ENCODE_OPTIONS, fields)

/* The tokens of a row in the output of all rows. */
typedef struct row {
    size_t begin[2], n[2];
} row;

typedef struct batch {
    const adzi_tok *t;
    const adz_text *texts[2]; /* the second one is NULL without pairs */
    size_t rows;
    bool special;
    adzi_tok_batch how;
    adzi_tok_output output;
    row *row;
} batch;

/* ---- options -------------------------------------------------------------------------------- */

static adz_status refuse(const char *text)
{
    return adz_error_set(op, ADZ_ERR_ARGUMENT, text);
}

/* What the options leave to the file. */
static adz_status choose(batch *b, const adz_pretrained_encode_options *o)
{
    adzi_tok_batch *h = &b->how;
    *h = b->t->batch;
    b->special = o->add_special_tokens;
    h->truncation = o->truncation != ADZ_TRUNCATION_AS_FILE ? o->truncation : h->truncation;
    h->truncation_side =
        o->truncation_side != ADZ_SIDE_AS_FILE ? o->truncation_side : h->truncation_side;
    h->padding_side = o->padding_side != ADZ_SIDE_AS_FILE ? o->padding_side : h->padding_side;
    h->multiple = o->pad_to_multiple_of > 0 ? o->pad_to_multiple_of : h->multiple;
    h->pad_id = o->pad_id >= 0 ? o->pad_id : h->pad_id;
    if (o->max_length > 0) {
        if (h->truncation == ADZ_TRUNCATION_NONE) {
            return refuse("max_length has no effect without truncation, such as longest_first");
        }
        h->max_length = o->max_length;
    }
    if (h->truncation != ADZ_TRUNCATION_NONE && h->max_length == 0) {
        return refuse("truncation needs a max_length, which the file does not give either");
    }
    if (o->padding != ADZ_PADDING_AS_FILE) {
        h->padding = o->padding;
        h->pad_length = o->pad_length;
    }
    if ((o->padding == ADZ_PADDING_FIXED) != (o->pad_length > 0)) {
        return refuse("pad_length belongs to the padding \"fixed\", which needs it");
    }
    if (h->pad_id >= (int64_t)b->t->n_tokens) {
        return adz_error_format(op, ADZ_ERR_ARGUMENT, "pad_id %lld is outside the %zu tokens",
            (long long)h->pad_id, b->t->n_tokens);
    }
    return ADZ_OK;
}

/* ---- truncation ----------------------------------------------------------------------------- */

/* Leaves n tokens of a text. */
static void cut(const batch *b, row *r, int which, size_t n)
{
    if (n < r->n[which]) {
        r->begin[which] += b->how.truncation_side == ADZ_SIDE_LEFT ? r->n[which] - n : 0;
        r->n[which] = n;
    }
}

/* How many tokens of both texts stay if the longer one is cut first. */
static void cut_longest(const batch *b, row *r, size_t most)
{
    const int shorter = r->n[0] > r->n[1];
    size_t n = r->n[shorter], m = n > most ? n : most - n > n ? most - n : n;
    if (n + m > most) {
        n = most / 2;
        m = n + most % 2;
    }
    cut(b, r, shorter, n);
    cut(b, r, !shorter, m);
}

static adz_status truncate_row(const batch *b, row *r, size_t added)
{
    const size_t all = r->n[0] + r->n[1], length = (size_t)b->how.max_length;
    if (b->how.truncation == ADZ_TRUNCATION_NONE) {
        return ADZ_OK;
    }
    if (length < added) {
        return adz_error_format(op, ADZ_ERR_ARGUMENT,
            "max_length is %zu, but %zu special tokens are added", length, added);
    }
    const size_t most = length - added;
    if (all <= most) {
        return ADZ_OK;
    }
    if (b->how.truncation == ADZ_TRUNCATION_LONGEST_FIRST || most == 0) {
        if (b->texts[1] != NULL && most > 0) {
            cut_longest(b, r, most);
        } else {
            cut(b, r, 0, most);
            cut(b, r, 1, 0);
        }
        return ADZ_OK;
    }
    const int which = b->how.truncation == ADZ_TRUNCATION_ONLY_SECOND;
    const size_t over = all - most;
    if (which == 1 && b->texts[1] == NULL) {
        return refuse("the truncation is only_second, but there is no second text");
    }
    if (r->n[which] <= over) {
        return adz_error_format(op, ADZ_ERR_ARGUMENT,
            "the %s text has %zu tokens, too few to cut the row to a max_length of %zu",
            which == 0 ? "first" : "second", r->n[which], length);
    }
    cut(b, r, which, r->n[which] - over);
    return ADZ_OK;
}

/* ---- offsets -------------------------------------------------------------------------------- */

/* Spaces of an added token's text, which may have taken some from its neighbours. */
static void spaces_of(adz_text text, adzi_tok_span span, size_t *leading, size_t *trailing)
{
    bool begun = false;
    const adz_text part = { text.bytes, span.end };
    *leading = *trailing = 0;
    for (size_t i = span.begin; i < span.end;) {
        const uint32_t point = adz_utf8_next(part, &i);
        const bool space = (adzi_tok_class(point) & CLASS_SPACE) != 0;
        begun = begun || !space;
        *leading += !begun;
        *trailing = space ? *trailing + 1 : 0;
    }
}

static uint32_t next_character(adz_text text, uint32_t at)
{
    do {
        ++at;
    } while (at < text.size && adzi_tok_continues(text.bytes[at]));
    return at;
}

static uint32_t character_before(adz_text text, uint32_t at)
{
    do {
        --at;
    } while (at > 0 && adzi_tok_continues(text.bytes[at]));
    return at;
}

/* Leaves spaces at both ends of a token out of its range, as ByteLevel and Roberta do. */
static adzi_tok_span trimmed(
    const adzi_tok *t, int32_t id, adzi_tok_span span, bool first, adz_text text)
{
    size_t leading = t->tokens[id].leading, trailing = t->tokens[id].trailing;
    if (t->tokens[id].added) {
        spaces_of(text, span, &leading, &trailing);
    }
    if (leading == 1 && t->prefix_space && (first || span.begin == 0)) {
        leading = 0; /* the space that was put before the text */
    }
    /* tokenizers counts these in characters, whatever the token stands for. */
    while (leading-- > 0 && span.begin < span.end) {
        span.begin = next_character(text, span.begin);
    }
    uint32_t end = span.end;
    size_t left = trailing;
    while (left > 0 && end > 0) {
        end = character_before(text, end);
        left -= 1;
    }
    if (left == 0) {
        span.end = end > span.begin ? end : span.begin;
    }
    return span;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static size_t length_of(const batch *b, const row *r)
{
    const adzi_tok_template *template = b->texts[1] == NULL ? &b->t->single : &b->t->pair;
    size_t n = 0;
    for (size_t i = 0; i < template->n; ++i) {
        const int which = template->pieces[i].sequence;
        n += which >= 0 ? r->n[which] : b->special;
    }
    return n;
}

/* The arrays of a batch. */
typedef struct arrays {
    int64_t *ids, *mask, *types, *special, *offsets;
} arrays;

static void put_token(
    const arrays *a, size_t at, int64_t id, int type, bool special, adzi_tok_span span)
{
    a->ids[at] = id;
    a->mask[at] = 1;
    a->types[at] = type;
    a->special[at] = special;
    a->offsets[2 * at] = span.begin;
    a->offsets[2 * at + 1] = span.end;
}

static void fill_row(const batch *b, size_t number, size_t width, const arrays *a)
{
    const row *r = &b->row[number];
    const adzi_tok_template *template = b->texts[1] == NULL ? &b->t->single : &b->t->pair;
    const size_t pads = width - length_of(b, r);
    const adzi_tok_span none = { 0, 0 };
    size_t at = number * width + (b->how.padding_side == ADZ_SIDE_LEFT ? pads : 0);
    for (size_t i = 0; i < width; ++i) {
        put_token(a, number * width + i, b->how.pad_id, (int)b->how.pad_type_id, true, none);
        a->mask[number * width + i] = 0;
    }
    for (size_t i = 0; i < template->n; ++i) {
        const adzi_tok_template_piece *piece = &template->pieces[i];
        if (piece->sequence < 0) {
            if (b->special) {
                put_token(a, at++, piece->id, piece->type_id, true, none);
            }
            continue;
        }
        const size_t begin = r->begin[piece->sequence];
        for (size_t k = 0; k < r->n[piece->sequence]; ++k) {
            const int32_t id = b->output.ids[begin + k];
            adzi_tok_span span = b->output.spans[begin + k];
            if (b->t->trim_offsets) {
                span = trimmed(b->t, id, span, k == 0, b->texts[piece->sequence][number]);
            }
            put_token(a, at++, id, piece->type_id, false, span);
        }
    }
}

/* ---- the batch ------------------------------------------------------------------------------ */

static size_t width_of(const batch *b)
{
    size_t width = b->how.padding == ADZ_PADDING_FIXED ? (size_t)b->how.pad_length : 0;
    for (size_t i = 0; i < b->rows; ++i) {
        const size_t n = length_of(b, &b->row[i]);
        width = n > width ? n : width;
    }
    const size_t multiple = b->how.multiple > 0 ? (size_t)b->how.multiple : 1;
    return (width + multiple - 1) / multiple * multiple;
}

static int64_t *new_array(adz_tensor **t, size_t rows, size_t width, int per_token)
{
    *t = per_token == 1 ? adz_empty(ADZ_SHAPE((int64_t)rows, (int64_t)width), ADZ_I64)
                        : adz_empty(ADZ_SHAPE((int64_t)rows, (int64_t)width, per_token), ADZ_I64);
    return *t != NULL ? adz_tensor_data_i64(*t) : NULL;
}

static adz_status fill(const batch *b, adz_encoding *e)
{
    const size_t width = width_of(b);
    const arrays a = { new_array(&e->input_ids, b->rows, width, 1),
        new_array(&e->attention_mask, b->rows, width, 1),
        new_array(&e->token_type_ids, b->rows, width, 1),
        new_array(&e->special_tokens_mask, b->rows, width, 1),
        new_array(&e->offsets, b->rows, width, 2) };
    if (a.ids == NULL || a.mask == NULL || a.types == NULL || a.special == NULL ||
        a.offsets == NULL) {
        *e = (adz_encoding){ NULL, NULL, NULL, NULL, NULL };
        return adz_error_code();
    }
    for (size_t i = 0; i < b->rows; ++i) {
        fill_row(b, i, width, &a);
    }
    return ADZ_OK;
}

/* Encodes both texts of a row. */
static bool encode_row(batch *b, adzi_tok_scratch *scratch, size_t number)
{
    bool good = true;
    for (int which = 0; which < 2 && b->texts[which] != NULL && good; ++which) {
        const adz_text *text = &b->texts[which][number];
        adzi_tok_run run = { b->t, scratch, true, &b->output };
        const size_t begin = b->output.n;
        good =
            adzi_tok_check_size(op, text->size) && adzi_tok_run_text(&run, text->bytes, text->size);
        b->row[number].begin[which] = begin;
        b->row[number].n[which] = b->output.n - begin;
    }
    return good;
}

static adz_status encode_all(batch *b, adz_encoding *e)
{
    adzi_tok *t = (adzi_tok *)(uintptr_t)b->t;
    adzi_tok_scratch *scratch = adzi_tok_borrow(t);
    const adzi_tok_template *template = b->texts[1] == NULL ? &t->single : &t->pair;
    size_t added = 0;
    for (size_t i = 0; i < template->n; ++i) {
        added += template->pieces[i].sequence < 0 && b->special;
    }
    b->row = scratch != NULL ? adzi_tok_alloc(b->rows * sizeof *b->row) : NULL;
    adz_status status = b->row != NULL ? ADZ_OK : adz_error_code();
    for (size_t i = 0; i < b->rows && status == ADZ_OK; ++i) {
        status = encode_row(b, scratch, i) ? truncate_row(b, &b->row[i], added) : adz_error_code();
    }
    if (status == ADZ_OK) {
        status = fill(b, e);
    }
    if (scratch != NULL) {
        adzi_tok_return(t, scratch);
    }
    adzi_tok_free(b->row);
    adzi_tok_free(b->output.ids);
    adzi_tok_free(b->output.spans);
    return status;
}

static adz_status check(const adz_tokenizer *tokenizer, const batch *b, const adz_encoding *e)
{
    if (tokenizer == NULL || b->texts[0] == NULL || e == NULL) {
        return adz_error_null(op, tokenizer == NULL ? "tokenizer"
                                  : e == NULL       ? "encoding"
                                                    : "texts");
    }
    const adz_tokenizer_type *type = adz_tokenizer_type_of(tokenizer);
    if (type != &adzi_tok_type) {
        return type == NULL ? adz_error_code()
                            : refuse("the tokenizer is not from adz_pretrained_tokenizer_open");
    }
    if (b->rows == 0) {
        return refuse("a batch needs one text or more");
    }
    for (int which = 0; which < 2 && b->texts[which] != NULL; ++which) {
        for (size_t i = 0; i < b->rows; ++i) {
            if (b->texts[which][i].bytes == NULL && b->texts[which][i].size > 0) {
                return adz_error_null(op, "a text");
            }
        }
    }
    return ADZ_OK;
}

adz_status adz_pretrained_encode(const adz_tokenizer *tokenizer, const adz_text *texts,
    const adz_text *pairs, size_t n, const adz_pretrained_encode_options *options,
    adz_encoding *encoding)
{
    adz_pretrained_encode_options o;
    batch b = { .texts = { texts, pairs }, .rows = n };
    if (encoding != NULL) {
        *encoding = (adz_encoding){ NULL, NULL, NULL, NULL, NULL };
    }
    adz_status status = check(tokenizer, &b, encoding);
    if (status == ADZ_OK &&
        !adz_options_take(op, &adz_pretrained_encode_options_table, &o, options)) {
        status = adz_error_code();
    }
    if (status == ADZ_OK) {
        b.t = adz_tokenizer_data(tokenizer);
        status = choose(&b, &o);
    }
    return status == ADZ_OK ? encode_all(&b, encoding) : status;
}
