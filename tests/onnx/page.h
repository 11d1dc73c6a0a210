/* What the cases of a suite gave, by operator. */
#ifndef ADZE_TESTS_ONNX_PAGE_H
#define ADZE_TESTS_ONNX_PAGE_H

#include <stdio.h>

#include "suite.h"

typedef struct suite_page suite_page;

suite_page *page_new(void);
void page_free(suite_page *page);

/** false if there is no room for one more operator. */
bool page_add(suite_page *page, const suite_case *c, outcome result, const char *text);

/** How many of all cases were wrong. */
long page_wrong(const suite_page *page);

void page_print(const suite_page *page, FILE *stream);
bool page_write(const suite_page *page, const char *path);

#endif
