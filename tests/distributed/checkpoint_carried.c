/* Checkpoints of values that a module carries from call to call, of several dtypes and shapes. */
#include "checkpoints.h"

#include <math.h>

enum { MICRO = 5, ALL_ROWS = 10 };

/* The number of calls. The values that the module carries are made from it and from x[0]. */
static double calls_of(adz_module *self)
{
    adz_tensor *calls = adz_module_get_buffer(self, "calls");
    return calls == ADZ_NONE ? 0 : adz_item(calls);
}

/* Sets buffers with elements of 8, 4 and 1 bytes, and one without elements. The buffer "unset"
 * stays empty. */
static adz_tensor *notes_forward(adz_module *self, adz_tensor *x)
{
    const double calls = calls_of(self) + 1,
                 first = adz_item(adz_select(adz_select(x, 0, 0), 0, 0));
    adz_tensor *six = adz_reshape(adz_arange(0, 6, 1, ADZ_F64), ADZ_SHAPE(2, 3));
    adz_tensor *doubles = adz_add_number(six, 10 * calls + 100 * first);
    adz_tensor *flags = adz_gt_number(adz_arange(0, 5, 1, ADZ_F32), calls);
    adz_tensor *floats = adz_full(ADZ_SHAPE(3), calls + first, ADZ_F32);
    const bool good =
        adz_module_set_buffer(self, "calls", adz_full(ADZ_SHAPE_SCALAR, calls, ADZ_I64)) != NULL &&
        adz_module_set_buffer(self, "doubles", doubles) != NULL &&
        adz_module_set_buffer(self, "flags", flags) != NULL &&
        adz_module_set_buffer(self, "floats", floats) != NULL &&
        adz_module_set_buffer(self, "hollow", adz_zeros(ADZ_SHAPE(0, 4), ADZ_F32)) != NULL;
    return good ? x : NULL;
}

static adz_status notes_reset(adz_module *self)
{
    return adz_module_set_buffer(self, "calls", ADZ_NONE) != NULL ? ADZ_OK : adz_error_code();
}

static const adz_module_type notes_type = {
    .size = sizeof(adz_module_type), .name = "Notes", .forward = notes_forward, .reset = notes_reset
};

static adz_module *new_notes(void)
{
    static const char *const names[] = { "floats", "doubles", "unset", "calls", "flags", "hollow" };
    adz_manual_seed(5);
    adz_module *notes = adz_module_new(&notes_type, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        check(adz_module_add_buffer(notes, names[i], ADZ_NONE, false) != NULL);
    }
    return ADZ_SEQUENTIAL(notes, adz_linear_new(2, 1, NULL));
}

typedef struct notebook {
    adz_module *model;
    adz_data_parallel *parallel;
    adz_optimizer *sgd;
    adz_checkpoint parts;
} notebook;

static notebook notebook_new(adz_group *group)
{
    notebook n = { .model = new_notes() };
    adz_data_parallel_options o = ADZ_DATA_PARALLEL_OPTIONS;
    o.micro_batches = MICRO;
    n.parallel = adz_data_parallel_new(group, n.model, &o);
    n.sgd = adz_sgd_new(adz_module_parameters(n.model), 0.01, NULL);
    n.parts = (adz_checkpoint)ADZ_CHECKPOINT;
    n.parts.model = n.model;
    n.parts.optimizer = n.sgd;
    n.parts.parallel = n.parallel;
    return n;
}

static void notebook_end(notebook *n)
{
    adz_data_parallel_free(&n->parallel);
    adz_optimizer_release(&n->sgd);
    adz_module_release(&n->model);
}

static void steps(notebook *n, int from, int until)
{
    for (int step = from; step < until; ++step) {
        adz_scope *scope = adz_scope_open();
        adz_micro_batch m;
        check(adz_data_parallel_begin(n->parallel, step, ALL_ROWS) == ADZ_OK);
        while (adz_data_parallel_next(n->parallel, &m)) {
            adz_tensor *x = adz_full(ADZ_SHAPE(m.count, 2), (double)m.begin, ADZ_F32);
            adz_tensor *loss = adz_mean(adz_module_forward(n->model, x), ADZ_ALL_DIMS, ADZ_DROPDIM);
            check(adz_data_parallel_backward(n->parallel, loss, m.weight) == ADZ_OK);
        }
        check(adz_data_parallel_end(n->parallel, NULL) == ADZ_OK);
        check(adz_data_parallel_step(n->parallel, n->sgd) == ADZ_OK);
        adz_scope_close(scope);
    }
}

