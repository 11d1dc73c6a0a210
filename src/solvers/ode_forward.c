/* The node of products that stands for the backward of a solution: Note [A node of products]. */
#include <string.h>

#include "autograd/engine.h"
#include "solvers/ode_forward.h"
#include "base/alloc.h"

/* More elements than so many times the directions are not differentiated by all at once. */
enum { ALL_AT_ONCE = 4 };

/* A plan of the function takes about the time of so many calls. */
enum { WORTH_A_PLAN = 64 };

/* What the node keeps besides tensors. Its inputs are the upstream gradients of all results of the
 * solution, and then the inputs of the solution. Result k is the gradient of input positions[k] of
 * the solution. */
typedef struct products {
    adzi_ode_context *solution;
    int64_t directions; /* that were announced; 1 after the derivatives by all elements are known */
    int64_t elements;   /* of all results */
    int n_upstream;     /* inputs of the node that are upstream gradients */
    bool recorded;      /* by the graph of each step: adzi_tangents_recorded */
    double *all;        /* [elements, length], the derivatives by each element; or NULL */
    size_t n_all;
    int n_results;
    int *positions;
    adz_plan *plan; /* of a running integration; here, so that a jump out of it leaks nothing */
} products;

enum { PATH, EXTRAS };

static void products_free(void *attributes)
{
    products *r = *(products **)attributes;
    adz_plan_free(&r->plan);
    adzi_ode_context_drop(r->solution);
    adzi_free(r->all, r->n_all * sizeof(double));
    adzi_free(r->positions, (size_t)r->n_results * sizeof(int));
    adzi_free(r, sizeof *r);
}

static bool is_stiff(const adzi_ode *ode)
{
    return ode->o.method == ADZ_ODE_BDF || ode->o.method == ADZ_ODE_RODAS4;
}

/* ---- a running backward ---------------------------------------------------------------------- */

/* The state and the tangents' memory. */
typedef struct product {
    adzi_ode_tangents s;
    products *r;
    adzi_node *node;
    adz_tensor *const *w; /* of the results; those that are NULL are 0 */
    adz_tensor *path;
    int64_t from_y0; /* the elements of y0, if it is a target, else 0 */
} product;

/* The inputs of the solution: leaves where they have tangents, else constants. */
static bool take_inputs(product *p)
{
    adzi_node *node = p->node;
    adzi_ode *ode = &p->s.ode;
    int k = 0;
    p->s.n_targets = 1;
    for (int i = 0; i < node->n_inputs - p->r->n_upstream; ++i) {
        adz_tensor *t = adzi_saved_input(node, i + p->r->n_upstream);
        const bool wanted = k < p->r->n_results && p->r->positions[k] == i;
        const bool leaf = (size_t)i >= ADZI_ODE_FIRST_ARGUMENT + ode->e.n;
        k += wanted;
        if (t != NULL && !leaf) {
            t = wanted && i > 0 ? adzi_equation_leaf(t) : adz_detach(t);
        }
        if (t == NULL) {
            return false;
        }
        if (i == 0) {
            ode->like = t;
            p->from_y0 = wanted ? t->numel : 0;
            continue;
        }
        if (i == 1) {
            const bool before = adz_set_grad_enabled(true);
            ode->times = adzi_ode_time_of(ode, t);
            ode->by_tensors = wanted;
            adz_set_grad_enabled(before);
            if (ode->times == NULL) {
                return false;
            }
        } else if (!leaf) {
            ode->e.arguments[i - ADZI_ODE_FIRST_ARGUMENT] = t;
        }
        if (wanted) {
            p->s.targets[p->s.n_targets++] = t;
            p->s.p += t->numel;
        }
    }
    p->s.n = ode->like->numel;
    p->s.length = adzi_tangents_place(ode, (int)ode->n_events, 0, false);
    return true;
}

/* The tangents that have reached the results, as one vector of all elements. NULL with the error
 * recorded. */
