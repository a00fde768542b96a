/*
 * http_client.h - short calls for specs of the transport: send, read to the
 * end, with a limit of ten seconds, so that a hang is a failure.
 */
#ifndef KL_SPEC_HTTP_CLIENT_H
#define KL_SPEC_HTTP_CLIENT_H

#include "hostile_server.h"

#include "base/buf.h"
#include "http/transport.h"

/* Ten seconds from now, on the clock of deadlines. */
int64_t soon(void);

/* True in the tests "carried.*": then all clients of a spec share a thread,
 * also those of kube_script.h. */
bool clients_share_a_thread(void);

/* A transport of libcurl; asserts that it was made. */
kl_transport *new_transport(void);

/* Sends a GET of a base URL and a target; asserts that the stream opened. */
kl__stream *get(kl_transport *transport, const char *url, const char *target);

/* Waits ten seconds at most for the head; asserts that it comes. */
kl__response await_head(kl__stream *stream);

/* Reads to the end in ten seconds at most, and closes the stream. Returns what
 * ended it; `body` (may be NULL) gets the bytes: kl__buf_deinit. */
kl_code read_to_end(kl__stream *stream, kl__buf *body, kl_error *err);

/* The fixture of specs of the transport: a server without scripts, and a
 * transport to it. For cmocka_unit_test_setup_teardown. */
typedef struct fixture {
    hostile_server *server;
    kl_transport *transport;
} fixture;

int set_up(void **state);
int tear_down(void **state);
/* Sends a GET to its server. */
kl__stream *ask(fixture *f, const char *target);

/* Unrefs the transport, and asserts that nothing is left of it. */
void end_transport(kl_transport *transport);

#endif
