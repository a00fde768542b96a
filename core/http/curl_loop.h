/*
 * curl_loop.h - the structs and functions that the curl_*.c files share. A
 * transport has one thread, the transport thread, which runs the loop in
 * curl_loop.c: it alone calls libcurl's multi handle, and it fills the streams.
 * Transports may share that thread: carrier.h.
 */
#ifndef KL_HTTP_CURL_LOOP_H
#define KL_HTTP_CURL_LOOP_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/thread.h"
#include "http/carrier.h"
#include "http/curl_library.h"
#include "http/head.h"
#include "http/inflate.h"
#include "http/transport.h"

#include <stdatomic.h>
#include <stdint.h>

/* How many sockets a transport knows: over HTTP/2 there are few. */
enum { KL__CURL_SOCKETS = 8 };

typedef struct kl__curl_transport {
    kl_transport base;
    kl__forks made_in;
    kl__thread thread;   /* its own, if there is no carrier */
    kl__carried carried; /* or what the carrier needs */

    /* Guards the four fields below, and `commands` and `inbox_node` of each
     * stream; rank TRANSPORT. */
    kl__mutex mutex;
    kl__list inbox; /* streams with commands, first come first served */
    bool is_asleep; /* the next command has to wake the loop */
    bool closing;   /* no new streams; the loop ends all streams */
    bool stopped;   /* the loop takes no more commands and ends */

    /* Guards `is_over`, and the calls of curl_multi_wakeup; rank TRANSPORT,
     * never locked together with `mutex`. The loop locks it only at its end. */
    kl__mutex wake_mutex;
    bool is_over; /* the loop is about to free `multi` */

    /* Used only by the loop, with one exception: any thread that holds
     * wake_mutex and sees `is_over` as false may call curl_multi_wakeup. */
    CURLM *multi;
    kl__list streams;   /* all streams between ADD and FORGET */
    kl__list news;      /* streams whose readers must be woken: bytes arrived */
    kl__list gathering; /* streams whose bytes gather: see curl_gather.c */
    bool is_flowing;    /* one of them got bytes in this turn */
    int sockets[KL__CURL_SOCKETS]; /* the last that were opened; -1: closed */
    int next_socket;               /* the index of the next one */
    kl__list waiting;  /* streams not given to curl yet: see admit_next */
    int brief_count;   /* brief streams given to curl */
    int lookups;       /* streams that look up a name: see find_rest */
    int64_t lookup_ms; /* when the last of them began, on the real clock */
    bool is_nudged;    /* libcurl is older than 8.1: see nudge_all */
    bool must_nudge;   /* bytes arrived, or a transfer ended: see nudge_all */
    bool speaks_http1; /* the last response over TLS was HTTP/1 */
} kl__curl_transport;

/* Commands to the loop about a stream. They are bits, because several may come
 * while the loop is busy. */
enum {
    KL__CURL_ADD = 1,    /* start the transfer */
    KL__CURL_RESUME = 2, /* the reader has made room */
    KL__CURL_FORGET = 4  /* end the transfer and free the stream */
};

/*
 * A stream has two users, the loop and the reader. Under the mutex the loop
 * appends bytes to `arrived`, and the reader swaps `arrived` with its empty
 * `taken`; without the mutex, it reads `taken` and counts what it has read. The
 * reader owns the stream until close. Close hands it to the loop, which frees
 * it; but if the loop has stopped, or is finished with the stream (is_left),
 * close frees it.
 */