/* ---- the file ------------------------------------------------------------------------------- */

static adz_tensor *carried(adz_safetensors *file, int micro, const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "carried.%d.0.%s", micro, name);
    return adz_safetensors_has(file, full) ? adz_safetensors_get(file, full) : NULL;
}

/* After two steps every micro-batch has values of its own. */
static void check_file(const char *path)
{
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file = adz_safetensors_load(path, NULL);
    for (int m = 0; m < MICRO; ++m) {
        const double first = (double)(ALL_ROWS / MICRO * m);
        adz_tensor *doubles = carried(file, m, "doubles"), *flags = carried(file, m, "flags");
        adz_tensor *floats = carried(file, m, "floats"), *hollow = carried(file, m, "hollow");
        check(doubles != NULL && flags != NULL && floats != NULL && hollow != NULL);
        check(carried(file, m, "unset") == NULL);
        check(adz_item(carried(file, m, "calls")) == 2);
        check(adz_tensor_numel(doubles) == 6 && adz_tensor_size(doubles, 0) == 2);
        for (int i = 0; i < 6; ++i) {
            check(adz_tensor_data_f64(doubles)[i] == i + 20 + 100 * first);
        }
        for (int i = 0; i < 5; ++i) {
            check((adz_item(adz_select(flags, 0, i)) != 0) == (i > 2));
        }
        check(adz_tensor_data_f32(floats)[2] == (float)(2 + first));
        check(adz_tensor_size(hollow, 0) == 0 && adz_tensor_size(hollow, 1) == 4);
    }
    adz_safetensors_free(&file);
    adz_scope_close(scope);
}

static void save_and_go_on(adz_group *group, void *user)
{
    const bool alone = adz_group_size(group) == 1;
    (void)user;
    notebook n = notebook_new(group);
    steps(&n, 0, 2);
    const int64_t before = adzi_live_bytes();
    check(adz_checkpoint_save(&n.parts, path_of(alone ? GOOD : NOW)) == ADZ_OK);
    check(!alone || adzi_live_bytes() == before); /* other ranks allocate, too */
    if (alone) {
        check_file(path_of(GOOD));
    } else if (adz_group_rank(group) == 0) {
        check(files_equal(path_of(GOOD), path_of(NOW)));
    }
    steps(&n, 2, 3);
    check(adz_checkpoint_load(&n.parts, path_of(GOOD)) == ADZ_OK);
    steps(&n, 2, 4);
    check(adz_checkpoint_save(&n.parts, path_of(alone ? WAS : NOW)) == ADZ_OK);
    check(alone || adz_group_rank(group) != 0 || files_equal(path_of(WAS), path_of(NOW)));
    notebook_end(&n);
}

static void values_of_every_size_are_saved(void **state)
{
    static const int ranks[] = { 1, 2, 3, 5 };
    (void)state;
    make_paths();
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; ++i) {
        run_ranks(ranks[i], NULL, save_and_go_on, NULL);
    }
    end_paths();
}

/* ---- nothing is carried --------------------------------------------------------------------- */

static void back_to_the_start(adz_group *group, void *user)
{
    (void)user;
    notebook n = notebook_new(group);
    check(adz_checkpoint_save(&n.parts, path_of(GOOD)) == ADZ_OK);
    steps(&n, 0, 2);
    check(adz_checkpoint_save(&n.parts, path_of(WAS)) == ADZ_OK);
    check(adz_checkpoint_load(&n.parts, path_of(GOOD)) == ADZ_OK);
    steps(&n, 0, 2);
    check(adz_checkpoint_save(&n.parts, path_of(NOW)) == ADZ_OK);
    check(adz_group_rank(group) != 0 || files_equal(path_of(WAS), path_of(NOW)));
    notebook_end(&n);
}

/* A file from before the first step makes a run carry nothing again. */
static void a_file_of_the_start_resets_what_is_carried(void **state)
{
    (void)state;
    make_paths();
    run_ranks(1, NULL, back_to_the_start, NULL);
    run_ranks(3, NULL, back_to_the_start, NULL);
    end_paths();
}

const struct CMUnitTest checkpoint_carried_tests[] = {
    cmocka_unit_test(values_of_every_size_are_saved),
    cmocka_unit_test(a_file_of_the_start_resets_what_is_carried),
};
const size_t n_checkpoint_carried_tests =
    sizeof checkpoint_carried_tests / sizeof *checkpoint_carried_tests;
