/* Means over the runs of each variant, and the table of them. */
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double LN2 = 0.69314718055994530942;

/* Run r of a variant, or NULL if it is not finished. */
static const training *finished_run(
    const options *o, const training *all, size_t variant, int64_t r)
{
    const training *t = &all[(size_t)r * o->n_variants + variant];
    return is_finished(o, t) ? t : NULL;
}

static int64_t count_runs(const options *o, const training *all, size_t variant)
{
    int64_t n = 0;
    for (int64_t r = 0; r < o->runs; ++r) {
        n += finished_run(o, all, variant, r) != NULL;
    }
    return n;
}

static double standard_error(const options *o, const training *all, size_t variant, double mean)
{
    double runs = 0, squares = 0;
    for (int64_t r = 0; r < o->runs; ++r) {
        const training *t = finished_run(o, all, variant, r);
        if (t != NULL) {
            double away = t->curve[o->evaluations - 1].val_loss - mean;
            squares += away * away;
            runs += 1;
        }
    }
    return runs > 1 ? sqrt(squares / (runs - 1) / runs) : 0;
}

static summary summarize_one(const options *o, const training *all, size_t variant)
{
    int64_t last = o->evaluations - 1;
    summary s = { .variant = all[variant].variant, .runs = count_runs(o, all, variant) };
    s.curve = allocate((size_t)o->evaluations * sizeof *s.curve);
    for (int64_t r = 0; r < o->runs; ++r) {
        const training *t = finished_run(o, all, variant, r);
        if (t == NULL) {
            continue;
        }
        for (int64_t i = 0; i <= last; ++i) {
            s.curve[i] += t->curve[i].val_loss / (double)s.runs;
        }
        s.d_ff = t->d_ff;
        s.parameters = t->parameters;
        s.train_loss += t->curve[last].train_loss / (double)s.runs;
        s.seconds += t->seconds / (double)s.runs;
    }
    s.val_loss = s.curve[last];
    s.error = standard_error(o, all, variant, s.val_loss);
    return s;
}

summary *summarize(const options *o, const training *all, size_t *count)
{
    summary *s = allocate(o->n_variants * sizeof *s);
    *count = 0;
    for (size_t v = 0; v < o->n_variants; ++v) {
        if (count_runs(o, all, v) > 0) {
            s[(*count)++] = summarize_one(o, all, v);
        }
    }
    return s;
}

void free_summaries(summary *s, size_t count)
{
    for (size_t v = 0; v < count; ++v) {
        free(s[v].curve);
    }
    free(s);
}

/* The variant with the smallest loss. A loss of NaN is never the smallest. */
static const summary *best_of(const summary *s, size_t count)
{
    const summary *best = &s[0];
    for (size_t v = 1; v < count; ++v) {
        if (isnan(best->val_loss) || s[v].val_loss < best->val_loss) {
            best = &s[v];
        }
    }
    return best;
}

void print_table(const options *o, const summary *s, size_t count)
{
    const summary *best = best_of(s, count);
    printf("\n%s%s%s\n", "variant   d_ff parameters train loss val loss",
        o->runs > 1 ? " +- error  " : "", "    bits chars/s");
    for (size_t v = 0; v < count; ++v) {
        double characters = (double)(o->steps * o->batch * o->length);
        printf("%-8s %5lld %10lld %10.4f %8.4f", s[v].variant, (long long)s[v].d_ff,
            (long long)s[v].parameters, s[v].train_loss, s[v].val_loss);
        if (s[v].runs > 1) {
            printf(" +- %.4f%s", s[v].error, s[v].error < 10 ? " " : "");
        } else if (o->runs > 1) { /* of several runs, one is finished, which has no error */
            printf("%11s", "");
        }
        printf("  %6.4f %7.0f%s\n", s[v].val_loss / LN2, characters / s[v].seconds,
            &s[v] == best ? "  best" : "");
    }
    for (size_t v = 0; v < count; ++v) {
        if (s[v].runs < o->runs) {
            printf(
                "%s: %lld of %lld runs\n", s[v].variant, (long long)s[v].runs, (long long)o->runs);
        }
    }
}

void print_result_line(
    const options *o, const summary *s, size_t count, double simple, double seconds)
{
    const summary *best = best_of(s, count);
    printf(
        "result: best=%s val_loss=%.4f bpc=%.4f bigram_loss=%.4f parameters=%lld steps=%lld seconds=%.1f\n",
        best->variant, best->val_loss, best->val_loss / LN2, simple, (long long)best->parameters,
        (long long)o->steps, seconds);
}
