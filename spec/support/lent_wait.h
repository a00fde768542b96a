/*
 * lent_wait.h - a reader that lends its turn and sleeps until it has to go on.
 */
#ifndef KL_SPEC_LENT_WAIT_H
#define KL_SPEC_LENT_WAIT_H

#include "api/list_watch.h"
#include "http/transport.h"

/* What is read: one of the two. */
typedef struct lent_wait {
    kl__stream *stream;
    kl__list_watch *source;
    bool (*run)(void *arg); /* the turn */
    void *arg;
    int64_t deadline_ms; /* on the real clock; < 0: none */
    kl__cancel *cancel;
} lent_wait;

/* KL_OK: there is something to read, or the turn returned false; KL_ETIMEOUT,
 * KL_ECANCELED. */
kl_code lend_and_wait(const lent_wait *wait);

#endif
