/*
 * protobuf_reader.h - what a client of protobuf makes of an answer: objects in
 * envelopes, and events of a watch, as the JSON that stands for them.
 */
#ifndef KL_SPEC_PROTOBUF_READER_H
#define KL_SPEC_PROTOBUF_READER_H

#include "sim/json/edit.h"
#include "sim/schema/protobuf_wire.h"

enum { PROTOBUF_FRAME_HEAD = 4 }; /* bytes that say how long a frame is */

/* The object in an envelope, with its kind and version; a node of `edit`. NULL:
 * why it is none. */
kl__node *protobuf_read_object(kl__edit *edit, kl__wire bytes, kl_error *err);

/* A WatchEvent, which is what a frame holds: {"type":...,"object":{...}}. */
kl__node *protobuf_read_event(kl__edit *edit, kl__wire bytes, kl_error *err);

/* What the head of a frame says. */
size_t protobuf_frame_length(const unsigned char *head);

#endif
