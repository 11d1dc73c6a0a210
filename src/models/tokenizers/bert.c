/* The tokenizer.json of BERT, as transformers makes it of a vocabulary. */
#include "bert.h"

json_t *adzi_tok_bert_json(const adzi_tok_bert *b)
{
    json_t *accents = json_is_boolean(b->strip_accents)
                          ? json_boolean(json_is_true(b->strip_accents))
                          : json_null();
    return json_pack("{s:O,s:{s:s,s:b,s:b,s:o,s:b},s:{s:s},s:{s:s,s:[s,I],s:[s,I]},s:{s:s,s:s,s:b},"
                     "s:{s:s,s:s,s:s,s:i,s:O}}",
        "added_tokens", b->added, "normalizer", "type", "BertNormalizer", "clean_text", 1,
        "handle_chinese_chars", (int)b->chinese, "strip_accents", accents, "lowercase",
        (int)b->lowercase, "pre_tokenizer", "type", "BertPreTokenizer", "post_processor", "type",
        "BertProcessing", "sep", b->sep, b->sep_id, "cls", b->cls, b->cls_id, "decoder", "type",
        "WordPiece", "prefix", "##", "cleanup", 1, "model", "type", "WordPiece", "unk_token",
        b->unknown, "continuing_subword_prefix", "##", "max_input_chars_per_word", 100, "vocab",
        b->vocab);
}
