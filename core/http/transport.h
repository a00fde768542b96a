/*
 * transport.h - a request goes in, a stream of bytes comes out, pulled. Two
 * kinds implement it: curl_transport.c here, and the simulator in-process.
 */
#ifndef KL_HTTP_TRANSPORT_H
#define KL_HTTP_TRANSPORT_H

#include "base/for_sim.h"
#include "base/cancel.h"
#include "http/tls.h"
#include "kubelua/client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kl__stream kl__stream;

typedef kl_header kl__header;

/* What is asked; borrowed for the call of kl__transport_open, which copies. */
typedef struct kl__request {
    const char *method;
    const char *base_url; /* "https://host:6443/prefix"; "" in-process */
    const char *target;   /* "/api/v1/pods?watch=true", percent-encoded */
    const kl__header *headers;
    size_t header_count;
    const char *body; /* NULL: none */
    size_t body_length;
    kl__tls *tls;          /* may be NULL */
    const char *proxy_url; /* NULL: none, and the environment is not asked */
    size_t window;         /* bytes that may wait unread, as they came over the
                              wire; 0: 256 KB; at least 16 KB */
    bool fresh_connection; /* not one that is open already */
    int64_t send_by_ms;    /* as of kl_call; 0: whenever */
    bool once;             /* never sent twice, even if the method allows it */
    bool keeps_headers;    /* for kl__stream_headers */
    bool is_brief;         /* a call, no watch: over HTTP/1, where each needs a
                              connection, it waits while many others have one */
} kl__request;

typedef struct kl__response {
    int status;
    long retry_after_ms;    /* from Retry-After, seconds or a date; -1: none */
    char content_type[128]; /* "" if none */
    char warnings[1024];    /* texts of Warning headers, a line each */
    bool http2;
} kl__response;

/* A kind of transport. `open` does not block and does not wait for the network;
 * what goes wrong is told by the stream, but for KL_ENOMEM and KL_ECLOSED. */
typedef struct kl__transport_ops {
    kl__stream *(*open)(kl_transport *transport, const kl__request *request,
                        kl_error *err);
    /* Ends every stream and refuses new ones with KL_ECLOSED. */
    void (*close)(kl_transport *transport);
    void (*free)(kl_transport *transport);
} kl__transport_ops;

/* Set by a reader that must not block. `wake` runs on any thread, with a mutex
 * of the transport held (rank STREAM at most): it notes the fact, wakes the
 * reader's thread, and does nothing else. */
typedef struct kl__stream_hook {
    void (*wake)(void *arg);
    void *arg;
    bool at_end; /* the reader can do nothing with a part of the answer: it need
                    not be told before the end, or before it has to make room */
} kl__stream_hook;

/* A kind of stream. The functions below, which call it, say what each has to
 * do. */
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
} kl__stream_ops;

/* First member of every kind. */
struct kl_transport {
    const kl__transport_ops *ops;
    atomic_int refs; /* acquire-release: the last one frees */
};

struct kl__stream {
    const kl__stream_ops *ops;
};

/* A transport over curl: one thread, one multi handle, HTTP/2 where the server
 * speaks it. One reference for the caller. KL_ENOMEM, KL_EIO. */
kl_transport *kl__curl_transport_new(kl_error *err);

/* One reference more; kl_transport_unref gives it back. */
KL__FOR_SIM kl_transport *kl__transport_ref(kl_transport *transport);

static inline void kl__transport_close(kl_transport *transport)
{
    transport->ops->close(transport);
}

/* Sends a request. The stream is the caller's, for one thread at a time. */
static inline kl__stream *kl__transport_open(kl_transport *transport,
                                             const kl__request *request,
                                             kl_error *err)
{
    return transport->ops->open(transport, request, err);
}

/*
 * Blocks until the response's head is there. `deadline_ms` is on the real
 * clock (< 0: none). KL_ETIMEOUT leaves the stream as it was; KL_ECANCELED once
 * `cancel` (may be NULL) is fired, within 50 ms; KL_EUNAVAILABLE (DNS, refused,
 * reset), KL_ETLS, KL_EPARSE (no HTTP), KL_ECONFIG (a URL or header that cannot
 * be sent), KL_ECLOSED, KL_EFORKED. The message names host and cause.
 */
static inline kl_code kl__stream_response(kl__stream *stream,
                                          kl__response *response,
                                          int64_t deadline_ms,
                                          kl__cancel *cancel, kl_error *err)
{
    return stream->ops->response(stream, response, deadline_ms, cancel, err);
}

/*
 * Blocks until bytes are there and copies up to `size` of them, decoded (gzip,
 * concatenated members too). KL_OK with *length 0 is the clean end of the body;
 * a body that breaks off is KL_EUNAVAILABLE. Codes as above. A reader that does
 * not read pauses its own transfer after the request's `window`, no other.
 * (Over HTTP/2, while other streams of the connection go on, libcurl takes in
 * more: up to 32 MB a stream before version 8, which come in one piece on
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

/* When the last byte came in, on the real clock; when it was opened, if none
 * did. Thread-safe. */
static inline int64_t kl__stream_last_byte_ms(const kl__stream *stream)
{
    return stream->ops->last_byte_ms(stream);
}

/*
 * How a reader that must not block goes on: it asks the two above with a
 * deadline of 0, and after KL_ETIMEOUT waits for the hook, or for the moment
 * that the next function tells. The hook is called for each change since, and
 * may be called for nothing. Set it before the first question, once; it is not
 * called any more when kl__stream_close has returned. False: there is nothing
 * to ask for before the hook was called.
 */
static inline bool kl__stream_set_hook(kl__stream *stream,
                                       const kl__stream_hook *hook)
{
    return stream->ops->set_hook(stream, hook);
}

/* After KL_ETIMEOUT: when to ask again even if no hook was called, on the real
 * clock; < 0: no such moment. */
static inline int64_t kl__stream_look_again_ms(const kl__stream *stream)
{
    return stream->ops->look_again_ms(stream);
}

/* Sees to it that the request is not sent, if it was not yet: false. True: it
 * may have been, and the server may carry it out. To be closed afterwards. */
static inline bool kl__stream_withdraw(kl__stream *stream)
{
    return stream->ops->withdraw(stream);
}

/* The fields of the response's head, "name:value" each with a newline, names in
 * lower case; borrowed until close. Only of a request that keeps them, and once
 * kl__stream_response has returned KL_OK. KL_ENOMEM. */
static inline kl_code kl__stream_headers(kl__stream *stream, const char **lines,
                                         kl_error *err)
{
    return stream->ops->headers(stream, lines, err);
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
