/*
 * sim_frames.h - the events of a watch as they are sent. Each event is first a
 * line of JSON. For a client that wants protobuf, after faults have changed the
 * lines, each line becomes a frame: its length in four bytes, then a
 * WatchEvent.
 */
#ifndef KL_SIM_FRAMES_H
#define KL_SIM_FRAMES_H

#include "sim/core/answer/sim_answer.h"

/* A line may begin with one of these bytes: the fault that its frame gets. */
enum {
    KL__SIM_FRAME_BROKEN = 1, /* the object has no valid envelope */
    /* the length is more than the bytes that follow */
    KL__SIM_FRAME_UNCLOSED,
    /* half of the frame, then the end of the stream */
    KL__SIM_FRAME_HALF,
    /* the frame holds the rest of the line as it is */
    KL__SIM_FRAME_RAW,
    KL__SIM_FRAME_PADDED /* "123 {...": 123 bytes more */
};

/* True if there are lines that have to become frames. */
bool kl__sim_frames_are_due(const kl__sim_answer *answer);
/* Turns the lines into frames. Called without the cluster's mutex.
 * KL_ENOMEM. */
kl_code kl__sim_frames_make(kl__sim_answer *answer, kl_error *err);
/* To be called when answer->out is emptied. */
void kl__sim_frames_forget(kl__sim_answer *answer);

/* How many ready bytes there are up to the end of the next `events` events;
 * SIZE_MAX: none are ready. */
size_t kl__sim_events_reach(const kl__sim_answer *answer, int64_t events);
/* How many events end in the last `length` bytes before answer->out_at. */
int64_t kl__sim_events_sent(const kl__sim_answer *answer, size_t length);

#endif