typedef struct kl__curl_stream {
    kl__stream base;

    /* Set by open, then constant. */
    kl__curl_transport *transport; /* a reference, dropped by close */
    kl__tls *tls;                  /* a reference: curl reads from it */
    kl__trust *trust;              /* a reference; NULL: curl reads the CAs */
    char *origin;                  /* "host:port", for messages */
    char *proxy;                   /* "host:port" of the proxy; NULL: none */
    char *body;                    /* curl reads from it */
    bool secure;                   /* https */
    bool fresh;                    /* uses a new connection, not a shared one */
    bool repeatable;               /* sending the request twice does no harm */
    bool keeps_headers;
    bool is_brief;
    int64_t send_by_ms; /* on kl__boottime_ms; 0: no limit */
    size_t window;

    /* Guarded by the transport's mutex. */
    kl__list inbox_node;
    unsigned commands;

    /* Used only by the loop, after KL__CURL_ADD. */
    kl__list node;
    kl__list news_node;
    kl__list waiting_node;
    kl__list gather_node;
    size_t received;       /* bytes of the body, while a list comes */
    int socket;            /* while it gathers; -1: not known */
    bool is_flowing;       /* some have come since the loop slept */
    bool is_low;           /* its socket has a raised low-water mark */
    int64_t held_until_ms; /* on the real clock: the loop tells the reader of
                              the bytes then; 0: it holds none back */
    CURL *easy;            /* NULL: the transfer is over, or could not start */
    struct curl_slist *headers;
    struct curl_slist *connect_to;
    char curl_message[CURL_ERROR_SIZE];
    kl__head head;
    kl__buf header_lines; /* headers; for the reader once has_head is true */
    bool dials;           /* curl opens a new connection for this stream */
    bool looks_up;        /* counted in `lookups` */
    int socket_errno;     /* of a socket() that failed; 0: it did not fail */
    bool is_counted;      /* counted in `brief_count` */
    bool in_tls;          /* the new connection has reached the TLS handshake */
    int attempts;      /* how often curl has sent it; written under the mutex */
    int64_t sent_ms;   /* when curl sent it last, on the real clock */
    bool held;         /* curl was told to pause the transfer */
    bool resuming;     /* curl delivers the bytes it held back */
    bool dropped;      /* the transfer ends: such bytes are thrown away */
    bool is_refused;   /* the server has not processed what was sent last */
    long h2_id;        /* its number on its HTTP/2 connection; 0: unknown */
    int local_port;    /* of the connection that carries the request */
    int resent;        /* how often send_again has sent it */
    int64_t waited_ms; /* of the transport (kl__carried), when curl got it */

    /* Guards the fields down to `failure`; rank STREAM. */
    kl__mutex mutex;
    kl__cond cond; /* one of these fields has changed */
    kl__buf arrived;
    kl__stream_hook hook; /* called with `cond`; `wake` may be NULL */
    bool withdrawn;       /* the request must not be sent any more */
    bool was_late;        /* withdrawn because send_by_ms has passed */
    bool has_head;        /* `response` and `encoding` are set and final */
    bool is_left;         /* the loop is finished with it: close frees it */
    bool finished;        /* `failure` is set and final; KL_OK: a clean end */
    bool took_head;       /* the reader has the head, and waits for bytes */
    const kl__stream_turn *lent; /* the reader's, while it rests; or NULL */
    bool is_taken;               /* the loop carries out that turn */
    bool is_awaited;             /* the reader waits for the end of the turn */
    bool is_returned;            /* the reader was woken, and has the rest */
    kl__response response;
    kl__encoding encoding;
    kl_error failure;

    /* Used only by the reader, or by the loop during a turn. */
    kl__buf taken;
    size_t taken_used;
    kl__inflate *inflate; /* made with the first byte of a gzip body */

    /*
     * Flow control. The reader counts what it reads without the mutex, so that
     * it does not wait while the loop copies bytes with the mutex held.
     *   1. The loop adds to `unread` with the mutex held; the reader subtracts
     *      at any time.
     *   2. The loop sets `paused` with the mutex held, and only if `unread` is
     *      above 0. It adds nothing more until the reader has cleared `paused`,
     *      with the mutex held, and has posted RESUME.
     *   3. The reader looks at `paused` after each read, and once more with the
     *      mutex held when `taken` is used up. So it misses no pause: if the
     *      loop locked the mutex before that last look, the reader sees
     *      `paused`. If the loop locks it later, the loop sees all that was
     *      read; it pauses only if there are bytes left to read, and the reader
     *      looks again after these.
     */
    _Atomic size_t unread; /* bytes in `arrived` and `taken` together */
    atomic_bool paused;    /* the transfer waits for RESUME */

    /* Relaxed: no other data depends on them. */
    _Atomic int64_t last_byte_ms;
    atomic_bool gathers; /* the reader clears it when the list is complete */
} kl__curl_stream;

/* True if the stream may share its connection with others: over HTTP/2. Before
 * its answer has come it is not known. On the loop. */
static inline bool kl__curl_may_share(const kl__curl_stream *stream)
{
    const kl__response *response = &stream->head.response;

    return stream->secure && (response->status == 0 || response->http2);
}

/* True if the other stream may be on the connection of `stream`, or come to it:
 * a transfer that was not sent yet may get any. On the loop. */
static inline bool kl__curl_may_meet(const kl__curl_stream *stream,
                                     const kl__curl_stream *other)
{
    return other != stream && other->easy != NULL &&
           kl__curl_may_share(stream) && kl__curl_may_share(other) &&
           (other->attempts == 0 || other->local_port == stream->local_port);
}

/* True while the stream brings a list, object by object. */
static inline bool kl__curl_still_gathers(kl__curl_stream *stream)
{
    return atomic_load_explicit(&stream->gathers, memory_order_relaxed);
}

