#include "replay.h"

#include <math.h>

struct replay {
    const adzi_trace *trace;
    adz_tensor **held; /* the tensor of each value; those of results belong to the scope of a run */
    int64_t *before;   /* of a number: the steps of its parameter before the first run */
    int64_t *by_run;   /* and the steps in each run */
    int64_t runs;
};

/* ---- calls ---------------------------------------------------------------------------------- */

typedef adz_tensor *(*unary)(adz_tensor *x);
typedef adz_tensor *(*binary)(adz_tensor *a, adz_tensor *b);

static const struct {
    const char *op;
    unary call;
} unaries[] = { { "abs", adz_abs }, { "clone", adz_clone }, { "detach", adz_detach },
    { "erf", adz_erf }, { "exp", adz_exp }, { "expm1", adz_expm1 }, { "isnan", adz_isnan },
    { "log", adz_log }, { "log1p", adz_log1p }, { "logical_not", adz_logical_not },
    { "neg", adz_neg }, { "reciprocal", adz_reciprocal }, { "relu", adz_relu },
    { "rsqrt", adz_rsqrt }, { "sigmoid", adz_sigmoid }, { "sign", adz_sign }, { "sqrt", adz_sqrt },
    { "square", adz_square }, { "tanh", adz_tanh } };

static const struct {
    const char *op;
    binary call, in_place;
} binaries[] = { { "add", adz_add, adz_add_ }, { "copy", NULL, adz_copy_ },
    { "div", adz_div, adz_div_ }, { "eq", adz_eq, NULL }, { "ge", adz_ge, NULL },
    { "gt", adz_gt, NULL }, { "le", adz_le, NULL }, { "logical_and", adz_logical_and, NULL },
    { "logical_or", adz_logical_or, NULL }, { "lt", adz_lt, NULL },
    { "maximum", adz_maximum, NULL }, { "minimum", adz_minimum, NULL },
    { "mul", adz_mul, adz_mul_ }, { "ne", adz_ne, NULL }, { "sub", adz_sub, adz_sub_ } };

/* What a call needs besides its inputs. */
typedef struct {
    const adzi_traced_call *c;
    adz_tensor **in;
    const adzi_traced_value *y; /* its first result */
} context;

static int whole(const context *x, const char *field)
{
    return (int)adzi_attr_whole(x->c->op, x->c->attr, field);
}

static double number(const context *x, const char *field)
{
    return adzi_attr_number(x->c->op, x->c->attr, field);
}

static adz_tensor *reduced(const context *x)
{
    int dims[ADZ_MAX_RANK], n = 0;
    for (int d = 0; d < ADZ_MAX_RANK; ++d) {
        if (whole(x, "dim") & (1 << d)) {
            dims[n++] = d;
        }
    }
    const bool keep = whole(x, "keepdim") != 0;
    if (n == 0) {
        return adz_reshape(x->in[0], adz_shape_of(x->y->rank, x->y->sizes));
    }
    const adz_dims over = adz_dims_of(n, dims);
    return strcmp(x->c->op->name, "sum") == 0    ? adz_sum(x->in[0], over, keep)
           : strcmp(x->c->op->name, "mean") == 0 ? adz_mean(x->in[0], over, keep)
           : strcmp(x->c->op->name, "logsumexp") == 0
               ? adz_logsumexp(x->in[0], over, keep)
               : adz_norm(x->in[0], number(x, "p"), over, keep);
}

static adz_tensor *permuted(const context *x)
{
    int64_t list[ADZ_MAX_RANK];
    int dims[ADZ_MAX_RANK];
    const size_t n = adzi_attr_list(x->c->op, x->c->attr, "dims", list, ADZ_MAX_RANK);
    for (size_t i = 0; i < n; ++i) {
        dims[i] = (int)list[i];
    }
    return adz_permute(x->in[0], adz_dims_of((int)n, dims));
}

static adz_tensor *padded(const context *x)
{
    int64_t pad[2 * ADZ_MAX_RANK];
    const size_t n = adzi_attr_list(x->c->op, x->c->attr, "pad", pad, 2 * ADZ_MAX_RANK);
    return adz_pad(x->in[0], pad, n, number(x, "value"));
}

static adz_tensor *product(const context *x)
{
    adz_tensor *a = whole(x, "transpose_a") ? adz_transpose(x->in[0], -2, -1) : x->in[0];
    adz_tensor *b = whole(x, "transpose_b") ? adz_transpose(x->in[1], -2, -1) : x->in[1];
    return adz_matmul(a, b);
}

