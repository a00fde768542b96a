/*
 * event_record.h - a handler that writes down what it is told, and lets a spec
 * wait for it.
 */
#ifndef KL_SPEC_EVENT_RECORD_H
#define KL_SPEC_EVENT_RECORD_H

#include "base/buf.h"
#include "base/thread.h"
#include "kubelua/handler.h"

typedef struct event_record {
    kl__mutex mutex; /* guards the rest; rank LOG - 5: nothing is taken in it */
    kl__cond cond;
    kl__buf text;
    int count;
    int dropped;
} event_record;

void event_record_init(event_record *record);
void event_record_deinit(event_record *record);

/* A handler whose callbacks write words: "+a@1 initial" (an add), "~a@1>2" (an
 * update), "-a@2", "-a@2 unknown", "synced", "!forbidden"; joined by "; ". */
kl_handler event_record_handler(event_record *record);

/* Waits for so many words, or for drop_context; at most 60 s: false then. */
bool event_record_await(event_record *record, int count);
bool event_record_await_dropped(event_record *record);

/* What was written so far; the caller's (kl__free). */
char *event_record_text(event_record *record);

/* How often drop_context ran. */
int event_record_dropped(event_record *record);

#endif
