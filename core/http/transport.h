/*
 * transport.h - the interface of a transport: it sends a request and returns a
 * stream, from which the caller reads the response's bytes. There are two
 * implementations: curl (curl_transport.c), and the simulator in the same
 * process.
 */
#ifndef KL_HTTP_TRANSPORT_H
#define KL_HTTP_TRANSPORT_H

#include "base/for_sim.h"
#include "base/cancel.h"
#include "http/tls.h"
#include "http/turn.h"
#include "kubelua/client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kl__stream kl__stream;

typedef kl_header kl__header;

/* A request. kl__transport_open copies what it points to. */
typedef struct kl__request {
    const char *method;
    const char *base_url; /* "https://host:6443/prefix"; "" in-process */
    const char *target;   /* "/api/v1/pods?watch=true", percent-encoded */
    const kl__header *headers;
    size_t header_count;
    const char *body; /* NULL: none */
    size_t body_length;
    kl__tls *tls;          /* may be NULL */
    const char *proxy_url; /* NULL: no proxy; the environment is not read */
    size_t window;         /* most unread bytes, before gzip is decoded; at
                            * least 16 KB; 0: 256 KB */
    bool fresh_connection; /* use no connection that is open already */
    int64_t send_by_ms;    /* as in kl_call; 0: no limit */
    bool once;             /* never send twice, even if the method allows it */
    bool keeps_headers;    /* keep the headers for kl__stream_headers */
    bool is_brief;         /* a call, not a watch. Over HTTP/1, where each
                            * needs a connection, at most 100 of these run at
                            * once */
    bool gathers;          /* the answer brings a list object by object: until
                            * kl__stream_stop_gathering, bytes of a long one
                            * may come up to 5 ms later and in larger parts;
                            * over HTTP/2 that may delay events of a watch on
                            * the same connection by 1 ms, but no answer */
} kl__request;

typedef struct kl__response {
    int status;
    long retry_after_ms;    /* from Retry-After (seconds or a date); -1: none */
    char content_type[128]; /* "" if none */
    char location[256];     /* of a redirect, cut if it is long; "" if none */
    char warnings[1024];    /* texts of the Warning headers, one a line */
    bool http2;
} kl__response;

/* The functions of a transport. `open` does not block: failures are reported by
 * the stream, except KL_ENOMEM and KL_ECLOSED. */
typedef struct kl__transport_ops {
    kl__stream *(*open)(kl_transport *transport, const kl__request *request,
                        kl_error *err);
    /* Ends all streams; new ones fail with KL_ECLOSED. */
    void (*close)(kl_transport *transport);
    void (*free)(kl_transport *transport);
} kl__transport_ops;

/* For a reader that must not block in the calls below. `wake` runs on any
 * thread, with a mutex of the transport held (rank STREAM at most): it may set
 * a flag and wake the reader's thread, nothing else. */
typedef struct kl__stream_hook {
    void (*wake)(void *arg);
    /* Both are set or both NULL; only with `at_end`. When the stream has ended,
     * a transport may call these instead of `wake`, which saves waking the
     * reader's thread. First `hold`, under the same rules as `wake`: it keeps
     * `arg` alive until `end` returns. Then `end`, on the transport thread and
     * without a mutex: it may read and close the stream. */
    void (*hold)(void *arg);
    void (*end)(void *arg);
    void *arg;
    bool at_end; /* the reader needs the whole response: call `wake` only at
                  * the end, or when the stream is full */
} kl__stream_hook;

/* The functions of a stream. They are described below, at the functions that
 * call them. */
typedef struct kl__stream_ops {
    kl_code (*response)(kl__stream *stream, kl__response *response,
                        int64_t deadline_ms, kl__cancel *cancel, kl_error *err);
    kl_code (*read)(kl__stream *stream, char *buffer, size_t size,
                    size_t *length, int64_t deadline_ms, kl__cancel *cancel,
                    kl_error *err);
    int64_t (*last_byte_ms)(const kl__stream *stream);
    void (*close)(kl__stream *stream);
    bool (*set_hook)(kl__stream *stream, const kl__stream_hook *hook);
    int64_t (*look_again_ms)(const kl__stream *stream);
    bool (*withdraw)(kl__stream *stream);
    kl_code (*headers)(kl__stream *stream, const char **lines, kl_error *err);
    bool (*lend)(kl__stream *stream,
                 const kl__stream_turn *turn); /* NULL: no turn can be lent */
    void (*retract)(kl__stream *stream);
    void (*stop_gathering)(kl__stream *stream); /* NULL: nothing gathers */
} kl__stream_ops;

/* The first member of every implementation's struct. */
struct kl_transport {
    const kl__transport_ops *ops;
    atomic_int refs; /* acquire-release: the last unref frees */
};

struct kl__stream {
    const kl__stream_ops *ops;
};

/* Makes a transport over libcurl: one multi handle, HTTP/2 if the server
 * supports it, and a thread: its own, or the one that all transports of the
 * process with `shares_thread` have in common (from libcurl 7.87 on). The
 * caller gets a reference. KL_ENOMEM, KL_EIO. */
kl_transport *kl__curl_transport_new(bool shares_thread, kl_error *err);

/* Adds a reference; kl_transport_unref drops it. */
KL__FOR_SIM kl_transport *kl__transport_ref(kl_transport *transport);

static inline void kl__transport_close(kl_transport *transport)
{
    transport->ops->close(transport);
}

