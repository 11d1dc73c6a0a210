/* Reviews from a grammar, in three classes: negative, mixed, positive.
 *
 *     review  = [opening] verdict [closing]
 *     verdict = part "." | part ", but" part "." | "Although" part "," part "."
 *     part    = clause | clause "and" clause
 *     clause  = the THING VERB [very] ADJECTIVE
 *             | the THING was NOT [very] ADJECTIVE
 *
 * A clause is good or bad like its adjective; NOT ("not", "never", "hardly") reverses it. One part
 * decides: the one after "but", or after the comma of "although". It is positive if its clauses are
 * good, negative if they are bad, and mixed if there is one of each. So the order of the words
 * decides, and not the words or their number. Openings and closings have no effect.
 *
 * The classes are equally frequent. A tenth of the labels, drawn at random, is then replaced by one
 * of the two other classes. Nothing in the text shows which labels were replaced. Therefore no
 * classifier is right in more than 0.9 of new texts, and the rule of the grammar reaches 0.9. */
#ifndef CLASSIFIER_GRAMMAR_H
#define CLASSIFIER_GRAMMAR_H

#include <stdint.h>

#include "../shared/text_table.h"

#define GRAMMAR_BEST 0.9

/* Makes reviews; a seed always gives the same ones. `by_rule` receives the class that the rule
 * gives each review, as an index into the labels in the order of strcmp. */
text_table draw_reviews(int64_t count, uint64_t seed, int64_t *by_rule);

#endif