static adz_tensor *special(const context *x)
{
    const char *op = x->c->op->name;
    adz_tensor **in = x->in;
    const adz_shape shape = adz_shape_of(x->y->rank, x->y->sizes);
#define IS(name) (strcmp(op, name) == 0)
    return IS("sum") || IS("mean") || IS("norm") || IS("logsumexp") ? reduced(x)
           : IS("reshape") || IS("unsqueeze") || IS("squeeze")      ? adz_reshape(in[0], shape)
           : IS("expand")                                           ? adz_expand(in[0], shape)
           : IS("permute")                                          ? permuted(x)
           : IS("slice")     ? adz_slice(in[0], whole(x, "dim"), whole(x, "start"), whole(x, "end"),
                                   whole(x, "step"))
           : IS("pad")       ? padded(x)
           : IS("transpose") ? adz_transpose(in[0], whole(x, "dim0"), whole(x, "dim1"))
           : IS("matmul")    ? product(x)
           : IS("linear")    ? adz_linear(in[0], in[1], in[2])
           : IS("clamp")
               ? (x->c->inplace ? adz_clamp_ : adz_clamp)(in[0], number(x, "min"), number(x, "max"))
           : IS("pow_number")  ? adz_pow_number(in[0], number(x, "exponent"))
           : IS("masked_fill") ? adz_masked_fill(in[0], in[1], number(x, "value"))
           : IS("where")       ? adz_where(in[0], in[1], in[2])
           : IS("softmax")     ? adz_softmax(in[0], whole(x, "dim"))
           : IS("fill")        ? adz_fill_(in[0], number(x, "value"))
           : IS("gather")      ? adz_gather(in[0], whole(x, "dim"), in[1])
           : IS("scatter_add") ? adz_scatter_add(in[0], whole(x, "dim"), in[1], in[2])
           : IS("cat")         ? adz_cat(in, (size_t)x->c->n_in, whole(x, "dim"))
           : IS("to")          ? adz_to(in[0], x->y->dtype)
                               : NULL;
#undef IS
}

static adz_tensor *compute(const context *x)
{
    const char *op = x->c->op->name;
    for (size_t i = 0; i < sizeof unaries / sizeof *unaries; ++i) {
        if (strcmp(unaries[i].op, op) == 0 && !x->c->inplace) {
            return unaries[i].call(x->in[0]);
        }
    }
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; ++i) {
        const binary call = x->c->inplace ? binaries[i].in_place : binaries[i].call;
        if (strcmp(binaries[i].op, op) != 0 || call == NULL) {
            continue;
        }
        const bool scaled = strcmp(op, "add") == 0 || strcmp(op, "sub") == 0;
        if (scaled && number(x, "alpha") != 1) {
            return call(x->in[0], adz_mul_number(x->in[1], number(x, "alpha")));
        }
        return call(x->in[0], x->in[1]);
    }
    return special(x);
}

static void run_call(replay *r, const adzi_traced_call *c)
{
    adz_tensor *in[32];
    assert_true(c->n_in <= 32);
    for (int i = 0; i < c->n_in; ++i) {
        in[i] = c->in[i] < 0 ? ADZ_NONE : r->held[c->in[i]];
        assert_non_null(in[i]);
    }
    const context x = { c, in, &r->trace->values[c->out[0]] };
    assert_int_equal(c->n_out, 1);
    r->held[c->out[0]] = compute(&x);
    if (r->held[c->out[0]] == NULL) {
        fail_msg("%s%s: %s", c->op->name, c->inplace ? "_" : "", adz_error_message());
    }
}

/* ---- values --------------------------------------------------------------------------------- */

static adz_tensor *contents_of(const adzi_trace *trace, int value)
{
    adz_tensor *t = adz_clone(adz_detach(adzi_traced_contents(trace, value)));
    assert_non_null(t);
    return t;
}

static adzi_kept *kept_of(const adzi_traced_value *v)
{
    return &v->position.optimizer->groups[v->position.group]->kept[v->position.i];
}

replay *replay_new(const adzi_trace *trace)
{
    replay *r = test_calloc(1, sizeof *r);
    r->trace = trace;
    r->held = test_calloc(trace->n_values, sizeof *r->held);
    r->before = test_calloc(trace->n_values, sizeof *r->before);
    r->by_run = test_calloc(trace->n_values, sizeof *r->by_run);
    for (size_t i = 0; i < trace->n_values; ++i) {
        const adzi_traced_value *v = &trace->values[i];
        if (v->kind == ADZI_VALUE_NUMBER) {
            r->before[i] = kept_of(v)->steps;
            for (size_t k = 0; k < trace->n_values; ++k) {
                const adzi_traced_value *w = &trace->values[k];
                const bool same = w->kind == ADZI_VALUE_NUMBER && kept_of(w) == kept_of(v);
                r->by_run[i] = same && w->ahead >= r->by_run[i] ? w->ahead + 1 : r->by_run[i];
            }
        } else if (v->kind != ADZI_VALUE_RESULT && v->kind != ADZI_VALUE_INPUT) {
            r->held[i] = adz_keep(contents_of(trace, (int)i));
        }
    }
    return r;
}

