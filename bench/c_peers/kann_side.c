/* A training step of Linear, ReLU, Linear with mean squared error and SGD in kann. The optimizer is
 * a loop here, because kann has RMSprop alone. */
#include "kann.h"
#include "side.h"

typedef struct network {
    kann_t *kann;
    int variables;
} network;

static double cost(void *user)
{
    const network *n = user;
    return kann_cost(n->kann, 0, 0);
}

static void step(void *user)
{
    const network *n = user;
    kann_cost(n->kann, 0, 1);
    for (int i = 0; i < n->variables; ++i) {
        n->kann->x[i] -= 1e-3f * n->kann->g[i];
    }
}

/* Copies the start to the variables, which kann keeps one after the other. */
static void load(kann_t *kann, const side *s)
{
    const float *parts[] = { s->w1, s->b1, s->w2, s->b2 };
    int part = 0;
    for (int i = 0; i < kann->n && part < 4; ++i) {
        kad_node_t *node = kann->v[i];
        if (kad_is_var(node)) {
            memcpy(node->x, parts[part++], sizeof(float) * (size_t)kad_len(node));
        }
    }
}

int main(int argc, char **argv)
{
    const side s = side_begin(argc, argv);
    kad_node_t *layer = kann_layer_input(s.in);
    layer = kad_relu(kann_layer_dense(layer, s.hidden));
    network n = { kann_new(kann_layer_cost(layer, s.out, KANN_C_MSE), 0), 0 };
    n.variables = kann_size_var(n.kann);
    load(n.kann, &s);
    if (s.threads > 1) {
        kann_mt(n.kann, s.threads, s.rows);
    }
    kann_set_batch_size(n.kann, s.rows);
    kann_switch(n.kann, 1);
    kann_feed_bind(n.kann, KANN_F_IN, 0, (float *[]){ s.x });
    kann_feed_bind(n.kann, KANN_F_TRUTH, 0, (float *[]){ s.target });
    side_answer(&s, step, cost, &n);
    kann_delete(n.kann);
    return 0;
}
