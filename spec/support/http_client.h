/*
 * http_client.h - short forms for specs that talk through a transport: asking,
 * reading to the end, and failing within ten seconds instead of never.
 */
#ifndef KL_SPEC_HTTP_CLIENT_H
#define KL_SPEC_HTTP_CLIENT_H

#include "hostile_server.h"

#include "base/buf.h"
#include "http/transport.h"

/* Ten seconds from now, on the clock of deadlines. */
int64_t soon(void);

/* A transport over curl; asserts that there is one. */
kl_transport *new_transport(void);

/* Sends a GET of a base URL and a target; asserts that it could be opened. */
kl__stream *get(kl_transport *transport, const char *url, const char *target);

/* Waits for the head, soon; asserts that it comes. */
kl__response await_head(kl__stream *stream);

/* Reads to the end, soon, and closes the stream. What ended it; `body` (may be
 * NULL) gets the bytes: kl__buf_deinit. */
kl_code read_to_end(kl__stream *stream, kl__buf *body, kl_error *err);

/* What a spec of the transport has: a server without a script, and a transport
 * to it. For cmocka_unit_test_setup_teardown. */
typedef struct fixture {
    hostile_server *server;
    kl_transport *transport;
} fixture;

int set_up(void **state);
int tear_down(void **state);
/* A GET of its server. */
kl__stream *ask(fixture *f, const char *target);

/* Gives the transport back, and asserts that nothing of it lives on. */
void end_transport(kl_transport *transport);

#endif
