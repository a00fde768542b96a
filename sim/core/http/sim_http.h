/*
 * sim_http.h - callbacks of libmicrohttpd for one HTTP request: the body comes
 * in, the answer (sim_course.c) goes out. Each connection has its own thread;
 * requests share nothing but the cluster.
 */
#ifndef KL_SIM_HTTP_H
#define KL_SIM_HTTP_H

#include "sim/core/store/sim_core.h"

#include <microhttpd.h>

/* The first argument of the callbacks below. */
typedef struct kl__sim_http {
    kl_sim *sim;
    bool has_tls;     /* TLS; the server asks for client certificates */
    const char *host; /* the address that it listens on, as it was given */
    /* Guarded by the cluster's mutex: */
    bool closing;         /* true: every stream ends */
    kl__list connections; /* open connections: sim_connections.c */
    kl__cond gone;        /* signalled when the last connection has ended */
} kl__sim_http;

/* MHD_OPTION_URI_LOG_CALLBACK, MHD_AccessHandlerCallback and
 * MHD_OPTION_NOTIFY_COMPLETED; see the manual of libmicrohttpd. */
void *kl__sim_http_begin(void *http, const char *uri,
                         struct MHD_Connection *connection);
enum MHD_Result kl__sim_http_handle(void *http,
                                    struct MHD_Connection *connection,
                                    const char *url, const char *method,
                                    const char *version, const char *upload,
                                    size_t *upload_size, void **request);
void kl__sim_http_end(void *http, struct MHD_Connection *connection,
                      void **request, enum MHD_RequestTerminationCode code);

#endif
