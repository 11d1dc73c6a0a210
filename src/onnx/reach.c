/* Which values a gradient reaches. */
#include "run.h"

static void reach_graph(reader_model *model, const reader_graph *graph);

/* Marks what a node reads if a gradient reaches one of its results. */
static void reach_node(reader_model *model, const reader_node *node)
{
    bool reached = false;
    for (size_t i = 0; i < node->n_outputs; ++i) {
        reached |= node->outputs[i] != NO_VALUE && model->values[node->outputs[i]].reached;
    }
    if (!reached) {
        return;
    }
    for (size_t i = 0; i < node->n_inputs; ++i) {
        const bool fixed =
            node->op->fixed == ALL_FIXED || (i < 32 && (node->op->fixed >> i & 1) != 0);
        if (node->inputs[i] != NO_VALUE && !fixed) {
            model->values[node->inputs[i]].reached = true;
        }
    }
    for (size_t i = 0; i < node->n_attributes; ++i) {
        if (node->attributes[i].graph != NULL) {
            reach_graph(model, node->attributes[i].graph);
        }
    }
}

/* All results of a graph count as reached, so one pass suffices for loops, too. */
static void reach_graph(reader_model *model, const reader_graph *graph)
{
    for (size_t i = 0; i < graph->n_outputs; ++i) {
        model->values[graph->outputs[i].value].reached = true;
    }
    for (size_t i = graph->n_nodes; i-- > 0;) {
        reach_node(model, &graph->nodes[i]);
    }
}

void adzi_reader_reach(reader_model *model)
{
    reach_graph(model, model->graph);
}
