/* Note [Agreement]
 *
 * A collective in which one rank sends 12 bytes and another expects 16 hangs, or worse, gives wrong
 * numbers. So the ranks first compare their calls. Each call is a struct of fixed size, which is
 * joined along a binary tree over the ranks up to rank 0 and sent back down: log2(size) rounds each
 * way. Joining two calls that differ, or of which one has failed, gives a failed call whose reason
 * is the message for all ranks.
 *
 * Whatever can fail on one rank alone, such as a wrong argument or refused memory, happens before
 * the agreement. After it only the transport can fail.
 */
#include "distributed/agreement.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tensor/tensor.h"

enum { ADZI_GROUP_CALL_MARK = 0x61647a32 };

static const char *const functions[ADZI_GROUP_CALL_END] = {
    [ADZI_GROUP_CALL_FREE] = "adz_group_free",
    [ADZI_GROUP_CALL_BARRIER] = "adz_group_barrier",
    [ADZI_GROUP_CALL_AGREE] = "adz_group_agree",
    [ADZI_GROUP_CALL_BROADCAST] = "adz_group_broadcast",
    [ADZI_GROUP_CALL_ALL_REDUCE] = "adz_group_all_reduce",
    [ADZI_GROUP_CALL_ALL_GATHER] = "adz_group_all_gather",
    [ADZI_GROUP_CALL_REDUCE_SCATTER] = "adz_group_reduce_scatter",
    [ADZI_GROUP_CALL_STEP_END] = "adz_data_parallel_end",
    [ADZI_GROUP_CALL_SHARD] = "adz_data_parallel_shard",
    [ADZI_GROUP_CALL_STEP] = "adz_data_parallel_step",
    [ADZI_GROUP_CALL_SAVE] = "adz_checkpoint_save",
    [ADZI_GROUP_CALL_LOAD] = "adz_checkpoint_load",
};

static const char *choice_name(const adzi_group_call *call, char *room, size_t size)
{
    static const char *const ops[] = { "ADZ_GROUP_SUM", "ADZ_GROUP_MEAN", "ADZ_GROUP_MAX" };
    if (call->operation != ADZI_GROUP_CALL_BROADCAST && (unsigned)call->choice < 3) {
        return ops[call->choice];
    }
    snprintf(room, size, "source %d", (int)call->choice);
    return room;
}

void adzi_group_call_of_tensor(adzi_group_call *call, const adz_tensor *tensor)
{
    call->dtype = tensor->dtype;
    call->rank = tensor->rank;
    for (int i = 0; i < tensor->rank; ++i) {
        call->sizes[i] = tensor->sizes[i];
    }
}

void adzi_group_call_say(adzi_group_call *call, const char *format, ...)
{
    const size_t used = strlen(call->text);
    va_list list;
    va_start(list, format);
    vsnprintf(call->text + used, sizeof call->text - used, format, list);
    va_end(list);
}

void adzi_group_call_add(adzi_group_call *call, const void *bytes, size_t size)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < size; ++i) { /* FNV-1a */
        call->hash = (call->hash ^ p[i]) * 1099511628211u;
    }
}

/* ---- joining two calls ---------------------------------------------------------------------- */

static bool fail(adzi_group_call *low, const adzi_group_call *high, adz_status status,
    const char *between, const char *a, const char *b)
{
    low->status = status;
    low->differ = 1;
    snprintf(low->reason, sizeof low->reason,
        "the ranks differ%.90s: rank %d has %.160s, rank %d %.160s", between, (int)low->who, a,
        (int)high->who, b);
    return false;
}

static bool equal_choices(adzi_group_call *low, const adzi_group_call *high)
{
    char a[40], b[40];
    if (low->choice == high->choice) {
        return true;
    }
    return fail(low, high, ADZ_ERR_ARGUMENT, " in their options", choice_name(low, a, sizeof a),
        choice_name(high, b, sizeof b));
}

static bool equal_tensors(adzi_group_call *low, const adzi_group_call *high)
{
    if (low->dtype != high->dtype) {
        return fail(low, high, ADZ_ERR_DTYPE, " in their dtypes",
            adz_dtype_name((adz_dtype)low->dtype), adz_dtype_name((adz_dtype)high->dtype));
    }
    if (low->rank != high->rank || memcmp(low->sizes, high->sizes, sizeof low->sizes) != 0) {
        return fail(low, high, ADZ_ERR_SHAPE, " in their shapes",
            adzi_text_sizes(low->rank, low->sizes), adzi_text_sizes(high->rank, high->sizes));
    }
    return true;
}

static bool equal_texts(adzi_group_call *low, const adzi_group_call *high)
{
    char between[ADZI_GROUP_CALL_TEXT + 8];
    if (strcmp(low->what, high->what) != 0) {
        return fail(low, high, ADZ_ERR_STATE, " in what they compare", low->what, high->what);
    }
    if (low->hash == high->hash && strcmp(low->text, high->text) == 0) {
        return true;
    }
    snprintf(between, sizeof between, " in %.80s", low->what);
    const bool shown = strcmp(low->text, high->text) != 0;
    return fail(low, high, ADZ_ERR_STATE, between, shown ? low->text : "a text",
        shown ? high->text : "a text that differs after its first 199 bytes");
}

