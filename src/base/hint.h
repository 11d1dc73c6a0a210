/* What the compiler cannot know: which way a branch goes, and what seldom runs.
 *
 * Note [A step fits the first-level cache]
 * The training step of a small network runs through some 5,000 different instructions. Laid out
 * densely they fit the first-level instruction cache, 32 kB; with error messages, general loops and
 * other rare ways between them they do not, and a step that computes for 0.2 us waits for code
 * longer than that. So what is seldom taken says so and is laid elsewhere, and a loop over
 * dimensions stands in a function of its own, behind a test for what is common.
 */
#ifndef ADZI_BASE_HINT_H
#define ADZI_BASE_HINT_H

#define ADZI_LIKELY(x)   __builtin_expect(!!(x), 1)
#define ADZI_UNLIKELY(x) __builtin_expect(!!(x), 0)

/** A function that refuses or repairs: kept apart, as are the branches that lead to it. */
#define ADZI_COLD __attribute__((cold))

/** A function on the path of every call: the linker lays these side by side, in few pages. */
#define ADZI_HOT __attribute__((hot))

/** A function that is seldom needed: called, never copied to where it is, and kept apart. */
#define ADZI_APART __attribute__((noinline, cold))

#endif
