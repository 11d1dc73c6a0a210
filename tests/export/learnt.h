/* Compiled files whose functions learn, and learners of the library that do the same. */
#ifndef ADZE_TESTS_EXPORT_LEARNT_H
#define ADZE_TESTS_EXPORT_LEARNT_H

#include <ctype.h>

#define C_LEVEL "-O0"
#include "../optim/optimizers/cases.h"
#include "c99/side_by_side.h"

enum { BATCH = 6, FEATURES = 3, MOST_BYTES = 1 << 15 };

/* ---- a device -------------------------------------------------------------------------------- */

/* The functions of a compiled file. */
typedef struct device {
    compiled c;
    void (*get)(unsigned char *file);
    int (*set)(const unsigned char *file, unsigned long bytes);
    unsigned long bytes;
    unsigned char file[MOST_BYTES]; /* what `get` has written */
} device;

/* A float of a file, which is a double in a file of doubles. */
typedef union {
    float f32;
    double f64;
} real;

static inline const char *text_of(const char *name)
{
    static char text[1 << 17];
    FILE *file = fopen(temporary_path(name), "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* The functions of the file NAME.c. `ending` is that of the functions of another optimizer. */
static inline device device_named(compiled c, const char *file, const char *ending)
{
    device d = { .c = c };
    char name[120], upper[40] = "";
    snprintf(name, sizeof name, "%s_weights_get%s", file, ending);
    *(void **)(void *)&d.get = dlsym(d.c.library, name);
    snprintf(name, sizeof name, "%s_weights_set%s", file, ending);
    *(void **)(void *)&d.set = dlsym(d.c.library, name);
    assert_non_null(*(void **)(void *)&d.get);
    assert_non_null(*(void **)(void *)&d.set);
    for (size_t i = 0; file[i] != '\0' && i < sizeof upper - 1; ++i) {
        upper[i] = (char)toupper((unsigned char)file[i]);
    }
    snprintf(name, sizeof name, "%s_WEIGHTS_FILE%s_BYTES ", upper, ending);
    char header[60];
    snprintf(header, sizeof header, "%s.h", file);
    const char *at = strstr(text_of(header), name);
    assert_non_null(at);
    d.bytes = strtoul(at + strlen(name), NULL, 10);
    assert_true(d.bytes > 0 && d.bytes <= MOST_BYTES);
    return d;
}

static inline device device_of(compiled c, const char *ending)
{
    return device_named(c, "sent", ending);
}

/* ---- networks -------------------------------------------------------------------------------- */

/* A network with its optimizer, here or as the one that is written. */
typedef struct learner {
    c_network network;
    training training;
    adz_tensor *target;
} learner;

static inline void fill_from(adz_tensor *t, int seed)
{
    double x[64];
    const int64_t n = adz_tensor_numel(t);
    assert_true(n <= 64);
    for (int64_t i = 0; i < n; ++i) {
        x[i] = (double)((i * (seed + 3)) % 11 - 5) / 4;
    }
    adz_copy_(t, adz_reshape(adz_tensor_from(x, ADZ_SHAPE(n), ADZ_F64), adz_tensor_shape(t)));
}

static inline adz_dtype dtype_of(adz_module *net)
{
    return adz_tensor_dtype(adz_module_parameters(net).items[0]);
}

/* The tensors belong to the scope of the caller. */
static inline learner learner_of(adz_module *net, adz_optimizer *optimizer)
{
    adz_module_eval(net);
    learner l = { .network = of(net, adz_zeros(ADZ_SHAPE(BATCH, FEATURES), dtype_of(net))),
        .training = { .optimizer = optimizer, .loss = MSE, .batches = 1 } };
    fill_from(l.network.in[0], 1);
    l.target = target_like(&l.network, &l.training);
    fill_from(l.target, 2);
    return l;
}

static inline void end_learner(learner *l)
{
    adz_optimizer_release(&l->training.optimizer);
    adz_module_release(&l->network.module);
}

static inline adz_module *new_network(int seed)
{
    adz_manual_seed((uint64_t)seed);
    return ADZ_SEQUENTIAL(adz_linear_new(FEATURES, 5, NULL), adz_batch_norm1d_new(5, NULL),
        adz_tanh_new(), adz_linear_new(5, 2, NULL));
}

static inline void step_here(learner *l)
{
    adz_scope *scope = adz_scope_open();
    training_step step = { &l->network, &l->training, l->target };
    if (step_of(&step) == NULL) {
        fail_msg("%s", adz_error_message());
    }
    adz_scope_close(scope);
}

static inline void step_there(const device *d, const learner *l)
{
    real loss;
    d->c.step(adz_tensor_data(l->network.in[0]), adz_tensor_data(l->target), &loss);
}

static inline void expect_same(const device *d, learner *l, const char *when)
{
    adz_scope *scope = adz_scope_open();
    const double apart = difference(&d->c, &l->network, 1);
    if (!(apart <= (dtype_of(l->network.module) == ADZ_F64 ? 1e-13 : 1e-5))) {
        fail_msg("%s %s: the predictions differ by %g", adz_optimizer_name(l->training.optimizer),
            when, apart);
    }
    adz_scope_close(scope);
}

/* Writes a learner as NAME.c, with libm where its optimizer needs it. Returns whether it does. */
static inline bool write_learner(learner *l, const char *name, const adz_c_options *options)
{
    adz_c_options o = *options;
    o.precision = dtype_of(l->network.module);
    if (write_training(&l->network, &l->training, name, &o) != ADZ_OK) {
        expect_error(ADZ_ERR_UNSUPPORTED, "needs cos of the mathematical library");
        o.libm = true;
        assert_int_equal(write_training(&l->network, &l->training, name, &o), ADZ_OK);
    }
    return o.libm;
}

static inline device send(learner *l)
{
    const adz_c_options o = ADZ_C_OPTIONS;
    const bool libm = write_learner(l, "sent.c", &o);
    return device_of(compile("sent", libm), "");
}

/* ---- files ----------------------------------------------------------------------------------- */

static inline adz_status load_into(learner *l, device *d)
{
    FILE *file = fopen(temporary_path("home"), "wb");
    assert_non_null(file);
    d->get(d->file);
    assert_int_equal(fwrite(d->file, 1, d->bytes, file), d->bytes);
    fclose(file);
    adz_checkpoint run = ADZ_CHECKPOINT;
    run.model = l->network.module;
    run.optimizer = l->training.optimizer;
    return adz_checkpoint_load(&run, temporary_path("home"));
}

static inline void bring_home(learner *l, device *d)
{
    if (load_into(l, d) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
    expect_same(d, l, "at home");
}

/* Reads what the library has saved; returns its size. */
static unsigned long save_here(const learner *l, unsigned char *bytes)
{
    adz_checkpoint run = ADZ_CHECKPOINT;
    run.model = l->network.module;
    run.optimizer = l->training.optimizer;
    run.epoch = 12;
    assert_int_equal(adz_checkpoint_save(&run, temporary_path("here")), ADZ_OK);
    FILE *file = fopen(temporary_path("here"), "rb");
    assert_non_null(file);
    const size_t n = fread(bytes, 1, MOST_BYTES, file);
    fclose(file);
    assert_true(n < MOST_BYTES);
    return (unsigned long)n;
}

static inline int send_file(device *d, const learner *l)
{
    static unsigned char bytes[MOST_BYTES];
    const unsigned long n = save_here(l, bytes);
    return d->set(bytes, n);
}

/* Both make steps, and predict the same. */
static inline void step_both(const device *d, learner *l, int steps, const char *when)
{
    for (int i = 0; i < steps; ++i) {
        step_there(d, l);
        step_here(l);
    }
    expect_same(d, l, when);
}

/* ---- both ways ------------------------------------------------------------------------------- */

typedef adz_optimizer *make_optimizer(adz_tensor_list parameters);

/* Three learners of one optimizer: the first one is written. */
static inline void begin_learners(learner l[3], make_optimizer *make, adz_dtype dtype)
{
    for (int i = 0; i < 3; ++i) {
        adz_module *net = adz_linear_new(FEATURES, 2, NULL);
        assert_int_equal(adz_module_to(net, dtype), ADZ_OK);
        l[i] = learner_of(net, make(adz_module_parameters(net)));
    }
}

static inline void end_learners(learner l[3])
{
    for (int i = 0; i < 3; ++i) {
        end_learner(&l[i]);
    }
}

/* The library goes on as the device does, after no step, one and some. Then the device goes on from
 * what the library has saved: after steps, and before the first one. */
static inline void check_both_ways(device *d, learner l[3])
{
    for (int round = 0; round < 3; ++round) {
        bring_home(&l[1], d);
        step_both(d, &l[1], 1 + round, "after a step at home");
    }
    step_here(&l[1]);
    step_here(&l[1]);
    assert_int_equal(send_file(d, &l[1]), 0);
    step_both(d, &l[1], 2, "after what the library has saved");
    assert_int_equal(send_file(d, &l[2]), 0);
    step_both(d, &l[2], 2, "after a file without steps");
    bring_home(&l[1], d);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static inline void expect_refused(
    device *d, const unsigned char *file, unsigned long bytes, int code)
{
    static unsigned char now[MOST_BYTES];
    assert_int_equal(d->set(file, bytes), code);
    d->get(now);
    assert_memory_equal(now, d->file, d->bytes);
}

/* Where the elements of a tensor begin in the device's file. */
static inline unsigned long offset_of(const device *d, const char *name)
{
    char key[80], text[MOST_BYTES];
    const unsigned long length = (unsigned long)(d->file[0] + 256 * d->file[1]);
    memcpy(text, d->file + 8, length);
    text[length] = '\0';
    snprintf(key, sizeof key, "\"%s\":{", name);
    const char *at = strstr(text, key);
    assert_non_null(at);
    return 8 + length + strtoul(strstr(at, "data_offsets\":[") + 15, NULL, 10);
}

#endif
