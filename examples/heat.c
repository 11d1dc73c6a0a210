/* Finds the conductivity of a rod from 20 noisy measurements of its temperature. The heat equation
 * is discretised in space and solved in time by adz_odeint, whose gradient says how the
 * measurements depend on the conductivity. */
#include <math.h>
#include <stdio.h>

#include <adze/adze.h>

#include "shared/about.h"
#include "shared/chart.h"
#include "shared/command_line.h"

const char program_name[] = "heat"; /* for messages about the picture */

enum { POINTS = 19, TIMES = 6, SENSORS = 4 }; /* the ends of the rod are no points */
static const double length = 1, conductivity = 0.12, noise = 0.01;
static const int64_t sensors[SENSORS] = { 2, 6, 11, 16 }; /* indices of points */

static double position(int64_t point)
{
    return length * (double)(point + 1) / (POINTS + 1);
}

/* The exact solution that is sin(pi x) + sin(3 pi x) / 2 at the begin, with cold ends. */
static double exact(double x, double t)
{
    const double pi = acos(-1), rate = conductivity * pi * pi;
    return exp(-rate * t) * sin(pi * x) + exp(-9 * rate * t) * sin(3 * pi * x) / 2;
}

/* du/dt = k d2u/dx2. The arguments are the time, u[POINTS] and log k. */
static int heat(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    const int64_t ends[] = { 1, 1 };
    const double step = length / (POINTS + 1);
    (void)n;
    (void)user;
    adz_tensor *rod = adz_pad(in[1], ends, 2, 0); /* the ends have the temperature 0 */
    adz_tensor *sides = adz_add(adz_narrow(rod, 0, 0, POINTS), adz_narrow(rod, 0, 2, POINTS));
    adz_tensor *curvature = adz_sub_scaled(sides, in[1], 2);
    out[0] = adz_mul(adz_mul_number(curvature, 1 / (step * step)), adz_exp(in[2]));
    return out[0] != NULL;
}

/* The temperatures u[TIMES, POINTS]. Short waves decay much faster than long ones, so the equation
 * is stiff. */
static adz_tensor *solve(adz_tensor *log_k, adz_tensor *start, adz_tensor *times)
{
    const adz_tensor_function f = { heat, NULL };
    adz_ode_options o = ADZ_ODE_OPTIONS;
    o.method = ADZ_ODE_RODAS4;
    o.rtol = o.atol = 1e-5;
    return adz_odeint_many(&f, start, times, &log_k, 1, &o, NULL);
}

/* What the sensors measure after the begin, [(TIMES - 1) * SENSORS]. */
static adz_tensor *predicted(adz_tensor *log_k, void *start_and_times)
{
    adz_tensor *const *given = start_and_times;
    adz_tensor *u = adz_narrow(solve(log_k, given[0], given[1]), 0, 1, TIMES - 1);
    adz_tensor *where = adz_tensor_from(sensors, ADZ_SHAPE(SENSORS), ADZ_I64);
    return adz_flatten(adz_index_select(u, 1, where), 0, -1);
}

/* Draws the fitted solution as lines and the exact one as points. */
static void draw(const char *path, adz_tensor *u, adz_tensor *times)
{
    static const char *const colors[TIMES] = { "#d62728", "#ff7f0e", "#bcbd22", "#2ca02c",
        "#1f77b4", "#9467bd" };
    double x[POINTS], fitted[TIMES][POINTS], truth[TIMES][POINTS];
    char titles[TIMES][32];
    layer layers[2 * TIMES];
    for (int i = 0; i < TIMES; ++i) {
        const double t = adz_tensor_at(times, (int64_t[]){ i });
        for (int p = 0; p < POINTS; ++p) {
            x[p] = position(p);
            fitted[i][p] = adz_tensor_at(u, (int64_t[]){ i, p });
            truth[i][p] = p % 2 == 0 ? exact(position(p), t) : NAN; /* NaN leaves the point out */
        }
        snprintf(titles[i], sizeof titles[i], "t = %.1f", t);
        layers[i] = (layer){ LAYER_LINE, .title = titles[i], .color = colors[i], .count = POINTS,
            .x = x, .y = fitted[i] };
        layers[TIMES + i] = (layer){ LAYER_POINTS, .title = i == 0 ? "exact" : NULL,
            .color = colors[i], .size = 6, .hollow = true, .count = POINTS, .x = x, .y = truth[i] };
    }
    const panel rod = { .x = { .label = "position", .low = 0, .high = length },
        .y = { .label = "temperature" },
        .layers = layers,
        .count = 2 * TIMES };
    draw_chart(path, "the rod", &rod, 1, 640, 400);
}

static const char help[] =
    "Finds the conductivity of a rod from 20 noisy measurements of its temperature.\n"
    "\n"
    "usage: heat [PICTURE.svg]\n";

int main(int argc, char **argv)
{
    begin_program("heat", argc, argv, 1, help);
    double first[POINTS], measured[TIMES - 1][SENSORS];
    if (argc > 1) {
        check_plot_path(argv[1]);
    }
    adz_on_error(adz_die, NULL); /* the first call that fails ends the program */
    adz_manual_seed(3);
    adz_tensor *times = adz_linspace(0, 1, TIMES, ADZ_F64);
    adz_tensor *errors = adz_mul_number(adz_randn(ADZ_SHAPE(TIMES, POINTS), ADZ_F64), noise);
    for (int p = 0; p < POINTS; ++p) {
        first[p] = exact(position(p), 0);
    }
    for (int i = 1; i < TIMES; ++i) {
        for (int s = 0; s < SENSORS; ++s) {
            const double t = adz_tensor_at(times, (int64_t[]){ i });
            measured[i - 1][s] =
                exact(position(sensors[s]), t) + adz_tensor_at(errors, (int64_t[]){ i, s });
        }
    }
    adz_tensor *start = adz_tensor_from(first, ADZ_SHAPE(POINTS), ADZ_F64);
    adz_tensor *data = adz_tensor_from(measured, ADZ_SHAPE((TIMES - 1) * SENSORS), ADZ_F64);
    adz_tensor *given[] = { start, times };
    adz_tensor *log_k = adz_full(ADZ_SHAPE(1), log(0.5), ADZ_F64);
    /* Gauss and Newton's method: each step solves the linearised least squares problem. */
    for (int step = 0; step < 4; ++step) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *u;
        adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
        o.mode = ADZ_JACOBIAN_REVERSE;
        o.results = &u;
        adz_tensor *j = adz_jacobian(predicted, given, log_k, &o);
        adz_tensor *rest = adz_sub(data, u);
        printf("step %d  error %.5f  conductivity %.4f\n", step,
            adz_item(adz_std(rest, ADZ_ALL_DIMS, 0, ADZ_DROPDIM)), exp(adz_item(log_k)));
        adz_add_(log_k, adz_flatten(adz_lstsq(j, adz_unsqueeze(rest, 1)), 0, -1));
        adz_scope_close(scope);
    }
    const double found = exp(adz_item(log_k));
    printf("conductivity %.4f, in truth %.4f\n", found, conductivity);
    if (argc > 1) {
        draw(argv[1], solve(log_k, start, times), times);
    }
    const int code = finish_output(); /* 1 if the picture could not be written */
    return fabs(found / conductivity - 1) < 0.03 ? code : 1;
}