/* Sends a request. The caller owns the stream; one thread at a time may use
 * it. */
static inline kl__stream *kl__transport_open(kl_transport *transport,
                                             const kl__request *request,
                                             kl_error *err)
{
    return transport->ops->open(transport, request, err);
}

/*
 * Blocks until the response's status and headers have arrived. `deadline_ms` is
 * a time of the real clock (< 0: no limit). KL_ETIMEOUT: not yet, the stream
 * can still be used (or it was not sent: send_by_ms was over); KL_ECANCELED:
 * `cancel` (may be NULL) was fired, noticed within 50 ms; KL_EUNAVAILABLE (DNS,
 * refused, reset), KL_ETLS, KL_EPARSE (not HTTP), KL_ECONFIG (a URL or header
 * that cannot be sent), KL_ENOMEM, KL_ECLOSED, KL_EFORKED. The message names
 * host and cause.
 */
static inline kl_code kl__stream_response(kl__stream *stream,
                                          kl__response *response,
                                          int64_t deadline_ms,
                                          kl__cancel *cancel, kl_error *err)
{
    return stream->ops->response(stream, response, deadline_ms, cancel, err);
}

/*
 * Blocks until bytes have arrived, and copies up to `size` of them, decoded
 * (gzip, also concatenated members). KL_OK with *length 0 is the clean end of
 * the body; a body that breaks off is KL_EUNAVAILABLE. Other codes as above. If
 * the reader does not read, its own transfer pauses after `window` bytes and
 * what was read with the last of them, mostly 64 KB; other transfers go on.
 * (Over HTTP/2, libcurl buffers more for a paused stream of a connection that
 * other streams use: up to 32 MB before version 8. These bytes come at once on
 * resuming.)
 */
static inline kl_code kl__stream_read(kl__stream *stream, char *buffer,
                                      size_t size, size_t *length,
                                      int64_t deadline_ms, kl__cancel *cancel,
                                      kl_error *err)
{
    return stream->ops->read(stream, buffer, size, length, deadline_ms, cancel,
                             err);
}

/* True if kl__stream_lend may be called. */
static inline bool kl__stream_lends(const kl__stream *stream)
{
    return stream->ops->lend != NULL;
}

/*
 * Lends the turn, which lives until kl__stream_retract; does not wait. False:
 * the turn was not lent, as there is something to read: the head, bytes after
 * the head was read, the end, or a failure. A turn that is lent before the head
 * was read has no `run`. A reader that rests looks again at the time of
 * kl__stream_look_again_ms: it retracts, and reads with a deadline of 0.
 */
static inline bool kl__stream_lend(kl__stream *stream,
                                   const kl__stream_turn *turn)
{
    return stream->ops->lend(stream, turn);
}

/* The reader takes its turn back; it may also call this if it has not lent the
 * turn. If the transport thread is carrying out the turn, this waits until that
 * thread has finished. Afterwards the transport calls neither `run` nor `wake`
 * of that turn. */
static inline void kl__stream_retract(kl__stream *stream)
{
    stream->ops->retract(stream);
}

/* When the last byte has arrived, on the real clock; before the first byte,
 * when the stream was opened. Thread-safe. */
static inline int64_t kl__stream_last_byte_ms(const kl__stream *stream)
{
    return stream->ops->last_byte_ms(stream);
}

/*
 * Sets the hook of a reader that must not block. Such a reader calls
 * kl__stream_response and kl__stream_read with a deadline of 0. After
 * KL_ETIMEOUT it waits until the hook is called, or until the time of
 * kl__stream_look_again_ms. The hook is called after each change, and sometimes
 * without one. Set it once, before the first of these calls; it is not called
 * after kl__stream_close has returned. False: nothing has arrived yet, so wait
 * for the hook first.
 */
static inline bool kl__stream_set_hook(kl__stream *stream,
                                       const kl__stream_hook *hook)
{
    return stream->ops->set_hook(stream, hook);
}

/* After KL_ETIMEOUT: the time of the real clock at which to try again even if
 * the hook was not called; < 0: only when the hook is called. */
static inline int64_t kl__stream_look_again_ms(const kl__stream *stream)
{
    return stream->ops->look_again_ms(stream);
}

/* Stops the request if it was not sent yet. False: it will never be sent. True:
 * it may have been sent, and the server may carry it out. Close the stream
 * afterwards. */
static inline bool kl__stream_withdraw(kl__stream *stream)
{
    return stream->ops->withdraw(stream);
}

/* The headers of the response, "name:value" and a newline each, names in lower
 * case; borrowed until close. Only for a request with keeps_headers, after
 * kl__stream_response has returned KL_OK. KL_ENOMEM. */
static inline kl_code kl__stream_headers(kl__stream *stream, const char **lines,
                                         kl_error *err)
{
    return stream->ops->headers(stream, lines, err);
}

/* For a request that `gathers`: the list is complete, and from now on each byte
 * is told at once. */
static inline void kl__stream_stop_gathering(kl__stream *stream)
{
    if (stream->ops->stop_gathering != NULL) {
        stream->ops->stop_gathering(stream);
    }
}

/* Ends the transfer and frees the stream; never waits for the network. NULL is
 * fine. */
static inline void kl__stream_close(kl__stream *stream)
{
    if (stream != NULL) {
        stream->ops->close(stream);
    }
}

#endif
