/* The gradient of a root by the implicit function theorem. From f(x, p) = 0 follows
 *
 *     dp = u^T df/dp,   J^T u = -dx,   J = df/dx
 *
 * The node saves x and p, and nothing of the search. Its backward calls the function at the root
 * once more. If the backward gets a graph, x stands for the node's result in that call. So the
 * derivative of the gradient by x leads to this backward again, and derivatives of any order exist.
 *
 * Note [Linear systems without a matrix]
 * GMRES solves A u = b, where A is J or J^T, by products, and keeps no graph. If the backward gets
 * a graph, u is the result of a node of its own kind. With A^T w = -du, the backward of that node
 * gives
 *
 *     db = -w,   dx, dp = the derivatives of w^T A u by x and p
 *
 * w is found like u, so no derivative of any order needs the matrix.
 *
 * Note [Forward derivatives of a root]
 * A forward derivative begins with dx = 0 (adzi_autograd_grad_forward). Then u is 0, and its
 * derivative by all that J depends on is 0, too. So J is a constant of the linear system, and gets
 * no graph. What is left is the product of J^-1 with the derivative of f. */
#include "autograd/engine.h"
#include "ops/linalg/decomposition/lu.h"
#include "solvers/roots/root.h"
#include "base/alloc.h"

/* What the backward needs besides the tensors. The inputs of the node of a root are the arguments
 * and then the leaves that the function uses. Those of a linear system are b and x before them. */
typedef struct context {
    adzi_equation e;
    adz_root_options o;
    bool system;     /* of a linear system */
    bool transposed; /* A is J^T */
} context;

enum { FROM_B, FROM_X, SYSTEM_INPUTS };

static void recipe_free(void *attributes)
{
    adzi_free(*(context **)attributes, sizeof(context));
}

/* A running backward. */
typedef struct vjp {
    adzi_functional f; /* the first member */
    adzi_equation e;
    const context *context;
    adzi_node *node;
    adz_tensor *x, *dy;
    adz_tensor **targets, **gradients; /* of the inputs that need a gradient, without b */
    int *positions;                    /* of the targets among the inputs */
    size_t n;
    adz_tensor *db; /* of a linear system, if it is needed, or NULL */
    adzi_cuts cuts;
    bool graph;
    int64_t directions; /* above 0: of a forward derivative, see below */
} vjp;

static int call_equation(adz_tensor *const *inputs, size_t n, adz_tensor **results, void *user)
{
    const vjp *p = user;
    results[0] = adzi_equation_call(&p->e, inputs, n);
    return results[0] != NULL;
}

/* ---- linear systems -------------------------------------------------------------------------- */

/* Anderson's function is g, and J = dg/dx - 1. */
static adz_tensor *without_identity(const vjp *p, adz_tensor *t, adz_tensor *identity)
{
    return p->context->o.method == ADZ_ROOT_ANDERSON ? adz_sub(t, identity) : t;
}

static adz_tensor *dense_adjoint(vjp *p)
{
    const bool rows = p->f.rows;
    const adz_tensor *x = p->f.x[0];
    adzi_lu factors;
    p->f.options.create_graph = p->graph && p->directions == 0;
    adz_tensor *j = adzi_root_jacobian(&p->f, rows);
    p->f.options.create_graph = p->graph;
    if (j == NULL) {
        return NULL;
    }
    const int64_t n = j->sizes[2];
    j = without_identity(p, j, adz_eye(n, n, (adz_dtype)j->dtype));
    adz_tensor *b = adz_reshape(adz_neg(p->dy), ADZ_SHAPE(j != NULL ? j->sizes[0] : 1, n, 1));
    if (j != NULL && b != NULL && adzi_self()->tracer != NULL) { /* nothing in a file can fail */
        adz_tensor *u = adzi_root_solve(adz_transpose(j, 1, 2), b);
        return u != NULL ? adz_reshape(u, adz_shape_of(x->rank, x->sizes)) : NULL;
    }
    adz_tensor *values = j != NULL ? adz_detach(j) : NULL;
    if (values == NULL || b == NULL || !adzi_lu_factor(p->e.op, values, true, &factors)) {
        return NULL;
    }
    adz_tensor *u = adzi_solve_with(&factors, j, b, true);
    return u != NULL ? adz_reshape(u, adz_shape_of(x->rank, x->sizes)) : NULL;
}

