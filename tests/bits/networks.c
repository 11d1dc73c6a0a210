/* Networks that are large enough for tiles, packed panels and several threads, and schedules. */
#include "adze/zoo.h"
#include "bits.h"

#include "zoo/gpt2.h"
#include "optim/schedules/kinds.h"

enum { STEPS = 3 };

/* A network with its data, and how it is trained. */
typedef struct network {
    adz_module *module;
    adz_tensor *x;       /* the argument */
    adz_tensor *targets; /* classes of the rows of the result */
    adz_optimizer *optimizer;
    double largest_norm; /* of the gradients; 0: they are not clipped */
} network;

static adz_tensor_list parameters(const network *n)
{
    return adz_module_parameters(n->module);
}

static void take_step(hash *h, const network *n)
{
    adz_scope *scope = adz_scope_open();
    adz_optimizer_zero_grad(n->optimizer);
    adz_values *in = adz_values_new(), *out = adz_values_new();
    must(adz_values_add(in, NULL, n->x) == ADZ_OK, "an argument");
    must(adz_module_call(n->module, in, out) == ADZ_OK, adz_module_name(n->module));
    adz_tensor *y = adz_values_at(out, 0);
    const adz_shape shape = adz_tensor_shape(y);
    y = adz_reshape(y, ADZ_SHAPE(-1, shape.sizes[shape.rank - 1]));
    adz_tensor *loss = adz_cross_entropy(y, n->targets, ADZ_NONE, NULL);
    hash_tensor(h, loss);
    must(adz_backward(loss) == ADZ_OK, "backward");
    if (n->largest_norm > 0) {
        const double norm = adz_clip_grad_norm(parameters(n), n->largest_norm, 2);
        hash_bytes(h, &norm, sizeof norm);
    }
    must(adz_optimizer_step(n->optimizer) == ADZ_OK, "a step");
    adz_values_free(&in);
    adz_values_free(&out);
    adz_scope_close(scope);
}

/* Trains a network that was made by one of the functions below, and ends it. */
static void train(hash *h, network *n)
{
    must(n->module != NULL && n->optimizer != NULL, "a network");
    note_types(n->module);
    for (int t = 0; t < STEPS; ++t) {
        take_step(h, n);
    }
    adz_state_dict *state = adz_module_state_dict(n->module);
    for (size_t i = 0; i < adz_state_dict_count(state); ++i) {
        hash_tensor(h, adz_state_dict_at(state, i));
    }
    adz_state_dict_free(&state);
    adz_optimizer_release(&n->optimizer);
    adz_module_release(&n->module);
}

static adz_module *chain(adz_dtype dtype, adz_module *const *modules, size_t count)
{
    adz_module *module = adz_sequential_new(modules, count);
    must(module != NULL && adz_module_to(module, dtype) == ADZ_OK, "a chain of modules");
    return module;
}
#define CHAIN(dtype, ...)                              \
    chain(dtype, (adz_module *const[]){ __VA_ARGS__ }, \
        sizeof((adz_module *const[]){ __VA_ARGS__ }) / sizeof(adz_module *))

/* Rows that a Standardizer has scaled. */
static adz_tensor *standardized_rows(adz_dtype dtype)
{
    adz_tensor *x = adz_add_number(adz_randn(ADZ_SHAPE(130, 96), dtype), 3);
    adz_module *standardizer = adz_standardizer_new(96, dtype);
    must(adz_standardizer_fit(standardizer, x) == ADZ_OK, "a standardizer");
    covered("module", adz_module_name(standardizer));
    x = adz_module_forward(standardizer, x);
    adz_module_release(&standardizer);
    return x;
}

static void perceptron(hash *h, adz_dtype dtype, const void *user)
{
    (void)user;
    adz_fastai_bn_drop_lin_options bn = ADZ_FASTAI_BN_DROP_LIN_OPTIONS;
    network n = {
        .module = CHAIN(dtype, adz_linear_new(96, 300, NULL), adz_gelu_new(ADZ_GELU_NONE),
            adz_dropout_new(0.2, NULL), adz_linear_new(300, 130, NULL), adz_prelu_new(NULL),
            adz_fastai_bn_drop_lin_new(130, 70, &bn), adz_leaky_relu_new(0.1),
            adz_linear_new(70, 40, NULL), adz_sigmoid_new(), adz_linear_new(40, 10, NULL),
            adz_softmax_new(-1)),
        .x = standardized_rows(dtype),
        .targets = adz_randint(0, 10, ADZ_SHAPE(130), ADZ_I64),
        .largest_norm = 0.01,
    };
    n.optimizer = adz_adam_new(parameters(&n), 0.01, NULL);
    train(h, &n);
}

