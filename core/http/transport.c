/*
 * transport.c - the reference count of a transport.
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
