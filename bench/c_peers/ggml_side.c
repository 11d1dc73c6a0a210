/* A training step of Linear, ReLU, Linear with mean squared error and SGD in ggml, with a static
 * graph (ggml-opt.h). OpenBLAS computes the products. */
#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-blas.h"
#include "ggml-cpu.h"
#include "ggml-opt.h"
#include "ggml.h"
#include "side.h"

typedef struct network {
    const side *s;
    ggml_opt_context_t opt;
    ggml_opt_result_t result;
} network;

static struct ggml_opt_optimizer_params sgd(void *user)
{
    struct ggml_opt_optimizer_params p = ggml_opt_get_default_optimizer_params(user);
    p.sgd.alpha = 1e-3f;
    p.sgd.wd = 0;
    return p;
}

static void run(network *n, bool backward)
{
    ggml_opt_alloc(n->opt, backward);
    ggml_backend_tensor_set(
        ggml_opt_labels(n->opt), n->s->target, 0, ggml_nbytes(ggml_opt_labels(n->opt)));
    ggml_opt_eval(n->opt, n->result);
}

static double loss(void *user)
{
    network *n = user;
    double mean = 0;
    ggml_opt_result_reset(n->result);
    run(n, false);
    ggml_opt_result_loss(n->result, &mean, NULL);
    return mean;
}

static void step(void *user)
{
    run(user, true);
}

static struct ggml_tensor *parameter(struct ggml_context *context, int64_t in, int64_t out)
{
    struct ggml_tensor *t = in > 0 ? ggml_new_tensor_2d(context, GGML_TYPE_F32, in, out)
                                   : ggml_new_tensor_1d(context, GGML_TYPE_F32, out);
    ggml_set_param(t);
    return t;
}

int main(int argc, char **argv)
{
    const side s = side_begin(argc, argv);
    ggml_backend_t backends[] = { ggml_backend_blas_init(), ggml_backend_cpu_init() };
    ggml_backend_blas_set_n_threads(backends[0], s.threads);
    ggml_backend_cpu_set_n_threads(backends[1], s.threads);
    const size_t nodes = GGML_DEFAULT_GRAPH_SIZE;
    ggml_backend_sched_t sched = ggml_backend_sched_new(backends, NULL, 2, nodes, false, true);
    struct ggml_context *fixed =
        ggml_init((struct ggml_init_params){ 16 * ggml_tensor_overhead(), NULL, true });
    struct ggml_context *compute = ggml_init((struct ggml_init_params){
        nodes * ggml_tensor_overhead() + 3 * ggml_graph_overhead(), NULL, true });
    struct ggml_tensor *w1 = parameter(fixed, s.in, s.hidden), *b1 = parameter(fixed, 0, s.hidden);
    struct ggml_tensor *w2 = parameter(fixed, s.hidden, s.out), *b2 = parameter(fixed, 0, s.out);
    struct ggml_tensor *x = ggml_new_tensor_2d(fixed, GGML_TYPE_F32, s.in, s.rows);
    ggml_set_input(x);
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(fixed, backends[1]);
    struct ggml_tensor *tensors[] = { w1, b1, w2, b2, x };
    const float *parts[] = { s.w1, s.b1, s.w2, s.b2, s.x };
    for (int i = 0; i < 5; ++i) {
        ggml_backend_tensor_set(tensors[i], parts[i], 0, ggml_nbytes(tensors[i]));
    }
    struct ggml_tensor *h = ggml_relu(compute, ggml_add(compute, ggml_mul_mat(compute, w1, x), b1));
    struct ggml_tensor *y = ggml_add(compute, ggml_mul_mat(compute, w2, h), b2);
    ggml_set_output(y);
    struct ggml_opt_params params =
        ggml_opt_default_params(sched, GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR);
    params.ctx_compute = compute;
    params.inputs = x;
    params.outputs = y;
    params.optimizer = GGML_OPT_OPTIMIZER_TYPE_SGD;
    params.get_opt_pars = sgd;
    network n = { &s, ggml_opt_init(params), ggml_opt_result_init() };
    side_answer(&s, step, loss, &n);
    ggml_opt_result_free(n.result);
    ggml_opt_free(n.opt);
    ggml_backend_buffer_free(buffer);
    ggml_backend_sched_free(sched);
    return 0;
}