static double *given_tangents(const product *p)
{
    const products *r = p->r;
    adz_tensor *memory = adzi_scratch(p->s.ode.e.op, ADZ_F64, 1, &r->elements);
    double *to = memory != NULL ? (double *)(void *)memory->data : NULL;
    int64_t at = 0;
    for (int k = 0; k < r->n_results && to != NULL; ++k) {
        const adz_shape shape = adzi_result_shape(p->node, k);
        adz_tensor *w = p->w[k] != NULL ? adzi_compact(p->s.ode.e.op, p->w[k]) : NULL;
        int64_t n = 1;
        for (int d = 0; d < shape.rank; ++d) {
            n *= shape.sizes[d];
        }
        if (p->w[k] != NULL && w == NULL) {
            return NULL;
        }
        for (int64_t i = 0; i < n; ++i) {
            to[at + i] = w != NULL ? adzi_ode_element(w, i) : 0;
        }
        at += n;
    }
    return to;
}

/* Memory for m tangents, and what they are: those that are given, or one for each element. */
static bool set_tangents(product *p, const double *given)
{
    adzi_ode_tangents *s = &p->s;
    const int64_t sizes[] = { s->m, s->n + s->p };
    adz_tensor *memory = adz_zeros(adz_shape_of(2, sizes), ADZ_F64);
    if (memory == NULL) {
        return false;
    }
    double *y = (double *)(void *)memory->data, *w = y + s->m * s->n;
    for (int64_t e = 0; e < p->r->elements; ++e) {
        const int64_t row = given != NULL ? 0 : e;
        const double value = given != NULL ? given[e] : 1;
        if (e < p->from_y0) {
            y[row * s->n + e] = value;
        } else {
            w[row * s->p + e - p->from_y0] = value;
        }
    }
    s->y = y;
    s->w = w;
    return true;
}

/* A jvp takes about as long as two vjps, and m of them share what takes two more. The formulas of
 * ADZ_ODE_BDF would need jvps in each round of an iteration. */
static void choose_form(adzi_ode_tangents *s)
{
    const int64_t most = s->ode.o.method == ADZ_ODE_BDF ? 6 * s->m + 8 : 2 * s->m + 2;
    s->dense = s->n <= most && !s->ode.o.rows;
}

/* Memory for the Jacobian of the function, and a plan if it will be formed often. */
static bool prepare_jacobian(product *p)
{
    adzi_ode_tangents *s = &p->s;
    const char *op = s->ode.e.op;
    const adz_tensor *times = s->ode.times;
    const int64_t numbers = s->n * (s->n + s->p);
    const int64_t bytes = (1 + s->n * (int64_t)s->n_targets) * (int64_t)sizeof(adz_tensor *);
    adz_tensor *jacobian = adzi_scratch(op, ADZ_F64, 1, &numbers);
    adz_tensor *parts = adzi_scratch(op, ADZ_U8, 1, &bytes);
    s->at[0] = adzi_scratch(op, (adz_dtype)times->dtype, 0, times->sizes);
    s->at[1] = adzi_scratch_like(op, s->ode.like);
    s->units = adz_eye(s->n, s->n, (adz_dtype)s->ode.like->dtype);
    if (jacobian == NULL || parts == NULL || s->at[0] == NULL || s->at[1] == NULL ||
        s->units == NULL) {
        return false;
    }
    s->jacobian = (double *)(void *)jacobian->data;
    s->parts = (adz_tensor **)(void *)parts->data;
    s->plan = s->ode.n_steps >= WORTH_A_PLAN ? &p->r->plan : NULL;
    return true;
}

