/*
 * packer.c - packs the objects of one collection, gathers texts for its
 * dictionary, and notices when the dictionary does not fit any more. See
 * pack.h.
 */
#include "object/packer.h"

#include "base/checksum.h"
#include "base/mem.h"
#include "object/identity.h"
#include "object/object.h"
#include "object/pack_context.h"

#include <stdlib.h>
#include <string.h>

enum { CODED = 1 }; /* ZSTD_ps_enable */

/* A frame buffer of up to this size is kept for the next object; a longer one
 * is freed. */
enum { FRAME_KEPT = 64 * 1024 };

static const kl__pack_limits usual_limits = KL__PACK_USUAL;
const kl__pack_limits *kl__pack_limits_chosen = &usual_limits;

#ifndef NDEBUG
/* With KUBELUA_RETRAIN=1 in the environment, the specs of any build with
 * assertions have new dictionaries all the time. */
__attribute__((constructor)) static void choose_limits(void)
{
    static const kl__pack_limits always = KL__PACK_EAGER(true);

    if (getenv("KUBELUA_RETRAIN") != NULL) {
        kl__pack_limits_chosen = &always;
    }
}
#endif

kl__packer *kl__packer_new(void)
{
    kl__packer *self = kl__calloc(1, sizeof(*self));

    if (self != NULL) {
        self->limits = kl__pack_limits_chosen;
        self->patience = 1;
        kl__young_init(&self->young);
    }
    return self;
}

void kl__packer_free(kl__packer *self)
{
    if (self == NULL) {
        return;
    }
    kl__packer_pack_all(self); /* what a user of the cache keeps */
    kl__young_deinit(&self->young);
    kl__packer_forget_samples(self);
    kl__dictionary_unref(self->reads);
    ZSTD_freeCDict(self->writes);
    kl__buf_deinit(&self->frame);
    kl__free(self);
}

static void gather_text(kl__packer *self, const kl_object *object,
                        const kl__slice *text)
{
    size_t length = text->length < KL__PACK_SAMPLE_LENGTH
                        ? text->length
                        : KL__PACK_SAMPLE_LENGTH;

    if (self->lengths == NULL) {
        self->lengths = kl__calloc(KL__PACK_MAX_SAMPLES, sizeof(size_t));
    }
    kl__buf_append(&self->samples, text->bytes, length);
    if (self->lengths == NULL || self->samples.failed) {
        kl__packer_forget_samples(self);
        return;
    }
    self->lengths[self->count++] = length;
    kl_object_unref(self->sample);
    self->sample = kl_object_ref(object);
    if (self->samples.length >= self->limits->samples ||
        self->count == KL__PACK_MAX_SAMPLES) {
        kl__packer_train(self);
    }
}

/* Adds the text to the samples for the next dictionary, if they are gathered.
 * Without a dictionary, gathering begins when the cache is large enough. */
static void gather_if_due(kl__packer *self, const kl_object *object,
                          const kl__slice *text, size_t crowd)
{
    if (self->writes == NULL && self->rest == 0 && crowd > 0 &&
        text->length >= self->limits->min_crowd / crowd) {
        self->gathers = true;
    }
    if (self->gathers && crowd > 0) {
        gather_text(self, object, text);
    }
}

/* Call when a window is full. If the packed size has grown by half since the
 * dictionary was new, starts to gather samples for a new one. */
static void judge_window(kl__packer *self)
{
    size_t share =
        (size_t)((uint64_t)self->packed_bytes * 1024 / (self->plain_bytes + 1));
    bool is_first = self->best == 0;

    self->seen = self->plain_bytes = self->packed_bytes = 0;
    if (self->rest > 0) {
        self->rest--;
        return;
    }
    if (self->writes == NULL) {
        return;
    }
    if (is_first && self->codes_literals && share < KL__PACK_DENSE) {
        self->codes_literals = false;
        return; /* `best` is measured in the next window */
    }
    if (is_first && self->replaced != 0) {
        /* If a new dictionary is hardly better, the next check comes later. */
        bool is_better = share < self->replaced - self->replaced / 8;

        self->patience = is_better ? 1 : self->patience * 2;
        if (self->patience > KL__PACK_PATIENCE) {
            self->patience = KL__PACK_PATIENCE;
        }
        self->rest = is_better ? 0 : self->patience;
    }
    if (is_first || share < self->best) {
        self->best = share > 0 ? share : 1;
    }
    if (self->limits->retrains) {
        self->rest = 0;
        self->gathers = true;
    } else if (share > self->best + self->best / 2 + 32) {
        self->replaced = share;
        self->gathers = true;
    }
}

