/* Generation: calls of the model, and the choice of tokens. */
#include "adze/models/generate.h"

#include <math.h>
#include <string.h>

#include "adze/autograd.h"
#include "adze/nn/values.h"
#include "adze/ops/convert.h"
#include "adze/options.h"
#include "generate/rows.h"
#include "generate/sample.h"
#include "models.h"
#include "pretrained/causal_lm.h"
#include "pretrained/gpt2.h"

static const char op[] = "adz_generate";

static const adz_field options_rows[] = {
    ADZ_FIELD(adz_generate_options, max_new_tokens, .value = 20, ADZ_SIZE_FROM(1)),
    ADZ_FIELD(adz_generate_options, do_sample, .value = false),
    ADZ_FIELD(adz_generate_options, temperature, .value = 1, ADZ_FINITE_ABOVE(0)),
    ADZ_FIELD(adz_generate_options, top_k, .value = 0, ADZ_SIZE_FROM(0)),
    ADZ_FIELD(adz_generate_options, top_p, .value = 1, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_generate_options, min_p, .value = 0, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_generate_options, repetition_penalty, .value = 1, ADZ_FINITE_ABOVE(0)),
    ADZ_FIELD(adz_generate_options, pad_token_id, .value = 0, ADZ_SIZE_FROM(0)),
};

ADZ_OPTIONS_TABLE(adz_generate_options, ADZ_GENERATE_OPTIONS, options_rows)

/* A running generation. Column c of the rows' tokens is the one that the model gets at position c
 * of the cache; columns of padding are there, too, and do not count. */
typedef struct generation {
    adz_generate_options o;
    adz_module *model;
    adz_values *in, *out;
    int64_t b, t;      /* rows, and columns of the prompt */
    int64_t capacity;  /* columns at most */
    int64_t columns;   /* that the rows have */
    int64_t past;      /* columns that the cache holds */
    int64_t *ids;      /* [B, capacity] */
    int64_t *position; /* [B, capacity]: how many tokens of the row count before a column */
    bool *counts;      /* [B, capacity]: this column counts */
    models_row *rows;
    float *scores; /* [V], of one row */
    bool *met;     /* [V], all false */
    models_candidate *room;
    int64_t v; /* 0 before the first call */
    bool stopped;
    bool keeps; /* the model can leave out the logits of all columns but the last one */
} generation;

/* ---- the beginning -------------------------------------------------------------------------- */

static bool check_strings(const adz_generate_options *o)
{
    if (o->n_stop_strings > 0 && o->tokenizer == NULL) {
        adz_error_format(op, ADZ_ERR_ARGUMENT, "stop_strings need a tokenizer, which gives text");
        return false;
    }
    const bool no_strings = o->n_stop_strings > 0 && o->stop_strings == NULL;
    if (no_strings || (o->n_eos_token_ids > 0 && o->eos_token_ids == NULL)) {
        adz_error_null(op, no_strings ? "stop_strings" : "eos_token_ids");
        return false;
    }
    for (size_t i = 0; i < o->n_stop_strings; ++i) {
        if (o->stop_strings[i] == NULL || o->stop_strings[i][0] == 0) {
            adz_error_format(op, ADZ_ERR_ARGUMENT, "stop string %zu is empty", i);
            return false;
        }
    }
    return true;
}

/* Checks the prompt and its mask, and finds the sizes. */
static bool check_prompt(generation *g, adz_tensor *input_ids)
{
    adz_tensor *mask = g->o.attention_mask;
    if (!adz_check_tensor(op, "input_ids", input_ids) ||
        (mask != NULL && !adz_check_tensor(op, "attention_mask", mask))) {
        return false;
    }
    const adz_shape shape = adz_tensor_shape(input_ids);
    const adz_dtype dtype = adz_tensor_dtype(input_ids);
    if (dtype != ADZ_I64 && dtype != ADZ_I32) {
        adz_error_format(op, ADZ_ERR_DTYPE, "input_ids is %s, but must be int64 or int32",
            adz_dtype_name(dtype));
        return false;
    }
    if (shape.rank != 2 || shape.sizes[0] < 1 || shape.sizes[1] < 1) {
        adz_error_format(op, ADZ_ERR_SHAPE, "input_ids%s must be [B, T] with B and T 1 or more",
            adz_text_shape(input_ids));
        return false;
    }
    if (mask != NULL && (adz_tensor_rank(mask) != 2 || adz_tensor_size(mask, 0) != shape.sizes[0] ||
                            adz_tensor_size(mask, 1) != shape.sizes[1])) {
        adz_error_format(op, ADZ_ERR_SHAPE, "attention_mask%s must have the shape of input_ids%s",
            adz_text_shape(mask), adz_text_shape(input_ids));
        return false;
    }
    g->b = shape.sizes[0];
    g->t = shape.sizes[1];
    if (g->o.max_new_tokens > (INT64_C(1) << 40) / g->b - g->t) {
        adz_error_format(op, ADZ_ERR_ARGUMENT, "max_new_tokens is %lld, which is too many",
            (long long)g->o.max_new_tokens);
        return false;
    }
    g->capacity = g->t + g->o.max_new_tokens;
    return true;
}

