/* The sweep over operators. Each check goes through all samples of a case. */
#include "ops/sweep.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/isa.h"
#include "base/threads/parallel.h"

sweep_counts counts;

static size_t n_rejects(const op_case *c)
{
    size_t n = 0;
    while (n < sizeof c->rejects / sizeof *c->rejects && c->rejects[n].status != ADZ_OK) {
        ++n;
    }
    return n;
}

void build_sample(
    built *b, const op_case *c, size_t s, case_layout layout, adz_dtype dtype, uint64_t seed)
{
    const op_sample *sample = &c->samples[s];
    build_inputs(b, sample->in, sample->p, sample->text, layout, dtype, seed + s);
}

/* ---- structure ------------------------------------------------------------------------------- */

static bool broadcasts(const op_sample *s)
{
    const case_input *first = NULL;
    for (int i = 0; i < CASE_INPUTS && s->in[i].given; ++i) {
        const case_input *in = &s->in[i];
        if (in->none) {
            continue;
        }
        if (first != NULL &&
            (first->rank != in->rank || memcmp(first->sizes, in->sizes, sizeof in->sizes) != 0)) {
            return true;
        }
        first = first != NULL ? first : in;
    }
    return false;
}

static void structure(void **state)
{
    const op_case *c = *state;
    size_t n = n_samples(c);
    bool transposed = false, one = false, zero = false, broadcast = false;
    for (size_t s = 0; s < n; ++s) {
        broadcast = broadcast || broadcasts(&c->samples[s]);
        for (int i = 0; i < CASE_INPUTS && c->samples[s].in[i].given; ++i) {
            const case_input *in = &c->samples[s].in[i];
            transposed = transposed || in->layout == LAYOUT_TRANSPOSED;
            for (int d = 0; d < in->rank; ++d) {
                one = one || in->sizes[d] == 1;
                zero = zero || in->sizes[d] == 0;
            }
        }
    }
    if (n < 6 || !transposed || !one || !(zero || c->no_empty) || (c->broadcasts && !broadcast) ||
        n_rejects(c) < 2) {
        FAIL(
            "%zu samples (6 wanted), transposed %d, size 1 %d, size 0 %d, broadcast %d, %zu rejects (2 wanted)",
            n, transposed, one, zero, broadcast, n_rejects(c));
    }
    counts.samples += n;
}

/* ---- gradients ------------------------------------------------------------------------------- */

static int call_for_check(adz_tensor *const *inputs, size_t n, adz_tensor **out, void *user)
{
    void **pair = user;
    built *b = pair[1];
    for (size_t i = 0; i < n; ++i) {
        b->leaves[i] = inputs[i];
    }
    return call_built(pair[0], b, out);
}

typedef adz_status (*checker)(const adz_gradcheck_function *, adz_tensor *const *, size_t,
    const adz_gradcheck_options *, adz_gradcheck_report *);

static size_t check_gradients(
    const op_case *c, size_t s, case_layout layout, checker check, const char *what)
{
    adz_scope *scope = adz_scope_open();
    built b;
    build_sample(&b, c, s, layout, ADZ_F64, 1000);
    bool any = false;
    for (int i = 0; i < b.args.n; ++i) {
        any = any || (!b.specs[i].none && adz_tensor_requires_grad(b.leaves[i]));
    }
    void *pair[2] = { (void *)(uintptr_t)c, &b };
    adz_gradcheck_function f = { call_for_check, pair };
    adz_gradcheck_report report = { 0 };
    adz_tensor *inputs[CASE_INPUTS];
    memcpy(inputs, b.leaves, sizeof inputs);
    if (any && check(&f, inputs, (size_t)b.args.n, NULL, &report) != ADZ_OK) {
        FAIL("sample %zu, layout %d, %s: %s", s, (int)layout, what, adz_error_message());
    }
    adz_scope_close(scope);
    counts.derivatives += report.elements;
    return report.nonzero;
}

static void gradients(void **state)
{
    const op_case *c = *state;
    if (c->not_differentiable) {
        return;
    }
    size_t nonzero = 0;
    for (size_t s = 0; s < n_samples(c); ++s) {
        for (int layout = LAYOUT_PLAIN; layout <= LAYOUT_EXPANDED; ++layout) {
            if (c->samples[s].large || (c->no_layouts && layout != LAYOUT_PLAIN) ||
                (c->needs_distinct && layout == LAYOUT_EXPANDED)) {
                continue;
            }
            nonzero += check_gradients(c, s, (case_layout)layout, adz_gradcheck, "gradcheck");
            ++counts.layouts;
        }
    }
    if (nonzero == 0) {
        FAIL("every derivative was zero");
    }
}

