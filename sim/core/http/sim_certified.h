/*
 * sim_certified.h - reads the user and groups that a client certificate names.
 */
#ifndef KL_SIM_CERTIFIED_H
#define KL_SIM_CERTIFIED_H

#include "base/buf.h"

#include <microhttpd.h>

/* Appends the user's name and the groups, a line each, if the client has sent a
 * certificate that the listener's certificate authority signed; else appends
 * nothing. When memory runs out, `out` keeps the failure. */
void kl__sim_certified(struct MHD_Connection *connection, kl__buf *out);

#endif
