/* Rows of operators that say themselves how C computes an element of their result. */
#include <string.h>

#include "autograd/attr.h"
#include "base/tracer.h"
#include "export/rows/row.h"
#include "tensor/tensor.h"

/* The operator's text. A program that was compiled against an older header has none. */
static const char *text_of(const adz_operator *op)
{
    const bool knows =
        op->size == 0 || op->size >= offsetof(adz_operator, c_element) + sizeof op->c_element;
    return knows ? op->c_element : NULL;
}

/* Whether a field is a single number, which a text may name by $0 or $1. */
static bool is_number(const adz_field *field)
{
    return field->count == 0 && field->shown != ADZ_SHOWN_NEVER && field->kind != ADZ_FIELD_MASK;
}

static int count_numbers(const adz_operator *op)
{
    size_t n;
    const adz_field *fields = adzi_attr_fields(op, &n);
    int numbers = 0;
    for (size_t i = 0; i < n; ++i) {
        numbers += is_number(&fields[i]);
    }
    return numbers;
}

/* Whether there is a text. Records an error if it has a part that no call with so many inputs has.
 */
static bool has_text(const adz_operator *op, int n_in)
{
    const char *text = text_of(op);
    const int numbers = text != NULL ? count_numbers(op) : 0;
    for (const char *at = text; at != NULL && *at != '\0'; ++at) {
        const bool input = *at == '$' && at[1] >= 'a' && at[1] < 'a' + n_in && at[1] <= 'c';
        const bool number =
            (*at == '$' || *at == '%') && at[1] >= '0' && at[1] < '0' + numbers && at[1] <= '1';
        if (*at == '$' && !input && !number) {
            adzi_error(op->name, ADZ_ERR_ARGUMENT,
                "c_element has \"%.2s\" in \"%s\", and the operator has %d inputs and %d numbers among its attributes; $a, $b and $c are inputs, $0 and $1 numbers",
                at, text, n_in, numbers);
            return false;
        }
    }
    return text != NULL;
}

bool adzi_takes_c_element(const adzi_report *r)
{
    bool floats = r->n_in <= 3 && r->n_results == 1 && !r->inplace;
    for (int i = 0; i < r->n_in && floats; ++i) {
        floats = !adzi_is_none(r->in[i]) && r->in[i]->dtype == r->results[0]->dtype &&
                 adzi_is_float((adz_dtype)r->in[i]->dtype);
    }
    return floats && has_text(r->op, r->n_in);
}

adzi_row adzi_row_of_element(const adz_operator *op)
{
    const adzi_row *known = op->size == 0 ? adzi_row_of(op->name) : NULL;
    adzi_row row = { 0 };
    if (known != NULL) {
        row = *known;
    }
    row.op = op->name;
    row.attributes[0] = row.attributes[1] = NULL;
    size_t n;
    const adz_field *fields = adzi_attr_fields(op, &n);
    for (size_t i = 0, k = 0; i < n && k < 2; ++i) {
        if (is_number(&fields[i])) {
            row.attributes[k++] = fields[i].name;
        }
    }
    row.c = (adzi_c99_row){ .print = adzi_c99_elementwise, .element = text_of(op) };
    return row;
}