/* The product of J^T, or of J, with v, whose graph is kept on request. */
static adz_tensor *product(vjp *p, adz_tensor *v, bool transposed, bool graph)
{
    adz_tensor *y;
    p->f.options.create_graph = graph;
    const bool good =
        transposed ? adzi_functional_vjp(&p->f, &v, &y) : adzi_functional_jvp(&p->f, &v, &y);
    p->f.options.create_graph = p->graph;
    return good ? without_identity(p, y, v) : NULL;
}

static adz_tensor *product_by_transposed(adz_tensor *v, void *user)
{
    return product(user, v, true, false);
}

static adz_tensor *product_by_jacobian(adz_tensor *v, void *user)
{
    return product(user, v, false, false);
}

/* Whether a system is solved to the digits of the dtype, or as well as rounding lets a matrix that
 * is nearly singular. */
static bool solved(const adzi_gmres_report *found, bool f32)
{
    return found->part <= (f32 ? 1e-5 : 1e-12) ||
           (found->part <= (f32 ? 1e-2 : 1e-4) && found->backward <= (f32 ? 4e-6 : 8e-15));
}

/* A u = b by products alone. u has no graph. */
static adz_tensor *krylov(vjp *p, adz_tensor *b, bool transposed)
{
    adzi_gmres_report found;
    const bool f32 = b->dtype == ADZ_F32;
    const int dimension = p->context->o.method == ADZ_ROOT_KRYLOV && p->context->o.history > 0
                              ? p->context->o.history
                              : 50;
    if (!transposed && !adzi_functional_prepare_jvp(&p->f)) {
        return NULL;
    }
    const bool before = adz_set_grad_enabled(false);
    adz_tensor *u =
        adzi_gmres((adzi_matrix){ transposed ? product_by_transposed : product_by_jacobian, p }, b,
            dimension, f32 ? 1e-6 : 1e-13, &found);
    adz_set_grad_enabled(before);
    if (u != NULL && !solved(&found, f32)) {
        return adzi_fail(p->e.op, ADZ_ERR_NUMERIC,
            "GMRES solves the system of the gradient of %s only to %s of its size; the Jacobian at the root is singular or badly scaled: use ADZ_ROOT_NEWTON, or scale the function",
            adzi_text_shape(b), adzi_text_number(found.part));
    }
    return u;
}

static adz_tensor *record_system(vjp *p, adz_tensor *b, adz_tensor *u, bool transposed);

/* u with J^T u = -dy for a root, and with A^T u = -dy for a system of the matrix A. */
static adz_tensor *adjoint(vjp *p)
{
    if (!p->context->system && adzi_root_is_dense(&p->context->o, p->dy->numel)) {
        return dense_adjoint(p);
    }
    if (adzi_self()->tracer != NULL) {
        return adzi_fail(p->e.op, ADZ_ERR_UNSUPPORTED,
            "the gradient of a root of %s cannot be exported: with more than 2048 unknowns its system is solved by GMRES, which reads dot products on the host; use ADZ_ROOT_NEWTON, or rows",
            adzi_text_shape(p->dy));
    }
    const bool transposed = !p->context->transposed;
    adz_tensor *b = adz_neg(p->dy);
    adz_tensor *u = b != NULL ? krylov(p, b, transposed) : NULL;
    return u != NULL && p->graph ? record_system(p, b, u, transposed) : u;
}

/* ---- the derivative -------------------------------------------------------------------------- */

/* w^T A u as y^T v, where x, the arguments and the leaves are variables of y alone. */
static bool bilinear(vjp *p, adz_tensor *w, adz_tensor **y, adz_tensor **v)
{
    const bool transposed = p->context->transposed;
    adz_tensor *u = adzi_saved_result(p->node, 0);
    adz_tensor *left = u == NULL ? NULL : adzi_equation_stand_in(transposed ? u : w, p->graph);
    if (left == NULL || !adzi_cuts_add(&p->cuts, left)) {
        return false;
    }
    *v = transposed ? w : u;
    *y = product(p, left, true, true);
    return *y != NULL;
}

