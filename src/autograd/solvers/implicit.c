/* The gradient of a root by the implicit function theorem. From f(x, p) = 0 follows
 *
 *     dp = u^T df/dp,   J^T u = -dx,   J = df/dx
 *
 * The node saves x and p, and nothing of the search. Its backward calls the function at the root
 * once more. If the backward gets a graph, x stands for the node's result in that call. So the
 * derivative of the gradient by x leads to this backward again, and derivatives of any order exist.
 */
#include "autograd/engine.h"
#include "autograd/ops/decomposition/lu.h"
#include "autograd/solvers/root.h"
#include "base/alloc.h"

/* What the backward needs besides the tensors. The inputs of the node are the arguments and then
 * the leaves that the function uses. */
typedef struct recipe {
    adzi_equation e;
    adz_root_options o;
} recipe;

static void recipe_free(void *attributes)
{
    adzi_free(*(recipe **)attributes, sizeof(recipe));
}

/* A running backward. */
typedef struct pull {
    adzi_functional f; /* the first member */
    adzi_equation e;
    const recipe *recipe;
    adzi_node *node;
    adz_tensor *dy;
    adz_tensor **targets, **gradients; /* of the inputs that need a gradient */
    size_t n;
    bool graph;
} pull;

static int call_equation(adz_tensor *const *inputs, size_t n, adz_tensor **results, void *user)
{
    const pull *p = user;
    results[0] = adzi_equation_call(&p->e, inputs, n);
    return results[0] != NULL;
}

/* ---- u --------------------------------------------------------------------------------------- */

/* Anderson's function is g, and J = dg/dx - 1. */
static adz_tensor *without_identity(const pull *p, adz_tensor *t, adz_tensor *identity)
{
    return p->recipe->o.method == ADZ_ROOT_ANDERSON ? adz_sub(t, identity) : t;
}

static adz_tensor *dense_adjoint(pull *p)
{
    const bool rows = p->f.rows;
    const adz_tensor *x = p->f.x[0];
    adzi_lu factors;
    adz_tensor *j = adzi_root_jacobian(&p->f, rows);
    if (j == NULL) {
        return NULL;
    }
    const int64_t n = j->sizes[2];
    j = without_identity(p, j, adz_eye(n, n, (adz_dtype)j->dtype));
    adz_tensor *b = adz_reshape(adz_neg(p->dy), ADZ_SHAPE(j != NULL ? j->sizes[0] : 1, n, 1));
    adz_tensor *values = j != NULL ? adz_detach(j) : NULL;
    if (values == NULL || b == NULL || !adzi_lu_factor(p->e.op, values, true, &factors)) {
        return NULL;
    }
    adz_tensor *u = adzi_solve_with(&factors, j, b, true);
    return u != NULL ? adz_reshape(u, adz_shape_of(x->rank, x->sizes)) : NULL;
}

static adz_tensor *transposed_product(adz_tensor *v, void *user)
{
    pull *p = user;
    adz_tensor *product;
    return adzi_functional_vjp(&p->f, &v, &product) ? without_identity(p, product, v) : NULL;
}

static adz_tensor *krylov_adjoint(pull *p)
{
    double part;
    const bool f32 = p->dy->dtype == ADZ_F32;
    const int dimension = p->recipe->o.method == ADZ_ROOT_KRYLOV && p->recipe->o.history > 0
                              ? p->recipe->o.history
                              : 50;
    adz_tensor *u =
        adzi_gmres(transposed_product, p, adz_neg(p->dy), dimension, f32 ? 1e-6 : 1e-13, &part);
    if (u != NULL && !(part <= (f32 ? 1e-3 : 1e-8))) {
        return adzi_fail(p->e.op, ADZ_ERR_NUMERIC,
            "GMRES solves the system of the gradient of %s only to %s of its size; the Jacobian at "
            "the root is singular or badly scaled: set history higher, or use ADZ_ROOT_NEWTON",
            adzi_text_shape(p->dy), adzi_text_number(part));
    }
    return u;
}

