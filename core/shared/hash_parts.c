/*
 * hash_parts.c - see kubelua/shared_hash.h.
 */
#include "kubelua/shared_hash.h"

#include <math.h>
#include <string.h>

/* How many endpoints kl_hash_change compares with each winner at most: some
 * milliseconds, of 1 ns a score, or of 10 ns with weights. */
enum { ADDED_MAX = 30, ADDED_MAX_WEIGHTED = 4 };

static uint64_t mix_hash(uint64_t value)
{
    value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93ULL;
    value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93ULL;
    return value ^ (value >> 32);
}

/* As score_of in records.c: without weights the mixed bits are the score. */
static double score_of(const kl_hash_endpoints *endpoints, uint32_t index,
                       uint64_t mixed_part)
{
    uint64_t mixed = mix_hash(mixed_part ^ endpoints->identities[index]);
    double even = ((double)(mixed >> 11) + 0.5) * 0x1p-53;

    if (endpoints->weights == NULL) {
        return even;
    }
    return endpoints->weights[index] > 0
               ? -(double)endpoints->weights[index] / log(even)
               : -1;
}

static uint64_t mix_part(uint32_t part)
{
    /* never 0, which mix_hash would leave as it is */
    return mix_hash((uint64_t)part + 1);
}

uint32_t kl_hash_choose(const kl_hash_endpoints *endpoints, uint32_t part)
{
    uint64_t mixed = mix_part(part);
    uint32_t best = endpoints->count;
    double best_score = 0;

    for (uint32_t i = 0; i < endpoints->count; i++) {
        double score = score_of(endpoints, i, mixed);

        if (score > best_score) {
            best_score = score;
            best = i;
        }
    }
    return best;
}

/* The winner of a part among the one before, which is still there, and those
 * that came. */
static uint32_t choose_of_added(const kl_hash_endpoints *now, uint32_t part,
                                uint32_t winner, const uint32_t *added,
                                uint32_t added_count)
{
    uint64_t mixed = mix_part(part);
    double best_score = score_of(now, winner, mixed);

    for (uint32_t i = 0; i < added_count; i++) {
        double score = score_of(now, added[i], mixed);

        if (score > best_score) {
            best_score = score;
            winner = added[i];
        }
    }
    return winner;
}

void kl_hash_change(uint16_t *winners, const uint16_t *moved,
                    const kl_hash_endpoints *now, const uint32_t *added,
                    uint32_t added_count)
{
    if (added_count > (now->weights != NULL ? ADDED_MAX_WEIGHTED : ADDED_MAX)) {
        memset(winners, 0, KL_HASH_PARTS * sizeof(*winners));
        return;
    }
    for (uint32_t part = 0; part < KL_HASH_PARTS; part++) {
        uint32_t winner = winners[part] != 0 ? moved[winners[part] - 1] : 0;

        if (winner != 0 && added_count > 0) {
            winner =
                1 + choose_of_added(now, part, winner - 1, added, added_count);
        }
        winners[part] = (uint16_t)winner;
    }
}
