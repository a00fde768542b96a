/*
 * sim_wire.h - faults that break HTTP or TCP. The answer is written directly to
 * the socket, without libmicrohttpd, on the connection's thread; the connection
 * is closed afterwards.
 */
#ifndef KL_SIM_WIRE_H
#define KL_SIM_WIRE_H

#include "sim/core/answer/sim_answer.h"
#include "sim/core/request/sim_rule.h"

#include <microhttpd.h>

/* Sends an answer that has its status already, broken as `how` says. */
void kl__sim_wire_send(struct MHD_Connection *connection,
                       kl__sim_answer *answer, kl__sim_how how);

/* Resets the connection (RST) instead of sending the rest. */
void kl__sim_wire_reset(struct MHD_Connection *connection);

#endif
