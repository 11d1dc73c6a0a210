/* Captured calls that a test makes by hand: it calls the functions of a capture itself, with any
 * addresses and arguments. Nothing is computed. */
#ifndef ADZE_TESTS_PLAN_BY_HAND_H
#define ADZE_TESTS_PLAN_BY_HAND_H

#include <string.h>

#include "adze/adze.h"
#include "base/alloc.h"
#include "plan/plan.h"
#include "tensor/tensor.h"

/** An address that only captured calls look at. Its low 32 bits are no small number. */
#define ADDRESS(offset) ((char *)(uintptr_t)(0x7000deadbe00 + (offset)))

static inline void by_hand_begin(adz_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    adzi_capture_init(&plan->capture);
    plan->capture.op = "begin";
    plan->current = adzi_captured_call_new();
}

static inline void by_hand_end(adz_plan *plan)
{
    adzi_captured_call_free(plan->current);
    plan->current = NULL;
}

/** The elements of a new tensor, or memory for kernels if `header` is 0. */
static inline void by_hand_store(adz_plan *plan, char *block, size_t header, size_t bytes)
{
    plan->capture.allocated(&plan->capture, block, header + bytes + 16); /* room that is not used */
    plan->capture.stored(&plan->capture, block + header, bytes);
}

static inline void by_hand_kernel(const void *args, int64_t begin, int64_t end)
{
    (void)args;
    (void)begin;
    (void)end;
}

/** Every word of the arguments is an address. */
static const adzi_addresses by_hand_words[] = { { 0, 64, sizeof(uintptr_t), 0 }, { 0 } };

/** Arguments all of whose words are addresses. `mask` is that of adzi_args_layout. */
#define BY_HAND_LAYOUT(mask) (&(adzi_args_layout){ by_hand_words, (mask) })

static inline void by_hand_launch(adz_plan *plan, const void *args, const void *mask, size_t size)
{
    plan->capture.launched(&plan->capture, by_hand_kernel, args, BY_HAND_LAYOUT(mask), size, 1, 1);
}

/** A launch of the words, which are addresses and have no undefined bytes. */
#define BY_HAND_LAUNCH(plan, ...)                             \
    do {                                                      \
        const uintptr_t words_[] = { __VA_ARGS__ };           \
        unsigned char mask_[sizeof words_];                   \
        memset(mask_, 0xff, sizeof mask_);                    \
        by_hand_launch((plan), words_, mask_, sizeof words_); \
    } while (0)

#endif
