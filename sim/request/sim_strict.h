/*
 * sim_strict.h - requests that Go's HTTP server refuses before any handler sees
 * them, and libmicrohttpd does not.
 */
#ifndef KL_SIM_STRICT_H
#define KL_SIM_STRICT_H

#include <microhttpd.h>
#include <stdbool.h>

/* How a request begins; the target as it was sent. */
typedef struct kl__sim_opening {
    struct MHD_Connection *connection;
    const char *method;
    const char *target;
    const char *version;
} kl__sim_opening;

/* Whether such a request was answered; *result is what to return then. */
bool kl__sim_strict_refuses(const kl__sim_opening *opening,
                            enum MHD_Result *result);

#endif
