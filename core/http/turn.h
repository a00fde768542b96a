/*
 * turn.h - what a reader of a stream does when bytes have come, as a function
 * that the transport thread may call in the reader's place.
 */
#ifndef KL_HTTP_TURN_H
#define KL_HTTP_TURN_H

#include <stdbool.h>

/*
 * A reader that finds no bytes lends its turn (kl__stream_lend) and rests. When
 * few bytes have come, the transport thread carries out the turn: waking the
 * reader would take longer than handling an event. Much, the end of the stream
 * and a stream that is paused are left to the reader, which is woken. The
 * rules:
 *   1. There is one turn at a time. A reader that goes on takes its turn back
 *      (kl__stream_retract), which waits while the transport thread has it. So
 *      `run` may use all that the reader owns, without a lock.
 *   2. `run` reads with a deadline of 0 until KL_ETIMEOUT. It does not close
 *      the stream.
 *   3. `run` is called without a mutex, and must not block: no stream of the
 *      transport, or of those that share its thread, gets bytes meanwhile. It
 *      may lock a mutex that other threads hold for a moment only, never while
 *      they wait. It sends no request, and calls no function of the user except
 *      the log's.
 *   4. `run` returns false if the reader has to do the rest. After true the
 *      turn stays lent.
 *   5. `wake` tells the reader to go on. It is called at most once for each
 *      kl__stream_lend, on any thread, with a mutex of the transport held (rank
 *      STREAM at most): it may set a flag and wake a thread, nothing else.
 * A transport may have no kl__stream_lend: only curl's has.
 */
typedef struct kl__stream_turn {
    bool (*run)(void *arg); /* NULL: the reader does all itself, as one does
                             * that waits for the head of an answer */
    void (*wake)(void *arg);
    void *arg;
} kl__stream_turn;

#endif
