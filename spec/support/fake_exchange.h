/*
 * fake_exchange.h - what the two halves of the fake transport share: the one
 * that answers the code under test, and the one that the spec steers it by.
 */
#ifndef KL_SPEC_FAKE_EXCHANGE_H
#define KL_SPEC_FAKE_EXCHANGE_H

#include "fake_transport.h"

#include "base/thread.h"

#include <stdbool.h>
#include <stdint.h>

enum { MAX_ANSWERS = 256, MAX_REQUESTS = 1024, PATIENCE_MS = 60000 };

typedef struct script {
    fake_answer answer; /* its strings are owned */
    int left;           /* uses; FAKE_FOREVER */
} script;

/* A request and the stream that answers it, which may outlive the stream. */
typedef struct exchange {
    kl__stream base;
    fake_transport *fake;
    fake_request request; /* its strings are owned */
    fake_answer answer;   /* strings borrowed from the script */
    char *body;
    size_t length;
    size_t taken;
    fake_end end;
    bool holds_head;
    bool has_reader;
    kl__stream_hook hook;
    char *headers;
    int64_t last_byte_ms;
} exchange;

struct fake_transport {
    kl_transport base;
    kl__mutex mutex; /* rank STREAM; guards all below */
    kl__cond changed;
    bool is_closed;
    script scripts[MAX_ANSWERS];
    size_t script_count;
    exchange *exchanges[MAX_REQUESTS];
    size_t exchange_count;
};

/* Aborts without memory. */
void *fake_need(void *block);
char *fake_copy(const char *text);

/* With the mutex held: more of a body; the reader is to look again. */
void fake_put_bytes(exchange *self, const char *bytes, size_t length);
void fake_tell_reader(exchange *self);

/* True if a target begins as it was wanted, or ends there ('$'). */
bool fake_target_matches(const char *wanted, const char *target);

#endif
