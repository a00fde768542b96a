/*
 * feed.h - what one shared informer was given to read. A transport in front of
 * the server's notes every byte of its streams, so that the oracle knows which
 * events the handlers must get.
 */
#ifndef KL_SPEC_MODEL_FEED_H
#define KL_SPEC_MODEL_FEED_H

#include "history.h"
#include "http/transport.h"

/* An event of a watch that was newer than all events before it. A handler
 * without coalescing must get all of these, in this order. */
typedef struct due {
    int64_t version;
    int key;
    server_change_type type; /* DELETED also if the object left the scope */
} due;

/* What one shared informer reads, from the opening of its first handle to the
 * close of its last one. */
typedef struct feed {
    int scope;
    int handles;
    /* the oracle cannot tell which events must be seen: two informers of one
     * scope were open, one of them about to close; or lists_apart */
    bool is_murky;
    int64_t high; /* the greatest version that any stream carried */
    /* the version that the next watch must begin at; 0: not known */
    int64_t last;
    int64_t listed_ms; /* when the first list was complete; 0: not yet */
    due *due;
    size_t due_count;
    size_t due_capacity;
    size_t lists;         /* lists that were complete */
    size_t list_requests; /* first pages and streaming lists */
    size_t breaks;
    size_t open; /* open streams */
    /* the pages of a list had several versions: until the cache reaches this
     * version, its content need not be a state of the server; 0: no such
     * list */
    int64_t fuzzy_until;
    /* how many changes of the server's history the cache was seen to hold: it
     * never goes back */
    size_t floor;
} feed;

enum { FEEDS_MAX = 40 };

/* All feeds of a run, and the transport. */
typedef struct feeds {
    server *server;
    feed feeds[FEEDS_MAX];
    size_t count;
    /* the feed that streams of a scope belong to */
    feed *latest[HISTORY_SCOPES];
    bool has_restored; /* the server's versions went back */
    bool lists_apart;  /* see server_options */
    /* lists have pages of one object, and look like probes */
    bool pages_of_one;
    struct tap *taps;            /* all open streams */
    int leaving[HISTORY_SCOPES]; /* closes in progress */
} feeds;

/* Adds a handle to the open feed of a scope, or to a new one. NULL: there have
 * been too many feeds. */
feed *feeds_join(feeds *self, int number);
/* The close of a handle begins; and it has returned. `inside`: a callback
 * called it, so it did not wait for the informer's threads. */
void feeds_leave(feeds *self, feed *left);
void feeds_left(feeds *self, feed *left, bool inside);

/* A transport in front of the server's; one reference for the caller. */
kl_transport *feeds_transport(feeds *self);
/* Fails if a stream has been open for longer than `limit_ms` without a byte:
 * the reflector should have closed it. */
void feeds_check_silence(const feeds *self, int64_t limit_ms);
/* Frees what the feeds have noted. */
void feeds_clear(feeds *self);

/* The index of the last change at that version in the server's history, plus
 * one; 0: there is none. */
size_t feeds_position(const server *from, int64_t version);

#endif
