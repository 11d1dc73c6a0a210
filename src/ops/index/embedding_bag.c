#include <math.h>

#include "base/capture.h"
#include "ops/index/indices.h"
#include "ops/index/rows.h"
#include "ops/options.h"

/* Rows of a table, of which those of a bag become one, torch.nn.functional.embedding_bag.
 *
 * Bags of one size, ids[B, S], are a dimension of the rows that were looked up, which is reduced.
 * Bags that offsets divide get a number, which each row is summed to (adzi_rows_sum). A composition
 * in both cases. Its shapes do not depend on contents, so plans and exports can contain it. */

static const char name[] = "embedding_bag";

static const char *const modes[] = { "sum", "mean", "max", NULL };

static const adz_field fields[] = {
    ADZ_FIELD_AS(adz_embedding_bag_options, mode, "mode", ADZ_FIELD_ENUM, .values = modes,
        .value = ADZ_BAG_MEAN),
    ADZ_FIELD(adz_embedding_bag_options, padding_idx, .value = ADZ_NO_PADDING),
    ADZ_FIELD(adz_embedding_bag_options, scale_grad_by_freq, .value = false),
    ADZ_FIELD(adz_embedding_bag_options, include_last_offset, .value = false),
    ADZ_FIELD(adz_embedding_bag_options, sparse, .value = false),
};

ADZ_OPTIONS_TABLE(adz_embedding_bag_options, ADZ_EMBEDDING_BAG_OPTIONS, fields)

/* A call after its checks. */
typedef struct {
    adz_embedding_bag_options o;
    adz_tensor *ids, *weight, *offsets, *factors; /* the last two may be ADZ_NONE */
    int64_t padding;                              /* the row that does not count, or -1 */
    int64_t bags;
} bag_call;

/* ---- checks -------------------------------------------------------------------------------- */

static bool check_options(bag_call *c)
{
    const int64_t rows = c->weight->sizes[0], padding = c->o.padding_idx;
    if (c->o.mode == ADZ_BAG_MAX && c->o.scale_grad_by_freq) {
        adzi_error(name, ADZ_ERR_ARGUMENT,
            "scale_grad_by_freq divides sums of gradients, and mode max has none; leave it off");
        return false;
    }
    if (c->o.mode != ADZ_BAG_SUM && !adzi_is_none(c->factors)) {
        adzi_error(name, ADZ_ERR_ARGUMENT, "per_sample_weights need mode sum, and this is mode %s",
            modes[c->o.mode]);
        return false;
    }
    c->padding = padding == ADZ_NO_PADDING ? -1 : padding < 0 ? padding + rows : padding;
    return true; /* adz_embedding checks padding_idx and sparse */
}

static bool check_shapes(const bag_call *c)
{
    const bool divided = !adzi_is_none(c->offsets);
    if (c->ids->rank != (divided ? 1 : 2) || (divided && c->offsets->rank != 1)) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "ids%s must be [L] with offsets[B], or [B, S] without offsets; these offsets are %s",
            adzi_text_shape(c->ids), divided ? adzi_text_shape(c->offsets) : "absent");
        return false;
    }
    if (divided && c->o.include_last_offset && c->offsets->numel == 0) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "offsets[0] must have the end of the last bag, because include_last_offset is set");
        return false;
    }
    if (!adzi_is_none(c->factors) && !adzi_same_sizes(c->factors, c->ids)) {
        adzi_error(name, ADZ_ERR_SHAPE, "per_sample_weights%s must have the shape of ids%s",
            adzi_text_shape(c->factors), adzi_text_shape(c->ids));
        return false;
    }
    if (c->weight->rank != 2) {
        adzi_error(name, ADZ_ERR_SHAPE, "weight%s needs two dimensions, [rows, features]",
            adzi_text_shape(c->weight));
        return false;
    }
    return true;
}

static bool check_dtypes(const bag_call *c)
{
    const adz_dtype given = (adz_dtype)c->weight->dtype;
    if (!adzi_is_float(given)) {
        adzi_error(name, ADZ_ERR_DTYPE, "weight is %s; float32 or float64 is needed",
            adz_dtype_name(given));
        return false;
    }
    if (!adzi_is_none(c->factors) && c->factors->dtype != c->weight->dtype) {
        adzi_error(name, ADZ_ERR_DTYPE,
            "weight is %s, per_sample_weights %s; convert one with adz_to", adz_dtype_name(given),
            adz_dtype_name((adz_dtype)c->factors->dtype));
        return false;
    }
    if (!adzi_is_none(c->offsets) && c->offsets->dtype != ADZ_I64 && c->offsets->dtype != ADZ_I32) {
        adzi_error(name, ADZ_ERR_DTYPE, "offsets is %s; int64 or int32 is needed",
            adz_dtype_name((adz_dtype)c->offsets->dtype));
        return false;
    }
    return true;
}

