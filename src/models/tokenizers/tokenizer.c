/* Pretrained tokenizers as a type of adz_tokenizer. */
#include "adze/models/tokenizer.h"

#include "models.h"
#include "adze/options.h"
#include "decode.h"
#include "loading.h"
#include "stages.h"
#include "tokenizer.h"

/* ---- what it is ----------------------------------------------------------------------------- */

static const adzi_tok *state(const adz_tokenizer *self)
{
    return adz_tokenizer_data(self);
}

static int64_t count(const adz_tokenizer *self)
{
    return (int64_t)state(self)->n_tokens;
}

static adz_text token(const adz_tokenizer *self, int64_t id)
{
    const adzi_tok *t = state(self);
    const adzi_tok_token *one = &t->tokens[id];
    return one->exists ? (adz_text){ t->texts.at + one->begin, one->size } : (adz_text){ NULL, 0 };
}

static int64_t find(const adz_tokenizer *self, adz_text text)
{
    return adzi_tok_map_find(&state(self)->ids, text.bytes != NULL ? text.bytes : "", text.size);
}

static bool write(const char *op, const adz_tokenizer *self, adz_token_put put, void *to)
{
    (void)op;
    const adzi_tok *t = state(self);
    return put(to, (adz_text){ t->file.at, t->file.size });
}

/* ---- encoding ------------------------------------------------------------------------------- */

bool adzi_tok_check_size(const char *op, size_t size)
{
    if (size >= INT32_MAX) {
        adz_error_format(op, ADZ_ERR_ARGUMENT,
            "a text of %zu bytes is too long; give it in parts of less than 2 GiB", size);
        return false;
    }
    return true;
}

/* Hands ids on in blocks. */
static bool put_ids(const int32_t *ids, size_t n, adz_ids_put put, void *to)
{
    int64_t block[256];
    bool good = true;
    for (size_t i = 0; i < n && good;) {
        const size_t m = n - i < 256 ? n - i : 256;
        for (size_t k = 0; k < m; ++k) {
            block[k] = ids[i + k];
        }
        good = put(to, block, m);
        i += m;
    }
    return good;
}

/* Whether ids depend on where a piece lies in the caller's text: a Metaspace may put its sign
 * before the piece at the beginning only, and normalizers move pieces. */
static bool needs_ranges(const adzi_tok *t)
{
    bool any = false;
    for (size_t i = 0; i < t->n_splitters && t->n_normalizers > 0; ++i) {
        any = any ||
              (t->splitters[i].kind == SPLIT_METASPACE && t->splitters[i].scheme == PREPEND_FIRST);
    }
    return any;
}

static bool encode(const char *op, const adz_tokenizer *self, const adz_text *fields, size_t n,
    adz_ids_put put, void *to)
{
    adzi_tok *t = adz_tokenizer_data(self);
    if (n == 0 || n > 2) {
        return n == 0 || (adz_error_format(op, ADZ_ERR_ARGUMENT,
                              "%zu fields were given, but a text is one sequence or a pair", n),
                             false);
    }
    adzi_tok_scratch *scratch = adzi_tok_borrow(t);
    const adzi_tok_template *template = n == 1 ? &t->single : &t->pair;
    bool good = scratch != NULL;
    for (size_t i = 0; i < template->n && good; ++i) {
        const adzi_tok_template_piece *piece = &template->pieces[i];
        if (piece->sequence < 0) {
            good = !t->add_special || put_ids(&piece->id, 1, put, to);
            continue;
        }
        const adz_text *text = &fields[piece->sequence];
        adzi_tok_run run = { t, scratch, needs_ranges(t), &scratch->output };
        scratch->output.n = 0;
        good = adzi_tok_check_size(op, text->size) &&
               adzi_tok_run_text(&run, text->bytes, text->size) &&
               put_ids(scratch->output.ids, scratch->output.n, put, to);
    }
    adzi_tok_return(t, scratch);
    return good;
}

/* ---- ending --------------------------------------------------------------------------------- */

static void end_parts(adzi_tok *t)
{
    for (size_t i = 0; i < t->n_normalizers; ++i) {
        adzi_tok_free(t->normalizers[i].pattern.at);
        adzi_tok_free(t->normalizers[i].content.at);
    }
    for (size_t i = 0; i < t->n_splitters; ++i) {
        adzi_tok_free(t->splitters[i].literal.at);
    }
    for (size_t i = 0; i < t->n_decoders; ++i) {
        adzi_tok_free(t->decoders[i].pattern.at);
        adzi_tok_free(t->decoders[i].content.at);
    }
    for (int i = 0; i < ADZI_TOK_SPARES; ++i) {
        adzi_tok_scratch_free(atomic_load(&t->spare[i]));
    }
}

