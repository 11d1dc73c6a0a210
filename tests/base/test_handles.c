/* Objects that have ended: a second free and a later use are errors. With the argument `kept`, in
 * an environment with ADZE_DEBUG_HANDLES=1, no address is used twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "adze/adze.h"
#include "../errors.h"
#include "base/alloc.h"
#include "base/handle.h"
#include "base/system_memory.h"

/* ---- a second free -------------------------------------------------------------------------- */

static adz_module *model;
static adz_optimizer *sgd;
static adz_dataset *data;
static adz_tokenizer *words;

static void *optimizer(void)
{
    return adz_sgd_new(adz_module_parameters(model), 0.1, NULL);
}

static void *scheduler(void)
{
    return adz_step_lr_new(sgd, 3, 0.1);
}

static void *context(void)
{
    return adz_context_new();
}

static void *flat_parameters(void)
{
    return adz_flat_parameters_new(adz_module_parameters(model));
}

static void *load_report(void)
{
    return adz_load_report_new();
}

static void *state(void)
{
    return adz_module_state_dict(model);
}

static void *values(void)
{
    return adz_values_new();
}

static void *generator(void)
{
    return adz_generator_new(1);
}

static adz_tensor *planned(void *user)
{
    (void)user;
    return adz_relu(adz_ones(ADZ_SHAPE(3), ADZ_F32));
}

static void *plan(void)
{
    return adz_plan_new(planned, NULL, NULL);
}

static void *dataset(void)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(4, 2), ADZ_F32);
    return adz_dataset_new(&x, 1);
}

static void *loader(void)
{
    return adz_loader_new(data, NULL);
}

static void *csv(void)
{
    return adz_csv_from_memory("a,b\n1,2\n", 8, NULL);
}

static void *tokenizer(void)
{
    return adz_tokenizer_build(ADZ_TOKENS_BYTES, NULL, 0, NULL);
}

static void *token_stream(void)
{
    return adz_token_stream_new(words);
}

static void *safetensors(void)
{
    return adz_safetensors_new();
}

/* end_NAME ends an object of a type, whatever the type is. */
#define ENDS(name, type, end)        \
    static void end_##name(void *at) \
    {                                \
        type *object = *(void **)at; \
        end(&object);                \
        *(void **)at = object;       \
    }
ENDS(optimizer, adz_optimizer, adz_optimizer_release)
ENDS(scheduler, adz_scheduler, adz_scheduler_release)
ENDS(context, adz_context, adz_context_free)
ENDS(flat_parameters, adz_flat_parameters, adz_flat_parameters_free)
ENDS(load_report, adz_load_report, adz_load_report_free)
ENDS(state, adz_state_dict, adz_state_dict_free)
ENDS(values, adz_values, adz_values_free)
ENDS(generator, adz_generator, adz_generator_free)
ENDS(plan, adz_plan, adz_plan_free)
ENDS(dataset, adz_dataset, adz_dataset_release)
ENDS(loader, adz_loader, adz_loader_free)
ENDS(csv, adz_csv, adz_csv_free)
ENDS(tokenizer, adz_tokenizer, adz_tokenizer_free)
ENDS(token_stream, adz_token_stream, adz_token_stream_free)
ENDS(safetensors, adz_safetensors, adz_safetensors_free)

/* The types of objects, with the functions that end them. */
static const struct {
    const char *end_name;
    void *(*make)(void);
    void (*end)(void *at);
} types[] = {
    { "adz_optimizer_release", optimizer, end_optimizer },
    { "adz_scheduler_release", scheduler, end_scheduler },
    { "adz_context_free", context, end_context },
    { "adz_flat_parameters_free", flat_parameters, end_flat_parameters },
    { "adz_load_report_free", load_report, end_load_report },
    { "adz_state_dict_free", state, end_state },
    { "adz_values_free", values, end_values },
    { "adz_generator_free", generator, end_generator },
    { "adz_plan_free", plan, end_plan },
    { "adz_dataset_release", dataset, end_dataset },
    { "adz_loader_free", loader, end_loader },
    { "adz_csv_free", csv, end_csv },
    { "adz_tokenizer_free", tokenizer, end_tokenizer },
    { "adz_token_stream_free", token_stream, end_token_stream },
    { "adz_safetensors_free", safetensors, end_safetensors },
};

static void a_second_free_is_an_error(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
        void *object = types[i].make(), *copy = object;
        assert_non_null(object);
        types[i].end(&object);
        assert_null(object);
        assert_int_equal(adz_error_code(), ADZ_OK);
        char says[60];
        snprintf(says, sizeof says, "%s: ", types[i].end_name);
        types[i].end(&copy);
        assert_null(copy);
        assert_int_equal(adz_error_code(), ADZ_ERR_OWNERSHIP);
        assert_non_null(strstr(adz_error_message(), says));
        expect_error(ADZ_ERR_OWNERSHIP, "is a stale pointer: it was freed before");
    }
}