typedef struct {
    const int64_t *offsets;
    int64_t n, length; /* of offsets and of ids */
} report_args;

ADZI_ADDRESSES(report_args, offsets);

/* Refuses offsets that do not rise from 0 to at most the length of ids. Replays of a plan look at
 * the elements again. */
static adz_status report(const void *block)
{
    const report_args *a = block;
    int64_t least = 0;
    for (int64_t i = 0; i < a->n; ++i) {
        const int64_t at = a->offsets[i];
        if (at < least || at > a->length || (i == 0 && at != 0)) {
            return adzi_error(name, ADZ_ERR_ARGUMENT,
                "offsets must rise from 0 to at most %lld, the length of ids, but element %lld is %lld",
                (long long)a->length, (long long)i, (long long)at);
        }
        least = at;
    }
    return ADZ_OK;
}

/* Makes offsets contiguous i64, and checks them. */
static bool check_offsets(bag_call *c)
{
    c->offsets = adzi_compact(name, adz_to(c->offsets, ADZ_I64));
    if (c->offsets == NULL) {
        return false;
    }
    c->bags = c->offsets->numel - c->o.include_last_offset;
    const report_args args = { adzi_index_data(c->offsets), c->offsets->numel, c->ids->numel };
    return adzi_repeat(report, report_args, &args) == ADZ_OK;
}

/* ---- bags of one size ---------------------------------------------------------------------- */

/* The rows of the ids, times their factors. */
static adz_tensor *rows_of(const bag_call *c)
{
    adz_embedding_options o = ADZ_EMBEDDING_OPTIONS;
    o.padding_idx = c->o.padding_idx;
    o.scale_grad_by_freq = c->o.scale_grad_by_freq;
    o.sparse = c->o.sparse;
    adz_tensor *rows = adz_embedding(c->ids, c->weight, &o);
    return c->factors == ADZ_NONE ? rows : adz_mul(rows, adz_unsqueeze(c->factors, -1));
}

/* y with zeros in the bags whose count is 0. Counts are [B, 1]. */
static adz_tensor *without_empty(adz_tensor *y, adz_tensor *counts)
{
    return adz_masked_fill(y, adz_eq_number(counts, 0), 0);
}

/* The sums divided by the counts, each of which is taken as at least 1. */
static adz_tensor *mean_of(adz_tensor *sums, adz_tensor *counts)
{
    return adz_div(sums, adz_clamp(counts, 1, INFINITY));
}

/* Bags of ids[B, S]: rows[B, S, D] are reduced over S. */
static adz_tensor *of_one_size(const bag_call *c)
{
    const adz_dtype dtype = (adz_dtype)c->weight->dtype;
    adz_tensor *rows = rows_of(c);
    adz_tensor *padded = adz_eq_number(c->ids, (double)c->padding); /* no id is -1 */
    adz_tensor *counts =
        adz_sum(adz_number_sub(1, adz_to(padded, dtype)), ADZ_DIMS(-1), ADZ_KEEPDIM);
    const bool largest = c->o.mode == ADZ_BAG_MAX && c->ids->sizes[1] > 0;
    if (c->padding >= 0) {
        rows = adz_masked_fill(rows, adz_unsqueeze(padded, -1), largest ? -INFINITY : 0);
    }
    if (largest) {
        return without_empty(adz_max_dim(rows, 1, ADZ_DROPDIM, NULL), counts);
    }
    adz_tensor *sums = adz_sum(rows, ADZ_DIMS(1), ADZ_DROPDIM);
    return c->o.mode == ADZ_BAG_MEAN ? mean_of(sums, counts) : sums;
}

/* ---- bags that offsets divide -------------------------------------------------------------- */