static void end(adz_tokenizer *self)
{
    adzi_tok *t = adz_tokenizer_data(self);
    adzi_tok_model *m = &t->model;
    end_parts(t);
    adzi_tok_map_free(&m->words);
    adzi_tok_map_free(&t->ids);
    adzi_tok_trie_free(&m->first);
    adzi_tok_trie_free(&m->next);
    adzi_tok_trie_free(&t->raw.trie);
    adzi_tok_trie_free(&t->normalized.trie);
    void *const memory[] = { t->normalizers, t->splitters, t->decoders, t->added, t->single.pieces,
        t->pair.pieces, t->tokens, t->texts.at, t->file.at, m->merges, m->unknown_text.at,
        m->prefix.at, m->suffix.at };
    for (size_t i = 0; i < sizeof memory / sizeof *memory; ++i) {
        adzi_tok_free(memory[i]);
    }
}

const adz_tokenizer_type adzi_tok_type = { .size = sizeof(adz_tokenizer_type),
    .name = "pretrained",
    .encode = encode,
    .count = count,
    .token = token,
    .id = find,
    .decode = adzi_tok_decode,
    .replace_invalid = true,
    .write = write,
    .end = end };

/* ---- reading -------------------------------------------------------------------------------- */

static const adz_field fields[] = {
    ADZ_FIELD(adz_pretrained_tokenizer_options, add_special_tokens, .value = true),
    ADZ_FIELD(adz_pretrained_tokenizer_options, skip_special_tokens, .value = true),
};

ADZ_OPTIONS_TABLE(adz_pretrained_tokenizer_options, ADZ_PRETRAINED_TOKENIZER_OPTIONS, fields)

static bool load(adzi_tok *t, const models_json *root)
{
    static const char *const known[] = { "version", "truncation", "padding", "added_tokens",
        "normalizer", "pre_tokenizer", "post_processor", "decoder", "model", NULL };
    const models_json normalizer = adzi_models_json_member(root, "normalizer");
    const models_json splitter = adzi_models_json_member(root, "pre_tokenizer");
    const models_json processor = adzi_models_json_member(root, "post_processor");
    const models_json decoder = adzi_models_json_member(root, "decoder");
    const models_json model = adzi_models_json_member(root, "model");
    const models_json added = adzi_models_json_member(root, "added_tokens");
    return adzi_models_json_is_object(root) && adzi_models_json_only(root, known) &&
           adzi_tok_load_normalizer(t, &normalizer) && adzi_tok_load_splitter(t, &splitter) &&
           adzi_tok_load_processor(t, &processor) && adzi_tok_load_decoder(t, &decoder) &&
           adzi_tok_load_batch(t, root) && adzi_tok_load_model(t, &model) &&
           adzi_tok_load_added(t, &added) && adzi_tok_list(t, root);
}

adz_tokenizer *adzi_tok_new(const char *op, const char *file, adz_text json,
    const adz_pretrained_tokenizer_options *options)
{
    adz_pretrained_tokenizer_options o;
    if (!adz_options_take(op, &adz_pretrained_tokenizer_options_table, &o, options)) {
        return NULL;
    }
    adz_tokenizer *self = adz_tokenizer_new(&adzi_tok_type, sizeof(adzi_tok));
    adzi_tok *t = self != NULL ? adz_tokenizer_data(self) : NULL;
    json_t *parsed = self != NULL ? adzi_models_json_parse(op, file, json.bytes, json.size) : NULL;
    if (parsed != NULL) {
        const models_json root = adzi_models_json_root(op, file, parsed);
        t->add_special = o.add_special_tokens;
        t->skip_special = o.skip_special_tokens;
        if (!load(t, &root) || !adzi_tok_append(&t->file, json.bytes, json.size)) {
            adz_tokenizer_free(&self);
        }
        json_decref(parsed);
    } else if (self != NULL) {
        adz_tokenizer_free(&self);
    }
    return self;
}

adz_tokenizer *adz_pretrained_tokenizer_from_memory(
    const void *bytes, size_t size, const adz_pretrained_tokenizer_options *options)
{
    static const char op[] = "adz_pretrained_tokenizer_from_memory";
    if (bytes == NULL) {
        adz_error_null(op, "bytes");
        return NULL;
    }
    return adzi_tok_new(op, "the buffer", (adz_text){ bytes, size }, options);
}
