/*
 * curl_transport.c - makes, closes and frees a transport over libcurl, opens
 * streams, and sends commands to the loop.
 */
#include "http/curl_loop.h"

#include "base/mem.h"

enum {
    MOST_STREAMS = 10000,
    NUDGED_UNTIL = 0x080100, /* libcurl 8.1: see nudge_all in curl_loop.c */
    /* libcurl 7.87. Before, the end of a transfer waits for its DNS server: see
     * CURLOPT_QUICK_EXIT in curl_setup.c. The others would wait, too. */
    SHARES_FROM = 0x075700
};

static const kl__transport_ops ops;

static kl_code start_loop(kl__curl_transport *transport, bool shares_thread,
                          kl_error *err)
{
    transport->carried.run = kl__curl_carried_turn;
    transport->carried.arg = transport;
    return shares_thread ? kl__carrier_join(&transport->carried, err)
                         : kl__thread_start(&transport->thread, "kl-transport",
                                            kl__curl_loop, transport, err);
}

kl_transport *kl__curl_transport_new(bool shares_thread, kl_error *err)
{
    kl__curl_transport *transport;
    unsigned version;

    if (kl__curl_load(err) != KL_OK) {
        return NULL;
    }
    transport = kl__calloc(1, sizeof(*transport));
    if (transport == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a transport");
        return NULL;
    }
    transport->base.ops = &ops;
    transport->made_in = kl__process_here();
    atomic_init(&transport->base.refs, 1);
    kl__mutex_init(&transport->mutex, KL__RANK_TRANSPORT);
    kl__mutex_init(&transport->wake_mutex, KL__RANK_TRANSPORT);
    kl__list_init(&transport->inbox);
    kl__list_init(&transport->streams);
    kl__list_init(&transport->news);
    kl__list_init(&transport->waiting);
    kl__list_init(&transport->gathering);
    for (int i = 0; i < KL__CURL_SOCKETS; i++) {
        transport->sockets[i] = -1;
    }
    /* Once: curl_version_info writes the versions of eight libraries. */
    version = curl_version_info(CURLVERSION_NOW)->version_num;
    transport->is_nudged = version < NUDGED_UNTIL;
    transport->multi = curl_multi_init();
    /* If no descriptors are left, curl_multi_init succeeds without the ones for
     * wake-ups, and the loop would notice a request only when its poll times
     * out. So check that a wake-up works. */
    if (transport->multi == NULL ||
        curl_multi_wakeup(transport->multi) != CURLM_OK) {
        kl_error_set(err, KL_EIO,
                     "cannot create a curl multi handle: out of memory, or of "
                     "descriptors (ulimit -n)");
        goto fail;
    }
    /* As many streams on a connection as the server allows. By default, libcurl
     * opens another connection after 100. */
    (void)curl_multi_setopt(transport->multi, CURLMOPT_MAX_CONCURRENT_STREAMS,
                            (long)MOST_STREAMS);
    /* Since 8.20 the multi handle owns the resolver's threads. Without this,
     * curl_multi_cleanup waits for a DNS server that does not answer, and with
     * it all clients of a shared thread: see KL__CURL_QUICK_EXIT. */
    (void)curl_multi_setopt(transport->multi,
                            (CURLMoption)KL__CURL_MULTI_QUICK_EXIT, 1L);
    if (start_loop(transport, shares_thread && version >= SHARES_FROM, err) !=
        KL_OK) {
        goto fail;
    }
    return &transport->base;

fail:
    curl_multi_cleanup(transport->multi);
    kl__mutex_deinit(&transport->wake_mutex);
    kl__mutex_deinit(&transport->mutex);
    kl__free(transport);
    return NULL;
}

/* True if the loop sleeps: the caller unlocks the mutex and calls wake_loop. */
static bool must_wake_locked(kl__curl_transport *transport)
{
    bool was_asleep = transport->is_asleep;

    transport->is_asleep = false;
    return was_asleep;
}

/* Wakes the loop. Call it with `mutex` unlocked: a loop that wakes while the
 * mutex is held would only wait again. */
