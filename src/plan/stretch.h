/* Launches that a captured call leaves out while it is captured: Note [Stretches] in stretch.c. */
#ifndef ADZI_PLAN_STRETCH_H
#define ADZI_PLAN_STRETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct adzi_captured_call adzi_captured_call;
typedef struct adzi_capture adzi_capture;

/** Launches that repeat themselves, and of which some times are left out. */
typedef struct adzi_stretch {
    size_t begin, period, unit; /* the first launch; the launches of a time; the shortest period */
    int64_t before, left_out;   /* the times in front of those that are left out, and these */
    size_t first_slot, n_slots; /* counted through all stretches */
} adzi_stretch;

/** What was at an address of a time, and how it moves from time to time. */
struct adzi_stretch_slot;

/** The stretches of a captured call. Those that have ended, and one that goes on. */
typedef struct adzi_stretches {
    adzi_stretch *all;
    size_t count, capacity, n_slots;
    bool off;               /* no launches are left out */
    int held;               /* none are left out for as long as this is not 0 */
    bool torn;              /* what was left out cannot be repeated, so the call becomes no plan */
    size_t tail, next_look; /* launches in which no stretch was found, and when to look again */
    uint64_t arguments, numbers; /* follow from those that were left out, in order */
    bool goes_on;                /* launches are compared with the last stretch */
    int64_t times;               /* that it has had */
    size_t launch, slot;         /* how much of the next time it has had */
    struct adzi_stretch_slot *slots;
    size_t slots_bytes;
} adzi_stretches;

/** A launch was added. */
void adzi_stretch_launched(adzi_capture *capture, adzi_captured_call *call);

/** What comes next belongs to no stretch. */
void adzi_stretch_interrupt(adzi_capture *capture, adzi_captured_call *call);

/** The call has ended. */
void adzi_stretch_close(adzi_captured_call *call);

void adzi_stretches_free(adzi_stretches *stretches);

#endif
