/* Trains the floating-point inputs of every sample of every operator: steps of SGD down the sum of
 * all results, each times fixed numbers. */
#include "bits.h"

#include <stdio.h>

#include "ops/sweep.h"

enum { STEPS = 2 };

/* The family of each case, in the order of op_cases; meson writes them. */
static const char *const families[] = { BITS_FAMILIES };

static void step(built *b, const outcome *o)
{
    const bool recording = adz_set_grad_enabled(false);
    for (int i = 0; i < b->args.n; ++i) {
        if (o->gradients[i] != NULL) {
            adz_tensor *moved = adz_sub(b->leaves[i], adz_mul_number(o->gradients[i], 0.001));
            must(adz_copy_(b->leaves[i], moved) != NULL, "the step");
        }
    }
    adz_set_grad_enabled(recording);
}

static void train(hash *h, const op_case *c, size_t s, adz_dtype dtype)
{
    adz_scope *scope = adz_scope_open();
    built b;
    adz_manual_seed(3);
    build_sample(&b, c, s, LAYOUT_PLAIN, dtype, 1000);
    for (int t = 0; t < STEPS; ++t) {
        outcome o;
        must(run_built(c, &b, false, &o), c->name);
        for (int k = 0; k < o.n_results; ++k) {
            hash_tensor(h, o.results[k]);
        }
        step(&b, &o);
    }
    for (int i = 0; i < b.args.n; ++i) {
        hash_tensor(h, b.leaves[i]);
    }
    adz_scope_close(scope);
}

static void family(hash *h, adz_dtype dtype, const void *user)
{
    const char *name = user;
    for (int i = 0; i < n_op_cases; ++i) {
        const op_case *c = op_cases[i];
        for (size_t s = 0; strcmp(families[i], name) == 0 && s < n_samples(c); ++s) {
            train(h, c, s, dtype);
        }
    }
}

void operator_rows(void)
{
    for (int i = 0; i < n_op_cases; ++i) {
        covered("operator", op_cases[i]->name);
        if (i == 0 || strcmp(families[i], families[i - 1]) != 0) {
            row("operators", families[i], family, families[i]);
        }
    }
}
