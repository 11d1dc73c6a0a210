/* Labels, vocabulary, samples as token numbers, their split, and batches of similar lengths. */
#define _GNU_SOURCE
#include "data.h"

#include <adze/models.h>
#include <adze/zoo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LABELS = 1000, BATCHES_OF_LIKE_LENGTH = 50 };

static char where[512];

const char *reading(void)
{
    return where;
}

/* ---- labels ---------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **find_labels(const text_table *table, const char *path, size_t *count)
{
    char **all = allocate(table->count * sizeof *all);
    for (size_t i = 0; i < table->count; ++i) {
        all[i] = table->rows[i].label;
    }
    qsort(all, table->count, sizeof *all, by_text);
    size_t n = 0;
    for (size_t i = 0; i < table->count; ++i) {
        if (n == 0 || strcmp(all[i], all[n - 1]) != 0) {
            all[n++] = all[i];
        }
    }
    if (n < 2) {
        fail("%s: every label is '%s'; there is nothing to learn", path, all[0]);
    }
    if (n > MOST_LABELS) {
        fail(
            "%s: there are %zu different labels, at most %d are possible; is --label the right column?",
            path, n, MOST_LABELS);
    }
    for (size_t i = 0; i < n; ++i) {
        all[i] = copy_text(all[i]);
    }
    *count = n;
    return all;
}

static int64_t find_label(
    const text_row *row, const char *path, char *const *labels, size_t n_labels)
{
    const char *label = row->label;
    char *const *found = bsearch(&label, labels, n_labels, sizeof *labels, by_text);
    if (found == NULL) {
        fail("%s: line %zu: the model knows no label '%s'", path, row->line, label);
    }
    return found - labels;
}

/* ---- texts as token numbers ------------------------------------------------------------------ */

adz_tokenizer *make_tokenizer(const text_table *table, const char *path, adz_token_kind kind,
    int64_t max_vocab, int64_t min_freq)
{
    adz_text *texts = allocate(table->count * sizeof *texts);
    for (size_t i = 0; i < table->count; ++i) {
        texts[i] = (adz_text){ table->rows[i].text, strlen(table->rows[i].text) };
    }
    adz_tokenizer_options o = ADZ_TOKENIZER_OPTIONS;
    o.max_vocab = max_vocab;
    o.min_freq = min_freq;
    o.special_tokens = true;
    o.rules = adz_fastai_token_rules();
    snprintf(where, sizeof where, "%s: ", path);
    adz_tokenizer *tokenizer = adz_tokenizer_build(kind, texts, table->count, &o);
    where[0] = '\0';
    free(texts);
    return tokenizer;
}

/* The tokens of a text for a published encoder, of which it reads the first max_len. */
static adz_tensor *first_tokens(const model *m, const text_row *row, const char *path)
{
    const adz_text text = { row->text, strlen(row->text) };
    adz_pretrained_encode_options o = ADZ_PRETRAINED_ENCODE_OPTIONS;
    o.truncation = ADZ_TRUNCATION_LONGEST_FIRST;
    o.max_length = m->network.max_len;
    o.padding = ADZ_PADDING_LONGEST;
    adz_encoding encoding;
    adz_pretrained_encode(m->tokenizer, &text, NULL, 1, &o, &encoding);
    const int64_t *ids = adz_tensor_data_i64(encoding.input_ids);
    for (int64_t i = 0; i < adz_tensor_numel(encoding.input_ids); ++i) {
        if (ids[i] == m->padding) {
            fail("%s: line %zu: the text has the token that fills rows", path, row->line);
        }
    }
    return encoding.input_ids;
}

samples encode_rows(
    const text_table *table, const char *path, const model *m, const int64_t *by_rule)
{
    samples s = { allocate(table->count * sizeof *s.items), table->count, m->padding,
        m->published };
    for (size_t i = 0; i < s.count; ++i) {
        const text_row *row = &table->rows[i];
        sample *item = &s.items[i];
        adz_scope *scope = adz_scope_open();
        snprintf(where, sizeof where, "%s: line %zu: ", path, row->line);
        adz_tensor *ids = m->published
                              ? first_tokens(m, row, path)
                              : adz_tokenizer_encode(m->tokenizer, row->text, strlen(row->text));
        item->length = adz_tensor_numel(ids);
        item->ids = allocate((size_t)item->length * sizeof *item->ids);
        adz_tensor_read(ids, item->ids, (size_t)item->length * sizeof *item->ids);
        adz_scope_close(scope);
        item->label = row->label != NULL ? find_label(row, path, m->labels, m->n_labels) : -1;
        item->by_rule = by_rule != NULL ? by_rule[i] : -1;
    }
    where[0] = '\0';
    return s;
}

void check_lengths(const model *m, const samples *s)
{
    const network *n = &m->network;
    for (size_t i = 0; i < s->count && !m->published; ++i) {
        int64_t length = s->items[i].length, left_out = length - n->max_len;
        int64_t first = left_out >= 0 ? (left_out / n->bptt + 1) * n->bptt : 0;
        if (first >= length) {
            fail(
                "--max-len %lld and --bptt %lld leave nothing of a text of %lld tokens; raise the one or lower the other",
                (long long)n->max_len, (long long)n->bptt, (long long)length);
        }
    }
}