/* Integrates m tangents, `given` or one for each element, to out[m, T, n]. */
static bool integrate(product *p, const double *given, double *out)
{
    adzi_ode_tangents *s = &p->s;
    s->m = given != NULL ? 1 : p->r->elements;
    s->out = out;
    choose_form(s);
    if (!set_tangents(p, given) || (s->dense && !p->r->recorded && !prepare_jacobian(p))) {
        return false;
    }
    memset(out, 0, (size_t)(s->m * s->length) * sizeof(double));
    for (int64_t j = 0; j < s->m; ++j) {
        memcpy(out + j * s->length, s->y + j * s->n, (size_t)s->n * sizeof(double));
    }
    const bool good = p->r->recorded    ? adzi_tangents_recorded(s)
                      : p->path != NULL ? adzi_tangents_bdf(s, p->path)
                                        : adzi_tangents_steps(s);
    adz_plan_free(&p->r->plan);
    return good;
}

/* ---- the product ----------------------------------------------------------------------------- */

/* The derivatives by all elements, kept in the node. */
static bool know_all(product *p)
{
    products *r = p->r;
    const size_t n = (size_t)(r->elements * p->s.length);
    if (r->all != NULL) {
        return true;
    }
    double *all = adzi_alloc(n * sizeof(double));
    if (all == NULL) {
        return adzi_fail_memory(p->s.ode.e.op, n * sizeof(double)) != NULL;
    }
    r->n_all = n;
    r->all = all;
    if (!integrate(p, NULL, all)) {
        adzi_free(r->all, n * sizeof(double));
        r->all = NULL;
        return false;
    }
    return true;
}

/* The product of the Jacobian with the given tangents. */
static bool multiply(product *p, const double *given, double *out)
{
    const products *r = p->r;
    const int64_t size = p->s.length;
    if (r->directions == 1) {
        return integrate(p, given, out);
    }
    if (!know_all(p)) {
        return false;
    }
    memset(out, 0, (size_t)size * sizeof(double));
    for (int64_t e = 0; e < r->elements; ++e) {
        for (int64_t i = 0; i < size && given[e] != 0; ++i) {
            out[i] += given[e] * r->all[e * size + i];
        }
    }
    return true;
}

/* The shape of result k of a solution. */
static adz_shape shape_of_result(const adzi_ode *ode, int k)
{
    const adz_tensor *like = ode->like;
    int64_t sizes[ADZ_MAX_RANK] = { k == 0 ? ode->n_times : adzi_ode_hits_of(ode, (k - 1) / 2) };
    memcpy(sizes + 1, like->sizes, (size_t)like->rank * sizeof *sizes);
    return adz_shape_of(k > 0 && k % 2 == 1 ? 1 : like->rank + 1, sizes);
}

/* Makes the derivatives of the results of all derivatives in one vector. */
static bool divide(const product *p, adz_tensor *all, adz_tensor **dx)
{
    const adzi_ode *ode = &p->s.ode;
    for (int k = 0; k < p->r->n_upstream; ++k) {
        const int64_t at = k == 0 ? 0 : adzi_tangents_place(ode, (k - 1) / 2, 0, k % 2 == 0);
        const adz_shape shape = shape_of_result(ode, k);
        int64_t n = 1;
        for (int d = 0; d < shape.rank; ++d) {
            n *= shape.sizes[d];
        }
        if (!adzi_needs(p->node, k)) {
            continue;
        }
        adz_tensor *part = adz_reshape(adz_narrow(all, 0, at, n), shape);
        dx[k] = adz_to(part, (adz_dtype)ode->like->dtype);
        if (dx[k] == NULL) {
            return false;
        }
    }
    return true;
}

static bool run(product *p, adz_tensor **dx)
{
    const size_t inputs = (size_t)p->node->n_inputs + 1;
    const int64_t bytes[] = { (int64_t)(4 * inputs * sizeof(adz_tensor *)) };
    adz_tensor *memory = adzi_scratch(p->s.ode.e.op, ADZ_U8, 1, bytes);
    if (memory == NULL) {
        return false;
    }
    p->s.targets = (adz_tensor **)(void *)memory->data;
    p->s.found = p->s.targets + inputs;
    p->s.tangent = p->s.found + inputs; /* twice as many */
    if (!take_inputs(p)) {
        return false;
    }
    adz_tensor *out = adzi_scratch(p->s.ode.e.op, ADZ_F64, 1, &p->s.length);
    const double *given = given_tangents(p);
    return out != NULL && given != NULL && multiply(p, given, (double *)(void *)out->data) &&
           divide(p, out, dx);
}

