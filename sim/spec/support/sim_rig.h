/*
 * sim_rig.h - fixtures for specs of the simulator: a cluster alone, or one with
 * a transport into it and a watch. The teardown asserts that nothing is left.
 */
#ifndef KL_SPEC_SIM_RIG_H
#define KL_SPEC_SIM_RIG_H

#include "sim_client.h"

/* cmocka's setup and teardown: *state is a kl_sim. */
int sim_set_up(void **state);
int sim_tear_down(void **state);

typedef struct sim_rig {
    kl_sim *sim;
    kl_transport *transport; /* in-process, as the administrator */
    sim_watch watch;         /* closed by the teardown, if it was opened */
    const char *url;         /* of a port; NULL: in-process */
    kl__tls *tls;            /* for the port; may be NULL */
} sim_rig;

/* cmocka's setup and teardown: *state is a sim_rig. */
int sim_rig_set_up(void **state);
int sim_rig_tear_down(void **state);
/* sim_rig_set_up with options of the cluster; NULL: none. */
int sim_rig_set_up_with(void **state, const kl_sim_options *options);

#endif
