/*
 * sim_connections.h - the open connections of a port, so that they can end
 * before the server does.
 */
#ifndef KL_SIM_CONNECTIONS_H
#define KL_SIM_CONNECTIONS_H

#include "sim/http/sim_http.h"

/* MHD_NotifyConnectionCallback; `http` is a kl__sim_http. */
void kl__sim_connections_notice(void *http, struct MHD_Connection *connection,
                                void **context,
                                enum MHD_ConnectionNotificationCode what);

/* Breaks them, and those that still come, and waits until their threads have
 * ended, for seconds at most. To be undone by kl__sim_connections_reopen. */
void kl__sim_connections_end(kl__sim_http *http);
void kl__sim_connections_reopen(kl__sim_http *http);

#endif
