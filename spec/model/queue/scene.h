/*
 * scene.h - one history of a workqueue: threads that add, threads or a loop
 * that work, and the rules that must hold. Everything is drawn from a seed.
 */
#ifndef KL_SPEC_MODEL_QUEUE_SCENE_H
#define KL_SPEC_MODEL_QUEUE_SCENE_H

#include <stdint.h>

/* X(constant, what is counted), over all histories. */
#define SCENE_COUNTS(X)                                       \
    X(SCENE_EXACT, "histories against the oracle")            \
    X(SCENE_FREE, "histories of calls at the same moment")    \
    X(SCENE_LOOPS, "histories with a loop that sleeps")       \
    X(SCENE_CUT, "histories that end in the middle")          \
    X(SCENE_ADDS, "keys added")                               \
    X(SCENE_REFUSED, "adds refused after the end")            \
    X(SCENE_RUNS, "runs")                                     \
    X(SCENE_REAR_RUNS, "runs out of the rear lane")           \
    X(SCENE_RETRIES, "runs after a failure")                  \
    X(SCENE_TIMED, "runs that had a timer")                   \
    X(SCENE_SLEPT, "runs right after their worker had slept") \
    X(SCENE_WAKES, "wake-ups of a loop")

typedef enum scene_count {
#define SCENE_ENUM(constant, text) constant,
    SCENE_COUNTS(SCENE_ENUM)
#undef SCENE_ENUM
        SCENE_COUNT_KINDS
} scene_count;

extern uint64_t scene_counts[SCENE_COUNT_KINDS];

/* An entry for schedule_run; `arg` is not used. */
void scene_run(void *arg);

#endif