/* Compresses a text into the packer's frame, and appends its checksum. False:
 * it stays plain. */
static bool compress_text(kl__packer *self, const kl__slice *text)
{
    /* Packing that saves less than an eighth is not worth the time. */
    size_t room = text->length - text->length / 8;
    ZSTD_CCtx *context;
    uint32_t checksum;
    size_t length;

    kl__buf_reset(&self->frame);
    if (kl__buf_reserve(&self->frame, room + sizeof(checksum)) == NULL) {
        kl__buf_deinit(&self->frame); /* clears `failed` */
        return false;
    }
    context = kl__pack_context_take();
    if (context == NULL) {
        return false;
    }
    if (self->codes_literals) {
        /* ZSTD_c_literalCompressionMode: a fast search leaves literals uncoded.
         * A zstd that does not know the parameter makes larger frames. */
        (void)ZSTD_CCtx_setParameter(context, ZSTD_c_experimentalParam5, CODED);
    }
    length = ZSTD_CCtx_setParameter(context, ZSTD_c_dictIDFlag, 0);
    if (!ZSTD_isError(length)) {
        length = ZSTD_CCtx_refCDict(context, self->writes);
    }
    if (!ZSTD_isError(length)) {
        length = ZSTD_compress2(context, self->frame.bytes, room, text->bytes,
                                text->length);
    }
    kl__pack_context_give(context);
    if (ZSTD_isError(length)) {
        return false;
    }
    checksum = kl__checksum(text->bytes, text->length);
    memcpy(self->frame.bytes + length, &checksum, sizeof(checksum));
    self->frame.length = length + sizeof(checksum);
    return true;
}

/* Compresses an object's text, and counts it for the ratio. The result is valid
 * until release_frame; no frame: it stays plain. */
static kl__packed make_frame(kl__packer *self, const kl__slice *text)
{
    bool is_small = compress_text(self, text);

    self->plain_bytes += text->length;
    self->packed_bytes += is_small ? self->frame.length : text->length;
    return is_small ? (kl__packed){self->reads, self->frame.bytes,
                                   self->frame.length, text->length}
                    : (kl__packed){0};
}

static void release_frame(kl__packer *self)
{
    if (self->frame.capacity > FRAME_KEPT) {
        kl__buf_deinit(&self->frame);
    }
    if (++self->seen >= self->limits->window) {
        judge_window(self);
    }
}

bool kl__packer_pack_young(kl__packer *self, kl_object *object)
{
    kl__packed packed;
    kl__slice text;
    bool is_done;

    text.bytes = kl_object_json(object, &text.length, NULL);
    gather_if_due(self, object, &text, self->crowd);
    packed = make_frame(self, &text);
    is_done = packed.frame != NULL ? kl__object_pack(object, &packed)
                                   : kl__object_leave_slab(object);
    kl_object_close_json(object);
    release_frame(self);
    return is_done;
}

kl_object *kl__packer_pack(kl__packer *self, kl_object *object, size_t crowd)
{
    kl__packed packed = {0};
    kl_object *copy = NULL;
    kl__slice text;

    if (self == NULL || kl__object_is_packed(object) ||
        kl_object_json_length(object) < self->limits->min_text) {
        return object;
    }
    text.bytes = kl_object_json(object, &text.length, NULL);
    gather_if_due(self, object, &text, crowd);
    if (self->writes != NULL) {
        packed = make_frame(self, &text);
    }
    if (packed.frame != NULL) {
        copy = kl__object_copy_packed(object, &packed);
    }
    kl_object_close_json(object);
    release_frame(self);
    if (copy == NULL) {
        return object;
    }
    kl_object_unref(object);
    return copy;
}

void kl__packer_end_list(kl__packer *self)
{
    if (self == NULL || self->writes != NULL) {
        return;
    }
    if (self->samples.length >= self->limits->min_samples) {
        kl__packer_train(self);
    } else {
        kl__packer_forget_samples(self);
    }
}
