/* adze's side of the exchange with PyTorch.
 *
 *     adze_side start OPTIMIZER DTYPE FOLDER     trains; writes data, weights and a checkpoint
 *     adze_side go-on OPTIMIZER DTYPE FOLDER     reads what PyTorch has written there
 *
 * Both write FOLDER/adze.safetensors: the outputs `y`, and after one more step `y_next` and the
 * parameters as `next.<name>`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adze/adze.h"

enum { ROWS = 16, IN = 6, WIDTH = 8, OUT = 3, STEPS = 7 };

static const char *folder;

static void die(adz_status code, const char *message, void *user)
{
    (void)code;
    (void)user;
    fprintf(stderr, "%s\n", message);
    exit(EXIT_FAILURE);
}

static const char *in_folder(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static adz_module *make_model(adz_dtype dtype)
{
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.activation = ADZ_ACTIVATION_GELU;
    o.is_gated = true;
    o.bias_gate = false;
    o.dropout = 0;
    /* Stored once, under two names. */
    adz_module *tied = adz_linear_new(WIDTH, WIDTH, NULL);
    adz_module *m = ADZ_SEQUENTIAL(adz_linear_new(IN, WIDTH, NULL), tied, adz_relu_new(),
        adz_module_keep(tied), adz_feed_forward_new(WIDTH, 2 * WIDTH, &o),
        adz_layer_norm_new(ADZ_SHAPE(WIDTH), NULL), adz_linear_new(WIDTH, OUT, NULL));
    adz_module_to(m, dtype);
    return m;
}

/* The settings stand in test_exchange.py too. */
static adz_optimizer *make_optimizer(const char *name, adz_module *m)
{
    adz_tensor_list list = adz_module_parameters(m);
    adz_optimizer *o = strcmp(name, "SGD") == 0       ? adz_sgd_new(list, 0.05, NULL)
                       : strcmp(name, "Adam") == 0    ? adz_adam_new(list, 0.01, NULL)
                       : strcmp(name, "AdamW") == 0   ? adz_adamw_new(list, 0.01, NULL)
                       : strcmp(name, "RMSprop") == 0 ? adz_rmsprop_new(list, 0.005, NULL)
                       : strcmp(name, "Adagrad") == 0 ? adz_adagrad_new(list, 0.05, NULL)
                       : strcmp(name, "RAdam") == 0   ? adz_radam_new(list, 0.01, NULL)
                                                      : NULL;
    if (strcmp(name, "SGD") == 0) {
        adz_optimizer_set(o, 0, "momentum", 0.9);
        adz_optimizer_set(o, 0, "nesterov", 1);
        adz_optimizer_set(o, 0, "weight_decay", 0.01);
    } else if (strcmp(name, "Adam") == 0) {
        adz_optimizer_set(o, 0, "amsgrad", 1);
        adz_optimizer_set(o, 0, "beta1", 0.8);
        adz_optimizer_set(o, 0, "weight_decay", 0.01);
    } else if (strcmp(name, "RMSprop") == 0) {
        adz_optimizer_set(o, 0, "momentum", 0.5);
        adz_optimizer_set(o, 0, "centered", 1);
    }
    return o;
}

static void step(adz_module *m, adz_optimizer *o, adz_tensor *x, adz_tensor *target)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *loss = adz_mse_loss(adz_module_forward(m, x), target, ADZ_REDUCE_MEAN);
    adz_optimizer_zero_grad(o);
    adz_backward(loss);
    adz_optimizer_step(o);
    adz_scope_close(scope);
}

/* Outputs, one more step, outputs again. */
static void report(adz_module *m, adz_optimizer *o, adz_tensor *x, adz_tensor *target)
{
    adz_safetensors *file = adz_safetensors_new();
    adz_safetensors_add(file, "y", adz_detach(adz_module_forward(m, x)));
    step(m, o, x, target);
    adz_safetensors_add(file, "y_next", adz_detach(adz_module_forward(m, x)));
    adz_named_list named = adz_module_named_parameters(m);
    for (size_t i = 0; i < named.count; ++i) {
        char name[200];
        snprintf(name, sizeof name, "next.%s", named.items[i].name);
        adz_safetensors_add(file, name, named.items[i].tensor);
    }
    adz_safetensors_save(file, in_folder("adze.safetensors"));
    adz_safetensors_free(&file);
}

static adz_checkpoint parts_of(adz_module *m, adz_optimizer *o)
{
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.model = m;
    c.optimizer = o;
    return c;
}

static void start(adz_module *m, adz_optimizer *o, adz_dtype dtype)
{
    adz_tensor *x = adz_randn(ADZ_SHAPE(ROWS, IN), dtype);
    adz_tensor *target = adz_randn(ADZ_SHAPE(ROWS, OUT), dtype);
    for (int i = 0; i < STEPS; ++i) {
        step(m, o, x, target);
    }
    adz_safetensors *data = adz_safetensors_new();
    adz_safetensors_add(data, "x", x);
    adz_safetensors_add(data, "target", target);
    adz_safetensors_save(data, in_folder("data.safetensors"));
    adz_safetensors_free(&data);
    adz_module_save(m, in_folder("weights.safetensors"));
    adz_checkpoint c = parts_of(m, o);
    c.epoch = 2;
    c.step = STEPS;
    adz_checkpoint_save(&c, in_folder("run.safetensors"));
    report(m, o, x, target);
}

/* The weights alone give what the checkpoint gives. */
static void check_weights(const adz_module *from_run, adz_dtype dtype, adz_tensor *x)
{
    adz_module *other = make_model(dtype);
    adz_module_load(other, in_folder("weights.safetensors"), true);
    adz_tensor *one = adz_module_forward(other, x);
    if (!adz_equal(one, adz_module_forward((adz_module *)from_run, x))) {
        die(ADZ_ERR_STATE, "weights.safetensors and run.safetensors differ", NULL);
    }
    adz_module_release(&other);
}

static void go_on(adz_module *m, adz_optimizer *o, adz_dtype dtype)
{
    adz_safetensors *data = adz_safetensors_load(in_folder("data.safetensors"), NULL);
    adz_tensor *x = adz_safetensors_get(data, "x");
    adz_tensor *target = adz_safetensors_get(data, "target");
    adz_checkpoint c = parts_of(m, o);
    adz_checkpoint_load(&c, in_folder("run.safetensors"));
    if (c.epoch != 2 || c.step != STEPS) {
        die(ADZ_ERR_STATE, "the checkpoint's epoch and step are not 2 and 7", NULL);
    }
    check_weights(m, dtype, x);
    report(m, o, x, target);
    adz_safetensors_free(&data);
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: adze_side start|go-on OPTIMIZER f32|f64 FOLDER\n");
        return 2;
    }
    adz_on_error(die, NULL);
    adz_manual_seed(7);
    adz_dtype dtype = strcmp(argv[3], "f64") == 0 ? ADZ_F64 : ADZ_F32;
    folder = argv[4];
    adz_scope *scope = adz_scope_open();
    adz_module *m = make_model(dtype);
    adz_optimizer *o = make_optimizer(argv[2], m);
    if (strcmp(argv[1], "start") == 0) {
        start(m, o, dtype);
    } else {
        go_on(m, o, dtype);
    }
    adz_optimizer_release(&o);
    adz_module_release(&m);
    adz_scope_close(scope);
    return EXIT_SUCCESS;
}
