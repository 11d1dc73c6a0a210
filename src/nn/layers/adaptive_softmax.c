/* AdaptiveLogSoftmaxWithLoss: the log-probabilities of classes by a head and clusters, and their
 * loss. The head scores the classes below the first cutoff, and each cluster as a whole. Cluster i
 * scores the classes from cutoff i to the next one, by two linear layers. */
#include "adze/nn/adaptive_softmax.h"

#include <math.h>

#include "adze/nn/containers.h"
#include "adze/nn/linear.h"
#include "adze/nn/type.h"
#include "adze/ops.h"
#include "adze/options.h"
#include "adze/sequences.h"
#include "base/capture.h"
#include "base/error.h"
#include "nn/module.h"
#include "nn/parametrize.h"
#include "ops/index/indices.h"

typedef struct {
    adz_adaptive_log_softmax_with_loss_options o;
    int64_t in_features, n_classes;
} adaptive_state;

enum { HEAD, TAIL };

static const adz_field fields[] = {
    ADZ_FIELD(adaptive_state, in_features, ADZ_SIZE_FROM(0)),
    ADZ_FIELD(adaptive_state, n_classes, ADZ_SIZE_FROM(2)),
    ADZ_FIELD(
        adz_adaptive_log_softmax_with_loss_options, div_value, .value = 4, ADZ_FINITE_ABOVE(0)),
    ADZ_FIELD(adz_adaptive_log_softmax_with_loss_options, head_bias, .value = false),
    ADZ_FIELD(adz_adaptive_log_softmax_with_loss_options, whole_batch, .value = false),
    ADZ_FIELD_PARAMETER_DTYPE(adz_adaptive_log_softmax_with_loss_options),
};

ADZ_OPTIONS_TABLE(
    adz_adaptive_log_softmax_with_loss_options, ADZ_ADAPTIVE_LOG_SOFTMAX_WITH_LOSS_OPTIONS, fields)

static const char name[] = "AdaptiveLogSoftmaxWithLoss";

/* ---- the log-probabilities ------------------------------------------------------------------ */

static adz_tensor *head_logs(adz_module *self, adz_tensor *x)
{
    return adz_log_softmax(adz_module_forward(adzi_child_at(self, HEAD), x), 1);
}

/* Of the classes of cluster i among themselves. */
static adz_tensor *cluster_logs(adz_module *self, size_t i, adz_tensor *x)
{
    return adz_log_softmax(adz_module_forward(adzi_child_at(adzi_child_at(self, TAIL), i), x), 1);
}

static size_t clusters_of(const adz_module *self)
{
    return adzi_child_at(self, TAIL)->n_children;
}

/* The rows of a layer's weight; -1 with the error recorded if it has none. The value of a
 * parametrised weight is not computed: only the layer's own call does that. */
static int64_t rows_of(const adz_module *layer)
{
    const adz_tensor *weight = layer->n_parameters > 0 ? layer->parameters[0].tensor : ADZ_NONE;
    if (weight == NULL) {
        const adz_module *list = adzi_parametrization_list(name, layer, 0);
        const adzi_parametrization_state *state = list != NULL ? list->state : NULL;
        return state != NULL ? state->shape.sizes[0] : -1;
    }
    if (adzi_is_none(weight) || weight->rank == 0) {
        adzi_error(name, ADZ_ERR_STATE, "a %s has no weight with rows", layer->type.name);
        return -1;
    }
    return weight->sizes[0];
}

/* Classes of cluster i: the rows of its last weight; -1 with the error recorded. */
static int64_t cluster_size(const adz_module *self, size_t i)
{
    const adz_module *cluster = adzi_child_at(adzi_child_at(self, TAIL), i);
    if (cluster->n_children < 2) {
        adzi_error(
            name, ADZ_ERR_STATE, "cluster %zu, a %s, must have two layers", i, cluster->type.name);
        return -1;
    }
    return rows_of(adzi_child_at(cluster, 1));
}

/* The classes below the first cutoff: the rows of the head that are no cluster; -1 with the error
 * recorded. */
