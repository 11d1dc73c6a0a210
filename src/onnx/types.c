/* The element types of computed values. The tensors of int8 have dtype i32, so that what would
 * leave the range of the type is wrapped by hand. */
#include <string.h>

#include "adze/ops/arithmetic.h"
#include "adze/ops/rounding.h"
#include "run.h"

/* What an operator gives, if it isn't what input 0 has: a type, or that of another input. */
enum { INPUT_1 = 100, INPUT_2, ATTRIBUTE, ANY };

/* The checks of quantised operators set the types of their results. */
static const struct result {
    const char *name;
    int first, others; /* element types, or the kinds above; 0 for others: as the first */
} results[] = {
    { "And", ELEMENT_BOOL, 0 },
    { "ArgMax", ELEMENT_INT64, 0 },
    { "ArgMin", ELEMENT_INT64, 0 },
    { "Bernoulli", ATTRIBUTE, 0 },
    { "BlackmanWindow", ANY, 0 },
    { "Cast", ATTRIBUTE, 0 },
    { "CastLike", INPUT_1, 0 },
    { "ConstantOfShape", ATTRIBUTE, 0 },
    { "ConvInteger", ELEMENT_INT32, 0 },
    { "DequantizeLinear", INPUT_1, 0 },
    { "Dropout", 0, ELEMENT_BOOL },
    { "DynamicQuantizeLinear", ANY, 0 },
    { "Equal", ELEMENT_BOOL, 0 },
    { "EyeLike", ATTRIBUTE, 0 },
    { "Greater", ELEMENT_BOOL, 0 },
    { "GreaterOrEqual", ELEMENT_BOOL, 0 },
    { "HammingWindow", ANY, 0 },
    { "HannWindow", ANY, 0 },
    { "If", ANY, 0 },
    { "IsInf", ELEMENT_BOOL, 0 },
    { "IsNaN", ELEMENT_BOOL, 0 },
    { "Less", ELEMENT_BOOL, 0 },
    { "LessOrEqual", ELEMENT_BOOL, 0 },
    { "Loop", ANY, 0 },
    { "MatMulInteger", ELEMENT_INT32, 0 },
    { "MaxPool", 0, ELEMENT_INT64 },
    { "NonMaxSuppression", ELEMENT_INT64, 0 },
    { "NonZero", ELEMENT_INT64, 0 },
    { "Not", ELEMENT_BOOL, 0 },
    { "OneHot", INPUT_2, 0 },
    { "Or", ELEMENT_BOOL, 0 },
    { "Scan", ANY, 0 },
    { "Shape", ELEMENT_INT64, 0 },
    { "Size", ELEMENT_INT64, 0 },
    { "TopK", 0, ELEMENT_INT64 },
    { "Unique", 0, ELEMENT_INT64 },
    { "Where", INPUT_1, 0 },
    { "Xor", ELEMENT_BOOL, 0 },
};

/* Operators that take int8 as it is held: they move elements, compare them, or have results of a
 * wider type. */
static const char int8_as_it_is[] =
    " ArgMax ArgMin Cast CastLike Clip Compress Concat ConvInteger DepthToSpace DequantizeLinear "
    "Equal Expand Flatten Gather GatherElements GatherND Greater GreaterOrEqual Identity If Less "
    "LessOrEqual Loop MatMulInteger Max MaxPool Min NonZero OneHot Pad QLinearConv QLinearMatMul "
    "QuantizeLinear ReduceMax ReduceMin Relu Reshape ReverseSequence Scan "
    "Shape Sign Size Slice SpaceToDepth Split Squeeze Tile TopK Transpose Trilu Unique Unsqueeze "
    "Where ";

/* Operators of int8 whose results are wrapped: sums, differences and products have the same low
 * bits in every width. */
static const char int8_wrapped[] =
    " Abs Add BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Div Mod Mul "
    "Neg ScatterElements ScatterND Sub Sum ";

static bool is_among(const char *names, const char *name)
{
    char word[66];
    const int n = snprintf(word, sizeof word, " %s ", name);
    return n > 0 && (size_t)n < sizeof word && strstr(names, word) != NULL;
}

static int element_of(const reader_model *model, const reader_node *node, size_t i)
{
    return i < node->n_inputs && node->inputs[i] != NO_VALUE
               ? model->values[node->inputs[i]].element
               : 0;
}

/* The type that an attribute names. */
static int attribute_element(const reader_model *model, const reader_node *node)
{
    static const char *const names[] = { "to", "dtype", "output_dtype" };
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        const reader_attribute *a = adzi_reader_attribute(node, names[i]);
        if (a != NULL) {
            return a->i > 0 && a->i < 256 ? (int)a->i : 0;
        }
    }
    const reader_attribute *value = adzi_reader_attribute(node, "value");
    if (strcmp(node->type, "ConstantOfShape") == 0) {
        return value != NULL ? value->element : ELEMENT_FLOAT;
    }
    return element_of(model, node, 0);
}

static int resolve(const reader_model *model, const reader_node *node, int kind)
{
    switch (kind) {
    case 0:
        return element_of(model, node, 0);
    case INPUT_1:
        return element_of(model, node, 1);
    case INPUT_2:
        return element_of(model, node, 2);
    case ATTRIBUTE:
        return attribute_element(model, node);
    case ANY:
        return 0;
    default:
        return kind;
    }
}

adz_status adzi_reader_types(reader_model *model, reader_node *node)
{
    int first = 0, others = 0;
    for (size_t i = 0; i < sizeof results / sizeof *results; ++i) {
        if (strcmp(results[i].name, node->type) == 0) {
            first = results[i].first;
            others = results[i].others;
        }
    }
    for (size_t i = 0; i < node->n_outputs; ++i) {
        if (node->outputs[i] != NO_VALUE && model->values[node->outputs[i]].element == 0) {
            model->values[node->outputs[i]].element =
                resolve(model, node, i > 0 && others != 0 ? others : first);
        }
    }
    for (size_t i = 0; i < node->n_inputs; ++i) {
        if (element_of(model, node, i) != ELEMENT_INT8 || is_among(int8_as_it_is, node->type)) {
            continue;
        }
        if (!is_among(int8_wrapped, node->type)) {
            return adzi_reader_refuse(node, "this operator is not supported for int8");
        }
        node->wraps = true;
    }
    return ADZ_OK;
}

adz_tensor *adzi_reader_wrapped(adz_tensor *x)
{
    return adz_sub_number(adz_remainder_number(adz_add_number(x, 128), 256), 128);
}
