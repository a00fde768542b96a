/*
 * packer_train.c - makes a dictionary. Its content is the text of samples at
 * even distances, and zstd adds the statistics of all samples. Measured on Pods
 * (zstd 1.5.4, 256 KB of samples): packed objects are as small as with the
 * content that ZDICT chooses, and it takes 1 ms rather than 30.
 */
#include "object/packer.h"

#include "base/mem.h"

#include <string.h>
#include <zdict.h>

enum {
    HEAD = 1024,      /* bytes of the dictionary's statistics */
    ROOM = 512 * 1024 /* more than the tables of a ZSTD_CDict at level 1 */
};

void kl__packer_forget_samples(kl__packer *self)
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

/* True if there is memory for a ZSTD_CDict. Without it, ZSTD_createCDict of
 * zstd 1.5.4 follows a NULL pointer. This asks for more than zstd will, just
 * before; if another thread takes that memory meanwhile, zstd still crashes. */
static bool has_room(size_t length)
{
    void *room = kl__malloc(length + ROOM);

    kl__free(room);
    return room != NULL;
}

/* Makes the two forms of a dictionary, for reading and for writing. */
static bool adopt_dictionary(kl__packer *self, const char *bytes, size_t length)
{
    kl__dictionary *reads = kl__dictionary_new(bytes, length, self->sample);
    ZSTD_CDict *writes = has_room(length)
                             ? ZSTD_createCDict(bytes, length, KL__PACK_LEVEL)
                             : NULL;

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

static bool make_dictionary(kl__packer *self)
{
    const ZDICT_params_t params = {.compressionLevel = KL__PACK_LEVEL};
    size_t room = self->samples.length / self->limits->content_share;
    char *content, *bytes;
    size_t length;
    bool is_made = false;

    room = room < KL__PACK_CONTENT ? room : KL__PACK_CONTENT;
    content = kl__malloc(room);
    bytes = kl__malloc(room + HEAD);
    if (content != NULL && bytes != NULL) {
        length = choose_content(self, content, room);
        length = ZDICT_finalizeDictionary(bytes, room + HEAD, content, length,
                                          self->samples.bytes, self->lengths,
                                          (unsigned)self->count, params);
        is_made =
            !ZDICT_isError(length) && adopt_dictionary(self, bytes, length);
    }
    kl__free(content);
    kl__free(bytes);
    return is_made;
}

void kl__packer_train(kl__packer *self)
{
    if (make_dictionary(self)) {
        self->best = 0;
    } else {
        /* Out of memory, or zstd cannot make a dictionary of these samples. */
        self->rest = self->patience;
        self->replaced = 0;
    }
    self->seen = self->plain_bytes = self->packed_bytes = 0;
    kl__packer_forget_samples(self);
}
