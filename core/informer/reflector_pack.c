/*
 * reflector_pack.c - when a reflector packs the objects that a watch brings: at
 * the end of their youth (object/pack.h), while it waits. See
 * reflector_machine.h.
 */
#include "informer/reflector_machine.h"

/* Objects that are packed before the next look for an event: they take some
 * 50 us. */
enum { PACKED_AT_ONCE = 16 };

kl_object *kl__reflector_keep_young(kl__reflector *self, kl_object *object)
{
    size_t crowd;

    if (self->packer == NULL) {
        return object;
    }
    crowd = self->options.known != NULL ? kl__indexer_count(self->options.known)
                                        : 0;
    return kl__packer_keep_young(self->packer, object, crowd,
                                 kl__reflector_now(self));
}

/* Packs at most `most` objects that are due. */
static int64_t pack_some(kl__reflector *self, int64_t rest_ms, size_t most)
{
    int64_t now_ms, left_ms;

    if (self->packer == NULL) {
        return rest_ms;
    }
    now_ms = kl__reflector_now(self);
    left_ms = kl__packer_pack_due(self->packer, now_ms, most);
    if (left_ms == INT64_MAX) {
        return rest_ms;
    }
    left_ms = left_ms > now_ms ? left_ms - now_ms : 0;
    return rest_ms < 0 || left_ms < rest_ms ? left_ms : rest_ms;
}

int64_t kl__reflector_pack_due(kl__reflector *self, int64_t rest_ms)
{
    return pack_some(self, rest_ms, PACKED_AT_ONCE);
}

int64_t kl__reflector_until_due(kl__reflector *self, int64_t rest_ms)
{
    return pack_some(self, rest_ms, 0);
}