static bool work(adzi_functional *f)
{
    pull *p = (pull *)f;
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = p->graph;
    o.retain_graph = o.allow_unused = true;
    /* Second derivatives need u as an expression, which GMRES does not give. */
    const bool dense = p->graph || adzi_root_is_dense(&p->recipe->o, p->dy->numel);
    adz_tensor *u = dense ? dense_adjoint(p) : krylov_adjoint(p);
    if (u == NULL || !adzi_requires_grad(f->values[0]) ||
        adz_autograd_grad(f->values, &u, 1, p->targets, p->gradients, p->n, &o) != ADZ_OK) {
        return false;
    }
    for (size_t i = 0; i < p->n; ++i) {
        adzi_retain(p->gradients[i]);
    }
    return true;
}

/* ---- the backward ---------------------------------------------------------------------------- */

/* Fills the arguments with stand-ins, and the targets with those that need a gradient. */
static bool take_inputs(pull *p, int *positions)
{
    adzi_node *node = p->node;
    for (int i = 0; i < node->n_inputs; ++i) {
        adz_tensor *t = adzi_saved_input(node, i);
        if (t != NULL && (size_t)i < p->e.n) {
            t = p->e.arguments[i] = adzi_equation_stand_in(t, p->graph);
        }
        if (t == NULL) {
            return false;
        }
        if (adzi_needs(node, i)) {
            positions[p->n] = i;
            p->targets[p->n++] = t;
        }
    }
    return true;
}

static bool run(pull *p, adz_tensor *x, int *positions, adz_tensor **dx)
{
    const adz_tensor_function function = { call_equation, p };
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    adz_tensor *none;
    o.create_graph = p->graph;
    p->f.function = &function;
    p->f.inputs = &x;
    if (!take_inputs(p, positions)) {
        return false;
    }
    if (p->n == 0) {
        return true;
    }
    if (adzi_functional_run(&p->f, &o, work, &none) != ADZ_OK) {
        return false;
    }
    adzi_thread *thread = adzi_self();
    const bool good = adzi_scope_reserve(thread, p->n);
    for (size_t i = 0; i < p->n; ++i) {
        adz_tensor *g = p->gradients[i];
        if (adzi_is_none(g) || !good) {
            adzi_drop(g);
        } else {
            dx[positions[i]] = adzi_borrow(thread, g);
        }
    }
    if (!good) {
        adzi_fail_memory(p->e.op, p->n * sizeof(adz_tensor *));
    }
    return good;
}

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const recipe *r = *(recipe *const *)node->attr;
    const int64_t n = node->n_inputs, bytes[] = { n * (int64_t)(2 * sizeof dx + sizeof(int)) };
    adz_tensor *memory = adzi_scratch(r->e.op, ADZ_U8, 1, bytes);
    adz_tensor *x = memory != NULL ? adzi_saved_result(node, 0) : NULL;
    if (x == NULL) {
        return adzi_status(NULL);
    }
    pull p = { .f = { .op = r->e.op,
                   .n = 1,
                   .n_results = 1,
                   .rows = r->o.rows && r->o.method != ADZ_ROOT_KRYLOV },
        .e = r->e,
        .recipe = r,
        .node = node,
        .dy = dy[0],
        .targets = (adz_tensor **)(void *)memory->data,
        .graph = adz_is_grad_enabled() };
    p.gradients = p.targets + n;
    return run(&p, x, (int *)(void *)(p.gradients + n), dx) ? ADZ_OK : adzi_status(NULL);
}

static const adzi_op root_op = {
    .size = sizeof(adzi_op), .name = "root", .backward = backward, .attributes_free = recipe_free
};

/* ---- the node -------------------------------------------------------------------------------- */

static adz_tensor *record(adzi_root *r, adz_tensor *x, adz_tensor **inputs, int n)
{
    adzi_call call;
    recipe *kept = adzi_alloc(sizeof *kept);
    if (kept == NULL) {
        return adzi_fail_memory(r->e.op, sizeof *kept);
    }
    *kept = (recipe){ r->e, r->o };
    if (!adzi_enter(&call, &root_op, "argument", inputs, n, 0) ||
        !adzi_record_extra(&call, 1, &x, 0, &kept, sizeof(recipe *))) {
        adzi_free(kept, sizeof *kept);
        return NULL;
    }
    if (call.node == NULL) {
        adzi_free(kept, sizeof *kept);
        return x;
    }
    for (int i = 0; i < n; ++i) {
        adzi_save_input(&call, i);
    }
    adzi_save_result(&call, 0, x);
    return adzi_leave(&call, x);
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
    return wants ? record(r, x, inputs, (int)n) : x;
}
