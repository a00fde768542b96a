/*
 * client.h - a client of one API server. Requests (here and in request.h) and
 * informers (informer.h) are made through it, and share its connections,
 * credentials and discovery (the list of resources that the server has).
 *
 * What a user can rely on:
 *
 * - Start. kl_client_new makes no connection. The first request does.
 * - Connections. One thread carries all traffic of a client, or of several
 *   (shares_thread); over HTTP/2 that
 *   is one connection for all watches, lists and writes.
 * - Credentials. Token and certificate files are read again when they change,
 *   exec plugins run again when their credential expires. After a 401 the
 *   request is sent once more if there are new credentials.
 * - Threads. All calls are thread-safe. Every call may run beside
 *   kl_client_close and come after it. A thread needs a reference
 *   to call while another thread may call kl_client_unref.
 * - Fork. In the child of a fork() the client does not work: calls fail with
 *   KL_EFORKED, kl_client_close and kl_client_unref do nothing. The child loads
 *   its own config and makes its own client.
 * - Stop. kl_client_close ends every request and informer of the client; what
 *   blocks in them returns within 50 ms.
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
/* The part that carries requests: curl, or a simulator in this process
 * (sim.h). */
typedef struct kl_transport kl_transport;

/* Drops a reference; the last drop frees the transport. NULL is fine.
 * Thread-safe. */
KL_API void kl_transport_unref(kl_transport *transport);

typedef struct kl_client_options {
    kl_config *config;       /* the client takes a reference; NULL only with
                                the transport of a simulator */
    kl_transport *transport; /* the client takes a reference; NULL: curl. A
                                transport serves one client, which closes it */
    const char *user_agent;  /* NULL: "kubelua/VERSION (linux/amd64)" */
    const char *name; /* the cluster's name. Logs and metrics put it before the
                         name of an informer: "eu: pods". NULL: none */
    /* Its connections are carried by one thread, with those of all clients of
     * the process that have this (from libcurl 7.87 on), and its requests by
     * another one. Each keeps its own connections, and one whose server is
     * frozen holds up no other; but they share the time of a core. */
    bool shares_thread;
} kl_client_options;

/*
 * A client, with one reference for the caller. NULL: KL_EINVAL, KL_ENOMEM,
 * KL_EIO (no thread, no descriptor); KL_EFORKED: the config was loaded before a
 * fork(), and the parent's client uses it. Thread-safe.
 */
KL_API kl_client *kl_client_new(const kl_client_options *options,
                                kl_error *err);

/* Adds a reference; returns `client`. Thread-safe. */
KL_API kl_client *kl_client_ref(kl_client *client);

/* Drops a reference; the last drop stops the transport and frees the client.
 * Informers hold a reference of their own. NULL is fine. Thread-safe. */
KL_API void kl_client_unref(kl_client *client);

/* KL_OK; KL_EFORKED with a message if this process is a child that was forked
 * after the client was made. Thread-safe. */
KL_API kl_code kl_client_check(const kl_client *client, kl_error *err);

/* The namespace of the config, else "default"; borrowed from the client.
 * Thread-safe. */
KL_API const char *kl_client_namespace(const kl_client *client);

/* The API server's URL, as the configuration has it; NULL for a client of an
 * in-process simulator. Borrowed from the client. Thread-safe. */
KL_API const char *kl_client_server(const kl_client *client);

/*
 * Gives the client other credentials for its server: certificate authority,
 * client certificate, token, user and password, impersonation. Requests
 * from now on have them; watches that are open go on. `options` are those of a
 * kl_config for the same server. KL_ECONFLICT: the server, the proxy or the
 * like differ, or one has a plugin: make a new client; KL_ECONFIG as
 * kl_config_load; KL_EINVAL: a client of an in-process simulator; KL_ENOMEM,
 * KL_EFORKED. Waits for 50 ms at most. Thread-safe.
 */
KL_API kl_code kl_client_reauthenticate(kl_client *client,
                                        const kl_config_options *options,
                                        kl_error *err);

