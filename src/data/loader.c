#include "data/loader.h"

#include <string.h>

#include "data/dataset.h"
#include "base/options.h"
#include "base/random_generator.h"

struct adz_loader {
    adz_dataset *dataset; /* one reference */
    adz_loader_options options;
    uint64_t epoch;
    int64_t batch;
    bool drawn;               /* order is that of the present epoch */
    adz_generator_state drew; /* what order was drawn from */
    int64_t *order;           /* of the dataset's size; only when shuffling */
};

ADZI_OPTIONS_INIT(adz_loader_options_init, adz_loader_options, ADZ_LOADER_OPTIONS)

/* ---- life ----------------------------------------------------------------------------------- */

static size_t order_bytes(const adz_loader *loader)
{
    return loader->options.shuffle ? (size_t)loader->dataset->size * sizeof(int64_t) : 0;
}

adz_loader *adz_loader_new(adz_dataset *dataset, const adz_loader_options *options)
{
    const char *op = "adz_loader_new";
    adz_loader_options o = ADZ_LOADER_OPTIONS;
    if (!ADZI_OPTIONS_READ(op, ADZ_LOADER_OPTIONS, &o, options)) {
        return NULL;
    }
    if (dataset == NULL) {
        return adzi_fail_null(op, "dataset");
    }
    if (o.batch_size < 1) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "batch_size is %lld, below 1", (long long)o.batch_size);
    }
    adz_loader *loader = adzi_alloc_zero(sizeof *loader);
    if (loader == NULL) {
        return adzi_fail_memory(op, sizeof *loader);
    }
    loader->dataset = adz_dataset_keep(dataset);
    loader->options = o;
    if (o.shuffle) {
        loader->order = adzi_alloc(order_bytes(loader));
        if (loader->order == NULL) {
            size_t bytes = order_bytes(loader);
            adz_loader_free(&loader);
            return adzi_fail_memory(op, bytes);
        }
    }
    return loader;
}

void adz_loader_free(adz_loader **address)
{
    if (address == NULL || *address == NULL) {
        return;
    }
    adz_loader *loader = *address;
    *address = NULL;
    adzi_free(loader->order, order_bytes(loader));
    adz_dataset_free(&loader->dataset);
    adzi_free(loader, sizeof *loader);
}

static int64_t batches(const adz_loader *loader)
{
    int64_t size = loader->dataset->size, each = loader->options.batch_size;
    return size / each + (!loader->options.drop_last && size % each != 0 ? 1 : 0);
}

int64_t adz_loader_batches(adz_loader *loader)
{
    if (loader == NULL) {
        adzi_error_null("adz_loader_batches", "loader");
        return -1;
    }
    return batches(loader);
}

/* ---- drawing -------------------------------------------------------------------------------- */

/* Fills `to` with an order from a generator, which moves on unless memory was refused. */
static bool draw_order(adz_loader *loader, adz_generator *generator, int64_t *to)
{
    adz_scope *scope = adz_scope_open();
    if (scope == NULL) {
        return false;
    }
    adz_tensor *order = adz_generator_randperm(generator, loader->dataset->size);
    if (order != NULL) {
        memcpy(to, order->data, order_bytes(loader));
    }
    adz_scope_close(scope);
    return order != NULL;
}

static bool gather(adz_loader *loader, adz_tensor **batch)
{
    const adz_dataset *dataset = loader->dataset;
    adz_tensor *rows[ADZI_DATASET_TENSORS];
    int64_t begin = loader->batch * loader->options.batch_size;
    int64_t left = dataset->size - begin;
    int64_t n = left < loader->options.batch_size ? left : loader->options.batch_size;
    for (size_t i = 0; i < dataset->count; ++i) {
        rows[i] = adzi_dataset_gather("adz_loader_next", dataset, i, loader->order, begin, n);
        if (rows[i] == NULL) {
            return false;
        }
    }
    const adz_loader_options *o = &loader->options;
    if (o->progress != NULL && !o->progress(loader->batch + 1, batches(loader), o->user)) {
        adzi_error("adz_loader_next", ADZ_ERR_CANCELLED, "cancelled at batch %lld of %lld",
            (long long)loader->batch + 1, (long long)batches(loader));
        return false;
    }
    memcpy(batch, rows, dataset->count * sizeof *rows);
    return true;
}

