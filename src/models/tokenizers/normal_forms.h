/* The normal forms NFC, NFD, NFKC and NFKD. */
#ifndef ADZI_MODELS_TOKENIZERS_NORMAL_FORMS_H
#define ADZI_MODELS_TOKENIZERS_NORMAL_FORMS_H

#include "text.h"

/** Whether a text may differ from its normal form. */
bool adzi_tok_form_changes(const adzi_tok_text *text, bool compose, bool compatible);

/** Puts the normal form of m->of. Each character of a decomposition but its first is inserted, and
 * a composed one replaces as many as it is made of. */
void adzi_tok_form(adzi_tok_making *m, bool compose, bool compatible);

#endif
