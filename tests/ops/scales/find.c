/* Finds which inputs of an operator may be scaled together. */
#include "ops/scales/scales.h"

#include <math.h>
#include <stdio.h>

bool scale_takes(const case_input *spec)
{
    return spec->given && !spec->none && !spec->typed && spec->fill != FILL_INDEX &&
           spec->fill != FILL_MASK;
}

void scale_sample(built *b, const op_case *c, size_t s, adz_dtype dtype)
{
    const scale_declared *declared = scale_declaration(c->name);
    build_sample(b, c, s, LAYOUT_PLAIN, dtype, 1000);
    for (int i = 0; declared != NULL && i < CASE_PARAMS; ++i) {
        b->args.p[i] = declared->zero >> i & 1 ? 0 : b->args.p[i];
    }
}

void scale_inputs(built *b, const scale_law *law, int k)
{
    for (int i = 0; i < b->args.n; ++i) {
        if (law->d[i] == 0) {
            continue;
        }
        case_units[i] = ldexp(1, k * law->d[i]);
        const int64_t n = adz_tensor_numel(b->leaves[i]);
        void *data = adz_tensor_data(b->leaves[i]);
        for (int64_t e = 0; e < n; ++e) {
            if (adz_tensor_dtype(b->leaves[i]) == ADZ_F32) {
                ((float *)data)[e] = ldexpf(((float *)data)[e], k * law->d[i]);
            } else {
                ((double *)data)[e] = ldexp(((double *)data)[e], k * law->d[i]);
            }
        }
    }
}

void scale_flatten(built *b, const scale_law *law)
{
    for (int i = 0; i < b->args.n; ++i) {
        for (int64_t e = 0; law->d[i] != 0 && e < adz_tensor_numel(b->leaves[i]); ++e) {
            if (adz_tensor_dtype(b->leaves[i]) == ADZ_F32) {
                float *x = adz_tensor_data_f32(b->leaves[i]);
                x[e] = x[e] != 0 ? scalbnf(x[e], -ilogbf(x[e])) : 0;
            } else {
                double *x = adz_tensor_data_f64(b->leaves[i]);
                x[e] = x[e] != 0 ? scalbn(x[e], -ilogb(x[e])) : 0;
            }
        }
    }
}

bool scale_range(adz_tensor *t, int *largest, int *smallest)
{
    adz_scope *scope = adz_scope_open();
    bool recording = adz_set_grad_enabled(false);
    const double *v = adz_tensor_data_f64(adz_contiguous(adz_to(t, ADZ_F64)));
    adz_set_grad_enabled(recording);
    bool any = false;
    for (int64_t i = 0, n = adz_tensor_numel(t); i < n; ++i) {
        if (v[i] != 0 && isfinite(v[i])) {
            int e = ilogb(v[i]);
            *largest = !any || e > *largest ? e : *largest;
            *smallest = !any || e < *smallest ? e : *smallest;
            any = true;
        }
    }
    adz_scope_close(scope);
    return any;
}

bool scale_has_word(const char *words, const char *word)
{
    const size_t n = strlen(word);
    if (n == 0) { /* of an operator without inputs */
        return words != NULL && words[0] == 0;
    }
    for (const char *at = words; at != NULL && (at = strstr(at, word)) != NULL; ++at) {
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0)) {
            return true;
        }
    }
    return false;
}

const char *scale_word(const scale_law *law, int n, char *text)
{
    for (int i = 0; i < n; ++i) {
        text[i] = law->d[i] > 0 ? '+' : law->d[i] < 0 ? '-' : '0';
    }
    while (n > 0 && law->d[n - 1] == 0) {
        --n;
    }
    text[n] = 0;
    return text;
}

static bool is_real(adz_tensor *t)
{
    return adz_tensor_dtype(t) == ADZ_F32 || adz_tensor_dtype(t) == ADZ_F64;
}

/* True if t = 2^(quarters / 4 * k) * base to nine digits. */
static bool follows(adz_tensor *t, adz_tensor *base, int quarters, int k)
{
    adz_tensor *scaled = is_real(base) ? adz_mul_number(base, ldexp(1, quarters * k / 4)) : base;
    return difference(t, scaled, 1e-300) <= 1e-9;
}

/* Runs the sample at one scale without gradients. */
static int forward(const op_case *c, size_t s, const scale_law *law, int k, adz_tensor **out)
{
    built b;
    bool recording = adz_set_grad_enabled(false);
    scale_sample(&b, c, s, ADZ_F64);
    scale_inputs(&b, law, k);
    int n = call_built(c, &b, out);
    adz_set_grad_enabled(recording);
    adz_error_clear();
    return n;
}

/* Takes the exponents of the results from a factor of 2^4, and asks whether others agree. */
static bool holds(const op_case *c, size_t s, scale_law *law)
{
    static const int further[] = { -8, 12, -20, 28 };
    adz_tensor *base[CASE_RESULTS], *out[CASE_RESULTS];
    int n = forward(c, s, law, 0, base);
    if (n <= 0 || forward(c, s, law, SCALES_STEP, out) != n) {
        return false;
    }
    bool any = false;
    for (int j = 0; j < n; ++j) {
        int a = 0, b = 0, least;
        bool one = is_real(base[j]) && scale_range(base[j], &a, &least);
        any = any || one || (!is_real(base[j]) && adz_tensor_numel(base[j]) > 0);
        bool other = is_real(out[j]) && scale_range(out[j], &b, &least);
        law->e[j] = one && other ? b - a : 0;
        if (!follows(out[j], base[j], law->e[j], SCALES_STEP)) {
            return false;
        }
    }
    for (size_t i = 0; i < sizeof further / sizeof *further; ++i) {
        bool same = forward(c, s, law, further[i], out) == n;
        for (int j = 0; same && j < n; ++j) {
            same = follows(out[j], base[j], law->e[j], further[i]);
        }
        if (!same) {
            return false;
        }
    }
    return any;
}

/* The candidates: up to three inputs take every pattern of signs; of more inputs each is scaled
 * alone, and all together. A pattern and its opposite are one law. */
static int candidates(const op_sample *sample, scale_law *laws)
{
    int inputs[CASE_INPUTS], n = 0, found = 0;
    for (int i = 0; i < CASE_INPUTS; ++i) {
        if (scale_takes(&sample->in[i])) {
            inputs[n++] = i;
        }
    }
    if (n > 3) {
        for (int k = 0; k <= n && found < SCALES_LAWS; ++k) {
            laws[found] = (scale_law){ .e = { 0 } };
            for (int i = 0; i < n; ++i) {
                laws[found].d[inputs[i]] = k == n || i == k;
            }
            ++found;
        }
        return found;
    }
    const int all = n == 0 ? 1 : n == 1 ? 3 : n == 2 ? 9 : 27;
    for (int code = all / 2 + 1; code < all; ++code) {
        laws[found] = (scale_law){ .e = { 0 } };
        for (int i = n - 1, rest = code; i >= 0; --i, rest /= 3) {
            laws[found].d[inputs[i]] = (signed char)(rest % 3 - 1);
        }
        ++found;
    }
    return found;
}

int scale_find(const op_case *c, size_t s, scale_law *laws)
{
    scale_law all[SCALES_LAWS];
    int n = candidates(&c->samples[s], all), found = 0;
    for (int i = 0; i < n; ++i) {
        adz_scope *scope = adz_scope_open();
        if (holds(c, s, &all[i])) {
            laws[found++] = all[i];
        }
        adz_scope_close(scope);
    }
    return found;
}