/* In curl_gather.c. Notes that bytes of a list have come. On the loop. */
void kl__curl_note_list(kl__curl_stream *stream, size_t length);
/* The stream does not gather any more; it may begin again. On the loop. */
void kl__curl_end_gathering(kl__curl_stream *stream);
/* A socket was opened, or is about to be closed. On the loop. */
void kl__curl_note_socket(kl__curl_transport *transport, int socket);
void kl__curl_forget_socket(kl__curl_transport *transport, int socket);
/* True if the loop need not tell the reader of the stream's bytes yet. On the
 * loop. */
bool kl__curl_holds_back(kl__curl_stream *stream);
/* How long the loop may let bytes gather in the socket of a list: less if a
 * watch shares its connection; 0 while an answer is awaited from that. */
int kl__curl_hold_ms(const kl__curl_stream *stream);
/* Sleeps until there is something to do, at most `most_ms`. */
CURLMcode kl__curl_sleep(kl__curl_transport *transport, int most_ms);
/* The same in parts, for a loop that sleeps in its own way. Before it sleeps:
 * makes sockets of lists wait for many bytes, and returns how long it may
 * sleep, `most_ms` at most. Afterwards: undoes that. */
int kl__curl_raise_marks(kl__curl_transport *transport, int most_ms);
void kl__curl_lower_marks(kl__curl_transport *transport);

/* In curl_transport.c. Sends the loop a command about a stream. False: the loop
 * has stopped and does not use the stream any more. Thread-safe. */
bool kl__curl_post(kl__curl_stream *stream, unsigned command);
/* Cancels the commands of a stream that the loop is finished with. */
void kl__curl_take_back(kl__curl_stream *stream);

/* In curl_loop.c. The entry of a thread of the transport's own; and a turn on
 * the thread of a carrier (kl__carried). `arg` is the transport. */
void *kl__curl_loop(void *arg);
int64_t kl__curl_carried_turn(void *arg);

/* curl looks up the name of the stream's server; or it has it, and a connection
 * to it. On the loop. */
static inline void kl__curl_begin_lookup(kl__curl_stream *stream)
{
    stream->transport->lookups += !stream->looks_up;
    stream->transport->lookup_ms = kl__clock_now(kl__clock_real());
    stream->looks_up = true;
}

static inline void kl__curl_end_lookup(kl__curl_stream *stream)
{
    stream->transport->lookups -= stream->looks_up;
    stream->looks_up = false;
}

/* In curl_stream.c. Makes a stream that the loop does not know yet; NULL: out
 * of memory. Free it only when no other thread can use it. */
kl__curl_stream *kl__curl_stream_new(kl__curl_transport *transport,
                                     const kl__request *request);
void kl__curl_stream_free(kl__curl_stream *stream);

/* True if the transport was closed: bytes that arrived before are not read any
 * more. Call with the mutex held. */
static inline bool kl__curl_is_closed(const kl__curl_stream *stream)
{
    return stream->finished && stream->failure.code == KL_ECLOSED;
}

/* In curl_setup.c. Makes the easy handle of the request. KL_ENOMEM; KL_ECONFIG:
 * the request cannot be sent. After a failure there is no easy handle. */
kl_code kl__curl_setup(kl__curl_stream *stream, const kl__request *request,
                       kl_error *err);

/* In curl_receive.c. Ends a stream; a `failure` with KL_OK is a clean end. The
 * first call counts, except that KL_ECLOSED always replaces it. Call it on the
 * loop, or before the loop knows the stream. */
void kl__curl_stream_finish(kl__curl_stream *stream, const kl_error *failure);
/* The same, on the loop, as its last use of the stream. If the reader has a
 * hook with at_end, the stream now belongs to the reader (is_left) and may be
 * freed by close at any moment. */
void kl__curl_stream_leave(kl__curl_stream *stream, const kl_error *failure);
/* True if a transfer over HTTP/1 has filled its window: then it counts as
 * paused, and the caller pauses it. On the loop, after its turn of reading. */
bool kl__curl_fills_window(kl__curl_stream *stream);
/* Tells the reader that bytes have come; or carries out its turn. On the loop.
 */
void kl__curl_stream_deliver(kl__curl_stream *stream);
/* The callbacks for curl; `arg` is the stream. Called on the loop. */
size_t kl__curl_on_header(char *bytes, size_t one, size_t length, void *arg);
size_t kl__curl_on_body(char *bytes, size_t one, size_t length, void *arg);
int kl__curl_on_words(CURL *easy, curl_infotype type, char *words,
                      size_t length, void *arg);
int kl__curl_on_send(void *arg, char *peer_ip, char *local_ip, int peer_port,
                     int local_port);

/* In curl_failure.c. Fills `failure` with the reason why a transfer has ended.
 * On the loop, before the easy handle is freed. */
void kl__curl_explain(kl__curl_stream *stream, CURLcode status,
                      kl_error *failure);

#endif