static void second_gradients(void **state)
{
    const op_case *c = *state;
    if (c->not_differentiable || c->no_second_derivative) {
        return;
    }
    size_t nonzero = 0;
    for (size_t s = 0; s < n_samples(c); ++s) {
        if (!c->samples[s].large) {
            nonzero += check_gradients(c, s, LAYOUT_PLAIN, adz_gradgradcheck, "gradgradcheck");
        }
    }
    if (nonzero == 0) {
        FAIL("every second derivative was zero");
    }
}

/* The gradient of every input must differ from 0 in some sample, because zeros could hide an error.
 */
static void every_input_has_a_gradient(void **state)
{
    const op_case *c = *state;
    bool wanted[CASE_INPUTS] = { false }, seen[CASE_INPUTS] = { false };
    for (size_t s = 0; s < n_samples(c) && !c->not_differentiable; ++s) {
        adz_scope *scope = adz_scope_open();
        built b;
        outcome o;
        build_sample(&b, c, s, LAYOUT_PLAIN, ADZ_F64, 1000);
        if (!run_built(c, &b, false, &o)) {
            FAIL("sample %zu: %s", s, adz_error_message());
        }
        for (int i = 0; i < CASE_INPUTS; ++i) {
            for (int64_t e = 0; o.gradients[i] != NULL && e < adz_tensor_numel(o.gradients[i]);
                 ++e) {
                wanted[i] = true;
                seen[i] = seen[i] || adz_tensor_data_f64(adz_contiguous(o.gradients[i]))[e] != 0;
            }
        }
        adz_scope_close(scope);
    }
    for (int i = 0; i < CASE_INPUTS; ++i) {
        if (wanted[i] && !seen[i]) {
            FAIL("the gradient of input %d was zero in every sample", i);
        }
    }
}

/* ---- equal results by other paths ------------------------------------------------------------ */

static void compare_outcomes(const op_case *c, size_t s, const char *what, const outcome *got,
    const outcome *expected, double tolerance, double tiny)
{
    if (got->n_results != expected->n_results) {
        FAIL("sample %zu, %s: %d results instead of %d", s, what, got->n_results,
            expected->n_results);
    }
    for (int k = 0; k < got->n_results; ++k) {
        double d = difference(got->results[k], expected->results[k], tiny);
        if (!(d <= tolerance)) {
            FAIL("sample %zu, %s: result %d differs by %g", s, what, k, d);
        }
    }
    for (int i = 0; i < CASE_INPUTS; ++i) {
        if (expected->gradients[i] == NULL) {
            continue;
        }
        double d = difference(got->gradients[i], expected->gradients[i], tiny);
        if (!(d <= tolerance)) {
            FAIL("sample %zu, %s: the gradient of input %d differs by %g", s, what, i, d);
        }
    }
}

static void must_run(const op_case *c, built *b, bool expression, outcome *o, size_t s)
{
    if (!run_built(c, b, expression, o)) {
        FAIL("sample %zu: %s", s, adz_error_message());
    }
}

static void attributes(void **state)
{
    const op_case *c = *state;
    for (size_t s = 0; s < n_samples(c); ++s) {
        adz_scope *scope = adz_scope_open();
        built b;
        outcome o;
        build_sample(&b, c, s, LAYOUT_PLAIN, ADZ_F64, 1000);
        if (!c->samples[s].large) {
            must_run(c, &b, true, &o, s);
            check_attributes(c, &o);
        }
        adz_scope_close(scope);
    }
}

/* Compares the fused backward with the expression, and every layout with contiguous inputs. */
static void fused_and_layouts(void **state)
{
    const op_case *c = *state;
    for (size_t s = 0; s < n_samples(c); ++s) {
        for (int layout = LAYOUT_PLAIN; layout <= LAYOUT_EXPANDED; ++layout) {
            if ((c->no_layouts && layout != LAYOUT_PLAIN) ||
                (c->needs_distinct && layout == LAYOUT_EXPANDED)) {
                continue;
            }
            adz_scope *scope = adz_scope_open();
            built b;
            outcome fused, expression, compact;
            build_sample(&b, c, s, (case_layout)layout, ADZ_F64, 1000);
            must_run(c, &b, false, &fused, s);
            must_run(c, &b, true, &expression, s);
            compare_outcomes(c, s, "fused against expression", &fused, &expression, 1e-10, 1e-3);
            memset(&compact, 0, sizeof compact);
            for (int i = 0; i < b.args.n; ++i) {
                b.args.in[i] = b.specs[i].none ? ADZ_NONE : adz_contiguous(b.args.in[i]);
            }
            compact.n_results = c->call(&b.args, compact.results);
            compare_outcomes(c, s, "strided against contiguous", &fused, &compact, 1e-10, 1e-3);
            adz_scope_close(scope);
        }
    }
}

