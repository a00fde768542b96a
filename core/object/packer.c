/*
 * packer.c - packs the objects of one collection, those of a watch when they
 * are due; gathers texts for its dictionary, makes it, and notices when it does
 * not fit any more. See pack.h.
 */
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_createCDict_advanced */
#include "object/packer.h"

#include "base/checksum.h"
#include "base/mem.h"
#include "object/identity.h"
#include "object/object.h"
#include "object/pack_context.h"

#include <stdlib.h>
#include <string.h>
#include <zdict.h>

enum { CODED = 1 }; /* ZSTD_ps_enable */

/* A frame buffer of up to this size is kept for the next object; a longer one
 * is freed. */
enum { FRAME_KEPT = 64 * 1024 };

enum {
    DICTIONARY_HEAD = 1024, /* bytes of the dictionary's statistics */
    DICTIONARY_ROOM =
        512 * 1024 /* more than the tables of a ZSTD_CDict at level 1 */
};

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

/* Stops gathering samples and drops them. */
static void forget_samples(kl__packer *self)
{
    self->gathers = false;
    kl__buf_deinit(&self->samples);
    kl__free(self->lengths);
    self->lengths = NULL;
    self->count = 0;
    kl_object_unref(self->sample);
    self->sample = NULL;
}

/* Fills `content` with samples at even distances; the last may be cut. Returns
 * the number of bytes. */
static size_t choose_content(const kl__packer *self, char *content, size_t room)
{
    size_t stride = (self->samples.length + room - 1) / room;
    const char *sample = self->samples.bytes;
    size_t used = 0;

    for (size_t i = 0; i < self->count && used < room; i++) {
        size_t length = self->lengths[i];

        if (i % stride == 0) {
            size_t part = length < room - used ? length : room - used;

            memcpy(content + used, sample, part);
            used += part;
        }
        sample += length;
    }
    return used;
}

/* True if there is memory for a ZSTD_CDict. Without it, zstd 1.5.4 follows a
 * NULL pointer when it makes one. This asks for more than zstd will, just
 * before; if another thread takes that memory meanwhile, zstd still crashes. */
static bool has_room(size_t length)
{
    void *room = kl__malloc(length + DICTIONARY_ROOM);

    kl__free(room);
    return room != NULL;
}

/* Not in zstd's stable interface: NULL if this libzstd lacks it. */
#pragma weak ZSTD_createCDict_advanced

/*
 * Makes the form of a dictionary for writing. Its search is that of level 1,
 * but where no match is found, it goes on three bytes further (targetLength).
 * Measured with zstd 1.5.4 and literals in Huffman codes (compress_text): a pod
 * takes 2.2 us, not 3.1, and 262 bytes, not 244; pods that vary take 5 % more.
 * Level -3 has shorter matches: 2.4 us, 266 bytes, and 12 % more.
 */
static ZSTD_CDict *make_writes(const char *bytes, size_t length)
{
    static const ZSTD_compressionParameters search = {.windowLog = 17,
                                                      .chainLog = 12,
                                                      .hashLog = 13,
                                                      .searchLog = 1,
                                                      .minMatch = 6,
                                                      .targetLength = 3,
                                                      .strategy = ZSTD_fast};
    const ZSTD_customMem usual = {0};

    if (ZSTD_createCDict_advanced == NULL) {
        return ZSTD_createCDict(bytes, length, KL__PACK_LEVEL);
    }
    return ZSTD_createCDict_advanced(bytes, length, ZSTD_dlm_byCopy,
                                     ZSTD_dct_auto, search, usual);
}

/* Makes the two forms of a dictionary, for reading and for writing. */
static bool adopt_dictionary(kl__packer *self, const char *bytes, size_t length)
{
    kl__dictionary *reads =
        kl__dictionary_new(bytes, length, kl_object_kind(self->sample),
                           kl_object_api_version(self->sample));
    ZSTD_CDict *writes = has_room(length) ? make_writes(bytes, length) : NULL;

    if (reads == NULL || writes == NULL) {
        kl__dictionary_unref(reads);
        ZSTD_freeCDict(writes);
        return false;
    }
    kl__dictionary_unref(self->reads);
    ZSTD_freeCDict(self->writes);
    self->reads = reads;
    self->writes = writes;
    return true;
}

/*
 * The content of a dictionary is the text of samples at even distances, and
 * zstd adds the statistics of all samples. Measured on Pods (zstd 1.5.4, 256 KB
 * of samples): packed objects are as small as with the content that ZDICT
 * chooses, and it takes 1 ms rather than 30.
 */