static int64_t shortlist_size(const adz_module *self)
{
    const adz_module *head = adzi_child_at(self, HEAD);
    const int64_t rows = rows_of(head), clusters = (int64_t)clusters_of(self);
    if (rows >= 0 && rows < clusters) {
        adzi_error(name, ADZ_ERR_STATE, "the head, a %s, has %lld rows for %lld clusters",
            head->type.name, (long long)rows, (long long)clusters);
    }
    return rows < clusters ? -1 : rows - clusters;
}

/* ---- the loss ------------------------------------------------------------------------------ */

/* What cluster i adds to the log-probabilities of the targets, for all rows: 0 for rows of other
 * classes. */
static adz_tensor *of_all_rows(
    adz_module *self, size_t i, adz_tensor *x, adz_tensor *local, adz_tensor *outside)
{
    adz_tensor *at = adz_unsqueeze(adz_masked_fill(local, outside, 0), 1);
    adz_tensor *logs = adz_squeeze(adz_gather(cluster_logs(self, i, x), 1, at), 1);
    return adz_masked_fill(logs, outside, 0);
}

/* The sum of `logs` and what cluster i adds, computed for the rows of its classes alone. */
static adz_tensor *of_own_rows(adz_module *self, size_t i, adz_tensor *x, adz_tensor *local,
    adz_tensor *outside, adz_tensor *logs)
{
    adz_tensor *rows = adz_nonzero(adz_logical_not(outside));
    if (rows == NULL || rows->sizes[0] == 0) {
        return rows == NULL ? NULL : logs;
    }
    rows = adz_squeeze(rows, 1);
    adz_tensor *at = adz_unsqueeze(adz_index_select(local, 0, rows), 1);
    adz_tensor *own = cluster_logs(self, i, adz_index_select(x, 0, rows));
    return adz_scatter_add(logs, 0, rows, adz_squeeze(adz_gather(own, 1, at), 1));
}

/* The log-probabilities of the targets, y[N], of x[N, D] and target[N]. Each cluster replaces its
 * targets by its own position in the head. */
static adz_tensor *target_logs(adz_module *self, adz_tensor *x, adz_tensor *target)
{
    const bool whole = ((const adaptive_state *)self->state)->o.whole_batch;
    int64_t low = shortlist_size(self);
    if (low < 0) {
        return NULL;
    }
    const int64_t first = low;
    adz_tensor *in_head = target, *tail = adz_zeros(ADZ_SHAPE(x->sizes[0]), (adz_dtype)x->dtype);
    for (size_t i = 0; i < clusters_of(self); ++i) {
        const int64_t size = cluster_size(self, i), high = low + size;
        if (size < 0) {
            return NULL;
        }
        adz_tensor *outside =
            adz_logical_or(adz_lt_number(target, (double)low), adz_ge_number(target, (double)high));
        adz_tensor *local = adz_add_number(target, (double)-low);
        tail = whole ? adz_add(tail, of_all_rows(self, i, x, local, outside))
                     : of_own_rows(self, i, x, local, outside, tail);
        if (tail == NULL) {
            return NULL;
        }
        in_head = adz_masked_fill(in_head, adz_logical_not(outside), (double)(first + (int64_t)i));
        low = high;
    }
    adz_tensor *head = adz_gather(head_logs(self, x), 1, adz_unsqueeze(in_head, 1));
    return adz_add(tail, adz_squeeze(head, 1));
}

/* The target as i64[N] with classes of this module, and x as [N, D]. */
static bool check_loss(const adz_module *self, adz_tensor **x, adz_tensor **target)
{
    const adaptive_state *s = self->state;
    if (!adzi_check_tensor(name, "x", *x) || !adzi_check_tensor(name, "target", *target)) {
        return false;
    }
    const adz_tensor *y = *target;
    if (y->rank > 1 || (*x)->rank != y->rank + 1 ||
        (y->rank == 1 && y->sizes[0] != (*x)->sizes[0])) {
        adzi_error(name, ADZ_ERR_SHAPE, "x%s and target%s must be [N, D] and [N], or [D] and []",
            adzi_text_shape(*x), adzi_text_shape(y));
        return false;
    }
    if (y->dtype != ADZ_I64 && y->dtype != ADZ_I32) {
        adzi_error(name, ADZ_ERR_DTYPE, "target is %s; int64 or int32 is needed",
            adz_dtype_name((adz_dtype)y->dtype));
        return false;
    }
    if (y->rank == 0) {
        *x = adz_unsqueeze(*x, 0);
        *target = adz_unsqueeze(*target, 0);
    }
    *target = adz_to(*target, ADZ_I64);
    /* An export skips the check, which is no operator: adz_gather of the target checks it again. */
    const adz_tensor *compact =
        adz_is_exporting() || *target == NULL ? *target : adzi_compact(name, *target);
    return *x != NULL && compact != NULL &&
           (adz_is_exporting() ||
               adzi_indices_within(name, compact, s->n_classes, "classes for x", *x));
}

