/*
 * sim_handshake.h - slow TLS handshakes: the fault "tls".
 */
#ifndef KL_SIM_HANDSHAKE_H
#define KL_SIM_HANDSHAKE_H

#include "sim/core/http/sim_http.h"

/* Makes the faults of handshakes apply to a new connection. */
void kl__sim_handshake_attend(kl__sim_http *http,
                              struct MHD_Connection *connection);

#endif