/* Activation functions that have no kernels in fused passes, between narrow layers. */
static void activations(hash *h, adz_dtype dtype, const void *user)
{
    (void)user;
    network n = {
        .module = CHAIN(dtype, adz_linear_new(21, 33, NULL), adz_hardtanh_new(-1, 2),
            adz_linear_new(33, 33, NULL), adz_relu6_new(), adz_linear_new(33, 33, NULL),
            adz_hardswish_new(), adz_linear_new(33, 33, NULL), adz_mish_new(),
            adz_linear_new(33, 33, NULL), adz_softsign_new(), adz_linear_new(33, 33, NULL),
            adz_selu_new(), adz_linear_new(33, 33, NULL), adz_celu_new(0.7),
            adz_linear_new(33, 10, NULL)),
        .x = adz_randn(ADZ_SHAPE(50, 21), dtype),
        .targets = adz_randint(0, 10, ADZ_SHAPE(50), ADZ_I64),
    };
    n.optimizer = adz_adam_new(parameters(&n), 0.01, NULL);
    train(h, &n);
}

/* Further ones. The slopes of RReLU are drawn. */
static void further_activations(hash *h, adz_dtype dtype, const void *user)
{
    (void)user;
    network n = {
        .module = CHAIN(dtype, adz_linear_new(21, 33, NULL), adz_elu_new(0.7),
            adz_linear_new(33, 33, NULL), adz_hardshrink_new(0.1), adz_linear_new(33, 33, NULL),
            adz_hardsigmoid_new(), adz_linear_new(33, 33, NULL), adz_logsigmoid_new(),
            adz_linear_new(33, 33, NULL), adz_rrelu_new(NULL), adz_linear_new(33, 33, NULL),
            adz_softplus_new(2, 3), adz_linear_new(33, 33, NULL), adz_softshrink_new(0.1),
            adz_linear_new(33, 33, NULL), adz_tanhshrink_new(), adz_linear_new(33, 34, NULL),
            adz_glu_new(-1), adz_threshold_new(0.05, -0.1), adz_softmin_new(-1),
            adz_unflatten_new(1, ADZ_SHAPE(17, 1, 1)), adz_softmax2d_new(), adz_flatten_new(1, -1),
            adz_linear_new(17, 10, NULL), adz_log_softmax_new(-1)),
        .x = adz_randn(ADZ_SHAPE(50, 21), dtype),
        .targets = adz_randint(0, 10, ADZ_SHAPE(50), ADZ_I64),
    };
    n.optimizer = adz_adam_new(parameters(&n), 0.01, NULL);
    train(h, &n);
}

static void images(hash *h, adz_dtype dtype, const void *user)
{
    (void)user;
    adz_conv_module_options conv = ADZ_CONV_MODULE_OPTIONS;
    conv.padding = ADZ_SHAPE(1, 1);
    network n = {
        .module = CHAIN(dtype, adz_conv2d_new(3, 16, ADZ_SHAPE(3, 3), &conv),
            adz_batch_norm2d_new(16, NULL), adz_relu_new(),
            adz_max_pool2d_new(ADZ_SHAPE(2, 2), NULL),
            adz_conv2d_new(16, 24, ADZ_SHAPE(3, 3), NULL), adz_relu_new(), adz_flatten_new(1, -1),
            adz_linear_new(24 * 6 * 6, 10, NULL)),
        .x = adz_randn(ADZ_SHAPE(9, 3, 16, 16), dtype),
        .targets = adz_randint(0, 10, ADZ_SHAPE(9), ADZ_I64),
    };
    adz_sgd_options sgd = ADZ_SGD_OPTIONS;
    sgd.momentum = 0.9;
    n.optimizer = adz_sgd_new(parameters(&n), 0.02, &sgd);
    train(h, &n);
}

static void text(hash *h, adz_dtype dtype, const void *user)
{
    (void)user;
    adz_gpt2_options o = ADZ_GPT2_OPTIONS;
    o.vocab_size = 70;
    o.n_positions = o.n_ctx = 40;
    o.n_embd = 48;
    o.n_layer = 2;
    o.n_head = 3;
    o.dtype = dtype;
    o.embd_pdrop = 0.1;
    network n = {
        .module = adz_gpt2_lm_head_model_new(&o),
        .x = adz_randint(0, 70, ADZ_SHAPE(4, 40), ADZ_I64),
        .targets = adz_randint(0, 70, ADZ_SHAPE(160), ADZ_I64),
        .largest_norm = 0.5,
    };
    n.optimizer = adz_adamw_new(parameters(&n), 0.003, NULL);
    train(h, &n);
}

static void recurrent(hash *h, adz_dtype dtype, adz_module *module)
{
    must(module != NULL && adz_module_to(module, dtype) == ADZ_OK, "a recurrent layer");
    network n = {
        .module = module,
        .x = adz_randn(ADZ_SHAPE(20, 9, 33), dtype),
        .targets = adz_randint(0, 45, ADZ_SHAPE(180), ADZ_I64),
    };
    n.optimizer = adz_rmsprop_new(parameters(&n), 0.003, NULL);
    train(h, &n);
}