static void single_precision(void **state)
{
    const op_case *c = *state;
    double tolerance = c->f32_tolerance > 0 ? c->f32_tolerance : 1e-4;
    for (size_t s = 0; s < n_samples(c); ++s) {
        adz_scope *scope = adz_scope_open();
        built b4, b8;
        outcome o4, o8, expression;
        build_sample(&b4, c, s, LAYOUT_PLAIN, ADZ_F32, 1000);
        build_sample(&b8, c, s, LAYOUT_PLAIN, ADZ_F64, 1000);
        must_run(c, &b4, false, &o4, s);
        must_run(c, &b8, false, &o8, s);
        must_run(c, &b4, true, &expression, s);
        compare_outcomes(c, s, "f32 against f64", &o4, &o8, tolerance, 1);
        compare_outcomes(c, s, "expression in f32 against f64", &expression, &o8, tolerance, 1);
        adz_scope_close(scope);
    }
}

/* Demands the bits of `expected` from every result and gradient. */
static void expect_same_bits(
    const op_case *c, size_t s, const char *depends, const outcome *got, const outcome *expected)
{
    for (int k = 0; k < expected->n_results; ++k) {
        if (!same_bits(expected->results[k], got->results[k])) {
            FAIL("sample %zu: result %d depends on %s", s, k, depends);
        }
    }
    for (int i = 0; i < CASE_INPUTS; ++i) {
        if (expected->gradients[i] != NULL &&
            !same_bits(expected->gradients[i], got->gradients[i])) {
            FAIL("sample %zu: the gradient of input %d depends on %s", s, i, depends);
        }
    }
}

/* AVX2 and AVX-512 give the same bits. The baseline has no fused multiply-adds. */
static void instruction_sets(void **state)
{
    const op_case *c = *state;
    int best = adzi_cpu_level; /* the highest level that the processor or ADZE_CPU allows */
    for (size_t s = 0; s < n_samples(c); ++s) {
        for (int dtype = ADZ_F32; dtype <= ADZ_F64; ++dtype) {
            adz_scope *scope = adz_scope_open();
            built b;
            outcome base, first, o;
            build_sample(&b, c, s, LAYOUT_PLAIN, (adz_dtype)dtype, 1000);
            adzi_cpu_level = ADZI_CPU_BASELINE;
            must_run(c, &b, false, &base, s);
            first = base;
            for (int level = ADZI_CPU_AVX2; level <= best; ++level) {
                adzi_cpu_level = level;
                must_run(c, &b, false, &o, s);
                compare_outcomes(c, s,
                    level == ADZI_CPU_AVX2 ? "avx2 against baseline" : "avx512 against baseline",
                    &o, &base, dtype == ADZ_F32 ? 2e-5 : 1e-11, 1);
                first = level == ADZI_CPU_AVX2 ? o : first;
                expect_same_bits(c, s, "the instruction set", &o, &first);
            }
            adzi_cpu_level = best;
            adz_scope_close(scope);
        }
    }
}

/* A launch that cuts the units into uneven parts and runs these in reverse order. */
static void cut(adzi_kernel kernel, const void *args, size_t size, int64_t units, int64_t grain)
{
    (void)size;
    (void)grain;
    int64_t a = units / 7, b = units - units / 3;
    kernel(args, b, units);
    kernel(args, a, b);
    kernel(args, 0, a);
}

static void any_cut_of_the_work(void **state)
{
    const op_case *c = *state;
    for (size_t s = 0; s < n_samples(c); ++s) {
        adz_scope *scope = adz_scope_open();
        built b;
        outcome whole, parts;
        build_sample(&b, c, s, LAYOUT_PLAIN, ADZ_F32, 1000);
        must_run(c, &b, false, &whole, s);
        atomic_store(&adzi_launch_observer, cut);
        bool ok = run_built(c, &b, false, &parts);
        atomic_store(&adzi_launch_observer, NULL);
        assert_true(ok);
        expect_same_bits(c, s, "how the work is cut", &parts, &whole);
        adz_scope_close(scope);
    }
}

/* ---- failures -------------------------------------------------------------------------------- */

static void rejects(void **state)
{
    const op_case *c = *state;
    for (size_t r = 0; r < n_rejects(c); ++r) {
        const op_reject *reject = &c->rejects[r];
        adz_scope *scope = adz_scope_open();
        built b;
        adz_tensor *out[CASE_RESULTS] = { NULL };
        build_inputs(&b, reject->in, reject->p, reject->text, LAYOUT_PLAIN, ADZ_F64, 7 + r);
        int n = call_built(c, &b, out);
        if (n > 0) {
            FAIL("reject %zu was accepted", r);
        }
        if (adz_error_code() != reject->status) {
            FAIL("reject %zu gave %s instead of %s: %s", r, adz_status_name(adz_error_code()),
                adz_status_name(reject->status), adz_error_message());
        }
        if (strlen(adz_error_message()) < 10 ||
            (reject->says != NULL && strstr(adz_error_message(), reject->says) == NULL)) {
            FAIL("reject %zu says '%s'", r, adz_error_message());
        }
        adz_error_clear();
        adz_scope_close(scope);
        ++counts.rejects;
    }
}

