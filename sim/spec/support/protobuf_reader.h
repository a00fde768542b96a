/*
 * protobuf_reader.h - decodes answers in protobuf as a client would, objects in
 * envelopes and events of a watch, into JSON.
 */
#ifndef KL_SPEC_PROTOBUF_READER_H
#define KL_SPEC_PROTOBUF_READER_H

#include "sim/core/json/edit.h"
#include "sim/core/schema/protobuf_wire.h"

enum { PROTOBUF_FRAME_HEAD = 4 }; /* bytes of the length before each frame */

/* The object in an envelope, with kind and apiVersion; a node of `edit`. NULL:
 * `err` says why. */
kl__node *protobuf_read_object(kl__edit *edit, kl__wire bytes, kl_error *err);

/* A WatchEvent, the content of a frame: {"type":...,"object":{...}}. */
kl__node *protobuf_read_event(kl__edit *edit, kl__wire bytes, kl_error *err);

/* The length in the head of a frame. */
size_t protobuf_frame_length(const unsigned char *head);

#endif