/* ---- the split into training, validation and test -------------------------------------------- */

static samples take(const samples *all, const int64_t *order, size_t from, size_t count)
{
    samples s = { allocate(count * sizeof *s.items), count, all->padding, all->behind };
    for (size_t i = 0; i < count; ++i) {
        s.items[i] = all->items[order[from + i]];
    }
    return s;
}

problem split_samples(const options *o, samples all)
{
    adz_scope *scope = adz_scope_open();
    adz_generator *generator = adz_generator_new((uint64_t)o->seed);
    const int64_t *order =
        adz_tensor_data_i64(adz_generator_randperm(generator, (int64_t)all.count));
    size_t test = (size_t)((double)all.count * o->test_share + 0.5);
    size_t validation = (size_t)((double)(all.count - test) * o->validation_share + 0.5);
    if (test < 1 || test + validation + 2 > all.count) {
        fail("%zu texts make %zu to test and %zu to train on; 1 and 2 are needed", all.count, test,
            all.count - test - validation);
    }
    problem p;
    p.test = take(&all, order, 0, test);
    p.validation = take(&all, order, test, validation);
    p.train = take(&all, order, test + validation, all.count - test - validation);
    free(all.items);
    adz_generator_free(&generator);
    adz_scope_close(scope);
    return p;
}

void free_samples(samples *s)
{
    for (size_t i = 0; i < s->count; ++i) {
        free(s->items[i].ids);
    }
    free(s->items);
}

void free_problem(problem *p)
{
    free_samples(&p->train);
    free_samples(&p->validation);
    free_samples(&p->test);
}

/* ---- batches --------------------------------------------------------------------------------- */

typedef struct sortable {
    int64_t length;
    size_t index;
} sortable;

static int longest_first(const void *a, const void *b)
{
    const sortable *x = a, *y = b;
    if (x->length != y->length) {
        return x->length > y->length ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

static void sort_by_length(const samples *s, size_t *order, size_t n)
{
    sortable *all = allocate(n * sizeof *all);
    for (size_t i = 0; i < n; ++i) {
        all[i] = (sortable){ s->items[order[i]].length, order[i] };
    }
    qsort(all, n, sizeof *all, longest_first);
    for (size_t i = 0; i < n; ++i) {
        order[i] = all[i].index;
    }
    free(all);
}

size_t *sorted_order(const samples *s)
{
    size_t *order = allocate(s->count * sizeof *order);
    for (size_t i = 0; i < s->count; ++i) {
        order[i] = i;
    }
    sort_by_length(s, order, s->count);
    return order;
}

/* Copies the batches of `order` to `to`: first the one with the longest text, then the others in
 * random order, and a shorter batch at the end. */
static void shuffle_batches(
    const samples *s, const size_t *order, size_t size, uint64_t seed, int64_t epoch, size_t *to)
{
    size_t whole = s->count / size, longest = 0, used = 0;
    for (size_t i = 0; i < whole; ++i) {
        bool longer = s->items[order[i * size]].length > s->items[order[longest * size]].length;
        longest = longer ? i : longest;
    }
    for (size_t i = 0; i <= whole && whole > 0; ++i) {
        size_t batch = longest;
        if (i > 0) {
            batch =
                (size_t)adz_shuffle_index(seed, (uint64_t)epoch, (int64_t)whole, (int64_t)i - 1);
        }
        if (i == 0 || batch != longest) {
            memcpy(to + used, order + batch * size, size * sizeof *to);
            used += size;
        }
    }
    memcpy(to + used, order + used, (s->count - used) * sizeof *to);
}

size_t *shuffled_order(const samples *s, int64_t batch_size, uint64_t seed, int64_t epoch)
{
    size_t size = (size_t)batch_size, piece = size * BATCHES_OF_LIKE_LENGTH;
    size_t *order = allocate(s->count * sizeof *order), *to = allocate(s->count * sizeof *to);
    for (size_t i = 0; i < s->count; ++i) {
        order[i] = (size_t)adz_shuffle_index(seed, (uint64_t)epoch, (int64_t)s->count, (int64_t)i);
    }
    for (size_t i = 0; i < s->count; i += piece) {
        size_t n = s->count - i < piece ? s->count - i : piece;
        sort_by_length(s, order + i, n);
    }
    shuffle_batches(s, order, size, seed, epoch, to);
    free(order);
    return to;
}

adz_tensor *make_batch(const samples *s, const size_t *order, size_t n, adz_tensor **labels)
{
    int64_t longest = 0;
    for (size_t i = 0; i < n; ++i) {
        int64_t length = s->items[order[i]].length;
        longest = length > longest ? length : longest;
    }
    adz_tensor *ids = adz_full(ADZ_SHAPE((int64_t)n, longest), (double)s->padding, ADZ_I64);
    *labels = adz_zeros(ADZ_SHAPE((int64_t)n), ADZ_I64);
    int64_t *to = adz_tensor_data_i64(ids), *label = adz_tensor_data_i64(*labels);
    for (size_t i = 0; i < n; ++i) {
        const sample *item = &s->items[order[i]];
        const int64_t in_front = s->behind ? 0 : longest - item->length;
        memcpy(to + (int64_t)i * longest + in_front, item->ids, (size_t)item->length * sizeof *to);
        label[i] = item->label;
    }
    return ids;
}
