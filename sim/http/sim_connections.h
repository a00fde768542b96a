/*
 * sim_connections.h - the list of a port's open connections, so that all of
 * them can be ended before the server stops.
 */
#ifndef KL_SIM_CONNECTIONS_H
#define KL_SIM_CONNECTIONS_H

#include "sim/http/sim_http.h"

/* MHD_NotifyConnectionCallback; `http` is a kl__sim_http. */
void kl__sim_connections_notice(void *http, struct MHD_Connection *connection,
                                void **context,
                                enum MHD_ConnectionNotificationCode what);

/* Breaks all connections, also new ones that still arrive, and waits some
 * seconds at most until their threads have ended. kl__sim_connections_reopen
 * undoes it. */
void kl__sim_connections_end(kl__sim_http *http);
void kl__sim_connections_reopen(kl__sim_http *http);

#endif
