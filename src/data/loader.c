/* Loaders: batches of a dataset in a shuffled order that is drawn again for each epoch. */
#include "data/loader.h"
#include "base/capture.h"
#include "base/door.h"
#include "base/handle.h"

#include <string.h>

#include "data/dataset.h"
#include "adze/options.h"
#include "tensor/random/shuffle.h"

struct adz_loader {
    adzi_handle handle;
    adz_dataset *dataset; /* one reference */
    adz_loader_options options;
    uint64_t seed, epoch;
    int64_t consumed;
    adz_loader_share share; /* of the last batch */
    adzi_shuffle order;     /* of the current epoch; only when shuffling */
};

static const adz_field fields[] = {
    ADZ_FIELD(adz_loader_options, batch_size, .value = 32, ADZ_AT_LEAST(1)),
    ADZ_FIELD(adz_loader_options, rank, .value = 0, ADZ_AT_LEAST(0)),
    ADZ_FIELD(adz_loader_options, ranks, .value = 1, ADZ_AT_LEAST(1)),
    ADZ_FIELD(adz_loader_options, micro_batches, .value = 0, ADZ_AT_LEAST(0)),
};

ADZ_OPTIONS_TABLE(adz_loader_options, ADZ_LOADER_OPTIONS, fields)

/* ---- life ----------------------------------------------------------------------------------- */

static bool check_ranks(const char *op, const adz_loader_options *o)
{
    if (o->rank >= o->ranks) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "there is no rank %d of %d", o->rank, o->ranks);
        return false;
    }
    if (o->micro_batches < o->ranks) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "%d micro_batches for %d ranks; each rank needs one of its own", o->micro_batches,
            o->ranks);
        return false;
    }
    if (o->batch_size < o->micro_batches) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "batch_size is %lld, below its %d micro_batches; each needs a row",
            (long long)o->batch_size, o->micro_batches);
        return false;
    }
    return true;
}

/* Goes to the beginning of an epoch, or into it. */
static void move_to(adz_loader *loader, uint64_t epoch, int64_t consumed)
{
    if (loader->options.shuffle) {
        adzi_shuffle_prepare(&loader->order, loader->seed, epoch, loader->dataset->size);
    }
    loader->epoch = epoch;
    loader->consumed = consumed;
}

adz_loader *adz_loader_new(adz_dataset *dataset, const adz_loader_options *options)
{
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    const char *op = "adz_loader_new";
    adz_loader_options o;
    if (!adz_options_take(op, &adz_loader_options_table, &o, options)) {
        return NULL;
    }
    if (!adzi_check_handle(op, "dataset", dataset)) {
        return NULL;
    }
    o.micro_batches = o.micro_batches == 0 ? o.ranks : o.micro_batches;
    if (!check_ranks(op, &o)) {
        return NULL;
    }
    adz_loader *loader = adzi_handle_new(sizeof *loader);
    if (loader == NULL) {
        return adzi_fail_memory(op, sizeof *loader);
    }
    loader->dataset = adz_dataset_keep(dataset);
    loader->options = o;
    loader->options.generator = NULL; /* it need not outlive the call */
    loader->seed = o.shuffle ? adzi_draw_seed(o.generator) : 0;
    move_to(loader, 0, 0);
    return loader;
}

void adz_loader_free(adz_loader **address)
{
    adz_loader *loader = adzi_handle_take("adz_loader_free", "loader", address);
    if (loader == NULL) {
        return;
    }
    adz_dataset_release(&loader->dataset);
    adzi_handle_end(loader, sizeof *loader);
}

static int64_t batches(const adz_loader *loader)
{
    int64_t size = loader->dataset->size, each = loader->options.batch_size;
    return size / each + (!loader->options.drop_last && size % each != 0 ? 1 : 0);
}

int64_t adz_loader_batch_count(const adz_loader *loader)
{
    if (!adzi_check_handle("adz_loader_batch_count", "loader", loader)) {
        return -1;
    }
    return batches(loader);
}

/* ---- shares --------------------------------------------------------------------------------- */

/* floor(rows part / parts), without the product of two large numbers. */
static int64_t cut(int64_t rows, int64_t parts, int64_t part)
{
    return rows / parts * part + rows % parts * part / parts;
}

int64_t adz_loader_cut(int64_t rows, int parts, int part)
{
    if (rows < 0 || parts < 1 || part < 0 || part > parts) {
        adzi_error("adz_loader_cut", ADZ_ERR_ARGUMENT, "there is no part %d of %d of %lld rows",
            part, parts, (long long)rows);
        return -1;
    }
    return cut(rows, parts, part);
}

/* The next batch, whose rows are 0 at the end of the epoch. */
static adz_loader_share next_share(const adz_loader *loader)
{
    const adz_loader_options *o = &loader->options;
    int64_t left = loader->dataset->size - loader->consumed;
    adz_loader_share s = { .begin = loader->consumed };
    s.rows = left < o->batch_size ? left : o->batch_size;
    if (o->drop_last && s.rows < o->batch_size) {
        s.rows = 0;
    }
    s.first = cut(s.rows, o->micro_batches, cut(o->micro_batches, o->ranks, o->rank));
    s.count = cut(s.rows, o->micro_batches, cut(o->micro_batches, o->ranks, o->rank + 1)) - s.first;
    return s;
}

adz_status adz_loader_get_share(const adz_loader *loader, adz_loader_share *share)
{
    ADZI_NOT_CAPTURED(ADZI_READS_SETTING, ADZ_ERR_STATE);
    if (!adzi_check_handle("adz_loader_get_share", "loader", loader)) {
        return adz_error_code();
    }
    if (share == NULL) {
        return adzi_error_null("adz_loader_get_share", "share");
    }
    *share = loader->share;
    return ADZ_OK;
}