/* Fills the gradients that are needed. */
static bool derive(vjp *p)
{
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = p->graph;
    o.retain_graph = o.allow_unused = true;
    adz_tensor *u = adjoint(p), *y = p->f.values[0], *v = u;
    if (u == NULL) {
        return false;
    }
    if (p->context->system) {
        p->db = adzi_needs(p->node, FROM_B) ? adz_neg(u) : ADZ_NONE;
        if (p->db == NULL || !bilinear(p, u, &y, &v)) {
            return false;
        }
    }
    for (size_t i = 0; i < p->n; ++i) {
        p->gradients[i] = ADZ_NONE;
    }
    if (p->n == 0 || !adzi_requires_grad(y)) {
        return true;
    }
    return (p->directions > 0
                   ? adzi_autograd_grad_forward(
                         &y, &v, 1, p->targets, p->n, p->directions, p->gradients)
                   : adz_autograd_grad(&y, &v, 1, p->targets, p->n, &o, p->gradients)) == ADZ_OK;
}

static bool work(adzi_functional *f)
{
    vjp *p = (vjp *)f;
    bool good = adzi_cuts_add(&p->cuts, f->x[0]);
    for (size_t i = 0; i < p->e.n && good; ++i) {
        good = adzi_cuts_add(&p->cuts, p->e.arguments[i]);
    }
    for (size_t i = 0; i < p->n; ++i) {
        p->targets[i] = p->targets[i] == p->x ? f->x[0] : p->targets[i];
    }
    good = good && derive(p);
    adzi_cuts_mend(&p->cuts);
    for (size_t i = 0; i < p->n && good; ++i) {
        adzi_retain(p->gradients[i]);
    }
    p->db = good && p->db != NULL ? adzi_retain(p->db) : NULL;
    return good;
}

/* ---- the backward ---------------------------------------------------------------------------- */

/* Fills the arguments with stand-ins, and the targets with those that need a gradient. */
static bool take_inputs(vjp *p)
{
    adzi_node *node = p->node;
    const int before = p->context->system ? SYSTEM_INPUTS : 0;
    p->x = p->context->system ? adzi_saved_input(node, FROM_X) : adzi_saved_result(node, 0);
    for (int i = before > 0 ? FROM_X : 0; i < node->n_inputs && p->x != NULL; ++i) {
        adz_tensor *t = i < before ? p->x : adzi_saved_input(node, i);
        if (t != NULL && i >= before && (size_t)(i - before) < p->e.n) {
            t = p->e.arguments[i - before] = adzi_equation_stand_in(t, p->graph);
        }
        if (t == NULL) {
            return false;
        }
        if (adzi_needs(node, i)) {
            p->positions[p->n] = i;
            p->targets[p->n++] = t;
        }
    }
    return p->x != NULL;
}

/* Hands the gradients over, whose references the vjp has. */
static bool deliver(vjp *p, adz_tensor **dx)
{
    adzi_thread *thread = adzi_self();
    const bool good = adzi_scope_reserve(thread, p->n + 1);
    for (size_t i = 0; i <= p->n; ++i) {
        adz_tensor *g = i < p->n ? p->gradients[i] : p->db;
        if (g == NULL || adzi_is_none(g) || !good) {
            adzi_drop(g);
        } else {
            dx[i < p->n ? p->positions[i] : FROM_B] = adzi_borrow(thread, g);
        }
    }
    if (!good) {
        adzi_fail_memory(p->e.op, (p->n + 1) * sizeof(adz_tensor *));
    }
    return good;
}

static bool run(vjp *p, adz_tensor **dx)
{
    const adz_tensor_function function = { call_equation, p };
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    adz_tensor *none;
    o.create_graph = p->graph;
    if (!take_inputs(p)) {
        return false;
    }
    p->f.function = &function;
    p->f.inputs = &p->x;
    if (p->n == 0 && !(p->context->system && adzi_needs(p->node, FROM_B))) {
        return true;
    }
    return adzi_functional_run(&p->f, &o, work, &none) == ADZ_OK && deliver(p, dx);
}

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const context *r = *(context *const *)node->attr;
    const int64_t n = node->n_inputs, bytes[] = { n * (int64_t)(2 * sizeof dx + sizeof(int)) };
    adz_tensor *memory = adzi_scratch(r->e.op, ADZ_U8, 1, bytes);
    if (memory == NULL) {
        return adzi_status(NULL);
    }
    vjp p = { .f = { .op = r->e.op,
                  .n = 1,
                  .n_results = 1,
                  .rows = r->o.rows && r->o.method != ADZ_ROOT_KRYLOV },
        .e = r->e,
        .context = r,
        .node = node,
        .dy = dy[0],
        .targets = (adz_tensor **)(void *)memory->data,
        .graph = adz_is_grad_enabled() };
    p.directions = p.graph && adzi_functional_is_zero(dy[0]) ? adzi_directions(node) : 0;
    p.gradients = p.targets + n;
    p.positions = (int *)(void *)(p.gradients + n);
    return run(&p, dx) ? ADZ_OK : adzi_status(NULL);
}