static adz_status multiply_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    products *r = *(products *const *)node->attr;
    product p = { .s = { .ode = r->solution->ode, .node = node }, .r = r, .node = node, .w = dy };
    if (adz_is_grad_enabled()) {
        return adzi_error(p.s.ode.e.op, ADZ_ERR_UNSUPPORTED,
            "a forward derivative of a solution was computed without create_graph and has no derivative; set create_graph");
    }
    bool needed = false;
    for (int k = 0; k < r->n_upstream; ++k) {
        needed = needed || adzi_needs(node, k);
    }
    if (!needed) {
        return ADZ_OK;
    }
    if (!r->recorded && p.s.ode.o.method == ADZ_ODE_BDF) {
        p.path = adzi_saved_extra(node, PATH);
        if (p.path == NULL) {
            return adzi_status(NULL);
        }
    }
    return run(&p, dx) ? ADZ_OK : adzi_status(NULL);
}

static const adzi_op products_op = { .size = sizeof(adzi_op),
    .name = "odeint_forward",
    .backward = multiply_backward,
    .attributes_free = products_free };

/* ---- the node -------------------------------------------------------------------------------- */

/* The elements of the inputs that need a gradient. */
static int64_t elements_of(adzi_node *node)
{
    int64_t sum = 0;
    for (int i = 0; i < node->n_inputs; ++i) {
        const adz_tensor *t = adzi_needs(node, i) ? adzi_saved_input(node, i) : NULL;
        sum += t != NULL ? t->numel : 0;
    }
    return sum;
}

bool adzi_ode_goes_forward(adzi_node *node, adz_tensor *const *dy)
{
    const adzi_ode_context *r = *(adzi_ode_context *const *)node->attr;
    const int64_t directions = adzi_directions(node);
    bool zeros = directions > 0;
    for (int k = 0; k < adzi_ode_results(&r->ode) && zeros; ++k) {
        zeros = dy[k] == NULL || adzi_functional_is_zero(dy[k]);
    }
    return zeros &&
           (directions == 1 || is_stiff(&r->ode) || elements_of(node) <= ALL_AT_ONCE * directions);
}

/* Whether the tangents need the graph of each step. */
static bool needs_graph(adzi_node *node)
{
    const adzi_ode_context *r = *(adzi_ode_context *const *)node->attr;
    return r->ode.n_events > 0 || adzi_needs(node, 1) || r->ode.o.method == ADZ_ODE_RODAS4 ||
           (r->ode.o.method == ADZ_ODE_BDF && !r->has_path);
}

static products *products_new(adzi_node *node)
{
    products *r = adzi_alloc_zero(sizeof *r);
    adzi_ode_context *solution = *(adzi_ode_context **)node->attr;
    if (r == NULL) {
        return adzi_fail_memory(solution->ode.e.op, sizeof *r);
    }
    r->n_upstream = adzi_ode_results(&solution->ode);
    r->recorded = needs_graph(node);
    r->elements = elements_of(node);
    r->directions = adzi_directions(node);
    if (r->elements > ALL_AT_ONCE * r->directions) {
        r->directions = 1;
    }
    for (int i = 0; i < node->n_inputs; ++i) {
        r->n_results += adzi_needs(node, i);
    }
    r->positions = adzi_alloc((size_t)r->n_results * sizeof(int));
    if (r->positions == NULL) {
        adzi_fail_memory(solution->ode.e.op, (size_t)r->n_results * sizeof(int));
        adzi_free(r, sizeof *r);
        return NULL;
    }
    for (int i = 0, k = 0; i < node->n_inputs; ++i) {
        if (adzi_needs(node, i)) {
            r->positions[k++] = i;
        }
    }
    adzi_refs_take(&solution->refs);
    r->solution = solution;
    return r;
}