static bool make_dictionary(kl__packer *self)
{
    const ZDICT_params_t params = {.compressionLevel = KL__PACK_LEVEL};
    size_t room = self->samples.length / self->limits->content_share;
    char *content, *bytes;
    size_t length;
    bool is_made = false;

    room = room < KL__PACK_CONTENT ? room : KL__PACK_CONTENT;
    content = kl__malloc(room);
    bytes = kl__malloc(room + DICTIONARY_HEAD);
    if (content != NULL && bytes != NULL) {
        length = choose_content(self, content, room);
        length = ZDICT_finalizeDictionary(
            bytes, room + DICTIONARY_HEAD, content, length, self->samples.bytes,
            self->lengths, (unsigned)self->count, params);
        is_made =
            !ZDICT_isError(length) && adopt_dictionary(self, bytes, length);
    }
    kl__free(content);
    kl__free(bytes);
    return is_made;
}

/* Makes a dictionary of the samples and drops them. If that fails, the old
 * dictionary stays. */
static void train_packer(kl__packer *self)
{
    if (make_dictionary(self)) {
        self->best = 0;
        self->codes_literals = true;
    } else {
        /* Out of memory, or zstd cannot make a dictionary of these samples. */
        self->rest = self->patience;
        self->replaced = 0;
    }
    self->seen = self->plain_bytes = self->packed_bytes = 0;
    forget_samples(self);
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
        forget_samples(self);
        return;
    }
    self->lengths[self->count++] = length;
    kl_object_unref(self->sample);
    self->sample = kl_object_ref(object);
    if (self->samples.length >= self->limits->samples ||
        self->count == KL__PACK_MAX_SAMPLES) {
        train_packer(self);
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

/* Packs a young object where it is; or it stays plain. False: out of memory, or
 * a reader is in the way. Then it must be tried again later. */
static bool pack_young(kl__packer *self, kl_object *object)
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
        train_packer(self);
    } else {
        forget_samples(self);
    }
}

/* An object that could not be packed is due again after young_ms. */
static int64_t due_after(const kl__packer *self, int64_t now_ms)
{
    int64_t step = self->limits->young_step_ms;

    return (now_ms + self->limits->young_ms + step - 1) / step * step;
}

/* Packs the oldest young object. If it could not be packed, it is tried again
 * later. False: there is none. */
static bool settle_oldest(kl__packer *self, int64_t now_ms)
{
    kl_object *object = kl__young_take(&self->young);

    if (object == NULL) {
        return false;
    }
    if (kl__object_is_shared(object) && !pack_young(self, object)) {
        kl__young_put_back(&self->young, object, due_after(self, now_ms));
        return true;
    }
    kl_object_unref(object);
    return true;
}

kl_object *kl__packer_keep_young(kl__packer *self, kl_object *object,
                                 size_t crowd, int64_t now_ms)
{
    kl__young_room room;
    kl_object *young;

    if (self == NULL || self->writes == NULL || self->limits->young_ms == 0 ||
        kl_object_json_length(object) < self->limits->min_text) {
        return kl__packer_pack(self, object, crowd);
    }
    self->crowd = crowd;
    room =
        (kl__young_room){self->limits->young_slab, self->limits->young_bytes};
    young = kl__young_add(&self->young, object, due_after(self, now_ms), &room);
    if (young == NULL) {
        return kl__packer_pack(self, object, crowd);
    }
    kl_object_unref(object);
    return young;
}

/* Frees the slabs that have no text. If that was a storm, gives the memory
 * back. */
static void free_slabs(kl__packer *self)
{
    self->freed += kl__young_free_slabs(&self->young);
    if (self->freed >= KL__PACK_TRIM && self->young.bytes <= self->freed / 8) {
        self->freed = 0;
        kl__mem_trim();
    }
}

int64_t kl__packer_pack_due(kl__packer *self, int64_t now_ms, size_t most)
{
    int64_t due_ms = self != NULL ? kl__young_due(&self->young) : INT64_MAX;

    if (most == 0 || due_ms > now_ms) {
        return due_ms;
    }
    for (size_t i = 0;
         i < most && due_ms <= now_ms && settle_oldest(self, now_ms); i++) {
        due_ms = kl__young_due(&self->young);
    }
    if (due_ms > now_ms || kl__young_is_empty(&self->young)) {
        free_slabs(self);
        due_ms = kl__young_due(&self->young);
    }
    return due_ms;
}

void kl__packer_pack_all(kl__packer *self)
{
    size_t count = self != NULL ? kl__young_count(&self->young) : 0;

    for (size_t i = 0; i < count; i++) {
        (void)settle_oldest(self, self->young.last_due_ms);
    }
    if (self != NULL) {
        free_slabs(self);
    }
}

void kl__packer_free(kl__packer *self)
{
    if (self == NULL) {
        return;
    }
    kl__packer_pack_all(self); /* what a user of the cache keeps */
    kl__young_deinit(&self->young);
    forget_samples(self);
    kl__dictionary_unref(self->reads);
    ZSTD_freeCDict(self->writes);
    kl__buf_deinit(&self->frame);
    kl__free(self);
}
