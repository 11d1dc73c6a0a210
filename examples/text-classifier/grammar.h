/* Reviews from a grammar, in three classes: negative, mixed, positive.
 *
 *     review  = [opening] verdict [closing]
 *     verdict = part "." | part ", but" part "." | "Although" part "," part "."
 *     part    = clause | clause "and" clause
 *     clause  = the THING VERB [very] ADJECTIVE | the THING was NOT [very]
 * ADJECTIVE
 *
 * A clause is good or bad as its adjective is, the other way round behind NOT
 * ("not", "never", "hardly"). The part that decides is the one after "but", or
 * after the comma of "although": two good clauses, or one, make it positive,
 * bad ones negative, one of each mixed. So neither the words nor their number
 * decide; their order does. Openings and closings say nothing.
 *
 * The classes are equally frequent. A tenth of the labels, drawn at random, is
 * then replaced by one of the two other classes: nothing in the text tells
 * which, so no classifier is right more often than in 0.9 of new texts, and the
 * rule above is. */
#ifndef CLASSIFIER_GRAMMAR_H
#define CLASSIFIER_GRAMMAR_H

#include <stdint.h>

#include "table.h"

#define GRAMMAR_BEST 0.9

/* Makes reviews; a seed always gives the same ones. `by_rule` receives the class that the rule
 * gives each review, as an index into the labels in the order of strcmp. */
text_table draw_reviews(int64_t count, uint64_t seed, int64_t *by_rule);

#endif
