/*
 * turn.h - what a reader of a stream does when bytes have come, as a function
 * that the transport thread may call in the reader's place.
 */
#ifndef KL_HTTP_TURN_H
#define KL_HTTP_TURN_H

#include <stdbool.h>

/*
 * While a reader waits for bytes (kl__stream_wait) it lends its turn. When few
 * bytes have come, the transport thread carries out the turn: waking the
 * reader's thread would take longer than handling an event. The rules:
 *   1. There is one turn at a time. While the transport thread has it, the
 *      reader's thread does not go on, not even if its deadline passes or it is
 *      cancelled. So `run` may use all that the reader's thread owns, without a
 *      lock.
 *   2. `run` reads with a deadline of 0 until KL_ETIMEOUT. It does not close
 *      the stream, as the reader's thread waits in it.
 *   3. `run` is called without a mutex, and must not block: no stream of the
 *      transport gets bytes meanwhile. It may lock a mutex that other threads
 *      hold for a moment only, never while they wait. It sends no request, and
 *      calls no function of the user except the log's.
 *   4. `run` returns false if the reader's thread has to do the rest; that
 *      thread is woken then. After true it waits on.
 * Much, the end of the stream, and a stream that is paused are left to the
 * reader's thread. A transport may have no kl__stream_wait: only curl's has.
 */
typedef struct kl__stream_turn {
    bool (*run)(void *arg);
    void *arg;
} kl__stream_turn;

#endif
