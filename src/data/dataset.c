/* Datasets: making them from tensors and tables, splitting them into parts, and gathering rows. */
#include "data/dataset.h"
#include "base/capture.h"
#include "base/handle.h"

#include <math.h>
#include <string.h>

#include "tensor/copy.h"
#include "base/threads/parallel.h"

/* ---- making and ending ---------------------------------------------------------------------- */

adz_dataset *adz_dataset_keep(adz_dataset *dataset)
{
    if (!adzi_check_handle("adz_dataset_keep", "dataset", dataset)) {
        return NULL;
    }
    atomic_fetch_add(&dataset->refs, 1);
    return dataset;
}

void adz_dataset_release(adz_dataset **address)
{
    adz_dataset *dataset = adzi_handle_take("adz_dataset_release", "dataset", address);
    if (dataset == NULL) {
        return;
    }
    if (atomic_fetch_sub(&dataset->refs, 1) != 1) {
        return;
    }
    for (size_t i = 0; i < dataset->count; ++i) {
        adzi_drop(dataset->tensors[i]);
    }
    adzi_free(dataset->rows, (size_t)dataset->size * sizeof *dataset->rows);
    adzi_handle_end(dataset, sizeof *dataset);
}

/* A dataset without tensors, with one reference. */
static adz_dataset *empty(const char *op)
{
    adz_dataset *dataset = adzi_handle_new(sizeof *dataset);
    if (dataset == NULL) {
        return adzi_fail_memory(op, sizeof *dataset);
    }
    atomic_init(&dataset->refs, 1);
    return dataset;
}

/* Checks the caller's tensors: their number, their first sizes, and that none wants a gradient. */
static bool check_tensors(const char *op, adz_tensor *const *tensors, size_t n)
{
    if (tensors == NULL) {
        adzi_error_null(op, "tensors");
        return false;
    }
    if (n < 1 || n > ADZI_DATASET_TENSORS) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "n is %zu; a dataset has 1 to %d tensors", n,
            ADZI_DATASET_TENSORS);
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        const adz_tensor *t = tensors[i];
        if (!adzi_check_tensor(op, "a tensor", t)) {
            return false;
        }
        if (t->rank == 0 || t->sizes[0] != tensors[0]->sizes[0]) {
            adzi_error(op, ADZ_ERR_SHAPE,
                "tensor %zu is %s, tensor 0 is %s; all must have the same first size", i,
                adzi_text_shape(t), adzi_text_shape(tensors[0]));
            return false;
        }
        if (adzi_requires_grad(t)) {
            adzi_error(op, ADZ_ERR_ARGUMENT, "tensor %zu wants a gradient; adz_detach it", i);
            return false;
        }
    }
    return true;
}

/* A reference to the tensor if it is contiguous, else a contiguous copy. The caller owns it. */
static adz_tensor *compact(const char *op, adz_tensor *t)
{
    if (adzi_is_contiguous(t)) {
        return adzi_retain(t);
    }
    adz_tensor *copy = adzi_tensor_new(adzi_self(), op, (adz_dtype)t->dtype, t->rank, t->sizes);
    if (copy != NULL) {
        adzi_copy(copy, t);
    }
    return copy;
}

adz_dataset *adz_dataset_new(adz_tensor *const *tensors, size_t n)
{
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    const char *op = "adz_dataset_new";
    adz_dataset *dataset = check_tensors(op, tensors, n) ? empty(op) : NULL;
    for (size_t i = 0; i < n && dataset != NULL; ++i) {
        adz_tensor *t = compact(op, tensors[i]);
        if (t == NULL) {
            adz_dataset_release(&dataset);
            return NULL;
        }
        dataset->tensors[dataset->count++] = t;
    }
    if (dataset != NULL) {
        dataset->size = tensors[0]->sizes[0];
    }
    return dataset;
}

/* ---- from a table --------------------------------------------------------------------------- */

/* A copy of values[rows, columns] without column `target`. The column is given by its position,
 * because names of the other columns may occur twice. */
