/*
 * protobuf_reader.c - see protobuf_reader.h.
 */
#include "protobuf_reader.h"

#include "sim/core/schema/schema_protobuf.h"
#include "sim/core/request/sim_protobuf.h"

#include <stdio.h>
#include <string.h>

static kl__node *text_of(kl__edit *edit, const char *bytes, size_t length)
{
    return kl__edit_text_n(edit, bytes, length);
}

kl__node *protobuf_read_object(kl__edit *edit, kl__wire bytes, kl_error *err)
{
    char version[256], kind[256];
    const kl__schema *schema;
    kl__protobuf open;
    kl__node *object;

    if (kl__protobuf_open((const char *)bytes.at,
                          (size_t)(bytes.end - bytes.at), &open,
                          err) != KL_OK) {
        return NULL;
    }
    snprintf(version, sizeof(version), "%.*s", (int)open.api_version_length,
             open.api_version);
    snprintf(kind, sizeof(kind), "%.*s", (int)open.kind_length, open.kind);
    schema = kl__sim_protobuf_schema(version, kind, err);
    object = schema != NULL ? kl__protobuf_decode(edit, schema, open.raw,
                                                  open.raw_length, err)
                            : NULL;
    if (object != NULL) {
        kl__node_put(edit, object, "apiVersion",
                     text_of(edit, version, strlen(version)));
        kl__node_put(edit, object, "kind", text_of(edit, kind, strlen(kind)));
    }
    return object;
}

/* A WatchEvent has two fields: its type, and a RawExtension that holds an
 * envelope. */
kl__node *protobuf_read_event(kl__edit *edit, kl__wire wire, kl_error *err)
{
    kl__node *event = kl__edit_object(edit), *object;
    kl__wire_field field;

    while (!kl__wire_is_empty(&wire)) {
        if (kl__wire_next(&wire, "WatchEvent", &field, err) != KL_OK) {
            return NULL;
        }
        if (field.number == 1) {
            kl__node_put(edit, event, "type",
                         text_of(edit, (const char *)field.bytes.at,
                                 (size_t)(field.bytes.end - field.bytes.at)));
        } else if (field.number == 2) {
            kl__wire extension = field.bytes;

            if (kl__wire_is_empty(&extension)) {
                continue;
            }
            if (kl__wire_next(&extension, "RawExtension", &field, err) !=
                KL_OK) {
                return NULL;
            }
            object = protobuf_read_object(edit, field.bytes, err);
            if (object == NULL) {
                return NULL;
            }
            kl__node_put(edit, event, "object", object);
        }
    }
    return event;
}

size_t protobuf_frame_length(const unsigned char *head)
{
    return (size_t)head[0] << 24 | (size_t)head[1] << 16 |
           (size_t)head[2] << 8 | head[3];
}
