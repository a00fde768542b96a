/*
 * kube_script.h - a cluster of Nodes played by a hostile server, request by
 * request; a client, an informer and a subscription on it; and the events that
 * the subscription got, in words.
 *
 *     kube_on(k, "list", ANSWER(200, LIST("10", NODE("a", "1"))));
 *     kube_on(k, "watch", OPEN_WATCH(ADDED("b", "11")));
 *     kube_open(k);
 *     kube_told(k, "*a@1 synced +b@11");
 *
 * Requests are of the kinds "api", "apis", "resources" (discovery; unless
 * scripted, answered as a recent server does), "list", "page" (further pages of
 * a list), "stream" (a streaming list), "watch", "other". Scripts of a kind are
 * used in order; further requests get a 404.
 *
 * A peer is such a server of one temper, for calls that are cancelled.
 */
#ifndef KL_SPEC_KUBE_SCRIPT_H
#define KL_SPEC_KUBE_SCRIPT_H

#include "hostile_server.h"

#include "base/buf.h"
#include "base/clock.h"
#include "kubelua/handler.h"

/* ---- texts ---- */

#define METADATA(name, version)                               \
    "\"metadata\":{\"name\":\"" name "\",\"uid\":\"uid-" name \
    "\",\"resourceVersion\":\"" version "\"}"
#define OBJECT(kind, name, version) \
    "{\"kind\":\"" kind "\",\"apiVersion\":\"v1\"," METADATA(name, version) "}"
#define NODE(name, version) OBJECT("Node", name, version)
/* The Node with another UID. */
#define NODE_OF(uid, name, version)                                           \
    "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name \
    "\",\"uid\":\"" uid "\",\"resourceVersion\":\"" version "\"}}"

#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define ADDED(name, version) EVENT("ADDED", NODE(name, version))
#define MODIFIED(name, version) EVENT("MODIFIED", NODE(name, version))
#define DELETED(name, version) EVENT("DELETED", NODE(name, version))
#define MARK(kind, version, more)                                       \
    EVENT("BOOKMARK",                                                   \
          "{\"kind\":\"" kind "\",\"apiVersion\":\"v1\",\"metadata\":{" \
          "\"resourceVersion\":\"" version "\"" more "}}")
#define BOOKMARK(version) MARK("Node", version, "")
#define END_MARK ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}"
#define END_BOOKMARK(version) MARK("Node", version, END_MARK)
#define ERROR_EVENT(status) EVENT("ERROR", status)

#define PAGE(version, token, items)                                   \
    "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{"     \
    "\"resourceVersion\":\"" version "\",\"continue\":\"" token "\"}" \
    ",\"items\":[" items "]}"
#define LIST(version, items) PAGE(version, "", items)

#define STATUS_WITH(metadata, code, reason, message, details)                \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{" metadata     \
    "},\"status\":\"Failure\",\"message\":\"" message                        \
    "\",\"reason\":\"" reason "\",\"details\":{" details "},\"code\":" #code \
    "}"
#define STATUS(code, reason, message) STATUS_WITH("", code, reason, message, "")
#define EXPIRED STATUS(410, "Expired", "too old resource version: 5 (1234)")

/* ---- scripts ---- */

#define ANSWER(code, text) STEPS(HOSTILE_ANSWER(code, text))
/* A watch or streaming list that sends `text` and then stays open and silent;
 * one that ends cleanly; one that is reset. */
#define OPEN_WATCH(text) \
    STEPS(HOSTILE_STREAM, HOSTILE_CHUNK(text), HOSTILE_FREEZE)
#define ENDED_WATCH(text) \
    STEPS(HOSTILE_STREAM, HOSTILE_CHUNK(text), HOSTILE_STREAM_END)
#define RESET_WATCH(text) \
    STEPS(HOSTILE_STREAM, HOSTILE_CHUNK(text), HOSTILE_RESET)
#define QUIET_WATCH STEPS(HOSTILE_STREAM, HOSTILE_FREEZE)

typedef struct kube {
    hostile_server *server;
    /* Change these before kube_open. At first: nodes, with paged lists. */
    kl_informer_options options;
    /* backoff passes on a fake clock and takes no real time */
    bool leaps;
    int64_t patience_ms; /* the limit of kube_told; 60 s */
    const char *plugin;  /* of kube_log_in */

    kl_client *client;
    kl_informer *informer;
    kl__clock *clock;
    kl_event_queue *queue;
    kl_registration *registration;
    kl__buf told;
    kl_error error; /* the last error event */
    kl__buf *texts; /* owns the texts of kube_chunked and others */
    size_t text_count;
    int descriptors; /* how many were open before */
} kube;