/* Refuses a cache of adz_pretrained_cache_new() that would be full before the last token, since the
 * program would have heard of the tokens before it. Models of a program may have other caches. */
static bool check_cache(const generation *g)
{
    const adz_tensor *cache = g->o.cache;
    if (cache == NULL) {
        return true;
    }
    if (!adz_check_tensor(op, "cache", cache)) {
        return false;
    }
    if (adz_tensor_rank(cache) != 6) {
        return true;
    }
    const int64_t positions = adz_tensor_size(cache, 4);
    if (positions < g->capacity) {
        adz_error_format(op, ADZ_ERR_SHAPE,
            "the cache has %lld positions, but %lld of the prompt and max_new_tokens %lld need %lld",
            (long long)positions, (long long)g->t, (long long)g->o.max_new_tokens,
            (long long)g->capacity);
        return false;
    }
    return true;
}

/* Adds a column to a row. */
static void put_column(generation *g, int64_t row, int64_t column, int64_t id, bool counts)
{
    const int64_t at = row * g->capacity + column;
    const int64_t before = column > 0 ? g->position[at - 1] + (g->counts[at - 1] ? 1 : 0) : 0;
    g->ids[at] = id;
    g->counts[at] = counts;
    g->position[at] = before;
}

static bool take_prompt(generation *g, adz_tensor *input_ids)
{
    adz_tensor *ids = adz_contiguous(adz_to(input_ids, ADZ_I64)), *mask = NULL;
    if (g->o.attention_mask != NULL) {
        mask = adz_contiguous(adz_to(g->o.attention_mask, ADZ_F64));
        if (mask == NULL) {
            return false;
        }
    }
    if (ids == NULL) {
        return false;
    }
    const int64_t *id = adz_tensor_data_constant(ids);
    const double *counts = mask != NULL ? adz_tensor_data_constant(mask) : NULL;
    for (int64_t row = 0; row < g->b; ++row) {
        models_row *r = &g->rows[row];
        r->ids = adzi_models_scratch((size_t)g->capacity * sizeof *r->ids);
        if (r->ids == NULL) {
            return false;
        }
        /* Padding goes to the left, wherever it was: a window of attention counts columns, so there
         * must be none between the tokens of a row. */
        int64_t column = 0;
        for (int64_t c = 0; counts != NULL && c < g->t; ++c) {
            if (counts[row * g->t + c] == 0) {
                put_column(g, row, column++, id[row * g->t + c], false);
            }
        }
        for (int64_t c = 0; c < g->t; ++c) {
            if (counts == NULL || counts[row * g->t + c] != 0) {
                put_column(g, row, column++, id[row * g->t + c], true);
                r->ids[r->count++] = id[row * g->t + c];
            }
        }
        if (r->count == 0) {
            adz_error_format(op, ADZ_ERR_ARGUMENT,
                "row %lld of attention_mask has no token that counts", (long long)row);
            return false;
        }
    }
    g->columns = g->t;
    return true;
}

static bool begin(generation *g, adz_tensor *input_ids)
{
    const size_t columns = (size_t)(g->b * g->capacity);
    g->in = adz_values_new();
    g->out = adz_values_new();
    g->ids = adzi_models_scratch(columns * sizeof *g->ids);
    g->position = adzi_models_scratch(columns * sizeof *g->position);
    g->counts = adzi_models_scratch(columns * sizeof *g->counts);
    g->rows = adzi_models_scratch((size_t)g->b * sizeof *g->rows);
    bool good = g->in != NULL && g->out != NULL && g->ids != NULL && g->position != NULL &&
                g->counts != NULL && g->rows != NULL && take_prompt(g, input_ids);
    for (int64_t row = 0; good && g->o.tokenizer != NULL && row < g->b; ++row) {
        g->rows[row].stream = adz_token_stream_new(g->o.tokenizer);
        good = g->rows[row].stream != NULL;
    }
    return good;
}

static void end(generation *g)
{
    for (int64_t row = 0; g->rows != NULL && row < g->b; ++row) {
        adzi_models_row_free(&g->rows[row]);
    }
    adz_values_free(&g->in);
    adz_values_free(&g->out);
}

/* ---- calls of the model --------------------------------------------------------------------- */

