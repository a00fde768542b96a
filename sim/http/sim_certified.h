/*
 * sim_certified.h - who a client certificate says that its bearer is.
 */
#ifndef KL_SIM_CERTIFIED_H
#define KL_SIM_CERTIFIED_H

#include "base/buf.h"

#include <microhttpd.h>

/* Appends the name in the client's certificate and its groups, a line each, if
 * it has shown one that the listener's authority has signed; else nothing. Out
 * of memory sticks in `out`. */
void kl__sim_certified(struct MHD_Connection *connection, kl__buf *out);

#endif
