/*
 * fake_exchange.h - shared by the two halves of the fake transport:
 * fake_transport.c, which answers the code under test, and fake_script.c, by
 * which the spec controls it.
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
    int left;           /* how often it may still be used; FAKE_FOREVER */
} script;

/* A request with its answer's stream; it may outlive the stream. */
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
    kl__mutex mutex; /* rank STREAM; guards the members below */
    kl__cond changed;
    bool is_closed;
    script scripts[MAX_ANSWERS];
    size_t script_count;
    exchange *exchanges[MAX_REQUESTS];
    size_t exchange_count;
};

/* Returns the block; aborts if it is NULL. */
void *fake_need(void *block);
char *fake_copy(const char *text);

/* Adds bytes to a body, and wakes the reader. The caller holds the mutex. */
void fake_put_bytes(exchange *self, const char *bytes, size_t length);
void fake_tell_reader(exchange *self);

/* True if `target` begins with `wanted`; if `wanted` ends with '$', true if
 * they are equal. */
bool fake_target_matches(const char *wanted, const char *target);

#endif
