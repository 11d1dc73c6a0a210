/* Gathering slices: each rank has one, and all ranks get all. */
#include "base/threads/thread.h"
#include "distributed/data_parallel.h"

/* Exchanges that are under way at a time. Each keeps one message to a rank and one from a rank
 * going, so that the network is busy while some rank is late. Thousands at once would fill the
 * memory of the message library. */
enum { WINDOW = 16 };

/* The i-th exchange of a rank: it sends to the rank i above, and receives from the one i
 * below. */
static adzi_transfer transfer_of(
    const adz_group *group, int i, char *data, const size_t *begin, int tag)
{
    const int n = group->size, me = group->rank, from = (me - i + n) % n;
    return (adzi_transfer){ .to = (me + i) % n,
        .send = data + begin[me],
        .send_bytes = begin[me + 1] - begin[me],
        .from = from,
        .receive = data + begin[from],
        .receive_bytes = begin[from + 1] - begin[from],
        .tag = tag };
}

/* The exchanges lie on the stack. After a failure the remaining ones are waited for as well: the
 * group is broken then, so each wait ends at once and takes its exchange out of the group's list.
 */
adz_status adzi_gather_slices(
    const char *op, adz_group *group, void *data, const size_t *begin, int tag)
{
    adzi_exchange room[WINDOW];
    adzi_error_record *error = &adzi_self()->error, why = *error;
    adz_status first = ADZ_OK;
    int started = 1, ended = 1; /* exchanges are numbered from 1 */
    while (ended < started || (started < group->size && first == ADZ_OK)) {
        adz_status status = ADZ_OK;
        if (first == ADZ_OK && started < group->size && started - ended < WINDOW) {
            adzi_exchange *exchange = &room[started % WINDOW];
            const adzi_transfer t = transfer_of(group, started, data, begin, tag);
            exchange->then = NULL;
            status = adzi_exchange_start(op, group, exchange, &t);
            ++started;
        } else {
            status = adzi_exchange_wait(op, &room[ended % WINDOW]);
            ++ended;
        }
        if (first == ADZ_OK && status != ADZ_OK) {
            first = status;
            why = *error;
        }
    }
    *error = first != ADZ_OK ? why : *error;
    return first;
}
