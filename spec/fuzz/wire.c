/*
 * wire.c - see wire.h. It uses one thread, never blocks, and reads no clock.
 */
#include "wire.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

typedef struct wire_stream {
    kl__stream base;
    kl_transport *transport; /* a reference */
    int status;
    char *body;
    size_t length;
    size_t at;
    bool breaks;
    fuzz_chunks chunks;
} wire_stream;

static kl_code response(kl__stream *base, kl__response *out,
                        int64_t deadline_ms, kl__cancel *cancel, kl_error *err)
{
    const wire_stream *self = (const wire_stream *)base;

    (void)deadline_ms;
    (void)cancel;
    (void)err;
    *out = (kl__response){.status = self->status,
                          .retry_after_ms = -1,
                          .content_type = "application/json"};
    return KL_OK;
}

static kl_code read_stream(kl__stream *base, char *buffer, size_t size,
                           size_t *length, int64_t deadline_ms,
                           kl__cancel *cancel, kl_error *err)
{
    wire_stream *self = (wire_stream *)base;
    size_t left = self->length - self->at;

    (void)deadline_ms;
    (void)cancel;
    *length = 0;
    if (left == 0) {
        return self->breaks ? kl_error_set(err, KL_EUNAVAILABLE, "it broke")
                            : KL_OK;
    }
    *length = fuzz_chunk(&self->chunks, left);
    *length = *length < size ? *length : size;
    memcpy(buffer, self->body + self->at, *length);
    self->at += *length;
    return KL_OK;
}

static int64_t last_byte_ms(const kl__stream *base)
{
    (void)base;
    return 0;
}

static bool set_hook(kl__stream *base, const kl__stream_hook *hook)
{
    (void)base;
    (void)hook;
    return true; /* all has arrived */
}

static void close_stream(kl__stream *base)
{
    wire_stream *self = (wire_stream *)base;

    kl_transport_unref(self->transport);
    free(self->body);
    free(self);
    kl__live_add(KL_LIVE_STREAM, -1);
}

static const kl__stream_ops stream_ops = {.response = response,
                                          .read = read_stream,
                                          .last_byte_ms = last_byte_ms,
                                          .close = close_stream,
                                          .set_hook = set_hook};

static kl__stream *open_stream(kl_transport *base, const kl__request *request,
                               kl_error *err)
{
    fuzz_wire *wire = (fuzz_wire *)base;
    fuzz_text path = {request->target, strcspn(request->target, "?")};
    wire_stream *self = calloc(1, sizeof(*self));

    (void)err;
    self->base.ops = &stream_ops;
    self->transport = kl__transport_ref(base);
    self->status = 404;
    self->chunks.pattern = wire->pattern;
    for (size_t i = 0; i < wire->count; i++) {
        if (!wire->used[i] && wire->targets[i].length == path.length &&
            memcmp(wire->targets[i].bytes, path.bytes, path.length) == 0) {
            wire->used[i] = true;
            self->status = wire->statuses[i];
            self->breaks = wire->breaks[i];
            self->body = fuzz_block(wire->bodies[i]);
            self->length = wire->bodies[i].length;
            break;
        }
    }
    kl__live_add(KL_LIVE_STREAM, 1);
    return &self->base;
}

static void nothing(kl_transport *base)
{
    (void)base;
}

static const kl__transport_ops transport_ops = {open_stream, nothing, nothing};

void fuzz_wire_add(fuzz_wire *wire, fuzz_text answers)
{
    while (answers.length > 0 && wire->count < FUZZ_MOST_ANSWERS) {
        fuzz_text body = fuzz_part(&answers, "--");
        fuzz_text line = fuzz_line(&body);
        char *words = fuzz_string(line);
        size_t target = strcspn(words, " ");
        size_t i = wire->count++;

        wire->targets[i] = (fuzz_text){line.bytes, target};
        wire->bodies[i] = body;
        wire->statuses[i] = (int)(strtoul(words + target, NULL, 10) % 600);
        if (wire->statuses[i] < 200) {
            wire->statuses[i] = 200;
        }
        wire->breaks[i] = strstr(words, "break") != NULL;
        free(words);
    }
}

void fuzz_wire_init(fuzz_wire *wire, fuzz_text answers, fuzz_text pattern)
{
    *wire = (fuzz_wire){.pattern = pattern};
    wire->base.ops = &transport_ops;
    atomic_init(&wire->base.refs, 1);
    fuzz_wire_add(wire, answers);
}