/* A call as it may come from a program that is no rank of this group, or another version. */
static bool is_sound(const adzi_group_call *call)
{
    return call->mark == ADZI_GROUP_CALL_MARK && call->operation > 0 &&
           call->operation < ADZI_GROUP_CALL_END && call->rank >= 0 && call->rank <= ADZ_MAX_RANK &&
           memchr(call->what, 0, sizeof call->what) != NULL &&
           memchr(call->text, 0, sizeof call->text) != NULL &&
           memchr(call->reason, 0, sizeof call->reason) != NULL;
}

static void take_reason(adzi_group_call *low, const adzi_group_call *high)
{
    low->status = high->status;
    low->differ = high->differ;
    memcpy(low->reason, high->reason, sizeof low->reason);
}

/* Joins the call of the higher ranks into the one of the lower ranks. The first failure stays. If
 * the higher ranks differ among themselves, their first one is compared with the lower ranks before
 * that counts: the message then names the rank that differs from most. */
static void join(adzi_group_call *low, const adzi_group_call *high)
{
    low->left += high->left;
    if (low->status != ADZ_OK) {
        return;
    }
    if (high->status != ADZ_OK && !high->differ) {
        take_reason(low, high);
    } else if (low->operation != high->operation) {
        low->status = ADZ_ERR_STATE;
        low->differ = 1;
        snprintf(low->reason, sizeof low->reason,
            "the ranks call different functions: rank %d calls %s, rank %d %s", (int)low->who,
            functions[low->operation], (int)high->who, functions[high->operation]);
    } else if (equal_choices(low, high) && equal_tensors(low, high) && equal_texts(low, high) &&
               high->status != ADZ_OK) {
        take_reason(low, high);
    }
}

/* ---- along the tree ------------------------------------------------------------------------- */

/* Receives a call from another rank. Something that is no call breaks the group. */
static adz_status receive_call(const char *op, adz_group *group, int from, adzi_group_call *call)
{
    const adzi_transfer t = {
        .from = from, .receive = call, .receive_bytes = sizeof *call, .tag = ADZI_TAG_AGREEMENT
    };
    memset(call, 0, sizeof *call);
    const adz_status status = adzi_transfer_bytes(op, group, &t);
    if (status != ADZ_OK || is_sound(call)) {
        return status;
    }
    adzi_error(op, ADZ_ERR_FORMAT,
        "%s: rank %d sent something that is no call of a collective; does every rank run the same version of adze?",
        group->name, from);
    return adzi_group_break(op, group, ADZ_ERR_FORMAT);
}

/* Joins the calls of all ranks at rank 0, which then sends the joined call to all. */
static adz_status join_all(const char *op, adz_group *group, adzi_group_call *call)
{
    const int n = group->size, me = group->rank;
    adz_status status = ADZ_OK;
    for (int bit = 1; bit < n && status == ADZ_OK; bit *= 2) {
        if ((me & bit) != 0) {
            const adzi_transfer t = {
                .to = me - bit, .send = call, .send_bytes = sizeof *call, .tag = ADZI_TAG_AGREEMENT
            };
            status = adzi_transfer_bytes(op, group, &t);
            break;
        }
        if (bit < n - me) {
            adzi_group_call other;
            status = receive_call(op, group, me + bit, &other);
            if (status == ADZ_OK) {
                join(call, &other);
            }
        }
    }
    const adzi_broadcast joined = { 0, ADZI_TAG_AGREEMENT, call, sizeof *call };
    return status == ADZ_OK ? adzi_send_down(op, group, &joined) : status;
}

/* What this rank alone knows: its name, and the error that it has recorded. */
static void sign(const adz_group *group, adzi_group_call *call)
{
    call->mark = ADZI_GROUP_CALL_MARK;
    call->who = group->rank;
    call->left = call->operation == ADZI_GROUP_CALL_FREE;
    call->status = adzi_pending();
    if (call->status != ADZ_OK) {
        snprintf(
            call->reason, sizeof call->reason, "%s failed: %.300s", group->name, adzi_error_text());
    }
}

bool adzi_may_agree(const char *op, adz_group *group)
{
    const adzi_error_record own = adzi_self()->error;
    const bool ready = adzi_group_ready(op, group) == ADZ_OK;
    if (own.code != ADZ_OK) {
        adzi_self()->error = own;
    }
    return ready;
}

adz_status adzi_agree(const char *op, adz_group *group, adzi_group_call *call)
{
    const bool failed = adzi_pending() != ADZ_OK;
    if (group->broken != ADZ_OK && failed) {
        return adzi_pending();
    }
    sign(group, call);
    if (group->size == 1) {
        return failed ? adzi_pending() : adzi_group_ready(op, group);
    }
    const adzi_error_record own = adzi_self()->error;
    const adz_status sent = join_all(op, group, call);
    if (failed) { /* its own error says more than the others' */
        adzi_self()->error = own;
    } else if (sent != ADZ_OK) {
        return sent;
    } else if (!is_sound(call)) {
        adzi_error(op, ADZ_ERR_FORMAT, "%s: the ranks' answer is no call", group->name);
        return adzi_group_break(op, group, ADZ_ERR_FORMAT);
    } else if (call->status != ADZ_OK) {
        adzi_error(op, (adz_status)call->status, "%s", call->reason);
    }
    if (call->left > 0 && call->left < group->size && group->broken == ADZ_OK) {
        group->broken = ADZ_ERR_STATE;
        snprintf(group->reason, sizeof group->reason, "%.399s", call->reason);
    }
    return adzi_pending();
}