static void an_object_that_was_freed_is_not_used(void **unused)
{
    (void)unused;
    adz_optimizer *o = optimizer(), *o_copy = o;
    adz_optimizer_release(&o);
    assert_int_equal(adz_optimizer_step(o_copy), ADZ_ERR_OWNERSHIP);
    expect_error(ADZ_ERR_OWNERSHIP, "adz_optimizer_step: optimizer is a stale pointer");
    adz_loader *l = loader(), *l_copy = l;
    adz_loader_free(&l);
    assert_int_equal(adz_loader_batch_count(l_copy), -1);
    expect_error(ADZ_ERR_OWNERSHIP, "adz_loader_batch_count: loader is a stale pointer");
    adz_dataset *d = dataset(), *d_copy = d;
    adz_dataset_release(&d);
    assert_null(adz_loader_new(d_copy, NULL));
    expect_error(ADZ_ERR_OWNERSHIP, "dataset is a stale pointer");
    adz_generator *own = adz_generator_new(1), *own_copy = own;
    adz_generator_free(&own);
    assert_int_equal(
        adz_generator_set_state(own_copy, (adz_generator_state){ 1, 0 }), ADZ_ERR_OWNERSHIP);
    expect_error(ADZ_ERR_OWNERSHIP, "adz_generator_set_state: generator is a stale pointer");
    assert_int_equal(adz_generator_get_state(own_copy).seed, 0);
    expect_error(ADZ_ERR_OWNERSHIP, "adz_generator_get_state: generator is a stale pointer");
    adz_generator *g = adz_default_generator();
    assert_int_equal(adz_generator_set_state(g, adz_generator_get_state(g)), ADZ_OK);
    adz_generator_free(&g);
    expect_error(ADZ_ERR_OWNERSHIP, "generator belongs to another object, which ends it");
}

/* An optimizer that is also kept elsewhere ends with its last reference. */
static void a_kept_object_is_freed_twice(void **unused)
{
    (void)unused;
    adz_optimizer *o = optimizer(), *kept = adz_optimizer_keep(o), *copy = o;
    adz_optimizer_release(&o);
    adz_optimizer_release(&kept);
    assert_int_equal(adz_error_code(), ADZ_OK);
    adz_optimizer_release(&copy);
    expect_error(ADZ_ERR_OWNERSHIP, "adz_optimizer_release: optimizer is a stale pointer");
}

/* ---- addresses that are used once ----------------------------------------------------------- */

static void expect_stale_after(int tensors)
{
    adz_tensor *best = NULL, *large = NULL;
    ADZ_SCOPE
    {
        best = adz_full(ADZ_SHAPE_SCALAR, 3, ADZ_F32);
        large = adz_zeros(ADZ_SHAPE(100, 100), ADZ_F32);
    }
    for (int i = 0; i < tensors; ++i) {
        ADZ_SCOPE
        {
            adz_relu(adz_full(ADZ_SHAPE_SCALAR, i, ADZ_F32));
        }
    }
    adz_item(best);
    expect_error(ADZ_ERR_OWNERSHIP, "item: t is a stale pointer: its scope was closed");
    assert_null(adz_relu(large));
    expect_error(ADZ_ERR_OWNERSHIP, "is a stale pointer: its scope was closed");
}

static void debug_mode_keeps_addresses(void **unused)
{
    (void)unused;
    adz_set_debug(true);
    expect_stale_after(1000);
    adz_set_debug(false);
}

static void the_environment_keeps_addresses(void **unused)
{
    (void)unused;
    assert_true(atomic_load(&adzi_handles_kept));
    expect_stale_after(1);
    expect_stale_after(100000); /* the pages of the first tensors have been given back */
    adz_set_debug(true);
    adz_set_debug(false);
    assert_true(atomic_load(&adzi_handles_kept));
}

/* 600,000 headers would take more than 100 MB. */
static void addresses_take_no_memory(void **unused)
{
    (void)unused;
    struct rusage before, after;
    expect_stale_after(1000);
    getrusage(RUSAGE_SELF, &before);
    const int64_t live = adzi_live_bytes();
    expect_stale_after(300000);
    assert_int_equal(adzi_live_bytes(), live);
    getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_maxrss - before.ru_maxrss < 30000);
}

static void modules_keep_addresses(void **unused)
{
    (void)unused;
    adz_module *m = adz_linear_new(2, 2, NULL), *copy = m;
    adz_module_release(&m);
    for (int i = 0; i < 300; ++i) {
        adz_module *other = adz_linear_new(2, 2, NULL);
        assert_ptr_not_equal(other, copy);
        adz_module_release(&other);
    }
    assert_null(adz_module_forward(copy, adz_ones(ADZ_SHAPE(1, 2), ADZ_F32)));
    expect_error(ADZ_ERR_OWNERSHIP, "is a stale pointer");
}

/* ---- all ------------------------------------------------------------------------------------ */

static int make_all(void **unused)
{
    (void)unused;
    model = adz_linear_new(2, 2, NULL);
    sgd = optimizer();
    data = dataset();
    words = tokenizer();
    return 0;
}

static int end_all(void **unused)
{
    (void)unused;
    adz_tokenizer_free(&words);
    adz_dataset_release(&data);
    adz_optimizer_release(&sgd);
    adz_module_release(&model);
    return 0;
}

#ifdef ADZI_ASAN
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

int main(int argc, char **argv)
{
    const struct CMUnitTest usual[] = {
        cmocka_unit_test(a_second_free_is_an_error),
        cmocka_unit_test(an_object_that_was_freed_is_not_used),
        cmocka_unit_test(a_kept_object_is_freed_twice),
    };
    const struct CMUnitTest debug[] = {
        cmocka_unit_test(debug_mode_keeps_addresses),
    };
    const struct CMUnitTest kept[] = {
        cmocka_unit_test(the_environment_keeps_addresses),
        cmocka_unit_test(addresses_take_no_memory),
        cmocka_unit_test(modules_keep_addresses),
    };
    /* AddressSanitizer itself reports a stale pointer whose object has no address of its own. */
    int failed = sanitized ? 0 : cmocka_run_group_tests(usual, make_all, end_all);
    if (!adzi_plain_memory) {
        failed += cmocka_run_group_tests(debug, NULL, NULL);
    }
    if (!adzi_plain_memory && argc > 1 && strcmp(argv[1], "kept") == 0) {
        failed += cmocka_run_group_tests(kept, NULL, NULL);
    }
    return failed;
}
