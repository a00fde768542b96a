/*
 * reflector_machine.h - what the states of a reflector share; for the files
 * reflector*.c only. Each state is one function: it does its work, and returns
 * the state that comes next.
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
    /* A transfer of a list is given up after so long without a byte: half of
     * a server's own limit for a request (reference 5.6). */
    KL__LIST_SILENCE_MS = 30000
};

struct kl__reflector {
    kl__reflector_options options; /* defaults filled in; name is owned */

    /* The thread's own. */
    char version[KL__VERSION_SIZE]; /* to watch from; "" before a list */
    char listed[KL__VERSION_SIZE];  /* the last list's or bookmark's */
    bool newest;    /* the next list asks for the newest state instead of one
                       that is not older than `version` */
    bool in_pages;  /* the next list comes so: no head of the last one came */
    bool streaming; /* the watch at hand is the end of a streaming list */
    bool fresh;     /* the next watch goes over a connection of its own */
    bool is_opaque; /* the versions of this resource are no order: they are
                       sent back, and only lists and bookmarks are compared
                       with one another */
    int64_t backward_until; /* on the clock: another event below `version` until
                               then shows that versions are no order */
    int64_t check_at; /* on the clock: from then on `version` is doubted, as
                         nothing has shown that the server has reached it; a
                         server restored from a backup may not have */
    bool unchecked;   /* the server was asked, and its answer said nothing */
    int unfinished;   /* streaming lists in a row without an end bookmark */
    int64_t streams_from; /* paged lists until then, on the clock */
    kl_error no_stream;   /* why; KL_OK once that was told */
    int doubts;    /* watches in a row that gave reason to doubt the version */
    bool relisted; /* because of a 410, and nothing has proved well since */
    int refusals;  /* watches in a row that were closed at once */
    kl__packer *packer; /* NULL: objects stay plain */
    kl__ahead ahead;
    kl__backoff backoff;
    kl_informer_state resume; /* after KL_STATE_BACKOFF */
    bool was_refused;         /* the backoff follows a 401 */
    int64_t wait_ms;          /* of KL_STATE_BACKOFF */

    /* Guards the next four, which only the thread writes; `cond` wakes
     * KL_STATE_BACKOFF. Rank REFLECTOR. */
    kl__mutex mutex;
    kl__cond cond;
    kl_informer_state state;
    int64_t retry_at;

    /* Counters for the status: written by the thread, read by anybody, of no
     * consequence to one another: relaxed. */
    atomic_int_fast64_t last_item_at; /* on the clock; -1: none ever */
    atomic_uint_fast64_t lists, watches, events, failures;
};

/* The states. */
kl_informer_state kl__reflector_list(kl__reflector *self);
kl_informer_state kl__reflector_stream(kl__reflector *self);
kl_informer_state kl__reflector_watch(kl__reflector *self);

/* How an attempt failed, and what follows. Zeroed fields are the defaults. */
typedef struct kl__failure {
    const kl_error *error;
    kl_informer_state resume;
    int64_t cap_ms; /* of the delay; 0: the default */
    bool quiet;     /* handlers are not told: it may well be nothing */
    bool at_once;   /* after health, do not wait for more than a jitter */
} kl__failure;

/* Counts a failure, tells of it once per reason, and picks the delay; or
 * KL_STATE_STOPPED, where the error says that it was stopped. */
kl_informer_state kl__reflector_fail(kl__reflector *self,
                                     const kl__failure *failure);

/* Waits so long, without a failure, then goes on with `resume`. */
kl_informer_state kl__reflector_pause(kl__reflector *self, int64_t wait_ms,
                                      kl_informer_state resume);

/* It works: forget failures, and say so where one was told. */
void kl__reflector_healthy(kl__reflector *self);

/* Before a list: what the last one knew better than its version is forgotten,
 * and so the next one has to be the newest; as where versions are no order. */
void kl__reflector_prepare_list(kl__reflector *self);

/* The least version that the next list or bookmark has, unless the server was
 * restored from a backup. Borrowed until the next item. */
const char *kl__reflector_floor(const kl__reflector *self);

/*
 * Asks whether the server has reached the version to watch from; where it has
 * not, a watch is silent and misses what happens until then. KL_OK: it has, or
 * does not say (then `unchecked` is set where it is worth asking again soon);
 * KL_EVERSION_AHEAD; or why it could not be asked.
 */
kl_code kl__reflector_probe(kl__reflector *self, kl_error *err);

/* The state that lists: streamed or paged. */
kl_informer_state kl__reflector_relist(const kl__reflector *self);

/* The resource could not be found: it is asked for again, at least each 5 to
 * 10 s. */
kl_informer_state kl__reflector_unresolved(kl__reflector *self,
                                           const kl_error *why);

/* A list failed before it was complete: what follows, in either way. */
kl_informer_state kl__reflector_list_failed(kl__reflector *self,
                                            const kl_error *err);

/* Makes a complete list the content of the cache (the stage is empty then) and
 * its version the one to watch from; or refuses a list that is older than what
 * is known already. */
kl_informer_state kl__reflector_replace(kl__reflector *self, kl__stage *stage,
                                        const char *version);

/* Notes that an item came in. */
void kl__reflector_note_item(kl__reflector *self);

/* The server has just shown that it has reached `version`, or cannot be asked:
 * the version is not doubted for an idle timeout. */
void kl__reflector_trust_version(kl__reflector *self);

/* True once nothing has shown for an idle timeout that the server has reached
 * `version`. */
bool kl__reflector_doubts_version(const kl__reflector *self);

/* Now, on its clock. */
int64_t kl__reflector_now(const kl__reflector *self);

/* True if both versions are numbers and a < b. */
bool kl__version_is_older(const char *a, const char *b);

/* A timeoutSeconds that spreads the ends of watches (reference R-30). */
int kl__reflector_timeout_seconds(kl__reflector *self);

#endif