/* How often requests of a method had an answer of a status. */
typedef struct kl_request_count {
    const char *method; /* "GET"; "OTHER" for unusual ones; static */
    int status;         /* 0: no answer */
    uint64_t count;
} kl_request_count;

/* The most counts that kl_client_requests can give. */
#define KL_REQUEST_COUNTS_MAX 192

/* Writes the client's request counts into `counts`: one row for each method and
 * status code. Lists and watches count, and a request that was tried twice
 * counts twice. Returns the number of rows, at most `capacity`. Thread-safe. */
KL_API size_t kl_client_requests(const kl_client *client,
                                 kl_request_count *counts, size_t capacity);

/* A header line of a request or a reply. */
typedef struct kl_header {
    const char *name;
    const char *value;
} kl_header;

/* A request to be sent. Zeroed fields are the defaults; the library copies all
 * of it. */
typedef struct kl_call {
    const char *method; /* "GET" */
    const char *target; /* path and query: "/version", percent-encoded */
    const char *body;   /* may be NULL */
    size_t body_length;
    const char *content_type; /* of the body; NULL: application/json */
    const char *accept;       /* NULL: application/json */
    int timeout_ms;           /* for the whole call, retries and credential
                                 plugins included; 0: 30 s. With `streams`:
                                 until the head of the answer has come */
    const kl_header *headers; /* further headers; not the two above, and not
                                 Authorization and User-Agent, which the client
                                 sets */
    size_t header_count;
    int64_t send_by_ms; /* the request is not sent at or after this time of
                           CLOCK_BOOTTIME, but fails with KL_ETIMEOUT; checked
                           just before it is sent. For a lease: the process may
                           have been suspended. 0: no limit */
    bool no_retry; /* a 429 or 503 is the answer, and a broken connection an
                      error: the request is not sent again */
    bool streams;  /* the body is read as it comes: kl_request_read */
    const char *authorization; /* the Authorization header, for a client whose
                                  config has no credentials; NULL: none */
} kl_call;

/* An answer. Zeroed, it is empty. It owns what it points to: kl_reply_clear. */
typedef struct kl_reply {
    int status;
    char *content_type; /* "" if the server sent none */
    char *body;         /* NUL terminated */
    size_t body_length;
    char *warnings;      /* texts of Warning headers, a line each; NULL: none */
    long retry_after_ms; /* from Retry-After; -1: none */
    kl_header *headers;  /* in their order, with names in lower case; at most
                            32 KB: headers beyond that are left out */
    size_t header_count;
} kl_reply;

/*
 * Sends one request and blocks until the whole answer has come, at most
 * `timeout_ms`: kl_client_send and kl_request_wait (request.h) in one call,
 * with their retries and codes. Not for a call that streams. Any HTTP status is
 * an answer and KL_OK: the caller checks reply->status. After a failure the
 * reply is empty. Thread-safe.
 */
KL_API kl_code kl_client_call(kl_client *client, const kl_call *call,
                              kl_reply *reply, kl_error *err);

/* The value of the first header of that name, in upper or lower case; NULL:
 * there is none. Borrowed from the reply. */
KL_API const char *kl_reply_header(const kl_reply *reply, const char *name);

/* Frees what a reply owns and zeroes it. */
KL_API void kl_reply_clear(kl_reply *reply);

/*
 * Makes an error of an HTTP status of 400 or above: fills `err` (may be NULL)
 * with the code, the body's message (of a Status, or any text) and a remedy,
 * and the Status's retryAfterSeconds; returns the code. `body` may be NULL if
 * `length` is 0. Thread-safe.
 */
KL_API kl_code kl_status_error(int http_status, const char *body, size_t length,
                               kl_error *err);

/*
 * Ends all requests and informers of the client. Calls that block return within
 * 50 ms, and they and all later calls fail with KL_ECLOSED (a write that was
 * sent: KL_EUNKNOWN). The caches of informers stay readable; events that wait
 * are dropped, and no callback begins, except one that was just about to begin
 * on another thread. References stay valid. May be called again. Thread-safe.
 */
KL_API void kl_client_close(kl_client *client);

#ifdef __cplusplus
}
#endif
#endif
