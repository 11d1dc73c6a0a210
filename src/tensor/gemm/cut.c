/* Cutting products into blocks and blocks into calls: Note [Cutting products] in cut.h. */
#include "tensor/gemm/cut.h"

#include <string.h>

enum {
    MOST_ALONE = 8, /* the most blocks of an item if each block is a separate call */
    READ = 4        /* multiply-adds that take as long as reading an element from memory */
};

adzi_gemm_cut adzi_gemm_cut_by(const adzi_gemm_args *g, const adzi_gemm_cut_rule *rule)
{
    adzi_gemm_cut cut = { .g = *g, .by_columns = rule->by_columns, .each_alone = rule->each_alone };
    cut.extent = cut.by_columns ? g->n : g->m;
    const double across = (double)(cut.by_columns ? g->m : g->n) * (double)g->k;
    double length = rule->work / across;
    if (rule->each_alone && length < (double)cut.extent / MOST_ALONE) {
        length = (double)cut.extent / MOST_ALONE;
    }
    if (length < (double)rule->least) {
        length = (double)rule->least;
    }
    cut.length = cut.extent;
    if (length < (double)cut.extent) {
        const int64_t up = rule->above ? rule->multiple : rule->multiple - 1;
        const int64_t multiples = ((int64_t)length + up) / rule->multiple;
        cut.length = adzi_gemm_least((multiples < 1 ? 1 : multiples) * rule->multiple, cut.extent);
    }
    cut.blocks = cut.extent / cut.length;
    return cut;
}

adzi_gemm_block adzi_gemm_cut_next(const adzi_gemm_cut *cut, int64_t *begin, int64_t end)
{
    const int64_t first = *begin % cut->blocks;
    const int64_t count = cut->each_alone ? 1 : adzi_gemm_least(cut->blocks - first, end - *begin);
    const int64_t from = first * cut->length;
    const int64_t to = first + count == cut->blocks ? cut->extent : from + count * cut->length;
    adzi_gemm_block block = { *begin / cut->blocks, 0, cut->g.m, 0, cut->g.n };
    *(cut->by_columns ? &block.column : &block.row) = from;
    *(cut->by_columns ? &block.columns : &block.rows) = to - from;
    *begin += count;
    return block;
}

int64_t adzi_gemm_grain(double work_per_unit)
{
    const double units = ADZI_GEMM_LAUNCH_WORK / (work_per_unit < 1 ? 1 : work_per_unit);
    return units < 1 ? 1 : (int64_t)units;
}

/* A product of a row, or of a column, takes as long as reading its matrix. */
int64_t adzi_gemm_cut_grain(const adzi_gemm_cut *cut)
{
    const int64_t rows = adzi_gemm_least(cut->g.m, cut->g.n);
    const double waits = rows < READ ? READ / (double)rows : 1;
    return adzi_gemm_grain(waits * adzi_gemm_work(&cut->g) / (double)cut->blocks);
}

adzi_gemm_args adzi_gemm_part(const adzi_gemm_args *g, const adzi_gemm_block *block)
{
    adzi_gemm_args part = *g;
    part.m = block->rows;
    part.n = block->columns;
    part.a = adzi_gemm_at(
        g, g->a_stored, g->a, block->item * g->stride_a + block->row * (g->ta ? 1 : g->lda));
    part.b = adzi_gemm_at(
        g, g->b_stored, g->b, block->item * g->stride_b + block->column * (g->tb ? g->ldb : 1));
    part.c = (char *)g->c + (block->item * g->stride_c + block->row * g->ldc + block->column) *
                                adzi_gemm_item_size(g);
    part.bias = g->bias != NULL ? adzi_gemm_at(g, 0, g->bias, block->column) : NULL;
    part.packed = g->packed != NULL ? adzi_gemm_at(g, 0, g->packed, block->column * g->k) : NULL;
    part.relu = false;
    part.batch = 1;
    return part;
}

/* C = beta C + bias, row by row, for elements of one type. C is not read if beta is 0. */
#define START_ROWS(type)                                                              \
    for (int64_t i = 0; i < g->m; ++i) {                                              \
        type *row = (type *)g->c + i * g->ldc;                                        \
        const type *bias = g->bias;                                                   \
        if (g->beta == 0 && bias == NULL) {                                           \
            memset(row, 0, (size_t)g->n * sizeof(type));                              \
        } else if (g->beta == 0) {                                                    \
            memcpy(row, bias, (size_t)g->n * sizeof(type));                           \
        } else {                                                                      \
            for (int64_t j = 0; j < g->n; ++j) {                                      \
                row[j] = (type)g->beta * row[j] + (bias != NULL ? bias[j] : (type)0); \
            }                                                                         \
        }                                                                             \
    }

void adzi_gemm_start(const adzi_gemm_args *g)
{
    if (g->dtype == ADZ_F32) {
        START_ROWS(float)
    } else {
        START_ROWS(double)
    }
}
