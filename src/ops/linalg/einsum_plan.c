#include <string.h>

#include "ops/linalg/einsum.h"

/* Parses the equation of an einsum, by PyTorch's rules.
 *
 *     equation = term ["," term] ["->" term],   term = letters with at most one "..."
 *
 * Spaces are ignored. An ellipsis stands for the dimensions that have no letter; they are labelled
 * from the last one on, so that two ellipses broadcast. Without "->" the result has the ellipsis
 * and then every letter that occurs once, in alphabetical order. Messages name the equation and the
 * position. */

/* The label of a letter, 0 .. 51, or -1 for another character. */
static int label_of(char c)
{
    return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? c - 'A' + 26 : -1;
}

/* A label as text; dimensions of an ellipsis are written "...". `buffer` has 2 bytes. */
static const char *text_label(int label, char *buffer)
{
    buffer[0] = label < 26 ? (char)('a' + label) : (char)('A' + label - 26);
    buffer[1] = '\0';
    return label < ADZI_EINSUM_LETTERS ? buffer : "...";
}

/* The letters of one operand or of the result, in the order in which they are written. */
typedef struct {
    int n, letters[ADZ_MAX_RANK];
    int ellipsis; /* number of letters before it; -1 without one */
} term;

/* Reads a term up to the next ',' or '->' or the end, and returns the position where it stopped.
 * NULL with the error recorded if a character is not part of a term. A second "..." is no part of a
 * term either, because nobody could tell which dimensions it covers. */
static const char *read_term(const adzi_einsum *plan, const char *at, term *t)
{
    t->n = 0;
    t->ellipsis = -1;
    for (; *at != '\0' && *at != ',' && *at != '-'; ++at) {
        if (*at == ' ') {
            continue;
        }
        if (strncmp(at, "...", 3) == 0 && t->ellipsis < 0) {
            t->ellipsis = t->n;
            /* The loop steps over the third dot. */
            at += 2;
            continue;
        }
        int label = label_of(*at);
        if (label < 0 || t->n == ADZ_MAX_RANK) {
            adzi_error("einsum", ADZ_ERR_ARGUMENT,
                "'%s': %s at character %d; it is made of letters, at most %d a tensor, commas, '...' and '->'",
                plan->equation, label < 0 ? "something else" : "a letter too many",
                (int)(at - plan->equation), ADZ_MAX_RANK);
            return NULL;
        }
        t->letters[t->n++] = label;
    }
    return at;
}

/* Gives labels to `rank` dimensions. The dimensions without a letter belong to the ellipsis. Their
 * labels are ADZI_EINSUM_LETTERS for the last one, and one more for each dimension before it. Two
 * ellipses of different ranks thus share the labels of their last dimensions, as in broadcasting.
 */
static void spell(const term *t, int rank, int *labels)
{
    /* The number of dimensions that the ellipsis stands for. */
    int covered = rank - t->n;
    for (int i = 0, k = 0; i < rank; ++i) {
        bool inside = t->ellipsis >= 0 && i >= t->ellipsis && i < t->ellipsis + covered;
        labels[i] = inside ? ADZI_EINSUM_LETTERS + (t->ellipsis + covered - 1 - i) : t->letters[k];
        k += inside ? 0 : 1;
    }
}

/* Gives labels to the dimensions of operand `which` and checks their sizes. A label has one size,
 * or 1, which broadcasts between operands; inside one operand sizes must be equal. plan->sizes
 * collects the size of each label: -1 until an operand has it, and 1 until a larger size or 0
 * replaces it. */
static bool add_operand(adzi_einsum *plan, int which, const term *t, const adz_tensor *x)
{
    /* Every dimension needs a letter or the ellipsis. */
    if (t->n > x->rank || (t->n < x->rank && t->ellipsis < 0)) {
        adzi_error("einsum", ADZ_ERR_SHAPE, "'%s': operand %d has shape %s, but %d letters%s",
            plan->equation, which, adzi_text_shape(x), t->n,
            t->ellipsis < 0 ? " and no '...'" : "");
        return false;
    }
    plan->rank[which] = x->rank;
    spell(t, x->rank, plan->labels[which]);
    for (int i = 0; i < x->rank; ++i) {
        int label = plan->labels[which][i];
        int64_t size = x->sizes[i], *have = &plan->sizes[label];
        bool twice = false; /* a diagonal has no broadcasting */
        for (int k = 0; k < i; ++k) {
            twice = twice || (plan->labels[which][k] == label && x->sizes[k] != size);
        }
        /* A size of 0 meets 0 or 1 only, because nothing else broadcasts to it. */
        if (twice || (*have != size && *have > 1 && size != 1) || (*have == 0 && size > 1)) {
            char letter[2];
            adzi_error("einsum", ADZ_ERR_SHAPE,
                "'%s': '%s' has size %lld in dimension %d of operand %d, %s, and another before",
                plan->equation, text_label(label, letter), (long long)size, i, which,
                adzi_text_shape(x));
            return false;
        }
        /* The first size counts, and any other size replaces a 1. */
        *have = *have < 0 || *have == 1 ? size : *have;
    }
    return true;
}