/* ---- drawing -------------------------------------------------------------------------------- */

/* Gathers n rows from a position of the order on. Sets `batch` only if all tensors were gathered.
 */
static bool gather(
    const char *op, const adz_loader *loader, int64_t begin, int64_t n, adz_tensor **batch)
{
    const adz_dataset *dataset = loader->dataset;
    adz_tensor *parts[ADZI_DATASET_TENSORS];
    size_t bytes = loader->options.shuffle ? (size_t)n * sizeof(int64_t) : 0, done = 0;
    int64_t *rows = NULL;
    if (bytes > 0) {
        rows = adzi_alloc(bytes);
        if (rows == NULL) {
            adzi_fail_memory(op, bytes);
            return false;
        }
        adzi_shuffle_rows(&loader->order, begin, n, rows);
        begin = 0;
    }
    for (; done < dataset->count; ++done) {
        parts[done] = adzi_dataset_gather(op, dataset, done, (adzi_row_list){ rows, begin, n });
        if (parts[done] == NULL) {
            break;
        }
    }
    adzi_free(rows, bytes);
    if (done < dataset->count) {
        return false;
    }
    memcpy(batch, parts, dataset->count * sizeof *parts);
    return true;
}

static bool run_progress(void *state)
{
    const adz_loader *loader = state;
    const adz_loader_options *o = &loader->options;
    return o->progress(loader->consumed / o->batch_size + 1, batches(loader), o->user);
}

static bool report_progress(const char *op, adz_loader *loader)
{
    const adz_loader_options *o = &loader->options;
    const int64_t batch = loader->consumed / o->batch_size + 1;
    const adzi_door door = { .op = op };
    if (o->progress == NULL || adzi_through_door(&door, run_progress, loader)) {
        return true;
    }
    adzi_error(op, ADZ_ERR_CANCELLED, "cancelled at batch %lld of %lld", (long long)batch,
        (long long)batches(loader));
    return false;
}

bool adz_loader_next(adz_loader *loader, adz_tensor **batch)
{
    const char *op = "adz_loader_next";
    if (adzi_is_captured(op, "the rows of a batch follow from the loader's position")) {
        return false;
    }
    if (!adzi_check_handle(op, "loader", loader)) {
        return false;
    }
    if (batch == NULL) {
        adzi_error_null(op, "batch");
        return false;
    }
    memset(batch, 0, loader->dataset->count * sizeof *batch);
    adz_loader_share share = next_share(loader);
    if (share.rows == 0) {
        move_to(loader, loader->epoch + 1, 0);
        return false;
    }
    adz_tensor *parts[ADZI_DATASET_TENSORS];
    if (!gather(op, loader, share.begin + share.first, share.count, parts) ||
        !report_progress(op, loader)) {
        return false;
    }
    memcpy(batch, parts, loader->dataset->count * sizeof *parts);
    loader->consumed += share.rows;
    loader->share = share;
    return true;
}

adz_status adz_loader_get_rows(adz_loader *loader, int64_t begin, int64_t n, adz_tensor **batch)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    const char *op = "adz_loader_get_rows";
    if (!adzi_check_handle(op, "loader", loader)) {
        return adz_error_code();
    }
    if (batch == NULL) {
        return adzi_error_null(op, "batch");
    }
    int64_t size = loader->dataset->size;
    memset(batch, 0, loader->dataset->count * sizeof *batch);
    if (begin < 0 || n < 0 || begin > size || n > size - begin) {
        return adzi_error(op, ADZ_ERR_INDEX, "%lld rows from position %lld on, of an order of %lld",
            (long long)n, (long long)begin, (long long)size);
    }
    return gather(op, loader, begin, n, batch) ? ADZ_OK : adz_error_code();
}

/* ---- positions ------------------------------------------------------------------------------ */

adz_status adz_loader_get_position(const adz_loader *loader, adz_loader_position *position)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    if (!adzi_check_handle("adz_loader_get_position", "loader", loader)) {
        return adz_error_code();
    }
    if (position == NULL) {
        return adzi_error_null("adz_loader_get_position", "position");
    }
    *position = (adz_loader_position){ loader->seed, loader->epoch, loader->consumed,
        loader->dataset->size };
    return ADZ_OK;
}

adz_status adzi_loader_check_position(
    const char *op, const adz_loader *loader, const adz_loader_position *position)
{
    int64_t size = loader->dataset->size;
    if (position->rows != size) {
        return adzi_error(op, ADZ_ERR_ARGUMENT,
            "the position is that of a loader over %lld rows, this one has %lld; was it another dataset?",
            (long long)position->rows, (long long)size);
    }
    if (position->consumed < 0 || position->consumed > size) {
        return adzi_error(op, ADZ_ERR_ARGUMENT, "%lld rows consumed of an epoch that has %lld",
            (long long)position->consumed, (long long)size);
    }
    return ADZ_OK;
}

void adzi_loader_move(adz_loader *loader, const adz_loader_position *position)
{
    loader->seed = loader->options.shuffle ? position->seed : 0;
    loader->share = (adz_loader_share){ 0, 0, 0, 0 };
    move_to(loader, position->epoch, position->consumed);
}

adz_status adz_loader_set_position(adz_loader *loader, const adz_loader_position *position)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    const char *op = "adz_loader_set_position";
    if (!adzi_check_handle(op, "loader", loader)) {
        return adz_error_code();
    }
    if (position == NULL) {
        return adzi_error_null(op, "position");
    }
    adz_status status = adzi_loader_check_position(op, loader, position);
    if (status == ADZ_OK) {
        adzi_loader_move(loader, position);
    }
    return status;
}