bool adz_loader_next(adz_loader *loader, adz_tensor **batch)
{
    const char *op = "adz_loader_next";
    if (loader == NULL || batch == NULL) {
        adzi_error_null(op, loader == NULL ? "loader" : "batch");
        return false;
    }
    if (loader->batch >= batches(loader)) {
        loader->batch = 0;
        loader->drawn = false;
        ++loader->epoch;
        return false;
    }
    adz_generator *generator = NULL;
    bool draws = loader->options.shuffle && !loader->drawn;
    if (draws) {
        generator = adzi_generator_or_default(loader->options.generator);
        adz_generator_state before = adz_generator_get_state(generator);
        if (generator == NULL || !draw_order(loader, generator, loader->order)) {
            return false;
        }
        loader->drew = before;
        loader->drawn = true;
    }
    if (!gather(loader, batch)) {
        if (draws) { /* as if it had not been asked */
            generator->state = loader->drew;
            loader->drawn = false;
        }
        return false;
    }
    ++loader->batch;
    return true;
}

/* ---- positions ------------------------------------------------------------------------------ */

adz_status adz_loader_get_position(adz_loader *loader, adz_loader_position *position)
{
    const char *op = "adz_loader_get_position";
    if (loader == NULL || position == NULL) {
        return adzi_error_null(op, loader == NULL ? "loader" : "position");
    }
    *position = (adz_loader_position){ .epoch = loader->epoch, .batch = loader->batch };
    if (loader->options.shuffle) {
        adz_generator *generator = adzi_generator_or_default(loader->options.generator);
        if (generator == NULL) {
            return adz_error_code();
        }
        position->generator = generator->state;
        position->order = loader->drawn ? loader->drew : generator->state;
    }
    return ADZ_OK;
}

adz_status adzi_loader_prepare(
    const char *op, adz_loader *loader, const adz_loader_position *position, adzi_loader_move *move)
{
    *move = (adzi_loader_move){ .loader = loader, .to = *position };
    if (position->batch < 0 || position->batch > batches(loader)) {
        return adzi_error(op, ADZ_ERR_ARGUMENT,
            "batch %lld of an epoch that has %lld; was it another dataset or batch size?",
            (long long)position->batch, (long long)batches(loader));
    }
    if (!loader->options.shuffle) {
        return ADZ_OK;
    }
    move->generator = adzi_generator_or_default(loader->options.generator);
    if (move->generator == NULL) {
        return adz_error_code();
    }
    if (position->batch > 0) {
        adz_generator again = { position->order };
        move->order = adzi_alloc(order_bytes(loader));
        if (move->order == NULL) {
            adzi_fail_memory(op, order_bytes(loader));
            return ADZ_ERR_MEMORY;
        }
        if (!draw_order(loader, &again, move->order)) {
            adzi_loader_discard(move);
            return adz_error_code();
        }
    }
    return ADZ_OK;
}

void adzi_loader_discard(adzi_loader_move *move)
{
    if (move->loader != NULL) {
        adzi_free(move->order, order_bytes(move->loader));
        move->order = NULL;
    }
}

void adzi_loader_commit(adzi_loader_move *move)
{
    adz_loader *loader = move->loader;
    loader->epoch = move->to.epoch;
    loader->batch = move->to.batch;
    loader->drawn = move->order != NULL;
    loader->drew = move->to.order;
    if (move->order != NULL) {
        adzi_free(loader->order, order_bytes(loader));
        loader->order = move->order;
        move->order = NULL;
    }
    if (move->generator != NULL) {
        move->generator->state = move->to.generator;
    }
}

adz_status adz_loader_set_position(adz_loader *loader, const adz_loader_position *position)
{
    const char *op = "adz_loader_set_position";
    adzi_loader_move move;
    if (loader == NULL || position == NULL) {
        return adzi_error_null(op, loader == NULL ? "loader" : "position");
    }
    adz_status status = adzi_loader_prepare(op, loader, position, &move);
    if (status == ADZ_OK) {
        adzi_loader_commit(&move);
    }
    return status;
}
