/* test_onnx_sweep [--write FOLDER [--every N]] [OPERATOR...]: every operator, or those that are
 * named, as an ONNX file. Each node of each file must be one that opset 17 has with its attributes
 * and for the dtypes of its inputs, by the table that tools/onnx_types.py derives from the package
 * onnx; or the export was refused with an error that names operator and dtype. With --write the
 * files of every N-th case stay in the folder, with inputs and the library's results for
 * onnx_check.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "export/onnx.h"
#include "export/generated/onnx_types.h"
#include "export/sweep/sweep.h"
#include "groups.h"
#include "protobuf_reader.h"
#include "temporary.h"

static const char *folder; /* of --write, or NULL */
static FILE *list;         /* of the files in that folder */
static size_t every = 1;   /* the N of --every */

static struct {
    size_t written, refused, number; /* of all operators, and then of one */
    size_t faults;
    bool f32_is_refused[CASE_RESULTS]; /* of the sample: the plain call of f32 was refused */
    size_t singles; /* of f32: files, and functions that cannot be exported in any dtype */
} totals;

static void report(const sweep_case *c, const char *what)
{
    char description[200];
    sweep_describe(c, description, sizeof description);
    if (++totals.faults <= 20 || getenv("ADZE_SWEEP_ALL") != NULL) {
        fprintf(stderr, "%s: %s\n", description, what);
    }
}

/* ---- the dtypes of a file's values ---------------------------------------------------------- */

enum { MOST_VALUES = READ_NODES * 2 + READ_TENSORS };

typedef struct typed_values {
    size_t n;
    struct {
        read_bytes name;
        int dtype;
    } items[MOST_VALUES];
} typed_values;

/* The adz_dtype of ONNX's number of a type; -1 for types that adze lacks. */
static int dtype_of_type(int64_t type)
{
    static const int8_t dtypes[] = { -1, ADZ_F32, ADZ_U8, -1, -1, -1, ADZ_I32, ADZ_I64, -1,
        ADZ_BOOL, ADZ_F16, ADZ_F64, -1, -1, -1, -1, ADZ_BF16 };
    return type >= 0 && type <= 16 ? dtypes[type] : -1;
}

static void add_value(typed_values *values, read_bytes name, int dtype)
{
    assert_true(values->n < MOST_VALUES);
    values->items[values->n].name = name;
    values->items[values->n++].dtype = dtype;
}

static int dtype_of_value(const typed_values *values, read_bytes name)
{
    for (size_t i = values->n; i-- > 0;) {
        const read_bytes other = values->items[i].name;
        if (other.size == name.size && memcmp(other.at, name.at, name.size) == 0) {
            return values->items[i].dtype;
        }
    }
    return -1;
}

static const adzi_onnx_signature *signature_of(read_bytes type)
{
    const size_t n = sizeof adzi_onnx_signatures / sizeof *adzi_onnx_signatures;
    for (size_t i = 0; i < n; ++i) {
        if (read_is(type, adzi_onnx_signatures[i].type)) {
            return &adzi_onnx_signatures[i];
        }
    }
    return NULL;
}

static const char *dtype_text(int dtype)
{
    return dtype >= 0 ? adz_dtype_name((adz_dtype)dtype) : "an unknown dtype";
}

/* Checks the inputs of a node. `constraints` gets the dtype of each type constraint. */
static bool check_inputs(const read_node *node, const adzi_onnx_signature *s,
    const typed_values *values, int *constraints, char *says, size_t size)
{
    if (node->n_in < s->least || node->n_in > s->most) {
        snprintf(says, size, "%s has %d inputs", s->type, node->n_in);
        return false;
    }
    for (int i = 0; i < node->n_in; ++i) {
        const int at = s->variadic && i >= s->least ? s->least - 1 : i;
        const adzi_onnx_types *t = &s->in[at];
        if (node->in[i].size == 0) {
            continue;
        }
        const int dtype = dtype_of_value(values, node->in[i]);
        const bool allowed = dtype >= 0 && (t->allowed >> dtype & 1) != 0;
        if (!allowed ||
            (t->same != 0 && constraints[t->same] >= 0 && constraints[t->same] != dtype)) {
            snprintf(says, size, "input %d of %s is %s", i, s->type, dtype_text(dtype));
            return false;
        }
        constraints[t->same] = dtype;
    }
    return true;
}