/* True, with an error that names the option, if a plan or an export would have to contain rows that
 * the target chooses. */
static bool is_refused(const adz_module *self)
{
    static const char why[] =
        "the target decides which rows a cluster computes; set the option whole_batch";
    if (((const adaptive_state *)self->state)->o.whole_batch) {
        return false;
    }
    if (adz_is_exporting()) {
        adzi_error(name, ADZ_ERR_UNSUPPORTED, "an export cannot contain it, because %s", why);
        return true;
    }
    return adzi_is_captured(name, why);
}

static adz_status call(adz_module *self, const adz_values *in, adz_values *out)
{
    adz_tensor *x = adz_values_argument(in, 0, "x"), *y = adz_values_argument(in, 1, "target");
    const bool one = !adzi_is_none(y) && y != NULL && adz_tensor_rank(y) == 0;
    if (!check_loss(self, &x, &y) || is_refused(self)) {
        return adz_error_code();
    }
    adz_tensor *logs = target_logs(self, x, y);
    adz_tensor *loss = adz_neg(adz_mean(logs, ADZ_ALL_DIMS, ADZ_DROPDIM));
    const adz_status status = adz_values_add(out, "output", one ? adz_squeeze(logs, 0) : logs);
    return status == ADZ_OK ? adz_values_add(out, "loss", loss) : status;
}

static const adz_module_type adaptive_type = {
    .size = sizeof(adz_module_type),
    .name = name,
    .call = call,
};

/* ---- all classes --------------------------------------------------------------------------- */

static bool check_methods(const char *op, const adz_module *self, const adz_tensor *x)
{
    if (!adzi_check_module(op, "module", self) || !adzi_check_tensor(op, "x", x)) {
        return false;
    }
    if (self->identity != &adaptive_type) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "the module is of type %s, but must be an %s",
            self->type.name, name);
        return false;
    }
    if (x->rank != 2) {
        adzi_error(op, ADZ_ERR_SHAPE, "x%s must be [N, D]", adzi_text_shape(x));
    }
    return x->rank == 2;
}

/* Writes the log-probabilities of the shortlist and of the clusters to `parts`. */
static bool all_parts(adz_module *self, adz_tensor *x, adz_tensor **parts)
{
    const int64_t first = shortlist_size(self);
    if (first < 0) {
        return false;
    }
    adz_tensor *head = head_logs(self, x);
    parts[0] = adz_narrow(head, 1, 0, first);
    bool good = parts[0] != NULL;
    for (size_t i = 0; good && i < clusters_of(self); ++i) {
        adz_tensor *of_cluster = adz_narrow(head, 1, first + (int64_t)i, 1);
        parts[1 + i] = adz_add(cluster_logs(self, i, x), of_cluster);
        good = parts[1 + i] != NULL;
    }
    return good;
}

adz_tensor *adz_adaptive_log_softmax_with_loss_log_prob(adz_module *module, adz_tensor *x)
{
    static const char op[] = "adz_adaptive_log_softmax_with_loss_log_prob";
    if (!check_methods(op, module, x)) {
        return NULL;
    }
    const size_t n = 1 + clusters_of(module);
    adz_tensor **parts = adzi_alloc(n * sizeof *parts);
    if (parts == NULL) {
        return adzi_fail_memory(op, n * sizeof *parts);
    }
    adz_tensor *y = all_parts(module, x, parts) ? adz_cat(parts, n, 1) : NULL;
    adzi_free(parts, n * sizeof *parts);
    return y;
}