/* A tensor [B, to - from] of the columns from `from` on of an array [B, capacity]. */
static adz_tensor *columns_of(
    const generation *g, const void *array, adz_dtype dtype, int64_t from, int64_t to)
{
    const size_t item = adz_dtype_size(dtype), row = (size_t)(to - from) * item;
    adz_tensor *t = adz_empty(ADZ_SHAPE(g->b, to - from), dtype);
    for (int64_t b = 0; t != NULL && b < g->b; ++b) {
        memcpy((char *)adz_tensor_data(t) + (size_t)b * row,
            (const char *)array + (size_t)(b * g->capacity + from) * item, row);
    }
    return t;
}

/* Adds an argument of the call. False if it could not be made. */
static bool put(generation *g, const char *name, adz_tensor *t)
{
    return t != NULL && adz_values_add(g->in, name, t) == ADZ_OK;
}

/* Whether a row that has not ended has a column that does not count. Without one the mask and the
 * positions are what the model takes by itself. Nothing reads the logits of a row that has ended.
 */
static bool has_padding(const generation *g)
{
    bool all = true;
    for (int64_t row = 0; row < g->b; ++row) {
        for (int64_t c = 0; c < g->columns; ++c) {
            all = all && (g->rows[row].finished || g->counts[row * g->capacity + c]);
        }
    }
    return !all;
}

/* How many columns of a call have logits: all that the model has not seen, or the last one. */
static int64_t seen_of(const generation *g)
{
    return g->keeps ? 1 : g->columns - (g->o.cache != NULL ? g->past : 0);
}

/* Calls the model for the columns that it has not seen. Returns their logits [B, seen, V] in f32.
 */
static adz_tensor *call_model(generation *g)
{
    const int64_t from = g->o.cache != NULL ? g->past : 0, to = g->columns;
    adz_values_clear(g->in);
    adz_values_clear(g->out);
    bool good = put(g, "input_ids", columns_of(g, g->ids, ADZ_I64, from, to));
    if (good && has_padding(g)) {
        good = put(g, "attention_mask", columns_of(g, g->counts, ADZ_BOOL, 0, to)) &&
               put(g, "position_ids", columns_of(g, g->position, ADZ_I64, from, to));
    }
    if (good && g->o.cache != NULL) {
        good = put(g, "cache", g->o.cache) && put(g, "past", adz_scalar((double)g->past, ADZ_I64));
    }
    if (good && g->keeps) {
        good = put(g, "logits_to_keep", adz_scalar(1, ADZ_I64));
    }
    if (!good || adz_module_call(g->model, g->in, g->out) != ADZ_OK) {
        return NULL;
    }
    adz_tensor *logits = adz_values_get(g->out, "logits");
    if (logits == ADZ_NONE) {
        return models_fail(op, ADZ_ERR_ARGUMENT, "the model has no result called logits");
    }
    const adz_shape shape = adz_tensor_shape(logits);
    if (shape.rank != 3 || shape.sizes[0] != g->b || shape.sizes[1] != seen_of(g) ||
        shape.sizes[2] < 1 || (g->v != 0 && shape.sizes[2] != g->v)) {
        return models_fail(op, ADZ_ERR_SHAPE, "the model's logits%s must be [%lld, %lld, V]",
            adz_text_shape(logits), (long long)g->b, (long long)seen_of(g));
    }
    g->v = shape.sizes[2];
    return adz_contiguous(adz_to(logits, ADZ_F32));
}

/* ---- tokens --------------------------------------------------------------------------------- */

/* False with the error recorded if a row of logits, divided by the temperature, is no distribution.
 */
static bool check_scores(const float *scores, int64_t v, float temperature, int64_t row)
{
    bool any = false, good = true;
    for (int64_t i = 0; i < v; ++i) {
        const float score = scores[i] / temperature;
        good = good && !isnan(score) && score < INFINITY;
        any = any || score > -INFINITY;
    }
    if (!good || !any) {
        adz_error_format(op, ADZ_ERR_NUMERIC,
            "the logits of row %lld are NaN or infinite (after repetition_penalty and temperature), so no token can be chosen",
            (long long)row);
    }
    return good && any;
}

/* Chooses the token of a row from its logits; -1 with the error recorded. */
static int64_t choose(generation *g, int64_t row, const float *logits, double number)
{
    const models_row *r = &g->rows[row];
    memcpy(g->scores, logits, (size_t)g->v * sizeof *logits);
    if (g->o.repetition_penalty != 1) {
        adzi_models_penalise(g->scores, g->v, g->o.repetition_penalty, r->ids, r->count, g->met);
    }
    if (!check_scores(g->scores, g->v, g->o.do_sample ? (float)g->o.temperature : 1, row)) {
        return -1;
    }
    if (!g->o.do_sample) {
        return adzi_models_best(g->scores, g->v);
    }
    adzi_models_filter(g->scores, g->v, &g->o, g->room);
    return adzi_models_draw(g->scores, g->v, number);
}

