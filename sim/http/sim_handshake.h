/*
 * sim_handshake.h - TLS handshakes that take long on command: the fault "tls".
 */
#ifndef KL_SIM_HANDSHAKE_H
#define KL_SIM_HANDSHAKE_H

#include "sim/http/sim_http.h"

/* Has the faults of handshakes hold for a connection that begins. */
void kl__sim_handshake_attend(kl__sim_http *http,
                              struct MHD_Connection *connection);

#endif
