#include "ops/shape/list.h"

/* The sequences of a padded tensor, torch.nn.utils.rnn.unpad_sequence: a view of each. A
 * composition. */
adz_status adz_unpad_sequence(
    adz_tensor *x, const int64_t *lengths, size_t n, bool batch_first, adz_tensor **out)
{
    ADZI_COMPOSED();
    static const char op[] = "unpad_sequence";
    if (out == NULL) {
        return adzi_error_null(op, "out");
    }
    const size_t room = n <= ADZI_LIST_MOST ? n : 0;
    if (lengths == NULL) {
        adzi_error_null(op, "lengths");
        return adzi_no_results(out, room);
    }
    if (!adzi_check_tensor(op, "x", x)) {
        return adzi_no_results(out, room);
    }
    const int batch = batch_first ? 0 : 1, time = 1 - batch;
    if (x->rank < 2 || n > ADZI_LIST_MOST || x->sizes[batch] != (int64_t)n) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "x%s does not hold %zu sequences along dimension %d; another batch_first may be meant",
            adzi_text_shape(x), n, batch);
        return adzi_no_results(out, room);
    }
    for (size_t i = 0; i < n; ++i) {
        if (lengths[i] < 0 || lengths[i] > x->sizes[time]) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "length %zu is %lld, but sequences of x%s have 0 to %lld steps", i,
                (long long)lengths[i], adzi_text_shape(x), (long long)x->sizes[time]);
            return adzi_no_results(out, room);
        }
    }
    /* After a failure no result is left: the scope owns the views that were made. */
    for (size_t i = 0; i < n; ++i) {
        adz_tensor *one = adz_select(x, batch, (int64_t)i);
        out[i] = one != NULL ? adz_narrow(one, 0, 0, lengths[i]) : NULL;
        if (out[i] == NULL) {
            return adzi_no_results(out, room);
        }
    }
    return ADZ_OK;
}