static const adzi_op root_op = {
    .size = sizeof(adzi_op), .name = "root", .backward = backward, .attributes_free = recipe_free
};

static const adzi_op system_op = { .size = sizeof(adzi_op),
    .name = "root_system",
    .backward = backward,
    .attributes_free = recipe_free };

/* ---- the nodes ------------------------------------------------------------------------------- */

/* Makes `y` the result of a node with these inputs, if one of them wants a gradient. */
static adz_tensor *record(
    const adzi_op *op, const context *r, adz_tensor *y, adz_tensor **inputs, int n)
{
    adzi_call call;
    context *kept = adzi_alloc(sizeof *kept);
    if (kept == NULL) {
        return adzi_fail_memory(r->e.op, sizeof *kept);
    }
    *kept = *r;
    if (!adzi_enter(&call, op, "argument", inputs, n, 0) ||
        !adzi_record_extra(&call, 1, &y, 0, &kept, sizeof(context *))) {
        adzi_free(kept, sizeof *kept);
        return NULL;
    }
    if (call.node == NULL) {
        adzi_free(kept, sizeof *kept);
        return y;
    }
    for (int i = r->system ? FROM_X : 0; i < n; ++i) {
        adzi_save_input(&call, i);
    }
    adzi_save_result(&call, 0, y);
    return adzi_leave(&call, y);
}

/* The node of a linear system has the arguments and leaves of the node whose backward runs. */
static adz_tensor *record_system(vjp *p, adz_tensor *b, adz_tensor *u, bool transposed)
{
    adzi_node *node = p->node;
    const int before = p->context->system ? SYSTEM_INPUTS : 0, n = node->n_inputs - before;
    const int64_t bytes[] = { (int64_t)((size_t)(n + SYSTEM_INPUTS) * sizeof(adz_tensor *)) };
    adz_tensor *memory = adzi_scratch(p->e.op, ADZ_U8, 1, bytes);
    u = memory != NULL ? adz_clone(adz_detach(u))
                       : NULL; /* contiguous, and its storage's only view */
    if (u == NULL) {
        return NULL;
    }
    context r = *p->context;
    r.system = true;
    r.transposed = transposed;
    adz_tensor **inputs = (adz_tensor **)(void *)memory->data;
    inputs[FROM_B] = b;
    inputs[FROM_X] = p->f.x[0];
    for (int i = 0; i < n; ++i) {
        adz_tensor *t = (size_t)i < p->e.n ? p->e.arguments[i] : adzi_saved_input(node, i + before);
        if (t == NULL) {
            return NULL;
        }
        inputs[SYSTEM_INPUTS + i] = t;
    }
    return record(&system_op, &r, u, inputs, n + SYSTEM_INPUTS);
}

adz_tensor *adzi_root_record(adzi_root *r, adz_tensor *x)
{
    const size_t n = r->e.n + r->leaves.count;
    bool wants = false;
    if (!r->wants || n == 0) {
        return x;
    }
    const int64_t bytes[] = { (int64_t)(n * sizeof(adz_tensor *)) };
    adz_tensor *memory = adzi_scratch(r->e.op, ADZ_U8, 1, bytes);
    if (memory == NULL) {
        return NULL;
    }
    adz_tensor **inputs = (adz_tensor **)(void *)memory->data;
    for (size_t i = 0; i < n; ++i) {
        inputs[i] = i < r->e.n ? r->e.arguments[i] : r->leaves.items[i - r->e.n];
        wants = wants || adzi_requires_grad(inputs[i]);
    }
    if (!wants) {
        return x;
    }
    /* A trace has the calls that have made the root, and those of the node's backward. */
    adzi_thread *thread = adzi_self();
    adzi_tracer *tracer = thread->tracer;
    const context kept = { .e = r->e, .o = r->o };
    thread->tracer = NULL;
    x = record(&root_op, &kept, x, inputs, (int)n);
    thread->tracer = tracer;
    return x;
}