/* Memory for a row of scores, once their number is known. Its scope is that of the generation. */
static bool make_room(generation *g)
{
    if (g->scores == NULL) {
        g->scores = adzi_models_alloc((size_t)g->v * sizeof *g->scores);
        g->met = adzi_models_alloc((size_t)g->v * sizeof *g->met);
        g->room = adzi_models_alloc((size_t)g->v * sizeof *g->room);
    }
    return g->scores != NULL && g->met != NULL && g->room != NULL;
}

/* The column whose logits choose the next token of a row: its last one that counts. Of a row that
 * has not ended this is the last column of all, because padding stands on the left. */
static int64_t last_of(const generation *g, int64_t row)
{
    int64_t c = g->columns - 1;
    while (c > 0 && !g->counts[row * g->capacity + c]) {
        --c;
    }
    return c;
}

/* Gives a row its token and tells the program. False with the error recorded. */
static bool add_token(generation *g, int64_t row, int64_t id)
{
    models_row *r = &g->rows[row];
    adz_generated made = { .size = sizeof made, .row = row, .step = r->made, .id = id };
    const bool is_last = r->made + 1 == g->o.max_new_tokens;
    if (!adzi_models_row_add(r, &g->o, id, is_last, &made.text)) {
        return false;
    }
    made.finished = r->finished;
    if (g->o.on_token != NULL && !g->o.on_token(&made, g->o.user)) {
        g->stopped = true;
    }
    return true;
}

/* One call of the model and one token for each row that has not ended. */
static bool step(generation *g)
{
    adz_tensor *logits = call_model(g), *numbers = NULL;
    if (logits == NULL || !make_room(g)) {
        return false;
    }
    if (g->o.do_sample) {
        numbers = adz_generator_rand(g->o.generator, ADZ_SHAPE(g->b), ADZ_F64);
        if (numbers == NULL) {
            return false;
        }
    }
    const int64_t seen = seen_of(g), first = g->columns - seen;
    const float *scores = adz_tensor_data_constant(logits);
    const double *number = numbers != NULL ? adz_tensor_data_constant(numbers) : NULL;
    const int64_t column = g->columns;
    for (int64_t row = 0; row < g->b; ++row) {
        int64_t id = g->o.pad_token_id;
        const bool runs = !g->rows[row].finished;
        if (runs) {
            const float *at = scores + (row * seen + last_of(g, row) - first) * g->v;
            id = choose(g, row, at, number != NULL ? number[row] : 0);
            if (id < 0 || !add_token(g, row, id)) {
                return false;
            }
        }
        if (column < g->capacity) {
            put_column(g, row, column, id, runs);
        }
    }
    g->past = g->columns;
    ++g->columns;
    return true;
}

static bool is_over(const generation *g)
{
    bool over = true;
    for (int64_t row = 0; row < g->b; ++row) {
        over = over && g->rows[row].finished;
    }
    return over || g->stopped;
}

/* The new tokens of all rows. Columns behind the end of a row hold the token for padding. */
static adz_tensor *result_of(const generation *g)
{
    return columns_of(g, g->ids, ADZ_I64, g->t, g->columns);
}

static adz_tensor *run(generation *g, adz_tensor *input_ids)
{
    bool good = begin(g, input_ids);
    while (good && !is_over(g)) {
        adz_scope *scope = adz_scope_open();
        good = step(g);
        adz_scope_close(scope);
    }
    adz_tensor *result = good ? result_of(g) : NULL;
    end(g);
    adzi_models_free(g->scores);
    adzi_models_free(g->met);
    adzi_models_free(g->room);
    return result;
}

adz_tensor *adz_generate(
    adz_module *model, adz_tensor *input_ids, const adz_generate_options *options)
{
    generation g = { .model = model };
    if (!adz_options_take(op, &adz_generate_options_table, &g.o, options)) {
        return NULL;
    }
    if (model == NULL) {
        adz_error_null(op, "model");
        return NULL;
    }
    if (!check_prompt(&g, input_ids) || !check_cache(&g) || !check_strings(&g.o)) {
        return NULL;
    }
    g.keeps = adzi_models_is_causal_lm(model) || adzi_models_is_gpt2(model);
    adz_scope *scope = adz_scope_open();
    const bool grad = adz_set_grad_enabled(false);
    adz_tensor *result = run(&g, input_ids);
    adz_set_grad_enabled(grad);
    return adz_scope_return(scope, result);
}
