/**
 * @file fastai_tokenizer.h
 * fastai's rules for tokenizers of words.
 *
 * @code
 * const adz_text texts[] = { { "This is VERY good", 17 } };
 * adz_tokenizer_options o = ADZ_TOKENIZER_OPTIONS;
 * o.rules = adz_fastai_token_rules();
 * o.min_freq = 1;
 * adz_tokenizer *words = adz_tokenizer_build(ADZ_TOKENS_WORDS, texts, 1, &o);
 * char back[64];
 * adz_tensor *ids = adz_tokenizer_encode(words, "Very good", 9);
 * adz_tokenizer_decode(words, ids, back, sizeof back); // "xxbos xxmaj very good"
 * adz_tokenizer_save(words, "words.txt");
 * adz_tokenizer_free(&words);
 * words = adz_tokenizer_load("words.txt", adz_fastai_token_rules());
 * adz_tokenizer_free(&words);
 * remove("words.txt");
 * @endcode
 */
#ifndef ADZE_ZOO_FASTAI_TOKENIZER_H
#define ADZE_ZOO_FASTAI_TOKENIZER_H

#include "adze/data/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * fastai's rules, for `rules` of adz_tokenizer_options. Their name in files is "fastai".
 *
 * Rules on a text, before it is split: fix_html (the names of HTML 4 and all numeric references),
 * replace_rep (4 or more of one character become "xxrep 4 c"), replace_wrep (4 or more of one word
 * become "xxwrep 4 word"), spec_add_spaces (around / # and ends of lines) and rm_useless_spaces.
 *
 * Rules on a word: replace_all_caps (AB: xxup ab) and deal_caps (Ab: xxmaj ab). All words are then
 * in lower case.
 *
 * @return  constant; the same pointer in every call
 * @see     fastai.text.transform.Tokenizer
 */
ADZ_API const adz_token_rules *adz_fastai_token_rules(void);

#ifdef __cplusplus
}
#endif

#endif