static adz_tensor *columns_but(const adz_tensor *values, int64_t target)
{
    int64_t rows = values->sizes[0], columns = values->sizes[1];
    size_t item = adzi_item_size(values);
    adz_tensor *x = adz_empty(ADZ_SHAPE(rows, columns - 1), (adz_dtype)values->dtype);
    if (x == NULL) {
        return NULL;
    }
    size_t before = (size_t)target * item, after = (size_t)(columns - 1 - target) * item;
    char *to = x->data;
    const char *from = values->data;
    for (int64_t i = 0; i < rows; ++i) {
        memcpy(to, from, before);
        memcpy(to + before, from + before + item, after);
        to += before + after;
        from += before + item + after;
    }
    return x;
}

adz_dataset *adz_dataset_from_csv(
    adz_csv *csv, const char *const *features, size_t n_features, const char *target)
{
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    const char *op = "adz_dataset_from_csv";
    if (csv == NULL || target == NULL) {
        return adzi_fail_null(op, csv == NULL ? "csv" : "target");
    }
    int64_t column = adz_csv_index(csv, target);
    if (column < 0) {
        return NULL;
    }
    for (size_t i = 0; features != NULL && i < n_features; ++i) {
        if (features[i] != NULL && strcmp(features[i], target) == 0) {
            return adzi_fail(op, ADZ_ERR_ARGUMENT, "the target '%s' is among the features", target);
        }
    }
    bool all = features == NULL || n_features == 0;
    if (all && adz_csv_column_count(csv) < 2) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "'%s' is the only column; there is no feature", target);
    }
    adz_scope *scope = adz_scope_open();
    if (scope == NULL) {
        return NULL;
    }
    adz_tensor *both[2];
    both[0] =
        all ? columns_but(adz_csv_values(csv), column) : adz_csv_select(csv, features, n_features);
    both[1] = both[0] != NULL ? adz_csv_select(csv, &target, 1) : NULL;
    adz_dataset *dataset = both[1] != NULL ? adz_dataset_new(both, 2) : NULL;
    adz_scope_close(scope);
    return dataset;
}

/* ---- parts ---------------------------------------------------------------------------------- */

/* A dataset with the tensors of another one and room for a list of n rows, which the caller fills.
 */
static adz_dataset *part_new(const char *op, const adz_dataset *dataset, int64_t n)
{
    adz_dataset *part = empty(op);
    if (part == NULL) {
        return NULL;
    }
    part->rows = adzi_alloc((size_t)n * sizeof *part->rows);
    if (part->rows == NULL) {
        adz_dataset_release(&part);
        return adzi_fail_memory(op, (size_t)n * sizeof(int64_t));
    }
    part->size = n;
    for (; part->count < dataset->count; ++part->count) {
        part->tensors[part->count] = adzi_retain(dataset->tensors[part->count]);
    }
    return part;
}

/* The row of the tensors that is row `row` of the dataset. */
static int64_t base_row(const adz_dataset *dataset, int64_t row)
{
    return dataset->rows != NULL ? dataset->rows[row] : row;
}

static bool check_rows(const char *op, const adz_dataset *dataset, const int64_t *rows, size_t n)
{
    if (!adzi_check_handle(op, "dataset", dataset)) {
        return false;
    }
    if (rows == NULL && n > 0) {
        adzi_error_null(op, "rows");
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        if (rows[i] < 0 || rows[i] >= dataset->size) {
            adzi_error(op, ADZ_ERR_INDEX, "row %lld is outside the dataset's %lld rows",
                (long long)rows[i], (long long)dataset->size);
            return false;
        }
    }
    return true;
}

adz_dataset *adz_dataset_subset(adz_dataset *dataset, const int64_t *rows, size_t n)
{
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    const char *op = "adz_dataset_subset";
    if (!check_rows(op, dataset, rows, n)) {
        return NULL;
    }
    adz_dataset *part = part_new(op, dataset, (int64_t)n);
    for (size_t i = 0; i < n && part != NULL; ++i) {
        part->rows[i] = base_row(dataset, rows[i]);
    }
    return part;
}

