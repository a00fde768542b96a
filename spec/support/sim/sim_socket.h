/*
 * sim_socket.h - bytes to a simulator's port, past any client.
 */
#ifndef KL_SPEC_SIM_SOCKET_H
#define KL_SPEC_SIM_SOCKET_H

#include "kubelua/sim.h"

/* Connects to the port; on one of its own if it does not listen yet. Asserts
 * that it can be done. */
int sim_dial(kl_sim *sim);

void sim_say(int fd, const char *bytes);

/* Reads as many bytes, and asserts that they are these. */
void sim_hear_exactly(int fd, const char *bytes);

/* What comes back until the connection is closed, at most a minute; closes it.
 * The caller's: kl_free. */
char *sim_hear(int fd);

/* All of it. */
char *sim_talk(kl_sim *sim, const char *bytes);

#endif
