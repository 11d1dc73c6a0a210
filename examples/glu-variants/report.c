#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double LN2 = 0.69314718055994530942;

static summary summarize_one(const options *o, const training *all, size_t variant)
{
    const training *first = &all[variant];
    double runs = (double)o->runs, squares = 0;
    int64_t last = o->evaluations - 1;
    summary s = { .variant = first->variant, .d_ff = first->d_ff, .parameters = first->parameters };
    s.curve = allocate((size_t)o->evaluations * sizeof *s.curve);
    for (int64_t r = 0; r < o->runs; ++r) {
        const training *t = &all[(size_t)r * o->n_variants + variant];
        for (int64_t i = 0; i <= last; ++i) {
            s.curve[i] += t->curve[i].val_loss / runs;
        }
        s.train_loss += t->curve[last].train_loss / runs;
        s.seconds += t->seconds / runs;
    }
    s.val_loss = s.curve[last];
    for (int64_t r = 0; r < o->runs; ++r) {
        double away = all[(size_t)r * o->n_variants + variant].curve[last].val_loss - s.val_loss;
        squares += away * away;
    }
    s.error = o->runs > 1 ? sqrt(squares / (runs - 1) / runs) : 0;
    return s;
}

summary *summarize(const options *o, const training *all)
{
    summary *s = allocate(o->n_variants * sizeof *s);
    for (size_t v = 0; v < o->n_variants; ++v) {
        s[v] = summarize_one(o, all, v);
    }
    return s;
}

void free_summaries(const options *o, summary *s)
{
    for (size_t v = 0; v < o->n_variants; ++v) {
        free(s[v].curve);
    }
    free(s);
}

/* The smallest loss; one that is not a number is none. */
static const summary *best_of(const options *o, const summary *s)
{
    const summary *best = &s[0];
    for (size_t v = 1; v < o->n_variants; ++v) {
        if (isnan(best->val_loss) || s[v].val_loss < best->val_loss) {
            best = &s[v];
        }
    }
    return best;
}

void print_table(const options *o, const summary *s)
{
    const summary *best = best_of(o, s);
    printf("\nvariant    d_ff  parameters  training loss  validation loss%s  bits/character  "
           "characters/s\n",
        o->runs > 1 ? " +- error" : "");
    for (size_t v = 0; v < o->n_variants; ++v) {
        double characters = (double)(o->steps * o->batch * o->length);
        printf("%-8s %6lld  %10lld  %13.4f  %15.4f", s[v].variant, (long long)s[v].d_ff,
            (long long)s[v].parameters, s[v].train_loss, s[v].val_loss);
        if (o->runs > 1) {
            printf(" +- %.4f", s[v].error);
            printf("%s", s[v].error < 10 ? " " : "");
        }
        printf("  %14.4f  %12.0f%s\n", s[v].val_loss / LN2, characters / s[v].seconds,
            &s[v] == best ? "  best" : "");
    }
}

void print_result_line(const options *o, const summary *s, double seconds)
{
    const summary *best = best_of(o, s);
    printf("result: best=%s val_loss=%.4f bpc=%.4f parameters=%lld steps=%lld seconds=%.1f\n",
        best->variant, best->val_loss, best->val_loss / LN2, (long long)best->parameters,
        (long long)o->steps, seconds);
}
