/*
 * sim_rig.c - see sim_rig.h.
 */
#include "sim_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

int sim_set_up(void **state)
{
    *state = kl_sim_new(NULL, NULL);
    return *state != NULL ? 0 : -1;
}

int sim_tear_down(void **state)
{
    kl_sim_unref(*state);
    sim_expect_nothing_lives();
    return 0;
}

int sim_rig_set_up_with(void **state, const kl_sim_options *options)
{
    sim_rig *rig = calloc(1, sizeof(*rig));

    rig->sim = kl_sim_new(options, NULL);
    rig->transport = rig->sim != NULL ? kl_sim_transport(rig->sim, NULL) : NULL;
    *state = rig;
    return rig->transport != NULL ? 0 : -1;
}

int sim_rig_set_up(void **state)
{
    return sim_rig_set_up_with(state, NULL);
}

int sim_rig_tear_down(void **state)
{
    sim_rig *rig = *state;

    sim_watch_close(&rig->watch);
    kl__tls_unref(rig->tls);
    kl_transport_unref(rig->transport);
    kl_sim_unref(rig->sim);
    free(rig);
    sim_expect_nothing_lives();
    return 0;
}
