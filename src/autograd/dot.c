/* Writes the graph of a tensor as a picture in Graphviz's language. */
#include "autograd/run.h"
#include "base/capture.h"
#include "autograd/op.h"

static bool put(FILE *stream, const char *text)
{
    return fputs(text, stream) >= 0;
}

static unsigned long long id_of(const void *object)
{
    return (unsigned long long)(uintptr_t)object;
}

/* Writes a text inside the quotes of a label, where a quote and a backslash are escaped. */
static bool put_label(FILE *stream, const char *text)
{
    bool ok = true;
    for (; *text != '\0' && ok; ++text) {
        ok = ((*text != '"' && *text != '\\') || putc('\\', stream) != EOF) &&
             putc(*text, stream) != EOF;
    }
    return ok;
}

/* Writes a node: the call, such as "softmax(dim=1)", above the shape of its first result. */
static bool put_node(FILE *stream, const adzi_node *node)
{
    char start[48];
    adzi_text call = { 0 };
    snprintf(start, sizeof start, "  n%llx [label=\"", id_of(node));
    bool ok = put(stream, start) &&
              put_label(stream, adzi_attr_text(&call, node->op, node->attr)) &&
              put(stream, "\\n") &&
              put(stream, adzi_text_sizes(node->results[0].rank, node->results[0].sizes)) &&
              put(stream, "\"];\n");
    adzi_text_free(&call);
    return ok;
}

/* Writes the edges that lead to a node, and a blue box for each leaf among its inputs. */
static bool put_edges(FILE *stream, const adzi_node *node)
{
    char line[320];
    bool ok = true;
    for (int i = 0; i < node->n_inputs && ok; ++i) {
        const adzi_edge *edge = &node->inputs[i];
        unsigned long long to = id_of(node);
        if (edge->node != NULL) {
            snprintf(line, sizeof line, "  n%llx -> n%llx;\n", id_of(edge->node), to);
            ok = put(stream, line);
        } else if (edge->leaf != NULL) {
            unsigned long long id = id_of(edge->leaf);
            snprintf(line, sizeof line,
                "  t%llx [shape=box, style=filled, fillcolor=lightblue, label=\"%s\"];\n"
                "  t%llx -> n%llx;\n",
                id, adzi_text_shape(edge->leaf), id, to);
            ok = put(stream, line);
        }
    }
    return ok;
}

adz_status adz_graph_dot(adz_tensor *t, FILE *stream)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "graph_dot";
    if (!adzi_check_tensor(op, "t", t)) {
        return adz_error_code();
    }
    if (stream == NULL) {
        return adzi_error_null(op, "stream");
    }
    adzi_settle(adzi_self());
    adzi_run *run = adzi_run_begin(adzi_self(), ADZI_FLOOR());
    if (run == NULL) {
        return adz_error_code();
    }
    bool found = adzi_run_discover(run, &t, 1);
    bool ok =
        found && put(stream, "digraph adze {\n  rankdir=TB;\n  node [fontname=\"sans-serif\"];\n");
    for (size_t i = run->n_order; ok && i-- > 0;) {
        ok = put_node(stream, run->order[i]) && put_edges(stream, run->order[i]);
    }
    ok = ok && put(stream, "}\n") && fflush(stream) == 0;
    adzi_run_end(run);
    return ok      ? ADZ_OK
           : found ? adzi_error(op, ADZ_ERR_IO, "the graph could not be written")
                   : adzi_status(NULL);
}
