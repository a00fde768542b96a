/*
 * sim_frames.c - see sim_frames.h.
 */
#include "sim/core/answer/sim_frames.h"

#include "base/mem.h"
#include "sim/core/schema/protobuf_write.h"
#include "sim/core/schema/schema_protobuf.h"
#include "sim/core/answer/sim_message.h"

#include <stdlib.h>
#include <string.h>

enum {
    UNCLOSED_BYTES = 2, /* an unclosed frame lacks so many bytes */
    /* the highest field number of protobuf, which no message uses */
    LAST_FIELD = 0x1fffffff
};

typedef struct line {
    const char *text;
    size_t length;
} line;

static kl_code frame_out_of_memory(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for a watch");
}

/* Cuts the fault off the start of a line and returns it; 0: none. */
static int take_fault(line *from)
{
    int fault = from->length != 0 ? from->text[0] : 0;

    if (fault < KL__SIM_FRAME_BROKEN || fault > KL__SIM_FRAME_PADDED) {
        return 0;
    }
    from->text++;
    from->length--;
    return fault;
}

static size_t take_padding(line *from)
{
    char *end = NULL;
    size_t bytes = (size_t)strtoull(from->text, &end, 10);

    from->length -= (size_t)(end - from->text);
    from->text = end;
    return bytes;
}

/* Appends `bytes` bytes in an unknown field, which every decoder skips. */
static void pad_frame(kl__buf *out, size_t bytes)
{
    char *room;

    kl__wire_put_head(out, LAST_FIELD, bytes);
    room = kl__buf_reserve(out, bytes);
    if (room != NULL) {
        memset(room, 'x', bytes);
        out->length += bytes;
    }
}

/* Appends the WatchEvent of a line. */
static kl_code put_event(const line *from, kl__buf *out, kl_error *err)
{
    kl_doc *doc = kl_doc_parse(from->text, from->length, err);
    const kl_value *root, *object;
    const char *type;
    size_t raw, extension;
    kl_code code = KL_OK;

    if (doc == NULL) {
        return KL_ENOMEM;
    }
    root = kl_doc_root(doc);
    object = kl_value_get(root, "object");
    type = kl_value_string(kl_value_get(root, "type"), NULL);
    kl__wire_put_text(out, 1, type != NULL ? type : "");
    extension = kl__wire_begin(out, 2);
    if (kl_value_type(object) == KL_OBJECT) {
        raw = kl__wire_begin(out, 1);
        code = kl__sim_message_put(object, out, err);
        kl__wire_end(out, raw);
    }
    kl__wire_end(out, extension);
    kl_doc_unref(doc);
    return code;
}

/* Notes that an event ends here. */
static void mark_end(kl__sim_answer *answer)
{
    kl__sim_frames *frames = &answer->frames;

    if (frames->count == frames->capacity) {
        size_t capacity = frames->capacity != 0 ? frames->capacity * 2 : 64;
        size_t *ends = kl__realloc(frames->ends, capacity * sizeof(*ends));

        if (ends == NULL) {
            answer->out.failed = true;
            return;
        }
        frames->ends = ends;
        frames->capacity = capacity;
    }
    frames->ends[frames->count++] = answer->out.length;
}

static void break_envelope(kl__buf *event)
{
    for (size_t at = 0; at + sizeof(KL__PROTOBUF_MAGIC) <= event->length;
         at++) {
        if (memcmp(event->bytes + at, KL__PROTOBUF_MAGIC,
                   sizeof(KL__PROTOBUF_MAGIC)) == 0) {
            event->bytes[at] = 'K';
            return;
        }
    }
}

/* Writes the content of a line's frame. */
static kl_code put_content(line from, int fault, kl__buf *event, kl_error *err)
{
    size_t padding = fault == KL__SIM_FRAME_PADDED ? take_padding(&from) : 0;
    kl_code code;

    if (fault == KL__SIM_FRAME_RAW) {
        kl__buf_append(event, from.text, from.length);
        return KL_OK;
    }
    code = put_event(&from, event, err);
    if (padding != 0) {
        pad_frame(event, padding);
    }
    if (code == KL_OK && !event->failed && fault == KL__SIM_FRAME_BROKEN) {
        break_envelope(event);
    }
    return code;
}

