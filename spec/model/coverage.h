/*
 * coverage.h - counts what happened in the histories that were run. A class of
 * events that never happened is a hole in the model: a long run that has one
 * fails.
 */
#ifndef KL_SPEC_MODEL_COVERAGE_H
#define KL_SPEC_MODEL_COVERAGE_H

#include <stddef.h>
#include <stdint.h>

/* X(constant, what it counts). */
#define COVERAGE(X)                                               \
    X(HISTORIES, "histories")                                     \
    X(WRITES, "writes")                                           \
    X(LIST_PAGED, "lists of one page")                            \
    X(LIST_PAGES, "later pages")                                  \
    X(LIST_STREAMED, "streaming lists that ended")                \
    X(STREAM_UNFINISHED, "streaming lists that did not")          \
    X(RELISTS, "relists")                                         \
    X(WATCHES, "watches")                                         \
    X(EVENTS, "watch events carried")                             \
    X(BOOKMARKS, "bookmarks carried")                             \
    X(GONE_REQUESTS, "410 as an answer")                          \
    X(GONE_TOKENS, "410 for a continue token")                    \
    X(GONE_EVENTS, "410 as an event")                             \
    X(OTHER_EVENTS, "other errors as an event")                   \
    X(REFUSALS, "answers above 400, 410 apart")                   \
    X(REFUSED, "connections refused")                             \
    X(BROKEN, "streams that broke off")                           \
    X(BROKEN_INSIDE, "of them inside a frame")                    \
    X(ENDED, "watches that ended cleanly")                        \
    X(SILENT, "watches closed for silence")                       \
    X(OPAQUE, "watches from a version that is no order")          \
    X(RECREATES_DOWN, "recreated while the watch was down")       \
    X(COMPACTIONS, "compactions")                                 \
    X(RESTORES, "restored backups")                               \
    X(CROWDS, "crowds (changes done aside)")                      \
    X(STORMS, "long outages")                                     \
    X(ADDS, "adds delivered")                                     \
    X(ADDS_INITIAL, "of them initial")                            \
    X(UPDATES, "updates delivered")                               \
    X(DELETES, "deletes delivered")                               \
    X(DELETES_UNKNOWN, "of them missed (unknown)")                \
    X(REPLACED_UID, "delete and add for a new uid")               \
    X(RESYNCS, "resyncs delivered")                               \
    X(ERRORS, "errors delivered")                                 \
    X(UNREADABLE, "events of objects that cannot be read")        \
    X(UNREADABLE_TOLD, "of them told to a handler")               \
    X(UNREADABLE_KEPT, "former states kept at the end")           \
    X(SYNCED, "synced delivered")                                 \
    X(PACKED, "objects delivered packed")                         \
    X(DICTIONARIES, "of them with another dictionary than `old`") \
    X(YOUNG, "objects delivered young")                           \
    X(PACKED_LATE, "`old` objects packed since they were young")  \
    X(MERGES, "events merged beyond a bound")                     \
    X(CARRIED, "carried events that had to be seen, and were")    \
    X(HANDLERS, "handlers")                                       \
    X(HANDLERS_LATE, "of them late (replayed)")                   \
    X(PULLED, "events pulled from a queue")                       \
    X(HELD, "callbacks held")                                     \
    X(REMOVED, "handlers removed")                                \
    X(REMOVED_INSIDE, "of them inside a handler")                 \
    X(CLOSED, "informers closed during the run")                  \
    X(CLOSED_INSIDE, "of them inside a callback")                 \
    X(CLOSED_JOINING, "handlers added to one that was closing")   \
    X(ACTS, "calls inside a callback")                            \
    X(ACTS_IN_INDEX, "of them inside an index function")          \
    X(CLIENT_CLOSED, "clients closed during the run")             \
    X(SHARED, "handles that joined a shared informer")            \
    X(INDEXES, "indexes added")                                   \
    X(INDEXES_TWICE, "of them again, or in conflict")             \
    X(SNAPSHOTS, "snapshots found whole")                         \
    X(INDEX_SNAPSHOTS, "index answers found whole")               \
    X(WAITS_SYNCED, "waits for sync that ended well")             \
    X(WAITS_TIMEOUT, "of them in a timeout")                      \
    X(WAITS_CLOSED, "of them by a close")                         \
    X(WAKES, "wake-ups for sync")                                 \
    X(RESYNC_CHECKS, "resync periods observed")                   \
    X(SETTLED, "informers found in sync at the end")              \
    X(TURNS, "turns on the transport thread")                     \
    X(TURNS_ALONE, "of them without the reader's thread")         \
    X(HEADS_LENT, "heads awaited at rest")                        \
    X(LISTS_LENT, "parts of lists awaited at rest")               \
    X(HOOKED, "parts of discovery awaited by a hook")             \
    X(PREEMPTIONS, "preemptions")                                 \
    X(SWITCHES, "hand-overs")                                     \
    X(VIRTUAL_S, "virtual seconds")

typedef enum coverage_kind {
#define COVERAGE_ENUM(constant, what) COVER_##constant,
    COVERAGE(COVERAGE_ENUM)
#undef COVERAGE_ENUM
        COVERAGE_KINDS
} coverage_kind;

/* Counts into `counts` (COVERAGE_KINDS of them) from now on. */
void coverage_into(uint64_t *counts);
void coverage_add(coverage_kind kind, uint64_t count);

const char *coverage_name(coverage_kind kind);

#endif
