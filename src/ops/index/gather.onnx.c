/* Where the batch goes when elements are found by indices. */
#include "export/onnx.h"

adzi_onnx_batch_rule adzi_onnx_batch_gather, adzi_onnx_batch_index_select;

/* An index of rank 1 is the batch, or x has it in another dimension. */
bool adzi_onnx_batch_index_select(const adzi_onnx *g)
{
    const adzi_onnx_batch x = *adzi_onnx_batch_in(g, 0);
    adzi_onnx_batch index = *adzi_onnx_batch_in(g, 1);
    if (index.axis < 0) {
        return adzi_onnx_batch_but_dim(g);
    }
    index.axis = (int)adzi_onnx_attr_whole(g, "dim");
    *adzi_onnx_batch_out(g, 0) = index;
    return x.axis < 0;
}

/* The sizes of index and x are equal but along dim. */
bool adzi_onnx_batch_gather(const adzi_onnx *g)
{
    const adzi_onnx_batch x = *adzi_onnx_batch_in(g, 0), index = *adzi_onnx_batch_in(g, 1);
    *adzi_onnx_batch_out(g, 0) = index;
    return x.axis == index.axis && x.before == index.before && x.after == index.after &&
           (x.axis < 0 || x.axis != adzi_onnx_attr_whole(g, "dim"));
}