/* Checks that the operator has the node's attributes, of these types, in the opset of the file. */
static bool check_node_attributes(
    const read_node *node, const adzi_onnx_signature *s, int64_t opset, char *says, size_t size)
{
    static const char *const kinds[] = { "", "f", "i", "s", "", "", "fs", "is", "ss" };
    char known[400], wanted[80];
    snprintf(known, sizeof known, " %s ", s->attributes);
    for (int i = 0; i < node->n_attributes; ++i) {
        const read_attribute *a = &node->attributes[i];
        snprintf(wanted, sizeof wanted, " %.*s:%s ", (int)a->name.size, (const char *)a->name.at,
            a->type > 0 && a->type < 9 ? kinds[a->type] : "");
        if (strstr(known, wanted) == NULL) {
            snprintf(says, size, "%s has no attribute%s", s->type, wanted);
            return false;
        }
    }
    snprintf(says, size, "%s is an operator since opset %d", s->type, s->since);
    return s->since <= opset;
}

/* Adds the results of a node. */
static void add_results(const read_node *node, const adzi_onnx_signature *s, const int *constraints,
    typed_values *values)
{
    const read_attribute *to = read_attribute_of(node, "to");
    for (int k = 0; k < node->n_out; ++k) {
        const adzi_onnx_types *t = k < 3 && s->out[k].allowed != 0 ? &s->out[k] : &s->out[0];
        int dtype = t->same != 0 ? constraints[t->same] : -1;
        for (int d = ADZ_F32; d <= ADZ_BF16 && t->same == 0; ++d) {
            dtype = t->allowed == 1 << d ? d : dtype;
        }
        add_value(values, node->out[k], to != NULL ? dtype_of_type(to->whole) : dtype);
    }
}

static bool check_model(const read_model *m, const adz_tensor *y, char *says, size_t size)
{
    static typed_values values;
    values.n = 0;
    for (int i = 0; i < m->n_inputs + m->n_initialisers; ++i) {
        const read_tensor *t = i < m->n_inputs ? &m->inputs[i] : &m->initialisers[i - m->n_inputs];
        add_value(&values, t->name, dtype_of_type(t->type));
    }
    for (int i = 0; i < m->n_nodes; ++i) {
        const adzi_onnx_signature *s = signature_of(m->nodes[i].type);
        int constraints[8] = { -1, -1, -1, -1, -1, -1, -1, -1 };
        if (s == NULL) {
            snprintf(says, size, "%.*s is not in the table", (int)m->nodes[i].type.size,
                (const char *)m->nodes[i].type.at);
            return false;
        }
        if (!check_inputs(&m->nodes[i], s, &values, constraints, says, size) ||
            !check_node_attributes(&m->nodes[i], s, m->opset, says, size)) {
            return false;
        }
        add_results(&m->nodes[i], s, constraints, &values);
    }
    const int made = dtype_of_value(&values, m->outputs[0].name);
    snprintf(says, size, "the output is %s", dtype_text(made));
    return made == (int)adz_tensor_dtype(y) && dtype_of_type(m->outputs[0].type) == made &&
           m->outputs[0].rank == adz_tensor_rank(y);
}

/* ---- what onnx_check.py compares ------------------------------------------------------------ */

static void save_contents(sweep_case *c)
{
    char path[4096], name[40], description[200];
    adz_safetensors *file = adz_safetensors_new();
    const int n = sweep_n_contents(c);
    for (int k = 0; k < n; ++k) {
        adz_scope *scope = adz_scope_open();
        sweep_fill(c, k);
        adz_tensor *y = sweep_expected(c);
        for (size_t i = 0; i < c->n_inputs && y != NULL; ++i) {
            snprintf(name, sizeof name, "%d.%zu", k, i);
            assert_int_equal(adz_safetensors_add(file, name, adz_clone(c->inputs[i])), ADZ_OK);
        }
        snprintf(name, sizeof name, "%d.y", k);
        assert_true(y == NULL || adz_safetensors_add(file, name, adz_clone(y)) == ADZ_OK);
        adz_scope_close(scope);
    }
    snprintf(path, sizeof path, "%s/%zu.safetensors", folder, totals.number);
    assert_int_equal(adz_safetensors_save(file, path), ADZ_OK);
    adz_safetensors_free(&file);
    sweep_describe(c, description, sizeof description);
    fprintf(list, "%zu\t%zu\t%s\n", totals.number, c->n_inputs, description);
}

/* ---- the sweep ------------------------------------------------------------------------------ */

