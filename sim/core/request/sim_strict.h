/*
 * sim_strict.h - refuses malformed HTTP requests. Go's HTTP server refuses them
 * before any handler runs; libmicrohttpd accepts them.
 */
#ifndef KL_SIM_STRICT_H
#define KL_SIM_STRICT_H

#include <microhttpd.h>
#include <stdbool.h>

/* The first line of a request; the target as it was sent. */
typedef struct kl__sim_opening {
    struct MHD_Connection *connection;
    const char *method;
    const char *target;
    const char *version;
} kl__sim_opening;

/* True if the request was refused and answered; *result is what the handler of
 * libmicrohttpd returns then. */
bool kl__sim_strict_refuses(const kl__sim_opening *opening,
                            enum MHD_Result *result);

/* Answers with a status and a static text, and closes the connection; returns
 * what the handler of libmicrohttpd returns then. */
enum MHD_Result kl__sim_strict_answer(struct MHD_Connection *connection,
                                      unsigned status, const char *text);

#endif
