/* Tracing a step changes nothing: parameters, states, counts, gradients, flat buffers, buffers and
 * generators have the same bits after it, also after an error and after a jump. */
#include "../../optim/optimizers/cases.h"
#include "training.h"

enum { MOST = 16 };

/* ---- everything that a step changes --------------------------------------------------------- */

typedef struct {
    const void *data; /* of the tensor when it was taken */
    char *bytes;      /* a copy; NULL if there is no tensor */
    size_t size;
    uint32_t version;
} image;

typedef struct {
    image values[MOST], grads[MOST], states[MOST][ADZ_OPTIMIZER_STATES], flat;
    int64_t steps[MOST];
    uint32_t fresh[MOST];
    adz_generator_state generator;
} snapshot;

static image image_of(const adz_tensor *t)
{
    image m = { NULL, NULL, 0, 0 };
    if (t != NULL) {
        m.size = (size_t)t->numel * adzi_item_size(t);
        m.data = t->data;
        m.version = t->storage->version;
        m.bytes = test_malloc(m.size + 1);
        memcpy(m.bytes, t->data, m.size);
    }
    return m;
}

static void expect_image(image *was, const adz_tensor *t, const char *what, int i)
{
    image is = image_of(t);
    const bool same = was->data == is.data && was->size == is.size && was->version == is.version &&
                      (was->size == 0 || memcmp(was->bytes, is.bytes, is.size) == 0);
    test_free(is.bytes);
    test_free(was->bytes);
    if (!same) {
        fail_msg("%s of parameter %d is different (%p and %p, version %u and %u)", what, i,
            was->data, is.data, was->version, is.version);
    }
}

static const adz_tensor *flat_of(const training *t)
{
    return t->flat != NULL ? adz_flat_parameters_gradients(t->flat, 0) : NULL;
}

static void take(const training *t, snapshot *s)
{
    adz_tensor_list list = adz_module_parameters(t->net);
    const adzi_group *group = t->optimizer->groups[0];
    assert_true(list.count <= MOST);
    for (size_t i = 0; i < list.count; ++i) {
        const adz_tensor *w = list.items[i];
        s->values[i] = image_of(w);
        s->grads[i] = image_of(w->gradient != NULL ? w->gradient->grad : NULL);
        for (int k = 0; k < ADZ_OPTIMIZER_STATES; ++k) {
            s->states[i][k] = image_of(group->kept[i].state[k]);
        }
        s->steps[i] = group->kept[i].steps;
        s->fresh[i] = group->kept[i].fresh;
    }
    s->flat = image_of(flat_of(t));
    s->generator = adz_generator_get_state(NULL);
}

static void expect_same(const training *t, snapshot *s)
{
    adz_tensor_list list = adz_module_parameters(t->net);
    const adzi_group *group = t->optimizer->groups[0];
    adzi_optimizer_settle(t->optimizer);
    for (size_t i = 0; i < list.count; ++i) {
        const adz_tensor *w = list.items[i];
        expect_image(&s->values[i], w, "the value", (int)i);
        expect_image(
            &s->grads[i], w->gradient != NULL ? w->gradient->grad : NULL, "the gradient", (int)i);
        for (int k = 0; k < ADZ_OPTIMIZER_STATES; ++k) {
            expect_image(&s->states[i][k], group->kept[i].state[k], "a state", (int)i);
        }
        assert_int_equal(group->kept[i].steps, s->steps[i]);
        assert_int_equal(group->kept[i].fresh, s->fresh[i]);
    }
    expect_image(&s->flat, flat_of(t), "the flat gradients", 0);
    assert_int_equal(adz_generator_get_state(NULL).offset, s->generator.offset);
    assert_null(adzi_self()->tracer);
}

/* ---- how a step ends ------------------------------------------------------------------------ */

static jmp_buf out;

static void fail_now(void *user)
{
    (void)user;
    adz_add(adz_zeros(ADZ_SHAPE(2), ADZ_F32), adz_zeros(ADZ_SHAPE(3), ADZ_F32));
}

static void jump_now(void *user)
{
    (void)user;
    longjmp(out, 1);
}

static void (*const endings[])(void *user) = { NULL, fail_now, jump_now };