adz_tensor *adz_adaptive_log_softmax_with_loss_predict(adz_module *module, adz_tensor *x)
{
    return adz_argmax(
        adz_adaptive_log_softmax_with_loss_log_prob(module, x), ADZ_DIMS(1), ADZ_DROPDIM);
}

/* ---- construction -------------------------------------------------------------------------- */

static bool check_cutoffs(
    const char *op, int64_t n_classes, const int64_t *cutoffs, size_t n_cutoffs)
{
    if (cutoffs == NULL) {
        return adzi_fail_null(op, "cutoffs") != NULL;
    }
    int64_t last = 0;
    for (size_t i = 0; i < n_cutoffs; ++i) {
        if (cutoffs[i] <= last || cutoffs[i] >= n_classes) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "cutoffs must rise and lie in 1 .. %lld, n_classes - 1, but element %zu is %lld",
                (long long)(n_classes - 1), i, (long long)cutoffs[i]);
            return false;
        }
        last = cutoffs[i];
    }
    if (n_cutoffs == 0) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "there are no cutoffs, but one at least is needed");
    }
    return n_cutoffs > 0;
}

/* The two linear layers of cluster i, with `size` classes; NULL with the error recorded. */
static adz_module *cluster_new(const adaptive_state *s, size_t i, int64_t size)
{
    adz_linear_options o = ADZ_LINEAR_OPTIONS;
    o.bias = false;
    o.dtype = s->o.dtype;
    double divisor = s->o.div_value;
    for (size_t k = 0; k < i; ++k) { /* exact for whole numbers, as pow would be */
        divisor *= s->o.div_value;
    }
    /* The whole quotient is that of Python's //. The rounded quotient may be one more, as of 11 and
     * 1.1: the double 1.1 is a little more than 1.1. */
    const double in = (double)s->in_features, whole = (in - fmod(in, divisor)) / divisor;
    const double features = floor(whole) + (whole - floor(whole) > 0.5);
    if (!(features < 0x1p59)) {
        return adzi_fail("adz_adaptive_log_softmax_with_loss_new", ADZ_ERR_ARGUMENT,
            "div_value %s gives cluster %zu too many hidden features",
            adzi_text_number(s->o.div_value), i);
    }
    const int64_t hidden = (int64_t)features;
    return ADZ_SEQUENTIAL(
        adz_linear_new(s->in_features, hidden, &o), adz_linear_new(hidden, size, &o));
}

/* Adds the head and the clusters. */
static bool add_layers(
    adz_module *self, const adaptive_state *s, const int64_t *cutoffs, size_t n_cutoffs)
{
    adz_linear_options o = ADZ_LINEAR_OPTIONS;
    o.bias = s->o.head_bias;
    o.dtype = s->o.dtype;
    adz_module *head = adz_linear_new(s->in_features, cutoffs[0] + (int64_t)n_cutoffs, &o);
    if (head == NULL || adz_module_add_child(self, "head", head) == NULL) {
        return false;
    }
    adz_module *tail = adz_module_add_child(self, "tail", adz_module_list_new(NULL, 0));
    for (size_t i = 0; tail != NULL && i < n_cutoffs; ++i) {
        const int64_t end = i + 1 < n_cutoffs ? cutoffs[i + 1] : s->n_classes;
        adz_module *cluster = cluster_new(s, i, end - cutoffs[i]);
        if (cluster == NULL || adz_module_list_append(tail, cluster) == NULL) {
            return false;
        }
    }
    return tail != NULL;
}

adz_module *adz_adaptive_log_softmax_with_loss_new(int64_t in_features, int64_t n_classes,
    const int64_t *cutoffs, size_t n_cutoffs,
    const adz_adaptive_log_softmax_with_loss_options *options)
{
    static const char op[] = "adz_adaptive_log_softmax_with_loss_new";
    adaptive_state s = { .in_features = in_features, .n_classes = n_classes };
    if (!adz_options_take(op, &adz_adaptive_log_softmax_with_loss_options_table, &s, options) ||
        !check_cutoffs(op, n_classes, cutoffs, n_cutoffs)) {
        return NULL;
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adzi_module_of(&adaptive_type, &s, sizeof s);
    const bool good = self != NULL && add_layers(self, &s, cutoffs, n_cutoffs);
    return adzi_build_end(build, self, good);
}