/* The result of an equation without '->': the ellipsis, then the letters that occur once. Letters
 * that occur twice are summed, within one operand or between two, as in "ij,jk". Capitals come
 * before small letters, as in ASCII. */
static void implied_result(const adzi_einsum *plan, int covered, term *t)
{
    t->n = 0;
    t->ellipsis = covered > 0 ? 0 : -1;
    for (int pass = 0; pass < ADZI_EINSUM_LETTERS; ++pass) {
        int label = pass < 26 ? pass + 26 : pass - 26; /* capitals come first */
        int times = 0;
        for (int w = 0; w < plan->n_operands; ++w) {
            for (int i = 0; i < plan->rank[w]; ++i) {
                times += plan->labels[w][i] == label;
            }
        }
        if (times == 1 && t->n < ADZ_MAX_RANK) {
            t->letters[t->n++] = label;
        } else if (times == 1) {
            t->n = ADZ_MAX_RANK + 1; /* refused by the caller */
            return;
        }
    }
}

/* Gives labels to the dimensions of the result. Each occurs once and in an operand. `covered` is
 * the rank of the longer ellipsis. A result without "..." has no labels of the ellipsis, so these
 * dimensions are summed. */
static bool add_result(adzi_einsum *plan, const term *t, int covered)
{
    plan->n_out = t->n + (t->ellipsis >= 0 ? covered : 0);
    if (plan->n_out > ADZ_MAX_RANK) {
        adzi_error("einsum", ADZ_ERR_SHAPE, "'%s': the result would have more than %d dimensions",
            plan->equation, ADZ_MAX_RANK);
        return false;
    }
    spell(t, plan->n_out, plan->out);
    for (int i = 0; i < plan->n_out; ++i) {
        bool twice = false;
        for (int k = 0; k < i; ++k) {
            twice = twice || plan->out[k] == plan->out[i];
        }
        /* A size of -1 says that no operand has the label. */
        if (twice || plan->sizes[plan->out[i]] < 0) {
            char letter[2];
            adzi_error("einsum", ADZ_ERR_ARGUMENT, "'%s': '%s' %s", plan->equation,
                text_label(plan->out[i], letter),
                twice ? "stands twice in the result" : "of the result is in no operand");
            return false;
        }
    }
    return true;
}

/* Reads operands from left to right, then the result. The ellipsis of the result has the rank of
 * the longer one. Sizes are checked while the operands are read, so einsum.c can rely on a plan
 * that fits. */
bool adzi_einsum_plan(
    adzi_einsum *plan, const char *equation, const adz_tensor *a, const adz_tensor *b)
{
    const adz_tensor *operands[2] = { a, b };
    const char *at = equation;
    term t;
    int covered = 0; /* number of dimensions of the longer ellipsis */
    memset(plan, 0, sizeof *plan);
    /* All bytes 0xff make each size -1: no operand has the label so far. */
    memset(plan->sizes, -1, sizeof plan->sizes);
    plan->equation = equation;
    plan->n_operands = b != NULL ? 2 : 1;
    for (int w = 0; w < plan->n_operands; ++w) {
        if ((at = read_term(plan, at, &t)) == NULL) {
            return false;
        }
        bool last = w == plan->n_operands - 1;
        /* The number of terms must be that of the operands. */
        if (last ? *at == ',' : *at != ',') {
            adzi_error("einsum", ADZ_ERR_ARGUMENT,
                "'%s' does not name %d operand%s; two at most can be given", equation,
                plan->n_operands, plan->n_operands == 1 ? "" : "s");
            return false;
        }
        at += last ? 0 : 1;
        if (!add_operand(plan, w, &t, operands[w])) {
            return false;
        }
        /* How many dimensions the ellipsis of this operand stands for. */
        int here = t.ellipsis >= 0 ? operands[w]->rank - t.n : 0;
        covered = here > covered ? here : covered;
    }
    /* An equation without '->' has an implied result. */
    if (*at == '\0') {
        implied_result(plan, covered, &t);
        return add_result(plan, &t, covered);
    }
    if (strncmp(at, "->", 2) != 0 || (at = read_term(plan, at + 2, &t)) == NULL || *at != '\0') {
        if (at != NULL) {
            adzi_error("einsum", ADZ_ERR_ARGUMENT, "'%s' goes on after the result, or has no '->'",
                equation);
        }
        return false;
    }
    return add_result(plan, &t, covered);
}
