/* test_rows [FAMILY: OPERATOR...]...: the rows of operators in exports. Each operator of each
 * family has at most one row, in the file of its family, and each writer has a way to write it: a
 * printer, the operator's expression, or a reason why there is neither. */
#include <stdio.h>
#include <string.h>

#include "adze/adze.h"
#include "errors.h"
#include "export/c99/c99.h"
#include "export/onnx.h"
#include "groups.h"

static char **words; /* the program's arguments */
static int n_words;
static int faults;

static void fault(const char *op, const char *what)
{
    fprintf(stderr, "%s: %s\n", op, what);
    ++faults;
}

static const adzi_op *registered(const char *name)
{
    for (int i = 0; i < adzi_n_ops; ++i) {
        if (strcmp(adzi_ops[i]->name, name) == 0) {
            return adzi_ops[i];
        }
    }
    return NULL;
}

/* Whether the operator is listed behind "FAMILY:", or nothing is listed. */
static bool belongs(const char *op, const char *family)
{
    bool inside = false;
    const size_t length = strlen(family);
    for (int i = 0; i < n_words; ++i) {
        const char *end = strchr(words[i], ':');
        if (end != NULL) {
            inside = (size_t)(end - words[i]) == length && strncmp(words[i], family, length) == 0;
        } else if (inside && strcmp(words[i], op) == 0) {
            return true;
        }
    }
    return n_words == 0;
}

/* ---- where rows stand ----------------------------------------------------------------------- */

static void rows_are_sorted_and_in_their_families(void **state)
{
    (void)state;
    faults = 0;
    for (size_t f = 0; f < adzi_n_row_families; ++f) {
        const adzi_row_family *family = &adzi_row_families[f];
        if (f > 0 && strcmp(family[-1].name, family->name) >= 0) {
            fault(family->name, "families are sorted by name");
        }
        for (const adzi_row *row = family->rows; row->op != NULL; ++row) {
            if (row > family->rows && strcmp(row[-1].op, row->op) >= 0) {
                fault(row->op, "the rows of a family are sorted by name");
            }
            if (adzi_row_of(row->op) != row) {
                fault(row->op, "another family has a row of this name");
            }
            if (!row->internal && !belongs(row->op, family->name)) {
                fault(row->op, "this is no operator with a node, or one of another family");
            }
        }
    }
    assert_int_equal(faults, 0);
}

/* ---- what they say -------------------------------------------------------------------------- */

/* A writer prints the operator, or its expression, or says why not. */
static void check_way(const char *op, bool printed, const char *refused)
{
    const adzi_op *known = registered(op);
    const bool written = printed || (known != NULL && known->expression != NULL);
    if (!written && refused == NULL) {
        fault(op, "a writer has neither a printer nor an expression: its row has to say why");
    } else if (written && refused != NULL) {
        fault(op, "a writer writes it, but its row says why not");
    }
}

static void check_ways(const char *op)
{
    const adzi_row *row = adzi_row_of(op);
    check_way(op, row != NULL && (row->view || row->c.print != NULL),
        row != NULL ? row->c.refused : NULL);
    check_way(op, row != NULL && row->onnx.print != NULL, row != NULL ? row->onnx.refused : NULL);
}

static void every_operator_has_a_way_to_be_written(void **state)
{
    (void)state;
    faults = 0;
    for (int i = 0; i < adzi_n_ops; ++i) {
        check_ways(adzi_ops[i]->name);
    }
    check_ways("detach");
    check_ways("rows");
    assert_int_equal(faults, 0);
}

/* The columns of a row that a printer reads. */
static void check_row(const adzi_row *row)
{
    const adzi_c99_row *c = &row->c;
    if ((row->onnx.print != NULL) != (row->onnx.batch_rule != NULL)) {
        fault(row->op, "a printer of ONNX needs to know where the batch goes, and nobody else");
    }
    if ((row->onnx.print == adzi_onnx_print_text) != (row->onnx.text != NULL)) {
        fault(row->op, "a text of nodes needs its printer, and the printer a text");
    }
    if (row->view && c->print != NULL) {
        fault(row->op, "a view is not printed");
    }
    if ((c->print == adzi_c99_elementwise && (c->element == NULL) == (c->text == NULL)) ||
        (c->print == adzi_c99_reduce && c->element == NULL)) {
        fault(row->op, "C has no expression, or two");
    }
    if (c->print == adzi_c99_reduce && c->start == NULL && c->than == NULL) {
        fault(row->op, "nothing says from where the reduction starts");
    }
    if (c->n_special > 0 && row->attributes[0] == NULL) {
        fault(
            row->op, "there are expressions for the values of an attribute that it does not name");
    }
}

/* The attributes that a row names are fields of the operator. */
static void check_attributes(const adzi_row *row)
{
    const adzi_op *op = registered(row->op);
    for (int k = 0; k < 2 && row->attributes[k] != NULL; ++k) {
        bool found = false;
        for (size_t i = 0; op != NULL && i < op->n_fields; ++i) {
            found = found || strcmp(op->fields[i].name, row->attributes[k]) == 0;
        }
        if (!found) {
            fault(row->op, "its row names an attribute that it has not");
        }
    }
}

static void columns_fit_together(void **state)
{
    (void)state;
    faults = 0;
    for (size_t f = 0; f < adzi_n_row_families; ++f) {
        for (const adzi_row *row = adzi_row_families[f].rows; row->op != NULL; ++row) {
            check_row(row);
            check_attributes(row);
        }
    }
    assert_int_equal(faults, 0);
}

/* ---- texts that are wrong ------------------------------------------------------------------- */

static adz_tensor *softmax(void *x)
{
    return adz_softmax(x, 0);
}

/* A row whose text names an attribute that softmax does not have, or cannot be read, refuses the
 * call. These texts fail before they add a node. */
static void texts_that_are_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } wrong[] = {
        { "Softmax($a, axis=size)", "has no attribute \"size\", which its row for ONNX names" },
        { "Softmax($a, [size])", "has no attribute \"size\"" },
        { "Softmax($a, i64(size))", "has no attribute \"size\"" },
        { "Softmax($a, size)", "has no attribute \"size\"" },
        { "Softmax(size*$a)", "has no attribute \"size\"" },
        { "Softmax($a:f99)", "has a row whose text for ONNX cannot be read" },
        { "$a (", "has a row whose text for ONNX cannot be read" },
    };
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 3), ADZ_F32);
    const adzi_export what = { .function = softmax, .user = x, .inputs = { &x, 1 } };
    adzi_trace *trace = adzi_trace_new("test", &what, NULL);
    assert_non_null(trace);
    assert_int_equal(trace->n_calls, 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        adzi_row row = *trace->calls[0].row;
        row.onnx.text = wrong[i].text;
        adzi_traced_call call = trace->calls[0];
        call.row = &row;
        adzi_onnx_value values[] = { { .name = "x" }, { .name = "y" } };
        assert_int_equal(trace->n_values, 2);
        adzi_onnx g = { .op = "test", .trace = trace, .values = values, .call = &call };
        assert_false(adzi_onnx_print_text(&g));
        expect_error(ADZ_ERR_UNSUPPORTED, wrong[i].message);
    }
    adzi_trace_free(&trace);
    adz_scope_close(scope);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_sorted_and_in_their_families),
        cmocka_unit_test(every_operator_has_a_way_to_be_written),
        cmocka_unit_test(columns_fit_together),
        cmocka_unit_test(texts_that_are_wrong),
    };
    words = argv + 1;
    n_words = argc - 1;
    return run_group("rows", tests, sizeof tests / sizeof *tests);
}
