/*
 * sim_client.h - how specs talk to a simulator: requests whose status is
 * asserted, and watches that are read line by line with a deadline.
 */
#ifndef KL_SPEC_SIM_CLIENT_H
#define KL_SPEC_SIM_CLIENT_H

#include "base/buf.h"
#include "http/transport.h"
#include "kubelua/object.h"
#include "kubelua/memory.h"
#include "kubelua/sim.h"

enum { SIM_CLIENT_PATIENCE_MS = 60000 };

/* An answer, with its body as a document (NULL: not JSON). */
typedef struct sim_reply {
    int status;
    kl_reply raw;
    kl_doc *doc;
} sim_reply;

/* Sends a request; asserts that it is answered. `body` may be NULL; a PATCH is
 * a merge patch. The caller clears the reply. */
sim_reply sim_ask(kl_sim *sim, const char *method, const char *target,
                  const char *body);
void sim_reply_clear(sim_reply *reply);

/* The text at a path of a reply ("metadata.name"): valid until the next call;
 * "" if absent. Other values than texts are written as JSON. */
const char *sim_text(const kl_doc *doc, const char *path);

/* Sends a request and asserts its status. */
void sim_expect(kl_sim *sim, const char *method, const char *target,
                const char *body, int status);

/* Creates a ConfigMap in the namespace default; the second function replaces
 * its data. */
void sim_add(kl_sim *sim, const char *name);
void sim_touch(kl_sim *sim, const char *name, const char *value);

/* A stream that is read as lines of JSON. */
typedef struct sim_watch {
    kl__stream *stream;
    int status;
    kl__buf bytes;
    kl_doc *event; /* the last event */
} sim_watch;

/* Opens a GET over a transport and waits for its head. */
void sim_watch_open(sim_watch *watch, kl_transport *transport,
                    const char *base_url, const char *target);
/* The same with an Accept header. */
void sim_watch_open_as(sim_watch *watch, kl_transport *transport,
                       const char *base_url, const char *target,
                       const char *accept);
/* The next event: its type, or "" at the clean end of the stream; asserts that
 * nothing fails. */
const char *sim_watch_next(sim_watch *watch);
/* Reads until the stream fails, and asserts that no line comes before; returns
 * the failure. */
kl_code sim_watch_failure(sim_watch *watch, kl_error *err);
/* Asserts the next event's type and its object's name. */
void sim_watch_expect(sim_watch *watch, const char *type, const char *name);
/* Asserts that nothing comes for a short time. It is the only wait here for
 * something that must not happen. */
void sim_watch_expect_silence(sim_watch *watch);
void sim_watch_close(sim_watch *watch);

/* Asserts that no object of the library is left. */
void sim_expect_nothing_lives(void);

#endif
