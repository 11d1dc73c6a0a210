/* adze-bench derivatives ROW: derivatives that solvers need, with adze/functional.h.
 *
 *   jacobian  the Jacobians of 6-64-64-6 with tanh at 1 point, f64
 *   jacobians the same at 1,000 points
 *   jvp       the product of the Jacobian of 64-256-256-64 with tanh and a vector, batch 64, f32
 *   hvp       the product of the Hessian of the mlp row's loss with a vector, f32
 *   pinn      a step of a physics-informed network, 1-32-32-1 with tanh: u'' = -sin(pi x) at 1,000
 *             points, f32, Adam
 *   ode       the gradient of a neural ODE, 2-50-2 with tanh, by Dormand and Prince, 100 times, f64
 *   implicit  the gradient of an implicit layer: a root of 8 unknowns, batch 64, f64
 *   kepler    Kepler's equation for 8 bodies: six Newton steps and a loss with its gradient, some
 *             200 operations on 8 numbers, f64
 *
 * implicit is captured with as many iterations as its search makes outside of a plan.
 *
 * The Jacobians are compared with their products alone, in a plan; jvp is compared with the
 * forward, captured or not as it is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "start.h"
#include "steps.h"

typedef struct {
    adz_module *net;
    adz_tensor *x, *target, *v;
    adz_optimizer *adam;
    adz_tensor *(*compute)(void *user);
    int iterations; /* of an implicit layer in a plan, or 0 */
} derivatives;

static adz_tensor *apply(adz_tensor *x, void *net)
{
    return adz_module_forward(net, x);
}

static adz_tensor *jacobians(void *user)
{
    derivatives *d = user;
    return adz_jacobian_rows(apply, d->net, d->x, NULL);
}

/* The products of the forward and of six vjps, with other numbers in them. */
static adz_tensor *products(void *user)
{
    const derivatives *d = user;
    adz_tensor *w[3], *h = d->x;
    for (int i = 0; i < 3; ++i) {
        w[i] = adz_module_get_parameter(
            d->net, (const char *[]){ "0.weight", "2.weight", "4.weight" }[i]);
        h = adz_linear(h, w[i], ADZ_NONE);
    }
    for (int m = 0; m < 6; ++m) {
        adz_tensor *dy = adz_expand(adz_narrow(w[2], 0, m, 1),
            ADZ_SHAPE(adz_tensor_size(d->x, 0), 64)); /* a row of the last matrix is its vjp */
        h = adz_matmul(adz_matmul(dy, w[1]), w[0]);
    }
    return h;
}

static adz_tensor *tangents(void *user)
{
    derivatives *d = user;
    return adz_jvp(apply, d->net, d->x, d->v, NULL);
}

static adz_tensor *forward(void *user)
{
    derivatives *d = user;
    const bool before = adz_set_grad_enabled(false);
    adz_tensor *y = adz_module_forward(d->net, d->x);
    adz_set_grad_enabled(before);
    return y;
}

/* ---- the Hessian of a loss ------------------------------------------------------------------- */

static int loss_by_parameters(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    const derivatives *d = user;
    (void)n;
    adz_tensor *h = adz_relu(adz_linear(d->x, in[0], in[1]));
    out[0] = adz_mse_loss(adz_linear(h, in[2], in[3]), d->target, ADZ_REDUCE_MEAN);
    return out[0] != NULL;
}

static adz_tensor *hessian_product(void *user)
{
    derivatives *d = user;
    const adz_tensor_function f = { loss_by_parameters, d };
    adz_tensor_list p = adz_module_parameters(d->net);
    adz_tensor *found[4];
    return adz_hvp_many(&f, p.items, 4, p.items, NULL, found) == ADZ_OK ? found[0] : NULL;
}

/* ---- a physics-informed network -------------------------------------------------------------- */

static adz_tensor *derivative(adz_tensor *y, adz_tensor *x)
{
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    adz_tensor *ones = adz_ones_like(y), *dx = NULL;
    o.create_graph = true;
    return adz_autograd_grad(&y, &ones, 1, &x, 1, &o, &dx) == ADZ_OK ? dx : NULL;
}

static adz_tensor *residual(const derivatives *d)
{
    adz_tensor *du = derivative(adz_module_forward(d->net, d->x), d->x);
    return adz_mse_loss(derivative(du, d->x), d->target, ADZ_REDUCE_MEAN);
}

