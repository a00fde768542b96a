/*
 * curl_buffers.c - the buffers of a stream: the loop fills `arrived`, and the
 * reader takes it, counts what it reads, has a paused transfer resumed, and
 * frees the memory of an idle stream.
 */
#include "http/curl_loop.h"

enum { SPARE_MEMORY = 64 * 1024 /* memory that an idle buffer may keep */ };

/* ---- room for more bytes ---- */

/* True if the transfer is paused and at most half of the window is unread. */
static bool should_resume(kl__curl_stream *stream)
{
    return atomic_load(&stream->paused) &&
           atomic_load(&stream->unread) <= stream->window / 2;
}

bool kl__curl_swap_arrived_locked(kl__curl_stream *stream)
{
    kl__buf empty = stream->taken;

    if (stream->arrived.length == 0 || kl__curl_is_closed(stream)) {
        return false;
    }
    stream->taken = stream->arrived;
    stream->arrived = empty;
    return true;
}

/* Resumes a transfer that was paused, if there is room. With `swaps`, also
 * takes the bytes that have arrived, and returns true if there are any. */
static bool make_room(kl__curl_stream *stream, bool swaps)
{
    bool resume, has_taken;

    kl__mutex_lock(&stream->mutex);
    resume = should_resume(stream);
    if (resume) {
        atomic_store(&stream->paused, false);
    }
    has_taken = swaps && kl__curl_swap_arrived_locked(stream);
    kl__mutex_unlock(&stream->mutex);
    if (resume) {
        kl__curl_post(stream, KL__CURL_RESUME);
    }
    return has_taken;
}

bool kl__curl_take_arrived(kl__curl_stream *stream)
{
    return make_room(stream, true);
}

void kl__curl_note_read(kl__curl_stream *stream, size_t length)
{
    stream->taken_used += length;
    atomic_fetch_sub(&stream->unread, length);
    if (should_resume(stream)) {
        (void)make_room(stream, false);
    }
}

/* ---- memory ---- */

static void trim_buf(kl__buf *buf)
{
    if (buf->length == 0 && buf->capacity > SPARE_MEMORY) {
        kl__buf_deinit(buf);
    }
}

bool kl__curl_has_much_memory(kl__curl_stream *stream)
{
    bool has_much;

    kl__mutex_lock(&stream->mutex);
    has_much = stream->taken.capacity > SPARE_MEMORY ||
               stream->arrived.capacity > SPARE_MEMORY;
    kl__mutex_unlock(&stream->mutex);
    return has_much;
}

void kl__curl_trim_buffers(kl__curl_stream *stream)
{
    kl__mutex_lock(&stream->mutex);
    trim_buf(&stream->taken);
    trim_buf(&stream->arrived);
    kl__mutex_unlock(&stream->mutex);
}
