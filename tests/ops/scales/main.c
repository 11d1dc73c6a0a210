/* test_scales [--whole] [--print] OP...: the sweep over scales of the operators named, or of all.
 *
 * --whole takes the large samples too, other inputs and the middle of each range. --print shows
 * every failure, also of operators that are declared to fail, and the laws that were found. */
#include "ops/scales/scales.h"

#include <stdio.h>
#include <stdlib.h>

#include "groups.h"

enum { WORDS = 400, MOST_SHOWN = 3 };

typedef struct options {
    bool whole, print;
} options;

const scale_declared *scale_declaration(const char *name)
{
    for (int i = 0; i < n_scale_declarations; ++i) {
        if (strcmp(scale_declarations[i].name, name) == 0) {
            return &scale_declarations[i];
        }
    }
    return NULL;
}

static void add_word(char *words, const char *word)
{
    if (!scale_has_word(words, word)) {
        assert_true(strlen(words) + strlen(word) + 2 < WORDS);
        strcat(strcat(words, *words != 0 ? " " : ""), word);
    }
}

/* True if every word of a is one of b. */
static bool within(const char *a, const char *b)
{
    char copy[WORDS], *rest = copy;
    snprintf(copy, sizeof copy, "%s", a);
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        if (*word != 0 && !scale_has_word(b, word)) {
            return false;
        }
    }
    return true;
}

/* Checks the laws of a sample in f32 and f64, and adds them to `words`. */
static int sweep_sample(const op_case *c, size_t s, options o, bool show, char *words)
{
    const scale_declared *declared = scale_declaration(c->name);
    scale_law laws[SCALES_LAWS + 1];
    int n = scale_find(c, s, laws), inputs = 0, wrong = 0;
    while (inputs < CASE_INPUTS && c->samples[s].in[inputs].given) {
        ++inputs;
    }
    for (int i = 0; i < n; ++i) {
        char word[CASE_INPUTS + 1];
        add_word(words, scale_word(&laws[i], inputs, word));
        if (declared != NULL && !declared->in_graphs && scale_has_word(declared->left_out, word)) {
            laws[i--] = laws[--n];
        }
    }
    laws[n++] = (scale_law){ .e = { 0 } }; /* the upstream gradients alone */
    for (int dtype = ADZ_F32; dtype <= ADZ_F64; ++dtype) {
        for (int i = 0; i < n; ++i) {
            wrong += scale_check(
                c, s, (adz_dtype)dtype, &laws[i], o.whole, show && (o.print || wrong < MOST_SHOWN));
        }
    }
    return wrong;
}

/* Sweeps an operator and compares with what is declared. Returns false if they differ. */
static bool sweep(const op_case *c, options o)
{
    const scale_declared *declared = scale_declaration(c->name);
    const bool fails = declared != NULL && declared->fails != NULL;
    char words[WORDS] = "", large[WORDS] = "";
    int wrong = 0;
    for (size_t s = 0; s < n_samples(c); ++s) {
        const bool is_large = c->samples[s].large, show = !fails && wrong < MOST_SHOWN;
        if (!is_large || o.whole) {
            wrong += sweep_sample(c, s, o, show || o.print, is_large ? large : words);
        }
    }
    if (o.print) {
        printf("%s: laws \"%s\", %d failures\n", c->name, words, wrong);
    }
    const char *laws = declared != NULL ? declared->laws : "";
    if (!within(words, laws) || !within(laws, words)) {
        printf("%s: its laws are \"%s\", but scales/declared.c has \"%s\"\n", c->name, words, laws);
        return false;
    }
    if (fails && wrong == 0) {
        printf("%s passes; remove its `fails` (scales/declared.c)\n", c->name);
    }
    return fails == (wrong > 0);
}

static bool is_operator(const char *name)
{
    for (int i = 0; i < n_op_cases; ++i) {
        if (strcmp(op_cases[i]->name, name) == 0) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    options o = { false, false };
    int first = 1, failed = 0, ran = 0, declared_failures = 0;
    for (; first < argc && strncmp(argv[first], "--", 2) == 0; ++first) {
        o.whole = o.whole || strcmp(argv[first], "--whole") == 0;
        o.print = o.print || strcmp(argv[first], "--print") == 0;
    }
    for (int i = 0; i < n_op_cases; ++i) {
        if (is_chosen(op_cases[i]->name, first, argc, argv)) {
            ++ran;
            failed += sweep(op_cases[i], o) ? 0 : 1;
        }
    }
    for (int i = 0; i < n_scale_declarations; ++i) {
        const scale_declared *d = &scale_declarations[i];
        if (!is_operator(d->name)) {
            printf("%s is declared, but no operator\n", d->name);
            ++failed;
        }
        declared_failures += d->fails != NULL;
    }
    printf(
        "%d operators in f32 and f64: %zu runs at %zu scales; %d operators are declared to fail, %d others failed\n",
        ran, scale_counts.runs, scale_counts.scales, declared_failures, failed);
    return failed == 0 && ran > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