/* Sets taken[row] for each row of the list. Records an error if a row is listed twice. */
static bool mark_rows(const char *op, const int64_t *rows, size_t n, unsigned char *taken)
{
    for (size_t i = 0; i < n; ++i) {
        if (taken[rows[i]]++ != 0) {
            adzi_error(
                op, ADZ_ERR_ARGUMENT, "row %lld is listed twice; list it once", (long long)rows[i]);
            return false;
        }
    }
    return true;
}

adz_status adz_dataset_split_rows(
    adz_dataset *dataset, const int64_t *rows, size_t n, adz_dataset **chosen, adz_dataset **others)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    const char *op = "adz_dataset_split_rows";
    if (!check_rows(op, dataset, rows, n)) {
        return adz_error_code();
    }
    if (chosen == NULL || others == NULL) {
        return adzi_error_null(op, chosen == NULL ? "chosen" : "others");
    }
    size_t size = (size_t)dataset->size;
    unsigned char *taken = adzi_alloc_zero(size);
    adz_dataset *parts[2] = { NULL, NULL };
    if (taken == NULL) {
        adzi_fail_memory(op, size);
    } else if (mark_rows(op, rows, n, taken)) {
        parts[0] = part_new(op, dataset, (int64_t)(size - n));
        parts[1] = parts[0] != NULL ? part_new(op, dataset, (int64_t)n) : NULL;
    }
    if (parts[1] == NULL) {
        adz_dataset_release(&parts[0]);
    } else {
        int64_t filled[2] = { 0, 0 };
        for (size_t i = 0; i < size; ++i) {
            int which = taken[i];
            parts[which]->rows[filled[which]++] = base_row(dataset, (int64_t)i);
        }
        *others = parts[0];
        *chosen = parts[1];
    }
    adzi_free(taken, size);
    return parts[1] != NULL ? ADZ_OK : adz_error_code();
}

/* The number of rows of part i. Each part gets its share, rounded down. The rows that are left over
 * are dealt out one by one, from the first part on. */
static int64_t part_size(const double *shares, size_t n, int64_t size, size_t i)
{
    int64_t left = size;
    for (size_t k = 0; k < n; ++k) {
        left -= (int64_t)floor(shares[k] * (double)size);
    }
    int64_t each = left / (int64_t)n, first = left % (int64_t)n;
    return (int64_t)floor(shares[i] * (double)size) + each + ((int64_t)i < first ? 1 : 0);
}

static bool check_shares(const char *op, const double *shares, size_t n)
{
    double sum = 0;
    if (shares == NULL || n < 1) {
        adzi_error(op, shares == NULL ? ADZ_ERR_NULL : ADZ_ERR_ARGUMENT,
            "no shares are given; give one per part");
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        if (!(shares[i] >= 0 && shares[i] <= 1)) {
            adzi_error(op, ADZ_ERR_ARGUMENT, "share %zu is %s, but must be in [0, 1]", i,
                adzi_text_number(shares[i]));
            return false;
        }
        sum += shares[i];
    }
    if (fabs(sum - 1) > 1e-9) {
        adzi_error(
            op, ADZ_ERR_ARGUMENT, "the shares add up to %s, not to 1", adzi_text_number(sum));
        return false;
    }
    return true;
}

/* Makes n parts, whose rows are those of the dataset in the given order. */
static adz_status split(
    adz_dataset *dataset, const double *shares, size_t n, const int64_t *order, adz_dataset **parts)
{
    static const char op[] = "adz_dataset_split";
    size_t done = 0;
    for (; done < n; ++done) {
        parts[done] = part_new(op, dataset, part_size(shares, n, dataset->size, done));
        if (parts[done] == NULL) {
            break;
        }
        for (int64_t k = 0; k < parts[done]->size; ++k) {
            parts[done]->rows[k] = base_row(dataset, *order++);
        }
    }
    if (done == n) {
        return ADZ_OK;
    }
    while (done > 0) {
        adz_dataset_release(&parts[--done]);
    }
    return ADZ_ERR_MEMORY;
}

