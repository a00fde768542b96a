/*
 * reflector_machine.h - the state that the files reflector*.c share. Each state
 * of the reflector is a function that does the work of the state and returns
 * the next state.
 */
#ifndef KL_INFORMER_REFLECTOR_MACHINE_H
#define KL_INFORMER_REFLECTOR_MACHINE_H

#include "informer/backoff.h"
#include "informer/reflector.h"
#include "informer/reflector_stage.h"
#include "object/pack.h"

#include <stdatomic.h>

enum {
    KL__VERSION_SIZE = sizeof(((kl__item *)0)->version),
    KL__DEFAULT_PAGE_SIZE = 500,
    /* A list is given up after this time without a byte: half of a server's own
       limit for a request (docs/KUBERNETES.md#request-timeouts). */
    KL__LIST_SILENCE_MS = 30000,
    /* A watch that lasted this long is healthy, even without events. */
    KL__HEALTHY_MS = 10000
};

/* How a watch ended. */
typedef enum kl__outcome {
    KL__WATCH_GOES_ON,
    KL__WATCH_ENDED,    /* the server ended it cleanly */
    KL__WATCH_SILENT,   /* no item for idle_timeout_ms */
    KL__WATCH_DOUBTED,  /* items came, but none at the version or above */
    KL__WATCH_SLOW,     /* the queue was full for stall_ms */
    KL__WATCH_BACKWARD, /* an event had a lower version than one before */
    KL__WATCH_BROKE     /* it failed; `err` says why */
} kl__outcome;

/* What may end a pause early. */
typedef enum kl__hope {
    KL__NO_HOPE,
    KL__NEW_CREDENTIALS, /* after a 401 */
    KL__SERVER_HEARD     /* while the server does not answer: that another
                            request of the client is answered */
} kl__hope;

/* How far a request is. */
typedef enum kl__progress {
    KL__NOT_ASKED,
    KL__ASKED, /* the head of the answer has not come */
    KL__ANSWERED
} kl__progress;

/* A list, paged or streaming. Zeroed: none is under way. */
typedef struct kl__listing {
    bool is_open;     /* it goes on in the next turn of the task */
    int64_t began;    /* on the clock */
    kl__progress got; /* of the present page, or of the stream */
    kl__stage stage;
    char version[KL__VERSION_SIZE]; /* of the first page, or the end bookmark */
    /* Of a streaming list: on the clock, it is given up then. */
    int64_t deadline;
    /* Of a paged list. */
    char *token; /* owned; NULL: the first page */
    int limit;
    size_t staged;  /* objects in the stage before this page */
    bool has_items; /* this page has objects */
    bool renewed;   /* `token` replaces an expired one: it goes on at a newer
                       version */
    bool fuzzy;     /* such a token was used: the pages are of two versions */
} kl__listing;

/* The question whether the server has reached a version. Zeroed: not asked. */
typedef struct kl__probe {
    kl__progress got;
    bool has_item; /* an object of the answer has come */
} kl__probe;

/* A watch: first the version is probed, if it is in doubt. */
typedef struct kl__attempt {
    bool is_begun; /* it was begun, and goes on in the next turn of the task */
    bool is_probed;
    kl__probe probe;
    kl__progress got; /* of the watch itself */
    int64_t began; /* taken before the request, as a proxy may delay the head */
    int64_t idle_ms; /* how long it may be silent; < 0: no limit */
    int64_t until;   /* on the clock: the task rests until then; < 0: without
                        end */
    kl__outcome result;
    kl_error err;  /* why it failed */
    bool progress; /* it brought something new */
    /* It began without a version, and all objects come first, as ADDED events
     * in no order: so far, no other event has come. */
    bool is_unordered;
    bool gathers; /* the queue gathers: items come without a wait */
} kl__attempt;

struct kl__reflector {
    kl__reflector_options options; /* defaults filled in; name is owned */
    /* Ends a list, a watch and a wait for the network: `stop` does, and
     * kl__reflector_set_shard. */
    kl__cancel_either interrupt;

