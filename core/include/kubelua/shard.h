/*
 * shard.h - shares objects or keys out among the members of a ring. A UID or
 * another text belongs to one of 256 parts by its hash; each part belongs to
 * one member.
 *
 * The part of a UID is a range of the hashes of KEP-5866 (sharded list and
 * watch), which a server can select by: part p is what a `shardRange` from
 * p << 56 up to (p + 1) << 56 has.
 *
 * All calls are pure functions of their arguments, and cannot fail: members
 * that know the same ring give each part to the same member.
 */
#ifndef KUBELUA_SHARD_H
#define KUBELUA_SHARD_H

#include "kubelua/error.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KL_SHARD_PARTS 256

/* Returns the 64-bit FNV-1a hash of a text, which KEP-5866 uses. */
KL_API uint64_t kl_shard_hash(const char *text, size_t length);

/* Returns the part of a UID: the upper 8 bits of kl_shard_hash of it. */
KL_API uint32_t kl_shard_part_of_uid(const char *uid, size_t length);

/* Returns the part of another text, such as a key: the upper 8 bits of
 * kl_shard_mixed_hash of it. */
KL_API uint32_t kl_shard_part(const char *text, size_t length);

/* Returns the hash that keys and namespaces are shared out by. It mixes the
 * bits of kl_shard_hash first: the last characters of a text change only the
 * lower bits of that hash, so all numbered names would be in one part. */
KL_API uint64_t kl_shard_mixed_hash(const char *text, size_t length);

/*
 * Gives each part to a member: `owners` gets the index of the member that has
 * each part. By rendezvous hashing, so that a member that comes or goes moves
 * little but its own share; but none gets more than 1.25 of a fair share, as
 * long as there are no more members than parts. `members` are `count` names, at
 * most 65,535, each once and sorted, so that the order in which a member heard
 * of the others does not matter. With count 0 nothing is written.
 */
KL_API void kl_shard_assign(const char *const *members, size_t count,
                            uint16_t owners[KL_SHARD_PARTS]);

#ifdef __cplusplus
}
#endif
#endif
