/*
 * scripted_source.h - a kl__list_watch that plays a script, one answer for each
 * request, and writes down what it was asked. No network, no threads of its
 * own, time on a given clock.
 *
 * A script is answers separated by ';', each of them words:
 *
 *   a@5  web/a#uid@5    an object of a list (its uid is "uid-<key>" if not
 * said) =10  =10>token      the end of a page at version 10, the continue token
 *   +a@5  ~a@5  -a@5    ADDED, MODIFIED, DELETED; "@" alone: no version
 *   ^20  ^^20           a bookmark; the end of the initial events
 *   $                   the watch ends cleanly
 *   %500                500 ms pass on the clock
 *   !gone  !unavailable:503/2000  !gone>token
 *                       an error by its code's name; the HTTP status,
 *                       Retry-After in ms, a token to go on with
 *
 * An error as first word refuses the request, later it breaks the stream; "ok"
 * as first word accepts it. An answer whose words are over is silent. "resolve"
 * as first word makes it the answer of a resolve, which otherwise succeeds.
 */
#ifndef KL_SPEC_SCRIPTED_SOURCE_H
#define KL_SPEC_SCRIPTED_SOURCE_H

#include "api/list_watch.h"
#include "base/clock.h"

typedef struct scripted_source scripted_source;

/* `done` (may be NULL) is fired when more is asked for than the script has;
 * without it, whoever asks waits until it is fed. */
scripted_source *scripted_source_new(const char *script, kl__clock *clock,
                                     kl__cancel *done);

/* The source to hand out; freeing it leaves the record readable. */
kl__list_watch *scripted_source_list_watch(scripted_source *source);

/* From that moment on the clock it has new credentials; before it is used. */
void scripted_source_renew(scripted_source *source, int64_t at);

/* Appends to the script; ';' begins a new answer. Thread-safe. */
void scripted_source_feed(scripted_source *source, const char *script);

/* Waits, at most 60 s (then false): until so many requests were made, resolves
 * included; until the script's words are all played; until the transfer at hand
 * was ended. Thread-safe. */
bool scripted_source_await(scripted_source *source, int requests);
bool scripted_source_await_played(scripted_source *source);
bool scripted_source_await_end(scripted_source *source);

/* What was asked: "resolve; list limit=500; watch rv=5". Borrowed. */
const char *scripted_source_requests(scripted_source *source);
/* When request `i` was made, on the clock; its timeoutSeconds. */
int64_t scripted_source_time(scripted_source *source, int i);
int scripted_source_timeout(scripted_source *source, int i);

void scripted_source_free(scripted_source *source);

#endif
