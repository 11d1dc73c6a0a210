/* The life of a group, and what it says about itself. */
#include "distributed/group.h"
#include "base/capture.h"
#include "base/handle.h"

#include <stdio.h>

#include "adze/options.h"
#include "base/threads/thread.h"
#include "distributed/agreement.h"

enum { MOST_RANKS = 1 << 24, SHOWN_NAME = 95 };

/* ---- whether messages can be sent ----------------------------------------------------------- */

/* Makes sure that a function of the transport which failed has recorded an error. */
static adz_status reported(const char *op, const adz_group *group, adz_status status)
{
    if (adzi_pending() != ADZ_OK) {
        return adzi_pending();
    }
    return adzi_error(op, status < 0 ? status : ADZ_ERR_IO,
        "%s: the transport failed and gave no reason", group->name);
}

adz_status adzi_group_break(const char *op, adz_group *group, adz_status status)
{
    status = reported(op, group, status);
    if (group->broken == ADZ_OK) {
        group->broken = status;
        snprintf(group->reason, sizeof group->reason, "%s", adzi_error_text());
    }
    return status;
}

adz_status adzi_group_ready(const char *op, adz_group *group)
{
    if (group->broken != ADZ_OK) {
        return adzi_error(op, ADZ_ERR_STATE,
            "%s: the group cannot be used any more, since an earlier call failed: %s", group->name,
            group->reason);
    }
    if (group->transport.ready == NULL) {
        return ADZ_OK;
    }
    const adz_status status = group->transport.ready(group->user);
    return status == ADZ_OK ? ADZ_OK : reported(op, group, status);
}

/* ---- making groups -------------------------------------------------------------------------- */

static adz_group *make(const char *op, const adz_transport *transport, void *user)
{
    adz_group *group = adzi_handle_new(sizeof *group);
    if (group == NULL) {
        return adzi_fail_memory(op, sizeof *group);
    }
    group->transport = *transport;
    group->transport.name = NULL; /* the caller's text may end */
    group->user = user;
    group->rank = transport->rank;
    group->size = transport->ranks;
    snprintf(group->name, sizeof group->name, "rank %d of %d (%.*s)", group->rank, group->size,
        SHOWN_NAME, transport->name);
    return group;
}

adz_group *adz_group_single(void)
{
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    const adz_transport none = { .name = "one process", .ranks = 1 };
    return make("adz_group_single", &none, NULL);
}

static const char *missing_function(const adz_transport *t)
{
    return t->start_send == NULL      ? "start_send"
           : t->start_receive == NULL ? "start_receive"
           : t->test == NULL          ? "test"
           : t->wait == NULL          ? "wait"
                                      : NULL;
}

adz_group *adz_group_new(const adz_transport *transport, void *user)
{
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    static const char op[] = "adz_group_new";
    adz_transport t = { 0 };
    if (transport == NULL) {
        return adzi_fail_null(op, "transport");
    }
    if (!adz_options_read(op, "{ .size = sizeof(adz_transport) }", &t, sizeof t, transport)) {
        return NULL;
    }
    if (t.ranks < 1 || t.ranks > MOST_RANKS) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "ranks is %d; a group has 1 to %d of them", t.ranks,
            (int)MOST_RANKS);
    }
    if (t.rank < 0 || t.rank >= t.ranks) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "rank is %d; with %d ranks it is 0 to %d", t.rank,
            t.ranks, t.ranks - 1);
    }
    if (t.ranks > 1 && missing_function(&t) != NULL) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT,
            "the transport's %s is NULL; a group of several ranks needs it", missing_function(&t));
    }
    t.name = t.name != NULL ? t.name : "a transport without a name";
    return make(op, &t, user);
}

/* Ranks that wait in another collective learn from the agreement that this rank has left. */
static void say_goodbye(adz_group *group)
{
    if (group->size == 1 || group->broken != ADZ_OK) {
        return;
    }
    adzi_error_record *error = &adzi_self()->error;
    const adzi_error_record before = *error;
    adzi_group_call call = { .operation = ADZI_GROUP_CALL_FREE };
    error->code = ADZ_OK;
    if (adzi_group_ready("adz_group_free", group) == ADZ_OK) {
        adzi_agree("adz_group_free", group, &call);
    }
    *error = before;
}

void adz_group_free(adz_group **address)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, );
    adz_group *group = adzi_handle_take("adz_group_free", "group", address);
    if (group == NULL) {
        return;
    }
    say_goodbye(group);
    if (group->transport.free != NULL) {
        group->transport.free(group->user);
    }
    adzi_handle_end(group, sizeof *group);
}

/* ---- asking --------------------------------------------------------------------------------- */

int adz_group_rank(const adz_group *group)
{
    if (!adzi_check_handle("adz_group_rank", "group", group)) {
        return -1;
    }
    return group->rank;
}

int adz_group_size(const adz_group *group)
{
    if (!adzi_check_handle("adz_group_size", "group", group)) {
        return -1;
    }
    return group->size;
}

const char *adz_group_name(const adz_group *group)
{
    return group != NULL ? group->name : adzi_fail_null("adz_group_name", "group");
}

uint64_t adz_group_bytes_sent(const adz_group *group)
{
    ADZI_NOT_CAPTURED(ADZI_READS_SETTING, 0);
    if (!adzi_check_handle("adz_group_bytes_sent", "group", group)) {
        return 0;
    }
    return group->sent;
}

void adz_group_abort(adz_group *group, int code, const char *message)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, );
    static const char op[] = "adz_group_abort";
    if (!adzi_check_handle(op, "group", group)) {
        return;
    }
    char text[ADZI_GROUP_REASON];
    const bool recorded = message == NULL && adzi_pending() != ADZ_OK;
    snprintf(text, sizeof text, "%s",
        recorded          ? adzi_error_text()
        : message != NULL ? message
                          : "the program gave no reason");
    if (group->transport.abort != NULL) {
        group->transport.abort(group->user, code >= 1 && code <= 255 ? code : 1, text);
    }
    if (group->broken == ADZ_OK) {
        group->broken = ADZ_ERR_STATE;
        snprintf(group->reason, sizeof group->reason, "%s: %.300s", op, text);
    }
}