static void wake_loop(kl__curl_transport *transport)
{
    if (transport->carried.carrier != NULL) {
        kl__carrier_wake(&transport->carried);
        return;
    }
    kl__mutex_lock(&transport->wake_mutex);
    if (!transport->is_over) {
        curl_multi_wakeup(transport->multi);
    }
    kl__mutex_unlock(&transport->wake_mutex);
}

/* While the transport is closing, the loop still carries out commands; only new
 * transfers are refused. */
bool kl__curl_post(kl__curl_stream *stream, unsigned command)
{
    kl__curl_transport *transport = stream->transport;
    bool accepted, must_wake = false;

    kl__mutex_lock(&transport->mutex);
    accepted =
        command == KL__CURL_ADD ? !transport->closing : !transport->stopped;
    if (accepted) {
        if (stream->commands == 0) {
            kl__list_append(&transport->inbox, &stream->inbox_node);
        }
        stream->commands |= command;
        must_wake = must_wake_locked(transport);
    }
    kl__mutex_unlock(&transport->mutex);
    /* From here on the loop may have freed the stream. The transport stays: the
     * caller has a reference. */
    if (must_wake) {
        wake_loop(transport);
    }
    return accepted;
}

void kl__curl_take_back(kl__curl_stream *stream)
{
    kl__curl_transport *transport = stream->transport;

    kl__mutex_lock(&transport->mutex);
    kl__list_remove(&stream->inbox_node);
    kl__mutex_unlock(&transport->mutex);
}

static kl__stream *transport_open(kl_transport *base,
                                  const kl__request *request, kl_error *err)
{
    kl__curl_transport *transport = (kl__curl_transport *)base;
    kl__curl_stream *stream;
    kl_error failure;
    kl_code code;

    if (kl__check_process(transport->made_in, err) != KL_OK) {
        return NULL;
    }
    stream = kl__curl_stream_new(transport, request);
    if (stream == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a request");
        return NULL;
    }
    code = kl__curl_setup(stream, request, &failure);
    if (code == KL_ENOMEM) {
        if (err != NULL) {
            *err = failure;
        }
        goto fail;
    }
    if (code != KL_OK) {
        kl__curl_stream_finish(stream, &failure); /* for the reader */
    }
    if (!kl__curl_post(stream, KL__CURL_ADD)) {
        kl_error_set(err, KL_ECLOSED, "the connection was closed");
        goto fail;
    }
    kl__transport_ref(base);
    kl__live_add(KL_LIVE_STREAM, 1);
    return &stream->base;

fail:
    kl__curl_stream_free(stream);
    return NULL;
}

static void transport_close(kl_transport *base)
{
    kl__curl_transport *transport = (kl__curl_transport *)base;
    bool must_wake;

    if (kl__check_process(transport->made_in, NULL) != KL_OK) {
        return; /* in a child of fork() the thread does not exist */
    }
    kl__mutex_lock(&transport->mutex);
    transport->closing = true;
    must_wake = must_wake_locked(transport);
    kl__mutex_unlock(&transport->mutex);
    if (must_wake) {
        wake_loop(transport);
    }
}

/* Called by the last unref. Each stream holds a reference, so no stream is
 * left. It must not run on the transport thread, which cannot join itself. The
 * loop holds no reference; and while a hook's `end` closes a stream on that
 * thread, the client of the request holds one. */
static void transport_free(kl_transport *base)
{
    kl__curl_transport *transport = (kl__curl_transport *)base;

    if (kl__check_process(transport->made_in, NULL) != KL_OK) {
        return;
    }
    transport_close(base);
    if (transport->carried.carrier != NULL) {
        kl__carrier_leave(&transport->carried);
    } else {
        kl__thread_join(&transport->thread);
    }
    kl__mutex_deinit(&transport->wake_mutex);
    kl__mutex_deinit(&transport->mutex);
    kl__free(transport);
}

static const kl__transport_ops ops = {transport_open, transport_close,
                                      transport_free};
