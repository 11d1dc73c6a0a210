/* Files by their kind. */
#include "../../examples/shared/command_line.h"
#include "network.h"

bool is_float(const port *p)
{
    return p->dtype == ADZ_F32 || p->dtype == ADZ_F64;
}

int64_t count_floats(const port *ports, size_t n)
{
    int64_t count = 0;
    for (size_t i = 0; i < n; ++i) {
        if (is_float(&ports[i])) {
            int64_t elements = 1;
            for (int d = 0; d < ports[i].shape.rank; ++d) {
                elements *= ports[i].shape.sizes[d];
            }
            count += elements;
        }
    }
    return count;
}

net load_network(const char *path, const reading_options *o)
{
    net n;
    if (is_onnx_file(path)) {
        n = load_onnx(path, o);
    } else {
        if (o->n_shapes > 0) {
            fail("%s: --inputs is for ONNX files; this one says how many inputs there are", path);
        }
        n = is_digits_file(path) ? load_digits_file(path, o) : load_ffn(path, o);
    }
    n.path = path;
    return n;
}

void free_network(net *n)
{
    n->end(n);
}
