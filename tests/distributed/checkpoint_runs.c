#include "adze/zoo.h"
#include "checkpoints.h"

#include "../temporary.h"

/* ---- files ---------------------------------------------------------------------------------- */

/* Files by the names that make_paths has made. */
static char paths[8][512];

const char *path_of(int which)
{
    return paths[which];
}

void make_paths(void)
{
    static const char *const names[] = { "good", "cut", "weights", "other", "missing", "now", "was",
        "no/folder" };
    temporary_begin(NULL);
    for (int i = 0; i < 8; ++i) {
        strcpy(paths[i], temporary_path(names[i]));
    }
}

void end_paths(void)
{
    temporary_end(NULL);
}

int count_files(bool remove)
{
    return temporary_files(remove);
}

/* ---- a run ---------------------------------------------------------------------------------- */

adz_module *new_model(bool carries)
{
    adz_manual_seed(5);
    if (!carries) {
        return ADZ_SEQUENTIAL(adz_linear_new(WIDTH, 33, NULL), adz_batch_norm1d_new(33, NULL),
            adz_relu_new(), adz_dropout_new(0.25, NULL), adz_linear_new(33, 2, NULL));
    }
    adz_fastai_awd_lstm_options o = ADZ_FASTAI_AWD_LSTM_OPTIONS;
    return ADZ_SEQUENTIAL(
        adz_fastai_awd_lstm_new(TOKENS, 4, 9, 2, &o), adz_linear_new(4, TOKENS, NULL));
}

static adz_loader *new_loader(const adz_group *group, const plan *p)
{
    adz_tensor *rows = numbers_of(3, ADZ_SHAPE(5 * BATCH, WIDTH), ADZ_F32);
    adz_dataset *dataset = adz_dataset_new(&rows, 1);
    adz_loader_options o = ADZ_LOADER_OPTIONS;
    o.batch_size = BATCH;
    o.shuffle = true;
    o.rank = adz_group_rank(group);
    o.ranks = adz_group_size(group);
    o.micro_batches = p->micro_batches;
    adz_loader *loader = adz_loader_new(dataset, &o);
    adz_dataset_release(&dataset);
    return loader;
}

run run_new(adz_group *group, const plan *p)
{
    run r = { .model = new_model(p->carries) };
    adz_data_parallel_options o = ADZ_DATA_PARALLEL_OPTIONS;
    o.micro_batches = p->micro_batches;
    o.seed = p->seed;
    r.parallel = adz_data_parallel_new(group, r.model, &o);
    adz_tensor_list all = adz_module_parameters(r.model);
    r.adamw = adz_adamw_new(adz_tensor_list_of(all.items, all.count - 2), 0.01, NULL);
    if (p->divided) {
        check(adz_data_parallel_shard(r.parallel, r.adamw) == ADZ_OK);
    }
    adz_optimizer_add_param_group(r.adamw, adz_tensor_list_of(all.items + all.count - 2, 2));
    adz_optimizer_set(r.adamw, 1, "weight_decay", 0);
    r.schedule = adz_step_lr_new(r.adamw, 2, 0.5);
    adz_manual_seed(21);
    r.loader = new_loader(group, p);
    check(adz_error_code() == ADZ_OK);
    return r;
}

void run_end(run *r)
{
    adz_loader_free(&r->loader);
    adz_scheduler_release(&r->schedule);
    adz_data_parallel_free(&r->parallel);
    adz_optimizer_release(&r->adamw);
    adz_module_release(&r->model);
}

/* The tokens of a micro-batch. They differ from step to step. */
static adz_tensor *tokens(const adz_micro_batch *m, int64_t step)
{
    int64_t ids[BATCH * TIME];
    for (int64_t i = 0; i < m->count * TIME; ++i) {
        ids[i] = (m->begin * TIME + i + 2 * step) * (3 + step) % TOKENS;
    }
    return adz_tensor_from(ids, ADZ_SHAPE(m->count, TIME), ADZ_I64);
}

void train(run *r, const plan *p)
{
    while (r->step < p->until) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *batch = NULL;
        adz_micro_batch m;
        if (!adz_loader_next(r->loader, &batch)) {
            check(adz_loader_next(r->loader, &batch));
        }
        check(adz_data_parallel_begin(r->parallel, r->step, BATCH) == ADZ_OK);
        while (adz_data_parallel_next(r->parallel, &m)) {
            adz_tensor *x =
                p->carries ? tokens(&m, r->step) : adz_narrow(batch, 0, m.first, m.count);
            adz_tensor *y = adz_module_forward(r->model, x);
            adz_tensor *loss = adz_mean(adz_square(y), ADZ_ALL_DIMS, ADZ_DROPDIM);
            check(adz_data_parallel_backward(r->parallel, loss, m.weight) == ADZ_OK);
        }
        check(adz_data_parallel_end(r->parallel, NULL) == ADZ_OK);
        check(adz_data_parallel_step(r->parallel, r->adamw) == ADZ_OK);
        adz_scheduler_step(r->schedule);
        ++r->step;
        adz_scope_close(scope);
    }
}

adz_checkpoint parts_of(run *r)
{
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.model = r->model;
    c.optimizer = r->adamw;
    c.schedulers = &r->schedule;
    c.n_schedulers = 1;
    c.generators = r->generators;
    c.n_generators = 1;
    c.loader = r->loader;
    c.step = r->step;
    c.parallel = r->parallel;
    return c;
}

adz_status save_run(run *r, const char *path)
{
    adz_checkpoint c = parts_of(r);
    return adz_checkpoint_save(&c, path);
}

adz_status load_run(run *r, const char *path)
{
    adz_checkpoint c = parts_of(r);
    const adz_status status = adz_checkpoint_load(&c, path);
    r->step = c.step;
    return status;
}

void carry_out(adz_group *group, void *user)
{
    const plan *p = user;
    run r = run_new(group, p);
    if (p->load != NULL) {
        check(load_run(&r, p->load) == ADZ_OK);
    }
    train(&r, p);
    check(save_run(&r, p->save) == ADZ_OK);
    run_end(&r);
}

/* A run that was saved on some ranks goes on with other ranks, as if it had not been interrupted.
 * Two files are equal if weights, states, carried values and positions have equal bits. */
