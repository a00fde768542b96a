/*
 * layout.c - divides a map into its parts, checks a head, and hashes names; see
 * layout.h.
 */
#include "shared/layout.h"

#include "kubelua/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t slots_begin(void)
{
    return KL__SHARED_HEAD_BYTES + KL_SHARED_VERSIONS * sizeof(uint32_t);
}

/* Offsets in a slot are 32-bit numbers of words. */
static uint64_t slot_words_of(uint64_t size)
{
    uint64_t words = (size - slots_begin()) / KL__SHARED_SLOTS / 8;

    words &= ~(uint64_t)7; /* whole cache lines */
    return words < UINT32_MAX ? words : UINT32_MAX & ~(uint64_t)7;
}

kl_code kl__shared_divide(size_t size, kl__shared_head *head, kl_error *err)
{
    if (size < KL__SHARED_SIZE_MIN) {
        return kl_error_set(err, KL_EINVAL,
                            "a shared map of %zu bytes: it takes %d at least",
                            size, KL__SHARED_SIZE_MIN);
    }
    head->magic = KL__SHARED_MAGIC;
    head->layout = KL__SHARED_LAYOUT;
    head->versions = KL_SHARED_VERSIONS;
    head->size = size;
    head->slots_at = slots_begin();
    head->slot_words = slot_words_of(size);
    snprintf(head->made_by, sizeof(head->made_by), "%s", kl_version());
    return KL_OK;
}

static kl_code refuse_layout(const kl__shared_head *head, const char *where,
                             kl_error *err)
{
    char made_by[sizeof(head->made_by)];

    memcpy(made_by, head->made_by, sizeof(made_by));
    made_by[sizeof(made_by) - 1] = '\0';
    for (char *c = made_by; *c != '\0'; c++) {
        *c = (char)(*c < ' ' || *c > '~' ? '?' : *c);
    }
    return kl_error_set(
        err, KL_ECONFIG,
        "%s is a shared map of layout %" PRIu32 ", made by KubeLua %s; this "
        "is KubeLua %s, which has layout %d: stop what uses it, remove it, and "
        "start again (a reload is not enough)",
        where, head->layout, made_by, kl_version(), KL__SHARED_LAYOUT);
}

kl_code kl__shared_check_head(const kl__shared_head *head, size_t size,
                              const char *where, kl_error *err)
{
    if (size < KL__SHARED_SIZE_MIN || head->magic != KL__SHARED_MAGIC) {
        return kl_error_set(err, KL_ECONFIG,
                            "%s is no shared map of KubeLua: choose another "
                            "path, or remove it",
                            where);
    }
    if (head->layout != KL__SHARED_LAYOUT) {
        return refuse_layout(head, where, err);
    }
    if (head->versions != KL_SHARED_VERSIONS || head->size != size ||
        head->slots_at != slots_begin() ||
        head->slot_words != slot_words_of(size)) {
        return kl_error_set(err, KL_ECONFIG,
                            "%s is a shared map with wrong sizes (it says "
                            "%" PRIu64 " bytes, and has %zu): remove it, and "
                            "start again",
                            where, head->size, size);
    }
    return KL_OK;
}

/* Uses the steps of MurmurHash2 for 64 bits, and the final mix of MurmurHash3.
 */
uint64_t kl__shared_hash_words(const uint64_t *words, size_t bytes,
                               uint64_t seed)
{
    const uint64_t m = 0xc6a4a7935bd1e995ULL;
    uint64_t hash = seed ^ (bytes * m);

    for (uint32_t i = 0; i < kl__words_of(bytes); i++) {
        uint64_t word = words[i] * m;

        word = (word ^ (word >> 47)) * m;
        hash = (hash ^ word) * m;
    }
    hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdULL;
    hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return hash ^ (hash >> 33);
}