void replay_free(replay *r)
{
    for (size_t i = 0; i < r->trace->n_values; ++i) {
        const adzi_value_kind kind = r->trace->values[i].kind;
        if (kind != ADZI_VALUE_RESULT && kind != ADZI_VALUE_INPUT && kind != ADZI_VALUE_NUMBER) {
            adz_release(&r->held[i]);
        }
    }
    test_free(r->held);
    test_free(r->before);
    test_free(r->by_run);
    test_free(r);
}

static adz_tensor *number_of(const replay *r, size_t i)
{
    const adzi_traced_value *v = &r->trace->values[i];
    const adz_optimizer *o = v->position.optimizer;
    double numbers[ADZ_OPTIMIZER_NUMBERS];
    const int64_t step = r->before[i] + r->runs * r->by_run[i] + v->ahead + 1;
    adzi_update_numbers(
        o, o->groups[v->position.group]->settings, step, r->runs == 0 ? v->fresh : 0, numbers);
    return adz_full(adz_shape_of(0, NULL), numbers[v->which], v->dtype);
}

/* Stores what the variables have become. What the step has changed in place is there already. */
static void store(replay *r)
{
    adz_tensor **next = test_calloc(r->trace->n_values, sizeof *next);
    for (size_t i = 0; i < r->trace->n_values; ++i) {
        const int to = r->trace->values[i].becomes;
        next[i] = to != (int)i && r->held[to] != r->held[i] ? adz_clone(r->held[to]) : NULL;
    }
    for (size_t i = 0; i < r->trace->n_values; ++i) {
        if (next[i] != NULL) {
            assert_non_null(adz_copy_(r->held[i], next[i]));
        }
    }
    test_free(next);
}

adz_tensor *replay_run(replay *r, adz_tensor *const *inputs)
{
    const adzi_trace *t = r->trace;
    ADZ_NO_GRAD
    {
        for (size_t i = 0; i < t->n_values; ++i) {
            const adzi_traced_value *v = &t->values[i];
            if (v->kind == ADZI_VALUE_INPUT) {
                r->held[i] = inputs[i];
            } else if (v->kind == ADZI_VALUE_NUMBER) {
                r->held[i] = number_of(r, i);
            } else if (v->contents != NULL && v->becomes == (int)i) { /* made again in each run */
                adz_copy_(r->held[i], contents_of(t, (int)i));
            }
        }
        for (size_t i = 0; i < t->n_calls; ++i) {
            if (t->calls[i].used) {
                run_call(r, &t->calls[i]);
            }
        }
        r->held[t->outputs[0]] = adz_clone(r->held[t->outputs[0]]);
        store(r);
    }
    ++r->runs;
    assert_int_equal(adz_error_code(), ADZ_OK);
    return r->held[t->outputs[0]];
}

adz_tensor *replay_variable(const replay *r, const char *name)
{
    for (size_t i = 0; i < r->trace->n_values; ++i) {
        const char *own = r->trace->values[i].name;
        if (own != NULL && strcmp(own, name) == 0) {
            return r->held[i];
        }
    }
    fail_msg("the trace has no value called %s", name);
    return NULL;
}

/* ---- others --------------------------------------------------------------------------------- */

bool prints_primitives(const adz_operator *op)
{
    return op->expression == NULL;
}

int count_calls(const adzi_trace *trace, const char *op)
{
    int n = 0;
    for (size_t i = 0; i < trace->n_calls; ++i) {
        n += trace->calls[i].used && strcmp(trace->calls[i].op->name, op) == 0;
    }
    return n;
}

double difference(adz_tensor *a, adz_tensor *b)
{
    double most = 0, size = 1e-30;
    adz_scope *scope = adz_scope_open();
    ADZ_NO_GRAD
    {
        const adz_tensor *x = adz_contiguous(adz_to(adz_detach(a), ADZ_F64));
        const adz_tensor *y = adz_contiguous(adz_to(adz_detach(b), ADZ_F64));
        const double *p = adz_tensor_data_f64((adz_tensor *)(uintptr_t)x);
        const double *q = adz_tensor_data_f64((adz_tensor *)(uintptr_t)y);
        for (int64_t i = 0; i < adz_tensor_numel(x); ++i) {
            most = fabs(p[i] - q[i]) > most || p[i] != p[i] ? fabs(p[i] - q[i]) : most;
            size = fabs(q[i]) > size ? fabs(q[i]) : size;
        }
    }
    adz_scope_close(scope);
    return most / size;
}