adz_status adz_dataset_split(adz_dataset *dataset, const double *shares, size_t n,
    adz_generator *generator, adz_dataset **parts)
{
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, ADZ_ERR_STATE);
    const char *op = "adz_dataset_split";
    if (!adzi_check_handle(op, "dataset", dataset)) {
        return adz_error_code();
    }
    if (parts == NULL) {
        return adzi_error_null(op, "parts");
    }
    if (!check_shares(op, shares, n)) {
        return adz_error_code();
    }
    adz_scope *scope = adz_scope_open();
    if (scope == NULL) {
        return adz_error_code();
    }
    adz_generator_state before = adz_generator_get_state(generator);
    adz_tensor *order = adz_generator_randperm(generator, dataset->size);
    adz_status status = order != NULL ? split(dataset, shares, n, adz_tensor_data_i64(order), parts)
                                      : adz_error_code();
    if (status != ADZ_OK) {
        adz_generator_set_state(generator, before);
    }
    adz_scope_close(scope);
    return status;
}

/* ---- reading -------------------------------------------------------------------------------- */

int64_t adz_dataset_row_count(const adz_dataset *dataset)
{
    if (!adzi_check_handle("adz_dataset_row_count", "dataset", dataset)) {
        return -1;
    }
    return dataset->size;
}

size_t adz_dataset_count(const adz_dataset *dataset)
{
    if (!adzi_check_handle("adz_dataset_count", "dataset", dataset)) {
        return 0;
    }
    return dataset->count;
}

adz_tensor *adz_dataset_at(const adz_dataset *dataset, size_t index)
{
    const char *op = "adz_dataset_at";
    if (!adzi_check_handle(op, "dataset", dataset)) {
        return NULL;
    }
    if (index >= dataset->count) {
        return adzi_fail(op, ADZ_ERR_INDEX, "index %zu is outside the dataset's %zu tensors", index,
            dataset->count);
    }
    const adzi_row_list all = { NULL, 0, dataset->size };
    return dataset->rows == NULL ? dataset->tensors[index]
                                 : adzi_dataset_gather(op, dataset, index, all);
}

/* ---- gathering ------------------------------------------------------------------------------ */

/* Copies rows; a unit is a row of the result. */
typedef struct gathering {
    const char *from;
    char *to;
    size_t bytes;         /* bytes of one row */
    const int64_t *order; /* rows of the dataset, or NULL */
    const int64_t *rows;  /* rows of the tensor, or NULL */
    int64_t begin;
} gathering;

ADZI_ADDRESSES(gathering, from, to, order, rows);

static void gather_kernel(const void *args, int64_t begin, int64_t end)
{
    const gathering *g = args;
    for (int64_t i = begin; i < end; ++i) {
        int64_t row = g->order != NULL ? g->order[g->begin + i] : g->begin + i;
        row = g->rows != NULL ? g->rows[row] : row;
        memcpy(g->to + (size_t)i * g->bytes, g->from + (size_t)row * g->bytes, g->bytes);
    }
}

adz_tensor *adzi_dataset_gather(
    const char *op, const adz_dataset *dataset, size_t index, adzi_row_list rows)
{
    const adz_tensor *from = dataset->tensors[index];
    adzi_thread *thread = adzi_self();
    int64_t sizes[ADZ_MAX_RANK], row = (int64_t)adzi_item_size(from);
    memcpy(sizes, from->sizes, sizeof sizes);
    sizes[0] = rows.n;
    for (int i = 1; i < from->rank; ++i) {
        row *= from->sizes[i];
    }
    if (!adzi_scope_reserve(thread, 1)) {
        return adzi_fail_memory(op, sizeof(adz_tensor *));
    }
    adz_tensor *to = adzi_tensor_new(thread, op, (adz_dtype)from->dtype, from->rank, sizes);
    if (to == NULL) {
        return NULL;
    }
    gathering g = { from->data, to->data, (size_t)row, rows.order, dataset->rows, rows.begin };
    if (row > 0) {
        adzi_launch(gather_kernel, gathering, &g, rows.n, row < 65536 ? 65536 / row : 1);
    }
    return adzi_borrow(thread, to);
}
