/*
 * client.h - a connection to one API server: its transport thread, its
 * credentials, its discovery, and the informers that share them.
 */
#ifndef KUBELUA_CLIENT_H
#define KUBELUA_CLIENT_H

#include "kubelua/config.h"
#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_client kl_client;
/* How requests travel: over curl, or straight into a simulator (sim.h). */
typedef struct kl_transport kl_transport;

/* One reference less; the last one frees it. NULL is fine. Thread-safe. */
KL_API void kl_transport_unref(kl_transport *transport);

typedef struct kl_client_options {
    kl_config *config;       /* one more reference is taken; may be NULL only
                                with a transport of a simulator */
    kl_transport *transport; /* one more reference is taken; NULL: curl. Of one
                                client only: closing that closes it */
    const char *user_agent;  /* NULL: "kubelua/VERSION (linux/amd64)" */
} kl_client_options;

/*
 * A client; no network yet. One reference for the caller. NULL: KL_EINVAL,
 * KL_ENOMEM, KL_EIO (no thread, no descriptor); KL_EFORKED: the config was
 * loaded before a fork(), and another client has it. Thread-safe.
 */
KL_API kl_client *kl_client_new(const kl_client_options *options,
                                kl_error *err);

/* One reference more; returns `client`. Thread-safe. */
KL_API kl_client *kl_client_ref(kl_client *client);

/* One reference less; the last one stops its transport. Informers hold a
 * reference of their own. NULL is fine. Thread-safe. */
KL_API void kl_client_unref(kl_client *client);

/* KL_OK; KL_EFORKED with a message where it was made before a fork(), and this
 * is the child: nothing of it works here, and another client can be made.
 * Thread-safe. */
KL_API kl_code kl_client_check(const kl_client *client, kl_error *err);

/* The namespace of its config ("default"); borrowed. Thread-safe. */
KL_API const char *kl_client_namespace(const kl_client *client);

/* The API server's URL, as the configuration has it; NULL for a client of an
 * in-process simulator. Borrowed from the client. Thread-safe. */
KL_API const char *kl_client_server(const kl_client *client);

/* A field of a request's or an answer's head. */
typedef struct kl_header {
    const char *name;
    const char *value;
} kl_header;

/* What is asked. Zeroed fields are the defaults; all is copied. */
typedef struct kl_call {
    const char *method; /* "GET" */
    const char *target; /* path and query: "/version", percent-encoded */
    const char *body;   /* may be NULL */
    size_t body_length;
    const char *content_type; /* of the body; NULL: application/json */
    const char *accept;       /* NULL: application/json */
    int timeout_ms;           /* of the whole call, its retries and credential
                                 plugins included; 0: 30 s. Of one that streams:
                                 until the head of its answer is there */
    const kl_header *headers; /* more of them; not the two above, nor what the
                                 client fills in: Authorization, User-Agent */
    size_t header_count;
    int64_t send_by_ms; /* not sent at this moment, or later: KL_ETIMEOUT. On
                           CLOCK_BOOTTIME, looked at just before it is sent: a
                           process may stand still. 0: whenever */
    bool no_retry; /* a 429 or 503 is an answer, a broken connection an error */
    bool streams;  /* the body is read as it comes: kl_request_read */
} kl_call;

/* A zeroed one is empty. What it points to is its own: kl_reply_clear. */
typedef struct kl_reply {
    int status;
    char *content_type; /* "" if the server told none */
    char *body;         /* NUL terminated */
    size_t body_length;
    char *warnings; /* what the server warned of, a line each; NULL: nothing
                     */
    long retry_after_ms; /* from Retry-After; -1: none */
    kl_header *headers;  /* all of them, in their order, with names in lower
                            case; at most 32 KB: what is beyond is left out */
    size_t header_count;
} kl_reply;

/*
 * One request as the client's user; blocks until the whole answer is there, at
 * most `timeout_ms`. It is kl_client_send (request.h), waited for: what is
 * retried, and the codes, are said there. Not for a call that streams. Any HTTP
 * status is an answer and KL_OK: the caller looks at reply->status. After a
 * failure the reply is empty. Thread-safe.
 */
KL_API kl_code kl_client_call(kl_client *client, const kl_call *call,
                              kl_reply *reply, kl_error *err);

/* The value of the first header of that name, upper or lower case alike; NULL:
 * there is none. Borrowed from the reply. */
KL_API const char *kl_reply_header(const kl_reply *reply, const char *name);

/* Frees what a reply owns and zeroes it. */
KL_API void kl_reply_clear(kl_reply *reply);

/*
 * What a status of 400 or above means, as every other call of a client tells
 * it: fills `err` (may be NULL) with the code, the message of the body (a
 * Status, or any text) with its remedy, and the Status's Retry-After; returns
 * the code. `body` may be NULL where `length` is 0. Thread-safe.
 */
KL_API kl_code kl_status_error(int http_status, const char *body, size_t length,
                               kl_error *err);

/* Makes every blocked and later call and every request of this client fail with
 * KL_ECLOSED (a write that was sent: KL_EUNKNOWN); at most 50 ms until the
 * blocked ones return. Its informers end: what they have
 * is still there to be read, but events that wait are dropped, and no callback
 * begins, but for one that was about to on another thread. References stay
 * valid. May be called again. Thread-safe. */
KL_API void kl_client_close(kl_client *client);

#ifdef __cplusplus
}
#endif
#endif
