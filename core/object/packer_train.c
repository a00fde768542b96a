/*
 * packer_train.c - makes a dictionary. Its content is the text of samples at
 * even distances, and zstd adds the statistics of all samples. Measured on Pods
 * (zstd 1.5.4, 256 KB of samples): packed objects are as small as with the
 * content that ZDICT chooses, and it takes 1 ms rather than 30.
 */
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_createCDict_advanced */
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

/* True if there is memory for a ZSTD_CDict. Without it, zstd 1.5.4 follows a
 * NULL pointer when it makes one. This asks for more than zstd will, just
 * before; if another thread takes that memory meanwhile, zstd still crashes. */
static bool has_room(size_t length)
{
    void *room = kl__malloc(length + ROOM);

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
    kl__dictionary *reads = kl__dictionary_new(bytes, length, self->sample);
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
        self->codes_literals = true;
    } else {
        /* Out of memory, or zstd cannot make a dictionary of these samples. */
        self->rest = self->patience;
        self->replaced = 0;
    }
    self->seen = self->plain_bytes = self->packed_bytes = 0;
    kl__packer_forget_samples(self);
}