/* Refuses the Nth request for memory, for N = 1, 2, ... until a run makes fewer requests. */
static void refused_memory(void **state)
{
    const op_case *c = *state;
    for (size_t s = 0; s < n_samples(c); ++s) {
        if (c->samples[s].large) {
            continue;
        }
        adz_scope *outer = adz_scope_open();
        built b;
        build_sample(&b, c, s, LAYOUT_PLAIN, ADZ_F32, 1000);
        adz_tensor *before[CASE_INPUTS] = { NULL };
        for (int i = 0; i < b.args.n; ++i) {
            before[i] = b.specs[i].none ? NULL : adz_clone(adz_detach(b.leaves[i]));
        }
        for (int expression = 0; expression < 2; ++expression) {
            for (int64_t n = 1, done = 0; !done; ++n) {
                adz_scope *scope = adz_scope_open();
                int64_t live = adzi_live_tensors();
                outcome o;
                adzi_alloc_fail_at(n);
                bool ok = run_built(c, &b, expression != 0, &o);
                done = !adzi_alloc_failed();
                adzi_alloc_fail_at(0);
                if (!done && (ok || adz_error_code() != ADZ_ERR_MEMORY)) {
                    FAIL("sample %zu: request %lld was refused, and the call %s: %s", s,
                        (long long)n, ok ? "succeeded" : "failed otherwise", adz_error_message());
                }
                if (done && !ok) {
                    FAIL("sample %zu: %s", s, adz_error_message());
                }
                adz_error_clear();
                adz_scope_close(scope);
                if (adzi_live_tensors() != live) {
                    FAIL("sample %zu: request %lld refused leaked %lld tensors", s, (long long)n,
                        (long long)(adzi_live_tensors() - live));
                }
                counts.failure_points += done ? 0 : 1;
            }
        }
        for (int i = 0; i < b.args.n; ++i) {
            if (before[i] != NULL && !same_bits(before[i], b.leaves[i])) {
                FAIL("sample %zu: input %d was changed", s, i);
            }
        }
        adz_scope_close(outer);
    }
}

static void null_in_null_out(void **state)
{
    const op_case *c = *state;
    const case_input *specs = c->samples[0].in;
    for (int i = 0; i < CASE_INPUTS && specs[i].given; ++i) {
        adz_scope *scope = adz_scope_open();
        built b;
        adz_tensor *out[CASE_RESULTS] = { NULL };
        build_sample(&b, c, 0, LAYOUT_PLAIN, ADZ_F64, 1000);
        for (int k = 0; k < b.args.n; ++k) {
            b.args.in[k] = k == i ? NULL : b.leaves[k];
        }
        if (c->call(&b.args, out) > 0 || adz_error_code() != ADZ_ERR_NULL) {
            FAIL("input %d NULL gave '%s'", i, adz_error_message());
        }
        adz_error_clear();
        adz_scope_close(scope);
    }
}

/* Restores the thread before each test, because a failed check leaves its test by longjmp. */
static int clean(void **state)
{
    static int level = -1;
    (void)state;
    level = level < 0 ? adzi_cpu_level : level;
    adzi_cpu_level = level;
    adzi_alloc_fail_at(0);
    adz_error_clear();
    adz_set_grad_enabled(true);
    return 0;
}

size_t sweep_tests(const op_case *c, struct CMUnitTest *tests)
{
    static const struct {
        const char *name;
        CMUnitTestFunction test;
    } all[] = { { "structure", structure }, { "gradcheck", gradients },
        { "gradgradcheck", second_gradients }, { "inputs", every_input_has_a_gradient },
        { "alone", gradients_asked_for_alone }, { "fused, layouts", fused_and_layouts },
        { "attributes", attributes }, { "f32", single_precision },
        { "instruction sets", instruction_sets }, { "cuts", any_cut_of_the_work },
        { "replay", replay_with_other_contents }, { "expression", forward_expression },
        { "trace", gradients_are_calls }, { "saved", saves_no_more_than_it_reads },
        { "rejects", rejects }, { "NULL", null_in_null_out },
        { "refused memory", refused_memory } };
    size_t n = sizeof all / sizeof *all;
    for (size_t i = 0; i < n; ++i) {
        tests[i] =
            (struct CMUnitTest){ all[i].name, all[i].test, clean, NULL, (void *)(uintptr_t)c };
    }
    return n;
}
