/* Compiled files whose functions learn, and learners of the library that do the same. */
#ifndef ADZE_TESTS_EXPORT_LEARNT_H
#define ADZE_TESTS_EXPORT_LEARNT_H

#define C_LEVEL "-O0"
#include "../optim/optimizers/cases.h"
#include "c99/side_by_side.h"

enum { BATCH = 6, FEATURES = 3, MOST_BYTES = 1 << 15 };

/* ---- a device ---------------------------------------------------------------------------------
 */

/* The functions of a compiled file. */
typedef struct device {
    compiled c;
    void (*get)(unsigned char *file);
    int (*set)(const unsigned char *file, unsigned long bytes);
    unsigned long bytes;
    unsigned char file[MOST_BYTES]; /* what `get` has written */
} device;

static inline const char *text_of(const char *name)
{
    static char text[1 << 17];
    FILE *file = fopen(temporary_path(name), "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* `ending` is that of the functions of another optimizer. */
static inline device device_of(compiled c, const char *ending)
{
    device d = { .c = c };
    char name[80];
    snprintf(name, sizeof name, "sent_weights_get%s", ending);
    *(void **)(void *)&d.get = dlsym(d.c.library, name);
    snprintf(name, sizeof name, "sent_weights_set%s", ending);
    *(void **)(void *)&d.set = dlsym(d.c.library, name);
    assert_non_null(*(void **)(void *)&d.get);
    assert_non_null(*(void **)(void *)&d.set);
    snprintf(name, sizeof name, "SENT_WEIGHTS_FILE%s_BYTES ", ending);
    const char *at = strstr(text_of("sent.h"), name);
    assert_non_null(at);
    d.bytes = strtoul(at + strlen(name), NULL, 10);
    assert_true(d.bytes > 0 && d.bytes <= MOST_BYTES);
    return d;
}

/* ---- networks ---------------------------------------------------------------------------------
 */

/* A network with its optimizer, here or as the one that is written. */
typedef struct learner {
    c_network network;
    training training;
    adz_tensor *target;
} learner;

static inline void fill_from(adz_tensor *t, int seed)
{
    float *x = adz_tensor_data_f32(t);
    for (int64_t i = 0; i < adz_tensor_numel(t); ++i) {
        x[i] = (float)((i * (seed + 3)) % 11 - 5) / 4;
    }
}

/* The tensors belong to the scope of the caller. */
static inline learner learner_of(adz_module *net, adz_optimizer *optimizer)
{
    adz_module_eval(net);
    learner l = { .network = of(net, adz_zeros(ADZ_SHAPE(BATCH, FEATURES), ADZ_F32)),
        .training = { .optimizer = optimizer, .loss = MSE, .batches = 1 } };
    fill_from(l.network.in[0], 1);
    l.target = target_like(&l.network, &l.training);
    fill_from(l.target, 2);
    return l;
}

static inline void end_learner(learner *l)
{
    adz_optimizer_free(&l->training.optimizer);
    adz_module_free(&l->network.module);
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
    float loss;
    d->c.step(adz_tensor_data_f32(l->network.in[0]), adz_tensor_data_f32(l->target), &loss);
}

static inline void expect_same(const device *d, learner *l, const char *when)
{
    adz_scope *scope = adz_scope_open();
    const double apart = difference(&d->c, &l->network, 1);
    if (!(apart <= 1e-5)) {
        fail_msg("%s %s: the predictions differ by %g", adz_optimizer_name(l->training.optimizer),
            when, apart);
    }
    adz_scope_close(scope);
}

/* Writes a learner, with libm where its optimizer needs it. */
static inline device send(learner *l)
{
    adz_c_options o = ADZ_C_OPTIONS;
    if (write_training(&l->network, &l->training, "sent.c", &o) != ADZ_OK) {
        expect_error(ADZ_ERR_UNSUPPORTED, "needs cos of the mathematical library");
        o.libm = true;
        assert_int_equal(write_training(&l->network, &l->training, "sent.c", &o), ADZ_OK);
    }
    return device_of(compile("sent", o.libm), "");
}

/* ---- files ------------------------------------------------------------------------------------
 */

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

/* ---- refusals ---------------------------------------------------------------------------------
 */

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
