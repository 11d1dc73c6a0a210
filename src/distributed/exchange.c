/* Messages of any size, exchanges of two ranks, and their progress. */
#include <sched.h>
#include <string.h>

#include "base/capture.h"
#include "distributed/group.h"

/* ---- one message ---------------------------------------------------------------------------- */

static adz_status start_piece(adz_group *group, adzi_message *m)
{
    const adz_transport *t = &group->transport;
    m->piece = t->largest != 0 && m->left > t->largest ? t->largest : m->left;
    memset(&m->request, 0, sizeof m->request);
    if (!m->sends) {
        return t->start_receive(group->user, m->data, m->piece, m->peer, m->tag, &m->request);
    }
    group->sent += m->piece;
    return t->start_send(group->user, m->data, m->piece, m->peer, m->tag, &m->request);
}

/* The piece that was under way has ended: starts the next one. */
static adz_status next_piece(adz_group *group, adzi_message *m)
{
    m->left -= m->piece;
    m->data += m->piece;
    return m->left > 0 ? start_piece(group, m) : ADZ_OK;
}

/* Starts as many pieces as can end without waiting. */
static adz_status test_message(adz_group *group, adzi_message *m)
{
    while (m->left > 0) {
        bool done = false;
        adz_status status = group->transport.test(group->user, &m->request, &done);
        if (status != ADZ_OK || !done) {
            return status;
        }
        status = next_piece(group, m);
        if (status != ADZ_OK) {
            return status;
        }
    }
    return ADZ_OK;
}

/* Waits until the piece that is under way has ended, if there is one. Starts the next one. */
static adz_status wait_piece(adz_group *group, adzi_message *m)
{
    if (m->left == 0) {
        return ADZ_OK;
    }
    const adz_status status = group->transport.wait(group->user, &m->request);
    return status == ADZ_OK ? next_piece(group, m) : status;
}

/* ---- exchanges ------------------------------------------------------------------------------ */

void adzi_exchange_take_out(adz_group *group, adzi_exchange *exchange)
{
    adzi_exchange **at = &group->under_way;
    while (*at != NULL && *at != exchange) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = exchange->next;
    }
    exchange->next = NULL;
}

/* Ends an exchange that is over, with or without a failure. */
static adz_status finish(const char *op, adzi_exchange *exchange, adz_status status)
{
    adzi_exchange_take_out(exchange->group, exchange);
    exchange->done = true;
    exchange->status = status == ADZ_OK ? ADZ_OK : adzi_group_break(op, exchange->group, status);
    if (status == ADZ_OK && exchange->then != NULL) {
        exchange->then(exchange, exchange->user);
    }
    return exchange->status;
}

adz_status adzi_exchange_start(
    const char *op, adz_group *group, adzi_exchange *exchange, const adzi_transfer *transfer)
{
    char *send;
    memcpy(
        &send, &transfer->send, sizeof send); /* the pointer, which a message may write through */
    exchange->group = group;
    exchange->done = false;
    exchange->status = ADZ_OK;
    exchange->in = (adzi_message){ .data = transfer->receive,
        .left = transfer->receive_bytes,
        .peer = transfer->from,
        .tag = transfer->tag,
        .sends = false };
    exchange->out = (adzi_message){ .data = send,
        .left = transfer->send_bytes,
        .peer = transfer->to,
        .tag = transfer->tag,
        .sends = true };
    exchange->next = group->under_way;
    group->under_way = exchange;
    adz_status status = group->broken != ADZ_OK ? adzi_group_ready(op, group) : ADZ_OK;
    /* The send comes first. Over TCP, Open MPI answers the announcement of a large message on the
     * connection that carries its own data. A receive that starts first lets the partner's data
     * flow, and this rank's announcement would be answered after them: the directions would take
     * turns. */
    if (status == ADZ_OK && exchange->out.left > 0) {
        status = start_piece(group, &exchange->out);
    }
    if (status == ADZ_OK && exchange->in.left > 0) {
        status = start_piece(group, &exchange->in);
    }
    return status == ADZ_OK ? ADZ_OK : finish(op, exchange, status);
}