static kl_code put_frame(kl__sim_answer *answer, line from, kl_error *err)
{
    const int fault = take_fault(&from);
    kl__buf event = {0};
    kl_code code = put_content(from, fault, &event, err);
    const size_t length = event.length;
    size_t most = length;

    for (int shift = 24; shift >= 0; shift -= 8) {
        kl__buf_putc(&answer->out, (char)(length >> shift));
    }
    if (fault == KL__SIM_FRAME_HALF) {
        most /= 2;
    } else if (fault == KL__SIM_FRAME_UNCLOSED && most > UNCLOSED_BYTES) {
        most -= UNCLOSED_BYTES;
    }
    kl__buf_append(&answer->out, event.bytes, most);
    answer->out.failed = answer->out.failed || event.failed;
    kl__buf_deinit(&event);
    mark_end(answer);
    return code;
}

bool kl__sim_frames_are_due(const kl__sim_answer *answer)
{
    return answer->form.encoding == KL__SIM_PROTOBUF &&
           answer->watch.resource != NULL &&
           answer->frames.made < answer->out.length;
}

kl_code kl__sim_frames_make(kl__sim_answer *answer, kl_error *err)
{
    kl__buf *out = &answer->out;
    kl__buf lines = {0};
    kl_code code = KL_OK;

    kl__buf_append(&lines, out->bytes + answer->frames.made,
                   out->length - answer->frames.made);
    out->length = answer->frames.made;
    for (size_t at = 0; code == KL_OK && at < lines.length;) {
        const char *begin = lines.bytes + at;
        const char *end = memchr(begin, '\n', lines.length - at);
        size_t length = end != NULL ? (size_t)(end - begin) : lines.length - at;

        code = put_frame(answer, (line){begin, length}, err);
        at += length + 1;
    }
    answer->frames.made = out->length;
    if (code == KL_OK && (lines.failed || out->failed)) {
        code = frame_out_of_memory(err);
    }
    kl__buf_deinit(&lines);
    return code;
}

void kl__sim_frames_forget(kl__sim_answer *answer)
{
    answer->frames.made = answer->frames.count = 0;
}

/* Where the first event after `from` ends; without one, where the ready bytes
 * end. */
static size_t next_end(const kl__sim_answer *answer, size_t from)
{
    const kl__sim_frames *frames = &answer->frames;
    const kl__buf *out = &answer->out;
    const char *end = NULL;

    if (answer->form.encoding == KL__SIM_PROTOBUF) {
        for (size_t i = 0; i < frames->count; i++) {
            if (frames->ends[i] > from) {
                return frames->ends[i];
            }
        }
    } else {
        end = memchr(out->bytes + from, '\n', out->length - from);
    }
    return end != NULL ? (size_t)(end - out->bytes) + 1 : out->length;
}

size_t kl__sim_events_reach(const kl__sim_answer *answer, int64_t events)
{
    size_t at = answer->out_at;

    while (events > 0 && at < answer->out.length) {
        at = next_end(answer, at);
        events--;
    }
    return at > answer->out_at ? at - answer->out_at : SIZE_MAX;
}

int64_t kl__sim_events_sent(const kl__sim_answer *answer, size_t length)
{
    const size_t to = answer->out_at, from = to - length;
    int64_t events = 0;

    if (answer->form.encoding == KL__SIM_PROTOBUF) {
        for (size_t i = 0; i < answer->frames.count; i++) {
            const size_t end = answer->frames.ends[i];

            events += end > from && end <= to;
        }
    } else {
        for (size_t i = from; i < to; i++) {
            events += answer->out.bytes[i] == '\n';
        }
    }
    return events;
}
