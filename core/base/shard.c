/*
 * shard.c - see kubelua/shard.h.
 */
#include "kubelua/shard.h"

#include <string.h>

/* http://www.isthe.com/chongo/tech/comp/fnv/, 64 bits */
#define FNV_START 0xcbf29ce484222325ULL
#define FNV_PRIME 0x100000001b3ULL

uint64_t kl_shard_hash(const char *text, size_t length)
{
    uint64_t hash = FNV_START;

    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)text[i]) * FNV_PRIME;
    }
    return hash;
}

static uint64_t mix(uint64_t hash)
{
    hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93ULL;
    hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93ULL;
    return hash ^ hash >> 32;
}

static uint32_t upper_bits(uint64_t hash)
{
    return (uint32_t)(hash >> 56);
}

uint32_t kl_shard_part_of_uid(const char *uid, size_t length)
{
    return upper_bits(kl_shard_hash(uid, length));
}

uint64_t kl_shard_mixed_hash(const char *text, size_t length)
{
    return mix(kl_shard_hash(text, length));
}

uint32_t kl_shard_part(const char *text, size_t length)
{
    return upper_bits(kl_shard_mixed_hash(text, length));
}

static uint64_t score_of(const char *member, uint32_t part)
{
    return mix(kl_shard_hash(member, strlen(member)) ^
               ((uint64_t)part + 1) * 0x9e3779b97f4a7c15ULL);
}

/* How many parts a member may have: 1.25 of a fair share. */
static size_t most_parts(size_t count)
{
    size_t quarters = (size_t)5 * KL_SHARD_PARTS;

    return (quarters + 4 * count - 1) / (4 * count);
}

/* How many of the parts before `part` a member has. */
static size_t count_parts(const uint16_t *owners, uint32_t part, size_t member)
{
    size_t found = 0;

    for (uint32_t i = 0; i < part; i++) {
        found += owners[i] == member;
    }
    return found;
}

void kl_shard_assign(const char *const *members, size_t count,
                     uint16_t owners[KL_SHARD_PARTS])
{
    size_t most = count > 0 ? most_parts(count) : 0;

    for (uint32_t part = 0; count > 0 && part < KL_SHARD_PARTS; part++) {
        uint64_t best_score = 0;
        size_t best = 0;
        int is_found = 0;

        for (size_t i = 0; i < count; i++) {
            uint64_t score = score_of(members[i], part);

            if ((!is_found || score > best_score) &&
                count_parts(owners, part, i) < most) {
                best_score = score;
                best = i;
                is_found = 1;
            }
        }
        owners[part] = (uint16_t)best;
    }
}
