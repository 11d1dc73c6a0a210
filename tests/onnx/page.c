#include "page.h"

#include <stdlib.h>
#include <string.h>

enum { OPERATORS = 400, OUTCOMES = WRONG + 1 };

typedef struct page_row {
    char name[64];
    long held[OUTCOMES];
    char why[CASE_TEXT]; /* of the first case that was refused */
} page_row;

struct suite_page {
    page_row rows[OPERATORS];
    int n;
    long held[OUTCOMES], other[OUTCOMES], pytorch[OUTCOMES];
};

suite_page *page_new(void)
{
    return calloc(1, sizeof(suite_page));
}

void page_free(suite_page *page)
{
    free(page);
}

static page_row *row_of(suite_page *page, const char *name)
{
    for (int i = 0; i < page->n; i++) {
        if (strcmp(page->rows[i].name, name) == 0) {
            return &page->rows[i];
        }
    }
    if (page->n == OPERATORS) {
        return NULL;
    }
    page_row *row = &page->rows[page->n++];
    snprintf(row->name, sizeof(row->name), "%s", name);
    return row;
}

bool page_add(suite_page *page, const suite_case *c, outcome result, const char *text)
{
    bool node = strcmp(c->kind, "node") == 0;
    if (!node) {
        page->pytorch[result]++;
        return true;
    }
    if (!c->held) {
        page->other[result]++;
        return true;
    }
    page_row *row = row_of(page, c->operator_name);
    if (row == NULL) {
        return false;
    }
    page->held[result]++;
    row->held[result]++;
    if (result == REFUSED && row->why[0] == 0) {
        const char *named = strstr(text, "): "), *function = strstr(text, ": adz_onnx_load: ");
        const char *reason = named != NULL ? named + 3 : function != NULL ? function + 17 : text;
        snprintf(row->why, sizeof(row->why), "%.*s", (int)strcspn(reason, ";"), reason);
    }
    return true;
}

long page_wrong(const suite_page *page)
{
    return page->held[WRONG] + page->other[WRONG] + page->pytorch[WRONG];
}

static void print_line(FILE *stream, const char *what, const long counts[OUTCOMES])
{
    long all = counts[PASSED] + counts[REFUSED] + counts[WRONG];
    fprintf(stream, "%s: %ld of %ld passed, %ld refused, %ld wrong\n", what, counts[PASSED], all,
        counts[REFUSED], counts[WRONG]);
}

void page_print(const suite_page *page, FILE *stream)
{
    print_line(stream, "node tests of dtypes that adze holds", page->held);
    print_line(stream, "other node tests", page->other);
    print_line(stream, "models converted from PyTorch", page->pytorch);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const page_row *)a)->name, ((const page_row *)b)->name);
}

/** The rows of one table: operators, or operators as the bodies of their functions. */
static void write_rows(const suite_page *page, bool bodies, FILE *file)
{
    for (int i = 0; i < page->n; i++) {
        const page_row *row = &page->rows[i];
        const char *dot = strstr(row->name, ".body");
        if ((dot != NULL) != bodies) {
            continue;
        }
        int length = dot != NULL ? (int)(dot - row->name) : (int)strlen(row->name);
        fprintf(file, "| %.*s | %ld | %ld | ", length, row->name, row->held[PASSED],
            row->held[REFUSED]);
        for (const char *at = row->why; *at != 0; at++) {
            fprintf(file, *at == '|' ? "\\|" : "%c", *at);
        }
        fprintf(file, " |\n");
    }
}

bool page_write(const suite_page *page, const char *path)
{
    suite_page sorted = *page;
    qsort(sorted.rows, (size_t)sorted.n, sizeof(sorted.rows[0]), by_name);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return false;
    }
    fputs(
        "# The test cases of ONNX\n\n"
        "The package onnx 1.23.2 generates test cases for every operator, and has models that were converted\n"
        "from PyTorch. `.ci/full onnx-suite` runs them all and compares this page, which\n"
        "`adze-onnx-suite CASES --page` writes. Where a case is refused, the error names the node, the operator and\n"
        "what is missing. [onnx.md](onnx.md) tells how files are read.\n\n",
        file);
    fputs("- ", file);
    print_line(file, "Node tests whose inputs and outputs have dtypes that adze holds or converts",
        sorted.held);
    fputs("- ", file);
    print_line(
        file, "Node tests of strings, sequences, optional values and other dtypes", sorted.other);
    fputs("- ", file);
    print_line(file, "Models converted from PyTorch", sorted.pytorch);
    fputs("\n| Operator | Passed | Refused | The first refusal |\n|---|---:|---:|---|\n", file);
    write_rows(&sorted, false, file);
    fputs(
        "\nSome operators are functions: ONNX defines them by a graph of others. Such a graph is a case of its own.\n\n"
        "| Function | Passed | Refused | The first refusal |\n|---|---:|---:|---|\n",
        file);
    write_rows(&sorted, true, file);
    return fclose(file) == 0;
}
