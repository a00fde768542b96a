/*
 * transport.c - sends each call to the kind of transport or stream that it is
 * for. The kinds: curl_transport.c, and the simulator's.
 */
#include "http/transport.h"

kl_transport *kl__transport_ref(kl_transport *transport)
{
    atomic_fetch_add_explicit(&transport->refs, 1, memory_order_relaxed);
    return transport;
}

void kl_transport_unref(kl_transport *transport)
{
    if (transport != NULL &&
        atomic_fetch_sub_explicit(&transport->refs, 1, memory_order_acq_rel) ==
            1) {
        transport->ops->free(transport);
    }
}

void kl__transport_close(kl_transport *transport)
{
    transport->ops->close(transport);
}

kl__stream *kl__transport_open(kl_transport *transport,
                               const kl__request *request, kl_error *err)
{
    return transport->ops->open(transport, request, err);
}

kl_code kl__stream_response(kl__stream *stream, kl__response *response,
                            int64_t deadline_ms, kl__cancel *cancel,
                            kl_error *err)
{
    return stream->ops->response(stream, response, deadline_ms, cancel, err);
}

kl_code kl__stream_read(kl__stream *stream, char *buffer, size_t size,
                        size_t *length, int64_t deadline_ms, kl__cancel *cancel,
                        kl_error *err)
{
    return stream->ops->read(stream, buffer, size, length, deadline_ms, cancel,
                             err);
}

int64_t kl__stream_last_byte_ms(const kl__stream *stream)
{
    return stream->ops->last_byte_ms(stream);
}

void kl__stream_close(kl__stream *stream)
{
    if (stream != NULL) {
        stream->ops->close(stream);
    }
}
