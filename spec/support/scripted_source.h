/*
 * scripted_source.h - a kl__list_watch that plays a script, one answer for each
 * request, and records its requests. No network, no threads, time on a given
 * clock.
 *
 * A script is answers separated by ';', each of them words:
 *
 *   a@5  web/a#uid@5    an object of a list (default UID: "uid-<key>")
 *   =10  =10>token      the end of a page at version 10, the continue token
 *   +a@5  ~a@5  -a@5    ADDED, MODIFIED, DELETED; "@" alone: no version
 *   ^20  ^^20           a bookmark; the end of the initial events
 *   $                   the watch ends cleanly
 *   %500                500 ms pass on the clock
 *   !gone  !unavailable:503/2000  !gone>token
 *                       an error by its code's name; the
 *                       HTTP status,
 *                       Retry-After in ms, a token to
 *                       continue with
 *
 * An error as the first word refuses the request, later it breaks the stream;
 * "ok" as the first word accepts it. After its words an answer is silent.
 * "resolve" as the first word makes it the answer of a resolve, which otherwise
 * succeeds.
 */
#ifndef KL_SPEC_SCRIPTED_SOURCE_H
#define KL_SPEC_SCRIPTED_SOURCE_H

#include "api/list_watch.h"
#include "base/clock.h"

typedef struct scripted_source scripted_source;

/* `done` (may be NULL) is fired when the script is used up; without it, a
 * request waits until the script is fed. */
scripted_source *scripted_source_new(const char *script, kl__clock *clock,
                                     kl__cancel *done);

/* The list_watch for the code under test. Freeing it leaves the record of
 * requests readable. */
kl__list_watch *scripted_source_list_watch(scripted_source *source);

/* Gives the source new credentials at time `at` of the clock. Call it before
 * use. */
void scripted_source_renew(scripted_source *source, int64_t at);

/* At time `at` of the clock another request of its client is answered. Call it
 * before use, up to 256 times. */
void scripted_source_hear(scripted_source *source, int64_t at);

/* All that it has is in this namespace. Call it before use. */
void scripted_source_within(scripted_source *source, const char *name_space);

/* Appends to the script; ';' begins a new answer. Thread-safe. */
void scripted_source_feed(scripted_source *source, const char *script);

/* Each waits up to 60 s, then returns false: until `requests` requests were
 * made, resolves included; until all words were played; until the open list or
 * watch was ended. Thread-safe. */
bool scripted_source_await(scripted_source *source, int requests);
bool scripted_source_await_played(scripted_source *source);
bool scripted_source_await_end(scripted_source *source);

/* The requests: "resolve; list limit=500; watch rv=5". A new shard is
 * one too: "shard 00-3f". Borrowed. */
const char *scripted_source_requests(scripted_source *source);
/* When request `i` was made, on the clock; and its timeoutSeconds. */
int64_t scripted_source_time(scripted_source *source, int i);
int scripted_source_timeout(scripted_source *source, int i);

void scripted_source_free(scripted_source *source);

#endif
