/*
 * sim_connections.h - the list of a port's open connections, so that all can be
 * closed before the server stops.
 */
#ifndef KL_SIM_CONNECTIONS_H
#define KL_SIM_CONNECTIONS_H

#include "sim/core/http/sim_http.h"

/* MHD_NotifyConnectionCallback; `http` is a kl__sim_http. */
void kl__sim_connections_notice(void *http, struct MHD_Connection *connection,
                                void **context,
                                enum MHD_ConnectionNotificationCode what);

/* Breaks all connections, and each new one that still arrives, then waits until
 * their threads have ended, a few seconds at most. After
 * kl__sim_connections_reopen, new connections stay open again. */
void kl__sim_connections_end(kl__sim_http *http);
void kl__sim_connections_reopen(kl__sim_http *http);

#endif