static void sequences(hash *h, adz_dtype dtype, const void *user)
{
    (void)user;
    recurrent(h, dtype, adz_lstm_new(33, 45, NULL));
    recurrent(h, dtype, adz_gru_new(33, 45, NULL));
}

/* ---- steps with a closure -------------------------------------------------------------------- */

/* The residuals of a network, or the loss of them. */
typedef struct {
    adz_module *module;
    adz_tensor *x, *y;
    adz_optimizer *optimizer;
} fit;

static adz_tensor *fit_residuals(void *user)
{
    fit *f = user;
    return adz_sub(adz_module_forward(f->module, f->x), f->y);
}

static adz_tensor *fit_loss(void *user)
{
    fit *f = user;
    adz_optimizer_zero_grad(f->optimizer);
    adz_tensor *loss = adz_mean(adz_square(fit_residuals(f)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    return adz_backward(loss) == ADZ_OK ? loss : NULL;
}

static void closures(hash *h, adz_dtype dtype, const void *user)
{
    (void)user;
    for (int lm = 0; lm < 2; ++lm) {
        fit f = { .module = CHAIN(dtype, adz_linear_new(3, 40, NULL), adz_tanh_new(),
                      adz_linear_new(40, 1, NULL)),
            .x = adz_randn(ADZ_SHAPE(270, 3), dtype),
            .y = adz_randn(ADZ_SHAPE(270, 1), dtype) };
        adz_lbfgs_options options = ADZ_LBFGS_OPTIONS;
        options.strong_wolfe = true;
        options.max_iter = 10;
        const adz_tensor_list all = adz_module_parameters(f.module);
        f.optimizer =
            lm ? adz_levenberg_marquardt_new(all, 1, NULL) : adz_lbfgs_new(all, 1, &options);
        adz_optimizer_set(f.optimizer, 0, "max_iter", lm ? 4 : 10);
        covered("optimizer", adz_optimizer_name(f.optimizer));
        for (int step = 0; step < 2; ++step) {
            double loss = 0;
            must(adz_optimizer_step_closure(
                     f.optimizer, lm ? fit_residuals : fit_loss, &f, &loss) == ADZ_OK,
                "a step with a closure");
            hash_bytes(h, &loss, sizeof loss);
        }
        for (size_t i = 0; i < all.count; ++i) {
            hash_tensor(h, all.items[i]);
        }
        adz_optimizer_release(&f.optimizer);
        adz_module_release(&f.module);
    }
}

/* ---- schedules ------------------------------------------------------------------------------- */

static void schedules_of(hash *h, adz_dtype dtype, int first, int end)
{
    for (int kind = first; kind < end; ++kind) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *w = adz_requires_grad_(adz_randn(ADZ_SHAPE(7), dtype), true);
        adz_optimizer *optimizer = adz_sgd_new(adz_tensor_list_of(&w, 1), 0.1, NULL);
        adz_scheduler *scheduler = make(kind, optimizer);
        must(scheduler != NULL, "a scheduler");
        covered("scheduler", adz_scheduler_name(scheduler));
        for (int t = 0; t < 12; ++t) {
            adz_optimizer_zero_grad(optimizer);
            must(adz_backward(adz_sum(adz_square(w), ADZ_ALL_DIMS, ADZ_DROPDIM)) == ADZ_OK &&
                     adz_optimizer_step(optimizer) == ADZ_OK && go_on(scheduler, kind, t) == ADZ_OK,
                "a scheduled step");
            const double lr = adz_scheduler_last_lr(scheduler, 0);
            hash_bytes(h, &lr, sizeof lr);
        }
        hash_tensor(h, w);
        adz_scheduler_release(&scheduler);
        adz_optimizer_release(&optimizer);
        adz_scope_close(scope);
    }
}

static void schedules(hash *h, adz_dtype dtype, const void *user)
{
    (void)user;
    schedules_of(h, dtype, 0, FIRST_KINDS);
}

static void further_schedules(hash *h, adz_dtype dtype, const void *user)
{
    (void)user;
    schedules_of(h, dtype, FIRST_KINDS, KINDS);
}

static void with_scope(hash *h, adz_dtype dtype, const void *user)
{
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(21);
    (*(const row_function *)user)(h, dtype, NULL);
    adz_scope_close(scope);
}

void network_rows(void)
{
    static const struct {
        const char *name;
        row_function run;
    } rows[] = { { "perceptron", perceptron }, { "activations", activations }, { "images", images },
        { "text", text }, { "sequences", sequences }, { "closures", closures },
        { "schedules", schedules }, { "further_schedules", further_schedules },
        { "further_activations", further_activations } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        row("networks", rows[i].name, with_scope, &rows[i].run);
    }
}