/* The number of each id's bag; -1 for ids in no bag and for the padding. */
static adz_tensor *bag_numbers(const bag_call *c)
{
    adz_tensor *positions = adz_arange(0, (double)c->ids->numel, 1, ADZ_I64);
    adz_tensor *bags = adz_add_number(adz_searchsorted(c->offsets, positions, true), -1);
    bags = adz_masked_fill(bags, adz_ge_number(bags, (double)c->bags), -1);
    return c->padding < 0 ? bags
                          : adz_masked_fill(bags, adz_eq_number(c->ids, (double)c->padding), -1);
}

/* The largest elements of rows[L, D] in each bag. Each column is sorted by size, and then by bag
 * with a stable sort. So the first position of a bag is the one of its largest element. */
static adz_tensor *largest_of(const bag_call *c, adz_tensor *rows, adz_tensor *bags)
{
    const int64_t bounds[] = { rows->sizes[0], rows->sizes[1] };
    adz_tensor *by_size = adz_argsort(adz_detach(rows), 0, true);
    adz_tensor *wide = adz_expand(adz_unsqueeze(bags, -1), adz_shape_of(2, bounds));
    adz_tensor *order = adz_gather(by_size, 0, adz_argsort(adz_gather(wide, 0, by_size), 0, false));
    adz_tensor *numbers = adz_arange(0, (double)c->bags, 1, ADZ_I64);
    adz_tensor *sorted = adz_sort(bags, 0, false, NULL);
    adz_tensor *begin = adz_searchsorted(sorted, numbers, false);
    adz_tensor *counts = adz_sub(adz_searchsorted(sorted, numbers, true), begin);
    /* An empty bag may begin behind the last row. */
    adz_tensor *at = adz_masked_fill(begin, adz_eq_number(counts, 0), 0);
    return without_empty(
        adz_gather(rows, 0, adz_index_select(order, 0, at)), adz_unsqueeze(counts, -1));
}

/* The sum of the rows of each bag. ONNX has a node for adz_scatter_add and none for adzi_rows_sum,
 * which adds in f64. In an export a further row receives what is in no bag. */
static adz_tensor *sums_of(const bag_call *c, adz_tensor *rows, adz_tensor *bags)
{
    if (!adz_is_exporting()) {
        return adzi_rows_sum(rows, 0, bags, c->bags);
    }
    adz_tensor *at = adz_masked_fill(bags, adz_lt_number(bags, 0), (double)c->bags);
    adz_tensor *sums = adz_zeros(ADZ_SHAPE(c->bags + 1, rows->sizes[1]), (adz_dtype)rows->dtype);
    adz_tensor *wide = adz_expand(adz_unsqueeze(at, -1), adz_tensor_shape(rows));
    return adz_narrow(adz_scatter_add(sums, 0, wide, rows), 0, 0, c->bags);
}

static adz_tensor *of_offsets(const bag_call *c)
{
    adz_tensor *rows = rows_of(c), *bags = rows != NULL ? bag_numbers(c) : NULL;
    if (bags == NULL) {
        return NULL;
    }
    if (c->o.mode == ADZ_BAG_MAX && c->ids->numel > 0) {
        return largest_of(c, rows, bags);
    }
    adz_tensor *sums = sums_of(c, rows, bags);
    if (c->o.mode != ADZ_BAG_MEAN) {
        return sums;
    }
    adz_tensor *ones = adz_ones(ADZ_SHAPE(c->ids->numel, 1), (adz_dtype)c->weight->dtype);
    return mean_of(sums, sums_of(c, ones, bags));
}

/* Bags of one size and bags that offsets divide are computed in two ways. */
adz_tensor *adz_embedding_bag(adz_tensor *ids, adz_tensor *weight, adz_tensor *offsets,
    adz_tensor *per_sample_weights, const adz_embedding_bag_options *options)
{
    ADZI_COMPOSED();
    bag_call c = {
        .ids = ids, .weight = weight, .offsets = offsets, .factors = per_sample_weights
    };
    if (!adzi_check_tensor(name, "ids", ids) || !adzi_check_tensor(name, "weight", weight) ||
        !adzi_check_optional(name, "offsets", offsets) ||
        !adzi_check_optional(name, "per_sample_weights", per_sample_weights) ||
        !ADZI_OPTIONS_TAKE(
            name, adz_embedding_bag_options, ADZ_EMBEDDING_BAG_OPTIONS, &c.o, options) ||
        !check_shapes(&c) || !check_dtypes(&c) || !check_options(&c)) {
        return NULL;
    }
    if (adzi_is_none(offsets)) {
        return of_one_size(&c);
    }
    return check_offsets(&c) ? of_offsets(&c) : NULL;
}