static adz_tensor *pinn_step(void *user)
{
    derivatives *d = user;
    adz_tensor *loss = residual(d);
    adz_backward(loss);
    adz_optimizer_step(d->adam);
    adz_optimizer_zero_grad(d->adam);
    return loss;
}

/* ---- solvers --------------------------------------------------------------------------------- */

/* The gradient of the mean square of `y` by the first weight, which stands for all parameters. */
static adz_tensor *pull(const derivatives *d, adz_tensor *y)
{
    adz_tensor *loss = adz_mean(adz_square(y), ADZ_ALL_DIMS, ADZ_DROPDIM), *found[4];
    adz_tensor_list p = adz_module_parameters(d->net);
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    return adz_autograd_grad(&loss, NULL, 1, p.items, p.count, &o, found) == ADZ_OK ? found[0]
                                                                                    : NULL;
}

static adz_tensor *slope(adz_tensor *t, adz_tensor *y, void *net)
{
    (void)t;
    return adz_module_forward(net, y);
}

static adz_tensor *ode_gradient(void *user)
{
    const derivatives *d = user;
    adz_tensor *times = adz_linspace(0, 10, 100, ADZ_F64);
    return pull(d, adz_odeint(slope, d->net, d->x, times, NULL, NULL));
}

static adz_tensor *layer(adz_tensor *z, void *user) /* 0.3 net(z) + x = z */
{
    const derivatives *d = user;
    return adz_sub(adz_add_scaled(d->x, adz_module_forward(d->net, z), 0.3), z);
}

static adz_tensor *implicit_gradient(void *user)
{
    derivatives *d = user;
    adz_root_options o = ADZ_ROOT_OPTIONS;
    o.rows = true;
    o.fixed_iterations = d->iterations;
    return pull(d, adz_root(layer, d, d->x, &o, NULL));
}

/* How many iterations the search needs. */
static int needed_iterations(derivatives *d)
{
    adz_root_options o = ADZ_ROOT_OPTIONS;
    adz_root_report report = { 0 };
    adz_scope *scope = adz_scope_open();
    o.rows = true;
    adz_root(layer, d, d->x, &o, &report);
    adz_scope_close(scope);
    return report.iterations;
}

