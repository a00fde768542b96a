/*
 * sim_frames.h - the events of a watch as they go out. Each is made as a line
 * of JSON, whatever the client wants; for a client of protobuf the lines become
 * frames, once the faults have had them: the length in four bytes, a
 * WatchEvent.
 */
#ifndef KL_SIM_FRAMES_H
#define KL_SIM_FRAMES_H

#include "sim/answer/sim_answer.h"

/* What a line begins with that is to become a frame other than it should be: */
enum {
    KL__SIM_FRAME_BROKEN = 1, /* the object's envelope is none */
    KL__SIM_FRAME_UNCLOSED,   /* its length is more than comes */
    KL__SIM_FRAME_HALF,       /* half of its bytes, and no more of the stream */
    KL__SIM_FRAME_RAW,        /* the rest of the line is what is in the frame */
    KL__SIM_FRAME_PADDED      /* "123 {...": so many bytes more */
};

/* Whether there are lines that have to become frames. */
bool kl__sim_frames_are_due(const kl__sim_answer *answer);
/* Makes frames of them. Nothing is locked. KL_ENOMEM. */
kl_code kl__sim_frames_make(kl__sim_answer *answer, kl_error *err);
/* To be called where answer->out is emptied. */
void kl__sim_frames_forget(kl__sim_answer *answer);

/* Of what is ready, the bytes up to the end of so many events; SIZE_MAX:
 * nothing is ready. What is no watch is one event. */
size_t kl__sim_events_reach(const kl__sim_answer *answer, int64_t events);
/* How many events end in the last `length` bytes before answer->out_at. */
int64_t kl__sim_events_sent(const kl__sim_answer *answer, size_t length);

#endif
