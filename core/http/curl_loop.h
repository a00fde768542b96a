/*
 * curl_loop.h - what the curl_*.c files share: a transport, the loop on its
 * thread, and the streams that it fills.
 */
#ifndef KL_HTTP_CURL_LOOP_H
#define KL_HTTP_CURL_LOOP_H

#include "base/buf.h"
#include "base/list.h"
#include "base/thread.h"
#include "http/curl_library.h"
#include "http/head.h"
#include "http/inflate.h"
#include "http/transport.h"

#include <stdatomic.h>
#include <stdint.h>

typedef struct kl__curl_transport {
    kl_transport base;
    kl__forks made_in;
    kl__thread thread;

    /* Guards the three below, and `commands` and `inbox_node` of its streams;
     * rank TRANSPORT. */
    kl__mutex mutex;
    kl__list inbox; /* streams with commands, first come, first served */
    bool closing;   /* no new streams; the loop ends all it has */
    bool stopped;   /* the loop takes no more commands, and is about to end */

    /* The loop's alone. But curl_multi_wakeup may be called by whoever holds
     * the mutex and sees that it has not stopped. */
    CURLM *multi;
    kl__list streams;  /* every one that it was told of and not to forget */
    kl__list news;     /* streams whose readers are to be told of bytes */
    kl__list waiting;  /* streams that curl does not have yet: see admit */
    int brief_count;   /* brief streams that curl has */
    bool must_nudge;   /* something came in or ended: see nudge_all */
    bool speaks_http1; /* the last answer over TLS was in HTTP/1 */
} kl__curl_transport;

/* What the loop is told about a stream, as bits: they add up while it is
 * busy. */
enum {
    KL__CURL_ADD = 1,    /* begin the transfer */
    KL__CURL_RESUME = 2, /* the reader has made room */
    KL__CURL_FORGET = 4  /* end the transfer and free the stream */
};

/*
 * Two sides meet at the mutex: the loop appends to `arrived`, the reader swaps
 * it for its empty `taken` and reads that in peace. The reader owns the stream
 * until close; then the loop does, unless it has stopped or has left the
 * stream: then close frees it.
 */
typedef struct kl__curl_stream {
    kl__stream base;

    /* Fixed by open. */
    kl__curl_transport *transport; /* a reference, given back by close */
    kl__tls *tls;                  /* a reference: curl reads its bytes */
    char *origin;                  /* "host:port", for messages */
    char *proxy;                   /* the same of the proxy; NULL: none */
    char *body;                    /* curl reads it too */
    bool secure;                   /* https */
    bool fresh;                    /* has a connection of its own */
    bool repeatable;               /* sending it twice does no harm */
    bool keeps_headers;
    bool is_brief;
    int64_t send_by_ms; /* on kl__boottime_ms; 0: whenever */
    size_t window;

    /* Of the transport's mutex. */
    kl__list inbox_node;
    unsigned commands;

    /* The loop's, once it was added. */
    kl__list node;
    kl__list news_node;
    kl__list waiting_node;
    CURL *easy; /* NULL: over, or it could not be begun */
    struct curl_slist *headers;
    struct curl_slist *connect_to;
    char curl_message[CURL_ERROR_SIZE];
    kl__head head;
    kl__buf header_lines; /* of the head; the reader's once it has a head */
    bool dials;           /* curl opens a new connection for the stream */
    int socket_errno;     /* why there was no socket for that; 0: there was */
    bool is_counted;      /* in `brief_count` */
    bool in_tls;          /* that one has come as far as the TLS handshake */
    int attempts;    /* how often curl has sent the request; written with the
                        mutex held */
    int64_t sent_ms; /* when it did last, on the real clock */
    bool held;       /* curl was told to pause it */
    bool resuming;   /* curl hands over what it held back */
    bool dropped;    /* and this goes nowhere any more */

    /* Guards the rest of the shared fields; rank STREAM. */
    kl__mutex mutex;
    kl__cond cond; /* any of them changed */
    kl__buf arrived;
    size_t unread;        /* bytes in `arrived` and `taken`, together */
    kl__stream_hook hook; /* called when `cond` is; `wake` may be NULL */
    bool withdrawn;       /* it is not to be sent any more */
    bool was_late;        /* because its time to be sent is over */
    bool has_head;        /* `response` and `encoding` are set, for good */
    bool paused;   /* curl holds bytes back, the loop must be told to resume */
    bool is_left;  /* the loop has done with it: close frees it */
    bool finished; /* `failure` is set, for good; KL_OK: a clean end */
    kl__response response;
    kl__encoding encoding;
    kl_error failure;

    /* The reader's. */
    kl__buf taken;
    size_t taken_used;
    kl__inflate *inflate; /* made with the first byte of a gzip body */

    /* Relaxed: a time stamp orders nothing. */
    _Atomic int64_t last_byte_ms;
} kl__curl_stream;

/* curl_transport.c: hands a stream to the loop. False: the loop has stopped,
 * and will not touch the stream any more. Thread-safe. */
bool kl__curl_post(kl__curl_stream *stream, unsigned command);
/* Takes back what a stream that the loop has left was still to be told. */
void kl__curl_take_back(kl__curl_stream *stream);

/* curl_loop.c: the thread of a transport, its argument. */
void *kl__curl_loop(void *arg);

/* curl_stream.c: a stream that is not in any loop yet; NULL: out of memory. The
 * two below are called once nobody else can: they free what open made. */
kl__curl_stream *kl__curl_stream_new(kl__curl_transport *transport,
                                     const kl__request *request);
void kl__curl_stream_free(kl__curl_stream *stream);

/* curl_target.c: fills in `origin`, `secure`, `proxy` and `connect_to`, and the
 * URL to fetch: curl_free, also after a failure. Errors as kl__curl_setup. */
kl_code kl__curl_target(kl__curl_stream *stream, const kl__request *request,
                        char **text, kl_error *err);

/* curl_setup.c: makes the easy handle that carries the request out. KL_ENOMEM;
 * KL_ECONFIG where the request cannot be made at all. Then there is none. */
kl_code kl__curl_setup(kl__curl_stream *stream, const kl__request *request,
                       kl_error *err);

/* curl_receive.c. Ends a stream: `failure` of KL_OK is a clean end. The first
 * end counts, but for KL_ECLOSED, which always does. On the loop, or before it
 * knows it. */
void kl__curl_stream_finish(kl__curl_stream *stream, const kl_error *failure);
/* The same, on the loop, which looks at it no more: where the reader is told of
 * the end alone, the stream is the reader's now, and freed by close. */
void kl__curl_stream_leave(kl__curl_stream *stream, const kl_error *failure);
/* Wakes its reader: a part of the answer came in. */
void kl__curl_stream_tell_locked(kl__curl_stream *stream);
/* curl's callbacks; `arg` is the stream. On the loop. */
size_t kl__curl_on_header(char *bytes, size_t one, size_t length, void *arg);
size_t kl__curl_on_body(char *bytes, size_t one, size_t length, void *arg);
int kl__curl_on_send(void *arg, char *peer_ip, char *local_ip, int peer_port,
                     int local_port);

/* curl_failure.c: says in `failure` why a transfer ended so. On the loop, while
 * the easy handle lives. */
void kl__curl_explain(kl__curl_stream *stream, CURLcode status,
                      kl_error *failure);

#endif