    /* Only the task uses these, or, while it rests, the thread that has its
     * turn (kl__stream_turn). */
    kl_informer_state next; /* the state to go on with */
    bool rests;         /* that state has begun; it goes on in the next turn */
    int64_t rest_until; /* on `rest_on`; < 0: until it is woken */
    kl__clock *rest_on;
    bool is_resolving; /* discovery was asked, and has not answered */
    kl__listing listing;
    kl__attempt attempt;
    kl__stream_turn turn; /* that it lends while it rests */
    bool is_lent;
    char version[KL__VERSION_SIZE]; /* to watch from; "" before a list */
    char listed[KL__VERSION_SIZE];  /* of the last list or bookmark */
    bool newest; /* the next list asks for the newest state, not for one that is
                    not older than `version` */
    bool was_listed; /* the cache has a list, and no watch began since */
    bool in_pages;   /* the next relist uses pages, as the last one was too slow
                        to answer */
    bool streaming;  /* the stream of a streaming list goes on as the watch */
    bool fresh;      /* the next watch opens a new connection */
    bool is_opaque;  /* the versions of this resource have no order: they are
                        sent back to the server, but only versions of lists and
                        bookmarks are compared */
    /* On the clock: a second event below `version` before this time shows that
     * the versions have no order. */
    int64_t backward_until;
    /* On the clock: from then on the server is asked whether it has reached
     * `version`, as no answer has shown it; a server that was restored from a
     * backup may not have. */
    int64_t check_at;
    bool unchecked; /* the server was asked, and the answer did not tell */
    int unfinished; /* streaming lists in a row without an end bookmark */
    int64_t streams_from; /* on the clock: only paged lists until then */
    kl_error no_stream;   /* why lists are paged; KL_OK: they are not, or that
                             was logged */
    int doubts;           /* failed watches in a row that a relist may cure */
    bool relisted;    /* a 410 caused a relist; since then no watch was healthy,
                         and the server was not away */
    int refusals;     /* watches in a row that the server closed at once */
    kl__shard shards; /* of the source */
    uint64_t shard;   /* the number of kl__reflector_set_shard calls that
                         `shards` is of */
    kl__packer *packer; /* NULL: objects stay plain */
    kl__ahead ahead;
    kl__backoff backoff;
    kl_informer_state resume; /* the state after KL_STATE_BACKOFF */
    int64_t wait_ms;          /* how long KL_STATE_BACKOFF lasts, unless it ends
                                 early: */
    kl__hope hope;
    uint64_t answers; /* of the source, at the failure */
    int64_t look_at;  /* on the clock: the next look for what is hoped for */
    bool has_hurried; /* a pause ended early as the server was heard; since
                         then no success */
    int times_told;   /* failures with a Retry-After, since a success */

    /* Guards the two below, which only the task writes. Rank REFLECTOR. */
    kl__mutex mutex;
    kl_informer_state state;
    int64_t retry_at; /* on the clock: the end of KL_STATE_BACKOFF */
    /* What kl__reflector_set_shard was given last, and how often it was called.
     * The same mutex; any thread writes them, with change_mutex held too. */
    kl__shard wanted;
    uint64_t wanted_shard;
    /* Rank CHANGE. A new shard and the token that is fired for it come as one:
     * else the token could end the list of the shard that was taken already. */
    kl__mutex change_mutex;

    /* Counters for the status. The same threads write them, any thread reads
     * them; they do not depend on each other, so relaxed. */
    atomic_int_fast64_t last_item_at; /* on the clock; -1: none ever */
    atomic_uint_fast64_t lists, watches, events, failures;
    atomic_uint_fast64_t reconnects[KL_RECONNECT_REASONS];
    /* On the clock: by then the task goes on, or the network is slow; a later
     * time shows that it hangs. INT64_MAX: it may take any time. */
    atomic_int_fast64_t due_at;
    atomic_int_fast64_t grace_ms; /* after an item: until the next one */
};

/* The time on the reflector's clock. */
static inline int64_t kl__reflector_now(const kl__reflector *self)
{
    return kl__clock_now(self->options.clock);
}

static inline bool kl__reflector_is_stopped(const kl__reflector *self)
{
    return kl__cancel_fired(self->options.stop);
}

/* The states. */
kl_informer_state kl__reflector_list(kl__reflector *self);
kl_informer_state kl__reflector_stream(kl__reflector *self);
kl_informer_state kl__reflector_watch(kl__reflector *self);

/* In reflector_end.c. A watch that was read has ended; one could not be opened:
 * the state to go on with. */
kl_informer_state kl__reflector_end_watch(kl__reflector *self,
                                          const kl__attempt *now);
kl_informer_state kl__reflector_watch_failed(kl__reflector *self,
                                             const kl__attempt *now);

/* How an attempt failed, and the state to go on with. Zeroed fields are the
 * defaults. */