/* True if the function itself cannot be exported, whatever the dtypes are. */
static bool is_no_function(const char *message)
{
    static const char *const reasons[] = { "draws random numbers", "in training",
        "accesses elements of", "does not depend on", "is read after" };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; ++i) {
        if (strstr(message, reasons[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static void check_refusal(const sweep_case *c, adz_status status)
{
    char message[2000], text[2100];
    adz_error_take(message, sizeof message);
    ++totals.refused;
    totals.singles += c->dtype == ADZ_F32 && is_no_function(message);
    if (status == ADZ_ERR_MEMORY || status == ADZ_ERR_IO ||
        !(is_no_function(message) ||
            sweep_refusal_is_right(c, message, totals.f32_is_refused[c->result]))) {
        snprintf(text, sizeof text, "the refusal names no operator or dtype: %s", message);
        report(c, text);
    }
    if (list != NULL) {
        char description[200];
        sweep_describe(c, description, sizeof description);
        fprintf(list, "-\t0\t%s: %s\n", description, message);
    }
}

static void visit(sweep_case *c, void *user)
{
    char path[4096], says[300];
    const adzi_export what = {
        .function = sweep_call, .user = c, .inputs = { c->inputs, c->n_inputs }, .module = c->module
    };
    (void)user;
    snprintf(path, sizeof path, "%s/%zu.onnx", folder, totals.number);
    const char *to =
        folder != NULL && totals.number % every == 0 ? path : temporary_path("case.onnx");
    adz_scope *scope = adz_scope_open();
    const adz_status status = adzi_write_onnx("adz_plan_write_onnx", &what, to, NULL);
    if (c->dtype == ADZ_F32 && c->layout == LAYOUT_PLAIN && c->role == SWEEP_INPUTS) {
        totals.f32_is_refused[c->result] = status != ADZ_OK;
    }
    if (status != ADZ_OK) {
        check_refusal(c, status);
        adz_scope_close(scope);
        return;
    }
    ++totals.written;
    totals.singles += c->dtype == ADZ_F32;
    read_model *m = read_model_file(to);
    if (!check_model(m, sweep_call(c), says, sizeof says)) {
        report(c, says);
    }
    read_model_free(m);
    if (folder != NULL && totals.number % every == 0) {
        save_contents(c);
    }
    ++totals.number;
    adz_scope_close(scope);
}

/* True for operators that the writer has to know: it prints them, or what they are made of. */
static bool must_be_written(const op_case *c)
{
    for (int i = 0; i < adzi_n_ops; ++i) {
        if (strcmp(adzi_ops[i]->name, c->name) == 0) {
            const adzi_row *row = adzi_row_of(c->name);
            return (row != NULL && row->onnx.print != NULL) || adzi_ops[i]->expression != NULL;
        }
    }
    return false;
}

static void nodes_are_allowed(void **state)
{
    const op_case *c = *state;
    totals.faults = totals.singles = 0;
    assert_true(sweep_cases(c, (sweep_limits){ .i64_is_i32 = false }, visit, NULL) > 0);
    assert_int_equal(totals.faults, 0);
    assert_true(totals.singles > 0 || !must_be_written(c));
}

/* Files are not needed after a failure of the machine. */
int __wrap_fsync(int file);
int __wrap_fsync(int file)
{
    (void)file;
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0, first = 1;
    if (argc > 2 && strcmp(argv[1], "--write") == 0) {
        char path[4096];
        folder = argv[2];
        first = 3;
        if (argc > 4 && strcmp(argv[3], "--every") == 0) {
            every = (size_t)strtoul(argv[4], NULL, 10);
            first = 5;
        }
        snprintf(path, sizeof path, "%s/list", folder);
        list = fopen(path, "w");
        if (list == NULL) {
            return EXIT_FAILURE;
        }
    }
    if (temporary_begin(NULL) != 0) {
        return EXIT_FAILURE;
    }
    for (int i = 0; i < n_op_cases; ++i) {
        if (is_chosen(op_cases[i]->name, first, argc, argv)) {
            struct CMUnitTest test = cmocka_unit_test(nodes_are_allowed);
            memcpy(&test.initial_state, &op_cases[i], sizeof op_cases[i]); /* removes const */
            failed += run_group(op_cases[i]->name, &test, 1);
        }
    }
    printf("%zu files, %zu refused\n", totals.written, totals.refused);
    temporary_end(NULL);
    return (list != NULL && fclose(list) != 0) || failed != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
