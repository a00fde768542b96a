/*
 * sim_socket.h - sends raw bytes to a simulator's port, without a client.
 */
#ifndef KL_SPEC_SIM_SOCKET_H
#define KL_SPEC_SIM_SOCKET_H

#include "kubelua/sim.h"

/* Connects to the port; makes the cluster listen if it does not yet. Asserts
 * success. */
int sim_dial(kl_sim *sim);

void sim_say(int fd, const char *bytes);

/* Reads as many bytes as the text has, and asserts that they are equal. */
void sim_hear_exactly(int fd, const char *bytes);

/* Reads until the peer closes the connection, for a minute at most; then closes
 * it too. The caller owns the result: kl_free. */
char *sim_hear(int fd);

/* sim_dial, then sends the bytes, then sim_hear. */
char *sim_talk(kl_sim *sim, const char *bytes);

#endif
