/*
 * spec_case.h - a case of the simulator's specs: defined and registered in one
 * place. A spec includes it, writes its cases, and needs no main.
 *
 *     SIM_CASE(a_second_object_of_a_name_already_exists)
 *     {
 *         sim_add(sim, "a");
 *     }
 */
#ifndef KL_SPEC_CASE_H
#define KL_SPEC_CASE_H

#include "sim_play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Adds a case to the program. Cases run in the order of the file. */
void spec_add_case(struct CMUnitTest added);

/* A case of a text file: "case NAME options" begins one. A line that begins
 * with a blank goes on with the line before it, "#" begins a comment. */
typedef struct text_case {
    char name[128];
    char options[128];
    kl__buf lines; /* each begins with "\n" */
} text_case;

/* Adds the cases of a file; *state is the text_case, for set_up if there is
 * one, else for run. For a constructor. */
void spec_read_cases(const char *path, CMUnitTestFunction run,
                     CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* A function that runs after the last case. */
void spec_set_end(CMFixtureFunction end);

/* A case with a fixture: its declaration ("world *w"), which the case sees, and
 * the functions that make and release it. */
#define SPEC_CASE(name, fixture, set_up, tear_down)                     \
    static void name##_case(fixture);                                   \
    static void name(void **state)                                      \
    {                                                                   \
        name##_case(*state);                                            \
    }                                                                   \
    __attribute__((constructor)) static void add_##name(void)           \
    {                                                                   \
        spec_add_case(                                                  \
            (struct CMUnitTest){#name, name, set_up, tear_down, NULL}); \
    }                                                                   \
    static void name##_case(__attribute__((unused)) fixture)

/* A case without a fixture, with a cluster, and with a cluster, a transport and
 * a watch. */
#define PLAIN_CASE(name) SPEC_CASE(name, void *none, NULL, NULL)
#define SIM_CASE(name) SPEC_CASE(name, kl_sim *sim, sim_set_up, sim_tear_down)
#define RIG_CASE(name) \
    SPEC_CASE(name, sim_rig *f, sim_rig_set_up, sim_rig_tear_down)

/* Runs a function of the file after its last case. */
#define SPEC_END(end)                                      \
    __attribute__((constructor)) static void set_end(void) \
    {                                                      \
        spec_set_end(end);                                 \
    }

#endif