static adz_status go_on(const char *op, adzi_exchange *exchange)
{
    adz_status status = test_message(exchange->group, &exchange->in);
    if (status == ADZ_OK) {
        status = test_message(exchange->group, &exchange->out);
    }
    const bool ended = exchange->in.left == 0 && exchange->out.left == 0;
    return status != ADZ_OK || ended ? finish(op, exchange, status) : ADZ_OK;
}

/* An exchange that ends leaves the list, and its `then` may put others in front. The one behind
 * stays where it is. */
static adz_status progress(const char *op, adz_group *group)
{
    adz_status first = ADZ_OK;
    adzi_exchange *next;
    for (adzi_exchange *e = group->under_way; e != NULL; e = next) {
        next = e->next;
        adz_status status = go_on(op, e);
        first = first == ADZ_OK ? status : first;
    }
    return first;
}

adz_status adzi_exchange_test(const char *op, adzi_exchange *exchange, bool *done)
{
    if (!exchange->done) {
        progress(op, exchange->group);
    }
    *done = exchange->done;
    return exchange->status;
}

/* With other exchanges under way, nothing may block: a rank could wait for a message that follows
 * one of those. */
adz_status adzi_exchange_wait(const char *op, adzi_exchange *exchange)
{
    adz_group *group = exchange->group;
    while (!exchange->done && group->broken == ADZ_OK &&
           (group->under_way != exchange || exchange->next != NULL)) {
        adz_status status = progress(op, group);
        if (status != ADZ_OK && !exchange->done) {
            return finish(op, exchange, status);
        }
        sched_yield();
    }
    if (!exchange->done && group->broken != ADZ_OK) {
        return finish(op, exchange, adzi_group_ready(op, group));
    }
    /* The directions take turns: ranks in a ring wait for each other's next pieces. */
    adz_status status = ADZ_OK;
    while (
        !exchange->done && status == ADZ_OK && (exchange->in.left > 0 || exchange->out.left > 0)) {
        status = wait_piece(group, &exchange->in);
        status = status == ADZ_OK ? wait_piece(group, &exchange->out) : status;
    }
    if (!exchange->done) {
        return finish(op, exchange, status);
    }
    return exchange->status;
}

adz_status adzi_transfer_bytes(const char *op, adz_group *group, const adzi_transfer *transfer)
{
    adzi_exchange exchange = { .then = NULL };
    adz_status status = adzi_exchange_start(op, group, &exchange, transfer);
    return status == ADZ_OK ? adzi_exchange_wait(op, &exchange) : status;
}

adz_status adz_group_progress(adz_group *group)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "adz_group_progress";
    if (group == NULL) {
        return adzi_error_null(op, "group");
    }
    const adz_status status = adzi_group_ready(op, group);
    return status == ADZ_OK ? progress(op, group) : status;
}

/* ---- one rank to all ------------------------------------------------------------------------ */

/* Rank r of the tree, counted from the source, receives from r minus its lowest bit, and sends to r
 * plus each smaller power of two. */
adz_status adzi_send_down(const char *op, adz_group *group, const adzi_broadcast *m)
{
    const int n = group->size, position = (group->rank - m->source + n) % n;
    int bit = 1;
    while (bit < n && (position & bit) == 0) {
        bit *= 2;
    }
    adz_status status = ADZ_OK;
    if (position != 0) {
        const adzi_transfer t = { .from = (position - bit + m->source) % n,
            .receive = m->data,
            .receive_bytes = m->bytes,
            .tag = m->tag };
        status = adzi_transfer_bytes(op, group, &t);
    }
    for (bit /= 2; bit > 0 && status == ADZ_OK; bit /= 2) {
        if (bit < n - position) {
            const adzi_transfer t = { .to = (position + bit + m->source) % n,
                .send = m->data,
                .send_bytes = m->bytes,
                .tag = m->tag };
            status = adzi_transfer_bytes(op, group, &t);
        }
    }
    return status;
}
