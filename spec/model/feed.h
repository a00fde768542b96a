/*
 * feed.h - what one shared informer was given to read: a transport in between
 * notes every byte that its streams carried, so that the oracle knows what its
 * handlers have to be told.
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
    server_change_type type; /* DELETED too where it has left the scope */
} due;

/* One shared informer's life: from the first handle to the last. */
typedef struct feed {
    int scope;
    int handles;
    bool is_murky; /* it is not certain whose streams these are: two informers
                      of one scope met, one on its way out */
    int64_t high;  /* the greatest version that came, in whatever way */
    int64_t last;  /* what a watch has to go on from; 0: not known */
    int64_t listed_ms; /* when the first list was complete; 0: not yet */
    due *due;
    size_t due_count;
    size_t due_capacity;
    size_t lists;         /* that came to their end */
    size_t list_requests; /* first pages and streaming lists */
    size_t breaks;
    size_t open;         /* streams */
    int64_t fuzzy_until; /* a list of several versions: its content is none of
                            the server's until then; 0: no such list */
    size_t floor; /* how much of the server's history its cache has been seen
                     to reflect: it never goes back */
} feed;

enum { FEEDS_MAX = 40 };

/* All feeds of a run, and the transport. */
typedef struct feeds {
    server *server;
    feed feeds[FEEDS_MAX];
    size_t count;
    feed *latest[HISTORY_SCOPES]; /* whose streams of that scope are */
    bool has_restored;            /* the server's versions went back */
    bool lists_apart;             /* see server_options */
    bool pages_of_one;            /* its lists look like probes */
    struct tap *taps;             /* all open streams */
    int leaving[HISTORY_SCOPES];  /* closes that go on */
} feeds;

/* A handle comes: of the feed that is there, or of a new one. NULL: there have
 * been too many. */
feed *feeds_join(feeds *self, int number);
/* A handle begins to close, and is closed. `inside`: no thread waits for the
 * close. */
void feeds_leave(feeds *self, feed *left);
void feeds_left(feeds *self, feed *left, bool inside);

/* A transport in front of the server's; one reference for the caller. */
kl_transport *feeds_transport(feeds *self);
/* Fails if a watch has been open for longer than that without a byte: the
 * reflector should have closed it. */
void feeds_check_silence(const feeds *self, int64_t limit_ms);
/* Frees what was noted. */
void feeds_clear(feeds *self);

/* The index of the last change at that version in the server's history, plus
 * one; 0: there is none. */
size_t feeds_position(const server *from, int64_t version);

#endif