typedef struct kl__failure {
    const kl_error *error;
    kl_informer_state resume;
    int64_t cap_ms; /* the longest delay; 0: the default */
    bool quiet;   /* handlers are not told, as the next try may well succeed */
    bool at_once; /* if this is the first failure, wait for a short jitter only
                   */
} kl__failure;

/* Counts a failure, reports it to handlers if the reason is new, and chooses
 * the delay. Returns KL_STATE_STOPPED if the reflector was stopped or the
 * client was closed. */
kl_informer_state kl__reflector_fail(kl__reflector *self,
                                     const kl__failure *failure);

/* Packs some of the young objects that are due. Call it when no event is there.
 * Returns in how many milliseconds it is to be called again, `rest_ms` at most
 * (< 0: no limit); 0: at once, unless an event is there. */
int64_t kl__reflector_pack_due(kl__reflector *self, int64_t rest_ms);

/* After a rest: the turn is the task's again. */
void kl__reflector_take_back(kl__reflector *self);

/* Waits for the head of the answer, or for discovery, as kl__list_watch_answer.
 * False: the task rests until it comes. */
bool kl__reflector_await_answer(kl__reflector *self, kl_error *err);

/* How long a list may take. */
typedef struct kl__patience {
    int64_t silence_ms; /* without a byte */
    int64_t until;      /* on the clock, for the whole list; < 0: no limit */
} kl__patience;

/* Reads the next item of a list, and sets `err->code`. KL_ETIMEOUT without an
 * HTTP status: the patience is at its end. False: the task rests until there is
 * more to read. */
bool kl__reflector_next_item(kl__reflector *self, kl__item *item,
                             kl__patience patience, kl_error *err);

/* Lends the turn, with `run` or NULL, and rests until there is something to
 * read, at most for `timeout_ms` (< 0: no limit); or until the stream wants to
 * free memory. The next turn of the task takes the turn back first. False:
 * there is something to read. */
bool kl__reflector_rest_lent(kl__reflector *self, bool (*run)(void *arg),
                             int64_t timeout_ms);

/* Rests in this state until `ms` on the clock `on` (< 0: until it is woken);
 * then it goes on in the same state. */
void kl__reflector_rest(kl__reflector *self, kl__clock *on, int64_t ms);

/* Waits for `wait_ms`, without a failure, then goes on with `resume`. */
kl_informer_state kl__reflector_pause(kl__reflector *self, int64_t wait_ms,
                                      kl_informer_state resume);

/* After a success: resets the backoff, and logs the recovery if a failure was
 * reported. */
void kl__reflector_healthy(kl__reflector *self);

/* The least version that the next list or bookmark can have, unless the server
 * was restored from a backup. Borrowed until the next item. */
const char *kl__reflector_floor(const kl__reflector *self);

/*
 * Asks whether the server has reached the version to watch from. If not, a
 * watch would be silent until then, and would miss all changes before. False:
 * the task rests, call again. `err->code` KL_OK: it has, or the answer does not
 * tell (`unchecked` is set if it is worth asking again soon);
 * KL_EVERSION_AHEAD: it has not; or why it could not be asked.
 */
bool kl__reflector_probe(kl__reflector *self, kl__probe *probe, kl_error *err);

/* The state for the next list: streamed or paged. */
kl_informer_state kl__reflector_relist(const kl__reflector *self);

/* The resource was not found: asks again, every 5 to 10 s at most. */
kl_informer_state kl__reflector_unresolved(kl__reflector *self,
                                           const kl_error *why);

/* Says that the task waits, for `ms` at most; < 0: without a limit. */
void kl__reflector_expect(kl__reflector *self, int64_t ms);

/* Notes the time of an item that came in. */
void kl__reflector_note_item(kl__reflector *self);

/* An answer has shown that the server has reached `version`, or the server
 * cannot be asked: no doubt for one idle timeout. */
void kl__reflector_trust_version(kl__reflector *self);

/* True if the reflector must ask the server for its version: for one idle
 * timeout, no answer has shown that the server has reached `version`. */
bool kl__reflector_doubts_version(const kl__reflector *self);

/* True if both versions are numbers and a < b. */
bool kl__version_is_older(const char *a, const char *b);

/* A random timeoutSeconds, so that watches do not all end together
 * (docs/KUBERNETES.md#watch-timeouts). */
int kl__reflector_timeout_seconds(kl__reflector *self);

#endif
