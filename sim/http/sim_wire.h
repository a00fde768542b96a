/*
 * sim_wire.h - answers that break HTTP or TCP: written past libmicrohttpd, on
 * the thread of the connection, which is closed afterwards.
 */
#ifndef KL_SIM_WIRE_H
#define KL_SIM_WIRE_H

#include "sim/answer/sim_answer.h"
#include "sim/request/sim_rule.h"

#include <microhttpd.h>

/* Sends an answer, which has begun, broken in some way. */
void kl__sim_wire_send(struct MHD_Connection *connection,
                       kl__sim_answer *answer, kl__sim_how how);

/* Sends an RST in place of what is still to come. */
void kl__sim_wire_reset(struct MHD_Connection *connection);

#endif
