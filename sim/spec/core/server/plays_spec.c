/*
 * plays_spec.c - runs the cases of plays.txt, each on a cluster of its own with
 * a transport and a watch. Options: "@ stands" (a clock that only ADVANCE
 * moves) and "@ no-controllers". Lines are those of sim_play.h.
 */
#include "spec_case.h"

static const int64_t START_MS = INT64_C(1767225600000); /* 2026-01-01 */

static const text_case *current;

static int set_up(void **state)
{
    bool stands;

    current = *state;
    stands = strstr(current->options, "@ stands") != NULL;
    return sim_rig_set_up_with(
        state, &(kl_sim_options){
                   .clock_stands = stands,
                   .now_ms = stands ? START_MS : 0,
                   .no_controllers =
                       strstr(current->options, "@ no-controllers") != NULL});
}

static void run_play(void **state)
{
    rig_play(*state, current->lines.bytes + 1);
}

__attribute__((constructor)) static void read_plays(void)
{
    spec_read_cases("sim/spec/core/server/plays.txt", run_play, set_up,
                    sim_rig_tear_down);
}