static void trace_once(training *t, int ending)
{
    t->last = endings[ending];
    if (setjmp(out) == 0) {
        adzi_trace *trace = training_try(t);
        if (ending == 0 && trace == NULL) {
            fail_msg("%s", adz_error_message());
        }
        assert_true(ending == 0 || (ending == 1 && trace == NULL));
        adzi_trace_free(&trace);
    }
    t->last = NULL;
    if (ending == 1) {
        expect_error(ADZ_ERR_SHAPE, "add");
    }
    assert_int_equal(adz_error_code(), ADZ_OK);
}

static void check(const optimizer_case *c, bool flat, int steps_before, int micro_batches)
{
    static const zero_kind zeros[] = { DROP_FIRST, DROP_FIRST, DROP_FIRST };
    for (int ending = 0; ending < 3; ++ending) {
        adz_scope *scope = adz_scope_open();
        training t = { .zero = zeros[ending], .micro_batches = micro_batches, .clip = CLIP_NORM };
        training_begin(&t);
        t.flat = flat ? adz_flat_parameters_new(adz_module_parameters(t.net)) : NULL;
        t.optimizer = c->make(adz_module_parameters(t.net));
        for (int i = 0; i < steps_before; ++i) {
            training_step(&t);
        }
        snapshot s;
        take(&t, &s);
        adz_scope *inner = adz_scope_open();
        trace_once(&t, ending);
        adz_scope_close(inner);
        expect_same(&t, &s);
        assert_non_null(training_step(&t)); /* and the training goes on */
        training_end(&t);
        adz_scope_close(scope);
    }
}

static void every_optimizer(void **state)
{
    (void)state;
    for (int i = 0; i < n_cases; ++i) {
        check(&cases[i], false, 0, 1);
        check(&cases[i], true, 2, 1);
    }
}

static void micro_batches(void **state)
{
    (void)state;
    for (int i = 0; i < 4; ++i) {
        check(&cases[i], i % 2 == 1, i / 2, 3);
    }
}

/* Earlier gradients come back, whether the step reads, fills or drops them. */
static void gradients(void **state)
{
    static const zero_kind zeros[] = { DROP_FIRST, FILL_FIRST, NEVER };
    (void)state;
    for (int i = 0; i < 6; ++i) {
        adz_scope *scope = adz_scope_open();
        training t = { .zero = DROP_FIRST };
        training_begin(&t);
        t.flat = i >= 3 ? adz_flat_parameters_new(adz_module_parameters(t.net)) : NULL;
        t.optimizer = adz_adam_new(adz_module_parameters(t.net), 0.1, NULL);
        training_step(&t);
        t.zero = zeros[i % 3];
        snapshot s;
        take(&t, &s);
        trace_once(&t, 0);
        expect_same(&t, &s);
        training_end(&t);
        adz_scope_close(scope);
    }
}

/* Every refused request for memory is an error, and everything is as it was. */
static void memory_is_refused(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    training t = { .clip = CLIP_NORM };
    training_begin(&t);
    t.optimizer = adz_adam_new(adz_module_parameters(t.net), 0.1, NULL);
    training_step(&t);
    trace_once(&t, 0);
    for (int64_t n = 1;; n += 19) {
        snapshot s;
        take(&t, &s);
        adz_scope *inner = adz_scope_open();
        adzi_alloc_fail_at(n);
        adzi_trace *trace = training_try(&t);
        const bool refused = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        const bool made = trace != NULL;
        adzi_trace_free(&trace);
        adz_scope_close(inner);
        const adz_status code = adz_error_code();
        adz_error_clear();
        expect_same(&t, &s);
        if (!refused) {
            assert_true(n > 100);
            break;
        }
        if (code != ADZ_ERR_MEMORY) {
            fail_msg("request %d was refused, %s", (int)n,
                made ? "but there is a trace" : "without an error");
        }
    }
    training_end(&t);
    adz_scope_close(scope);
}

int restored_tests(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_optimizer),
        cmocka_unit_test(micro_batches),
        cmocka_unit_test(gradients),
        cmocka_unit_test(memory_is_refused),
    };
    return is_chosen("restored", 1, argc, argv)
               ? run_group("restored", tests, sizeof tests / sizeof *tests)
               : 0;
}
