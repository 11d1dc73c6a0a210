/* Writing the elements of tensors to files. */
#include "io/elements.h"

#include "tensor/copy.h"
#include "tensor/tensor.h"

adz_status adzi_sink_tensor(adzi_sink *sink, const adz_tensor *t, bool big)
{
    size_t item = adzi_item_size(t), bytes = (size_t)t->numel * item;
    if (adzi_is_contiguous(t)) {
        return adzi_sink_items(sink, t->data, bytes, item, big);
    }
    adz_tensor *copy =
        adzi_tensor_new(adzi_self(), sink->op, (adz_dtype)t->dtype, t->rank, t->sizes);
    if (copy == NULL) {
        return adz_error_code();
    }
    adzi_copy(copy, t);
    adz_status status = adzi_sink_items(sink, copy->data, bytes, item, big);
    adzi_drop(copy);
    return status;
}