/* The inputs of the node, without graphs but for upstream gradients and leaves. Zeros stand for an
 * upstream gradient that has not come. */
static bool gather(adzi_node *node, const products *r, adz_tensor *const *dy, adz_tensor **inputs)
{
    const size_t n_arguments = r->solution->ode.e.n;
    adzi_ode ode = r->solution->ode;
    ode.like = adzi_saved_input(node, 0);
    for (int k = 0; k < r->n_upstream && ode.like != NULL; ++k) {
        inputs[k] =
            dy[k] != NULL ? dy[k] : adz_zeros(shape_of_result(&ode, k), (adz_dtype)ode.like->dtype);
        if (inputs[k] == NULL) {
            return false;
        }
    }
    for (int i = 0; i < node->n_inputs; ++i) {
        adz_tensor *t = adzi_saved_input(node, i);
        const bool leaf = (size_t)i >= ADZI_ODE_FIRST_ARGUMENT + n_arguments;
        inputs[i + r->n_upstream] = t == NULL || leaf ? t : adz_detach(t);
        if (inputs[i + r->n_upstream] == NULL) {
            return false;
        }
    }
    return true;
}

static bool make_node(
    adzi_node *node, products *r, adz_tensor **inputs, adz_tensor **results, adzi_call *call)
{
    for (int k = 0; k < r->n_results; ++k) {
        results[k] = adz_zeros_like(adz_detach(inputs[r->positions[k] + r->n_upstream]));
        if (results[k] == NULL) {
            return false;
        }
    }
    const int n = node->n_inputs + r->n_upstream;
    return adzi_enter(call, &products_op, "argument", inputs, n, 0) &&
           adzi_record_extra(call, r->n_results, results, EXTRAS, &r, sizeof(products *));
}

static bool record(
    adzi_node *node, adz_tensor *const *dy, adz_tensor **inputs, adz_tensor **results)
{
    adzi_call call = { .node = NULL };
    products *r = products_new(node);
    if (r == NULL) {
        return false;
    }
    if (!gather(node, r, dy, inputs) || !make_node(node, r, inputs, results, &call) ||
        call.node == NULL) {
        const bool good = adzi_pending() == ADZ_OK; /* nothing wants a gradient */
        products_free(&r);
        return good;
    }
    for (int i = 0; i < node->n_inputs; ++i) {
        adzi_save_input(&call, i + r->n_upstream);
    }
    if (!r->recorded && r->solution->ode.o.method == ADZ_ODE_BDF) {
        adzi_save_extra(&call, PATH, adzi_saved_extra(node, ADZI_ODE_PATH));
    }
    for (int k = 0; k < r->n_results; ++k) {
        if (adzi_leave(&call, results[k]) == NULL) {
            return false;
        }
    }
    return true;
}

adz_status adzi_ode_forward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adzi_ode_context *r = *(adzi_ode_context *const *)node->attr;
    const int n_upstream = adzi_ode_results(&r->ode);
    const int64_t count = 2 * (int64_t)node->n_inputs + n_upstream;
    const int64_t bytes[] = { count * (int64_t)sizeof(adz_tensor *) };
    adz_tensor *memory = adzi_scratch(r->ode.e.op, ADZ_U8, 1, bytes);
    if (memory == NULL) {
        return adzi_status(NULL);
    }
    adz_tensor **inputs = (adz_tensor **)(void *)memory->data;
    adz_tensor **results = inputs + node->n_inputs + n_upstream;
    if (!record(node, dy, inputs, results)) {
        return adzi_status(NULL);
    }
    for (int i = 0, k = 0; i < node->n_inputs; ++i) {
        dx[i] = adzi_needs(node, i) ? results[k++] : dx[i];
    }
    return ADZ_OK;
}