/* cmocka's setup and teardown: *state is a kube *. The teardown asserts that
 * closing is fast, and that nothing is left. */
int kube_setup(void **state);
int kube_teardown(void **state);
#define KUBE_CASE(test) \
    cmocka_unit_test_setup_teardown(test, kube_setup, kube_teardown)
/* Teardown and setup: a new cluster in the middle of a case. */
kube *kube_renew(void **state);

/* kube_setup and kube_teardown in parts, for several clusters at once. */
kube *kube_new(void);
void kube_free(kube *k);       /* after kube_close */
int kube_descriptors(void);    /* how many this process has open */
void kube_nothing_lives(void); /* asserts it */

/* Before any script: a server over TLS, and a client that gets its token from
 * an exec credential plugin. A shell runs `plugin`, then prints the token. */
void kube_log_in(kube *k, const char *plugin);

/* Scripts the answer to the next request of a kind; and to all requests that
 * have no other script. */
void kube_on(kube *k, const char *kind, const hostile_step *steps,
             size_t count);
void kube_always(kube *k, const char *kind, const hostile_step *steps,
                 size_t count);

/* Connects and subscribes. No request is answered before this. */
void kube_open(kube *k);

/* Closes all that kube_open has opened. */
void kube_close(kube *k);

/*
 * Takes events until their words are as long as expected, and asserts that they
 * are equal: "*a@1" an initial add, "+a@2", "~a@2>3", "-a@3", "?a@3" a delete
 * that was missed, "synced", "!forbidden".
 */
void kube_told(kube *k, const char *expected);

/* Takes events until one is this word; others before it are ignored. */
void kube_told_at_last(kube *k, const char *word);

/* Asserts that these are all the words, and that no event waits. */
void kube_told_no_more(kube *k, const char *expected);

/* Asserts that the last error event's message contains the text. */
void kube_reason(const kube *k, const char *text);

/* Asserts that the cache is "a@1 b@2", at this version. */
void kube_cache(const kube *k, const char *expected, const char *version);

/* Waits for so many requests of a kind, and asserts that there are no more. */
void kube_requests(kube *k, const char *kind, size_t count);

/* Asserts that a request of a kind (from 0) contains the text; and that it does
 * not. */
void kube_asked(kube *k, const char *kind, size_t number, const char *text);
void kube_not_asked(kube *k, const char *kind, size_t number, const char *text);

/* Waits until the informer is in that state. */
void kube_await_state(const kube *k, kl_informer_state state);
/* Waits until the informer watches, and its status has no error. */
void kube_await_health(const kube *k);

kl_informer_status kube_status(const kube *k);

/* Milliseconds on its fake clock since kube_open. */
int64_t kube_elapsed(const kube *k);

/* Texts that live as long as the cluster. */

/* A chunked body with its last, empty chunk, in chunks of `size` bytes; 0: 1 to
 * 64 bytes, at random from `seed`. */
const char *kube_chunked(kube *k, const char *text, size_t size, unsigned seed);
/* A chunk of a gzip stream: a gzip member of its own. */
hostile_step kube_gzip(kube *k, const char *text);
/* `text` repeated `count` times, between two other texts. */
const char *kube_repeated(kube *k, const char *before, const char *text,
                          size_t times, const char *after);

/* ---- peers ---- */

typedef enum peer_kind {
    PEER_HEALTHY,   /* answers at once */
    PEER_SLOW,      /* sends a few bytes every 2 ms */
    PEER_FROZEN,    /* reads the request and never answers */
    PEER_HALFWAY,   /* freezes in the middle of the body */
    PEER_CLOSED,    /* sends a FIN in the middle of the body */
    PEER_BLACKHOLE, /* accepts no connection: SYNs are dropped */
    PEER_NAMELESS,  /* the name server does not answer */
    PEER_NO_TLS,    /* accepts the connection, but never handshakes */
    PEER_KINDS
} peer_kind;

typedef struct peer {
    peer_kind kind;
    char url[64];
    hostile_server *server; /* of kinds that are servers */
    int listener;           /* of the other kinds; else -1 */
    /* connections that fill the listener's queue; or -1 */
    int fillers[8];
} peer;

/* The kind in words: "a frozen server". */
const char *peer_describe(peer_kind kind);

/*
 * Makes a peer; asserts that it was made. A server answers discovery of nodes
 * at once, and lists, watches and other requests as its kind says; with `all`,
 * discovery too.
 */
peer *peer_new(peer_kind kind, bool all);
void peer_free(peer *peer);

/* The host name of PEER_NAMELESS. A spec that replaces getaddrinfo makes it
 * hang for this name. */
#define PEER_NAME "hangs.invalid"

#endif