/* The eccentricities are x[8] and the mean anomalies target[8]. The steps are written out. */
static adz_tensor *kepler_gradient(void *user)
{
    const derivatives *d = user;
    adz_tensor *e = d->target, *found;
    for (int i = 0; i < 6; ++i) {
        adz_tensor *f = adz_sub(adz_sub(e, adz_mul(d->x, adz_sin(e))), d->target);
        e = adz_sub(e, adz_div(f, adz_number_sub(1, adz_mul(d->x, adz_cos(e)))));
    }
    adz_tensor *loss = adz_sum(adz_square(adz_sub(adz_cos(e), d->x)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_tensor *x = d->x;
    return adz_autograd_grad(&loss, NULL, 1, &x, 1, NULL, &found) == ADZ_OK ? found : NULL;
}

static void make_solver(derivatives *d, const char *row)
{
    const bool ode = strcmp(row, "ode") == 0;
    if (strcmp(row, "kepler") == 0) {
        d->x = adz_keep(adz_mul_number(adz_rand(ADZ_SHAPE(8), ADZ_F64), 0.5));
        d->target = adz_keep(adz_mul_number(adz_rand(ADZ_SHAPE(8), ADZ_F64), 3));
        adz_requires_grad_(d->x, true);
        d->compute = kepler_gradient;
        return;
    }
    d->net = ADZ_SEQUENTIAL(adz_linear_new(ode ? 2 : 8, 50, NULL), adz_tanh_new(),
        adz_linear_new(50, ode ? 2 : 8, NULL));
    adz_module_to(d->net, ADZ_F64);
    d->x = adz_keep(adz_randn(ode ? ADZ_SHAPE(1, 2) : ADZ_SHAPE(64, 8), ADZ_F64));
    d->compute = ode ? ode_gradient : implicit_gradient;
}

/* ---- the rows -------------------------------------------------------------------------------- */

static void run_step(void *user)
{
    derivatives *d = user;
    adz_scope *scope = adz_scope_open();
    d->compute(d);
    adz_scope_close(scope);
}

static double first_value(derivatives *d)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *t = d->adam != NULL
                        ? residual(d)
                        : adz_mean(adz_square(d->compute(d)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    const double value = adz_item(t);
    adz_scope_close(scope);
    return value;
}

static bool make(derivatives *d, const char *row)
{
    const int points = strcmp(row, "jacobian") == 0 ? 1 : 1000;
    if (strncmp(row, "jacobian", 8) == 0) {
        d->net = ADZ_SEQUENTIAL(adz_linear_new(6, 64, NULL), adz_tanh_new(),
            adz_linear_new(64, 64, NULL), adz_tanh_new(), adz_linear_new(64, 6, NULL));
        adz_module_to(d->net, ADZ_F64);
        d->x = adz_keep(adz_randn(ADZ_SHAPE(points, 6), ADZ_F64));
        d->compute = jacobians;
    } else if (strcmp(row, "jvp") == 0) {
        d->net = ADZ_SEQUENTIAL(adz_linear_new(64, 256, NULL), adz_tanh_new(),
            adz_linear_new(256, 256, NULL), adz_tanh_new(), adz_linear_new(256, 64, NULL));
        d->x = adz_keep(adz_randn(ADZ_SHAPE(64, 64), ADZ_F32));
        d->v = adz_keep(adz_randn(ADZ_SHAPE(64, 64), ADZ_F32));
        d->compute = tangents;
    } else if (strcmp(row, "hvp") == 0) {
        d->net = ADZ_SEQUENTIAL(
            adz_linear_new(13, 50, NULL), adz_relu_new(), adz_linear_new(50, 1, NULL));
        d->x = adz_keep(adz_randn(ADZ_SHAPE(128, 13), ADZ_F32));
        d->target = adz_keep(adz_randn(ADZ_SHAPE(128, 1), ADZ_F32));
        d->compute = hessian_product;
    } else if (strcmp(row, "pinn") == 0) {
        d->net = ADZ_SEQUENTIAL(adz_linear_new(1, 32, NULL), adz_tanh_new(),
            adz_linear_new(32, 32, NULL), adz_tanh_new(), adz_linear_new(32, 1, NULL));
        d->x = adz_keep(adz_reshape(adz_linspace(0, 1, points, ADZ_F32), ADZ_SHAPE(points, 1)));
        d->target = adz_keep(adz_neg(adz_sin(adz_mul_number(d->x, 3.14159265358979))));
        adz_requires_grad_(d->x, true);
        d->adam = adz_adam_new(adz_module_parameters(d->net), 0.001, NULL);
        d->compute = pinn_step;
    } else if (strcmp(row, "ode") == 0 || strcmp(row, "implicit") == 0 ||
               strcmp(row, "kepler") == 0) {
        make_solver(d, row);
    } else {
        fprintf(stderr,
            "derivatives: no row \"%s\"; jacobian, jacobians, jvp, hvp, pinn, ode, implicit and kepler are there\n",
            row);
        return false;
    }
    return true;
}

int bench_derivatives(int argc, char **argv)
{
    step_options o;
    derivatives d = { NULL };
    if (argc < 1 || !read_step_options(argc - 1, argv + 1, &o) || !make(&d, argv[0])) {
        return EXIT_FAILURE;
    }
    const start_tensor start[] = { { "x", d.x },
        { d.v != NULL ? "v" : "target", d.v != NULL ? d.v : d.target } };
    save_start(o.start, d.net, start, start[1].tensor != NULL ? 2 : 1);
    d.iterations = o.captured && d.compute == implicit_gradient ? needed_iterations(&d) : 0;
    o.first_loss = first_value(&d);
    adz_set_num_threads((int)o.threads);
    adz_plan *plan = o.captured ? adz_plan_new(d.compute, &d, NULL) : NULL;
    derivatives least = d;
    least.compute = d.compute == jacobians ? products : d.compute == tangents ? forward : NULL;
    const bool captured = o.captured || least.compute == products;
    adz_plan *floor =
        least.compute != NULL && captured ? adz_plan_new(least.compute, &least, NULL) : NULL;
    const int status = run_step_rounds(argv[0], &o, plan != NULL ? run_plan : run_step,
        plan != NULL ? (void *)plan : &d,
        floor != NULL           ? run_plan
        : least.compute != NULL ? run_step
                                : NULL,
        floor != NULL ? (void *)floor : &least);
    adz_plan_free(&plan);
    adz_plan_free(&floor);
    adz_optimizer_release(&d.adam);
    adz_module_release(&d.net);
    adz_tensor **kept[] = { &d.x, &d.target, &d.v };
    for (int i = 0; i < 3; ++i) {
        adz_release(kept[i]);
    }
    return status;
}
