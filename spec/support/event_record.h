/*
 * event_record.h - what a handler was told: a record, which writes events down
 * and lets a spec wait for them; and a witness, which asserts that they form a
 * history.
 */
#ifndef KL_SPEC_EVENT_RECORD_H
#define KL_SPEC_EVENT_RECORD_H

#include "base/buf.h"
#include "base/thread.h"
#include "kubelua/handler.h"

typedef struct event_record {
    /* guards the rest; rank LOG - 5: no lock is taken under it */
    kl__mutex mutex;
    kl__cond cond;
    kl__buf text;
    int count;
    int dropped;
} event_record;

void event_record_init(event_record *record);
void event_record_deinit(event_record *record);

/* A handler whose callbacks write words: "+a@1 initial" (an add), "~a@1>2" (an
 * update), "-a@2", "-a@2 unknown" (deletes), "<a@2" (left the shard), "synced",
 * "!forbidden" (an error); joined by "; ". */
kl_handler event_record_handler(event_record *record);

/* Waits until so many words are written, or drop_context has run. False after
 * 60 s. */
bool event_record_await(event_record *record, int count);
bool event_record_await_dropped(event_record *record);

/* The words so far; owned by the caller (kl__free). */
char *event_record_text(event_record *record);

/* How often drop_context has run. */
int event_record_dropped(event_record *record);

/* ---- a witness ---- */

enum { WITNESS_KEYS = 26 };

typedef struct witness {
    kl_object *known[WITNESS_KEYS];
    size_t events;
    bool has_synced;
} witness;

/* Takes an event; fails the test if it does not fit the history. */
void witness_see(witness *self, const kl_event *event);

/* True if the witness holds the same objects as the list. */
bool witness_knows(const witness *self, const kl_object_list *list);

/* Drops the objects that the witness holds. */
void witness_clear(witness *self);

#endif
