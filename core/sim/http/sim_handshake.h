/*
 * sim_handshake.h - TLS handshakes that take long on command: the fault "tls".
 */
#ifndef KL_SIM_HANDSHAKE_H
#define KL_SIM_HANDSHAKE_H

#include "sim/http/sim_http.h"

/* MHD_NotifyConnectionCallback; `http` is a kl__sim_http. */
void kl__sim_handshake_attend(void *http, struct MHD_Connection *connection,
                              void **context,
                              enum MHD_ConnectionNotificationCode what);

#endif
