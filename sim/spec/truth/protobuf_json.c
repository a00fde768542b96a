/*
 * protobuf_json.c - answers in protobuf as JSON, for the truth suite: what is
 * on standard input, one line for an object, one for each event of a watch.
 * Exit status 1, with what is wrong, where it is no such thing.
 */
#include "base/buf.h"
#include "base/mem.h"
#include "sim/core/schema/schema.h"

#include "protobuf_reader.h"

#include <stdio.h>
#include <string.h>

static int fail(const kl_error *err)
{
    printf("no protobuf: %s\n", err->message);
    return 1;
}

static int print(kl__edit *edit, const kl__node *node, kl_error *err)
{
    char *json = node != NULL ? kl__node_json(node, NULL, err) : NULL;

    if (json != NULL) {
        puts(json);
    }
    kl__free(json);
    kl__edit_free(edit);
    return json != NULL ? 0 : fail(err);
}

static int print_events(kl__wire wire)
{
    kl_error err = {0};
    int status = 0;

    while (status == 0 && wire.end - wire.at >= PROTOBUF_FRAME_HEAD) {
        size_t length = protobuf_frame_length(wire.at);
        kl__edit *edit = kl__edit_new(&err);

        wire.at += PROTOBUF_FRAME_HEAD;
        if ((size_t)(wire.end - wire.at) < length) {
            kl_error_set(&err, KL_EPARSE, "half a frame");
            kl__edit_free(edit);
            return fail(&err);
        }
        status = print(
            edit, protobuf_read_event(edit, kl__wire_of(wire.at, length), &err),
            &err);
        wire.at += length;
    }
    return status;
}

int main(int count, char **arguments)
{
    const bool is_watch = count > 1 && strcmp(arguments[1], "watch") == 0;
    kl__buf all = {0};
    kl_error err = {0};
    char bytes[4096];
    size_t length;
    kl__wire wire;
    kl__edit *edit;
    int status;

    while ((length = fread(bytes, 1, sizeof(bytes), stdin)) != 0) {
        kl__buf_append(&all, bytes, length);
    }
    wire = kl__wire_of(all.bytes, all.length);
    if (is_watch) {
        status = print_events(wire);
    } else {
        edit = kl__edit_new(&err);
        status = print(edit, protobuf_read_object(edit, wire, &err), &err);
    }
    kl__buf_deinit(&all);
    kl__schema_release();
    return status;
}
