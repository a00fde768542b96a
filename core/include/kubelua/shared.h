/*
 * shared.h - a map in memory that one process, the owner, writes and many
 * processes read without locks: so the workers of a server (nginx) share what
 * one of them learns from the cluster.
 *
 * An entry is found by (table, key): the endpoints of a Service port
 * ("services", "web/shop:http"), or bytes that the owner put. What a user can
 * rely on:
 *
 * - Consistency. The owner publishes changes together, as a new generation. A
 *   read copies out of one generation. The two generations before the newest
 *   stay readable; a read starts again if the owner publishes twice during it.
 * - Readers never wait: they take no lock, allocate nothing and make no system
 *   call. They check every offset, count and length in the map against the
 *   sizes that kl_shared_open has verified, so damaged contents cannot crash a
 *   reader.
 * - Death of the owner, also by SIGKILL in the middle of a publish: the last
 *   published generation stays whole and readable, kl_shared_age_ms grows, and
 *   the next owner continues from it. Only version numbers of the publish that
 *   was cut off may be old; the next owner raises all of them.
 * - Memory is reserved when the map is made: if the machine has too little, the
 *   open fails, and no reader is killed by SIGBUS later.
 * - Fork. A map is a memfd (or an unlinked file), so only children of fork()
 *   get it: open it before the workers are forked. Opening starts no thread and
 *   no connection. A program that is executed anew (nginx's binary upgrade)
 *   makes a new map.
 *
 * Reads are thread-safe, work after fork(), and return a kl_shared_result; all
 * other calls return kl_code. Structs are plain, for FFI. The owner's calls are
 * in kubelua/shared_write.h.
 */
#ifndef KUBELUA_SHARED_H
#define KUBELUA_SHARED_H

#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_shared kl_shared;

#define KL_SHARED_TABLE_MAX 31    /* bytes of a table's name */
#define KL_SHARED_KEY_MAX 511     /* bytes of a key; any bytes */
#define KL_SHARED_HOST_MAX 255    /* bytes of a host */
#define KL_SHARED_ZONES_MAX 255   /* bytes of zones' names, with commas */
#define KL_SHARED_NODE_MAX 255    /* bytes of a node's name */
#define KL_SHARED_POD_MAX 255     /* bytes of a pod's name */
#define KL_SHARED_SIZE (32 << 20) /* of a map, where the options say none */
#define KL_SHARED_VERSIONS 65536  /* version numbers of a map */

/* Zeroed fields are the defaults. */
typedef struct kl_shared_options {
    const char *name; /* NULL: the path, or "default" */
    /* A file, for processes that are not forked from one another. It is made
     * with mode 0600 if it is missing, and is not deleted. No process may
     * truncate it. Refused, since another user could then read or change the
     * map: a file of another owner than the effective user or root; one that
     * the group or others have any permission for, that has several hard links,
     * that is a symbolic link or no regular file; a folder of
     * another owner, or that the group or others can write (the sticky bit does
     * not help, so not /tmp itself). NULL: memory that only forks inherit. */
    const char *path;
    /* Bytes, at least 1 MB; 0: KL_SHARED_SIZE. A third of that is room for one
     * generation: about 480 bytes for an entry of three endpoints. */
    size_t size;
} kl_shared_options;

/*
 * Opens the map of that name or file: finds it, whatever its size, if this
 * process or its parent has it (so the workers before and after a reload share
 * it), else makes it. Opening a map without a path again, in a process that has
 * not served it, raises its epoch: workers of an earlier epoch do not become
 * owners any more. `options` may be NULL. Thread-safe. Close it as often as it
 * was opened. NULL: KL_ENOMEM (not so much memory), KL_EIO, KL_EINVAL (a size,
 * a name), KL_ECONFIG (a file that is no map or has another layout, or that
 * another user could change: the message says which, and what to do).
 */
KL_API kl_shared *kl_shared_open(const kl_shared_options *options,
                                 kl_error *err);

/* Undoes one kl_shared_open; the last close unmaps the map in this process. No
 * other call on the map may run beside the last close, or come after it; beside
 * any other close every call may run. NULL is fine. */
KL_API void kl_shared_close(kl_shared *map);

/* The result of a read. */
typedef enum kl_shared_result {
    KL_SHARED_OK,
    KL_SHARED_UNKNOWN,    /* there is no such entry */
    KL_SHARED_EMPTY,      /* no ready or serving endpoint has a weight over 0 */
    KL_SHARED_NOT_SYNCED, /* no such entry, and no owner has synced yet */
    KL_SHARED_EXCLUDED,   /* all its usable endpoints are excluded */
    KL_SHARED_TOO_SMALL,  /* the caller's buffer is; the size needed is given */
    KL_SHARED_OTHER_KIND, /* bytes instead of endpoints, or the reverse */
    KL_SHARED_BUSY,       /* overwritten during each try; no owner is so fast */
    KL_SHARED_BROKEN,     /* the entry is damaged; owners write no such entry */
    KL_SHARED_RESULTS
} kl_shared_result;

/* The result's stable name ("not_synced"); static, thread-safe, never NULL. */
KL_API const char *kl_shared_result_name(kl_shared_result result);

/*
 * An entry's name, prepared once for many reads. It remembers where the entry
 * was found, and the next turn of round robin, so one thread at a time uses it
 * (copies are independent). It owns nothing, belongs to one map, and stays
 * valid across fork(). `bucket` is the entry's place in kl_shared_versions; the
 * other fields are the library's.
 */
typedef struct kl_shared_key {
    uint32_t bucket;
    uint32_t name_length;
    uint32_t at;
    uint32_t turn;
    uint64_t generation;
    uint64_t hash;
    uint64_t name[(KL_SHARED_TABLE_MAX + 1 + KL_SHARED_KEY_MAX + 7) / 8];
} kl_shared_key;

/* Prepares `key` for the entry of `table` with the key `text` of `length`
 * bytes. False: the table's name is empty, or the table or the key is too long.
 * The entry need not exist. */
KL_API bool kl_shared_key_init(const kl_shared *map, const char *table,
                               const char *text, size_t length,
                               kl_shared_key *key);

/*
 * The version of an entry, one load of memory. If the entry was added, changed
 * or removed, it differs from before (it may also differ because another entry
 * changed). So the result of a read can be cached while this is equal to the
 * `version` that the read gave.
 */
KL_API uint32_t kl_shared_version(const kl_shared *map,
                                  const kl_shared_key *key);

/* All KL_SHARED_VERSIONS versions, for callers that load one themselves:
 * kl_shared_versions(map)[key.bucket]. Valid until the map is closed. */
KL_API const uint32_t *kl_shared_versions(const kl_shared *map);

typedef struct kl_shared_value {
    uint32_t version; /* before the read: see kl_shared_version */
    uint32_t length;  /* bytes of the value, copied or not */
} kl_shared_value;

/* Copies the bytes of an entry to `buffer`, without a NUL behind them. `value`
 * is filled in any case. KL_SHARED_TOO_SMALL: nothing was copied; the buffer
 * needs value->length bytes. */
KL_API kl_shared_result kl_shared_get(const kl_shared *map, kl_shared_key *key,
                                      void *buffer, size_t size,
                                      kl_shared_value *value);

/*
 * How an endpoint is picked. Zeroed: round robin over all ready endpoints.
 *
 * Round robin: each process begins at another endpoint; with weights, an
 * endpoint's turns are as many as its weight, spread evenly. It costs the same
 * for any number of endpoints. Hash: rendezvous hashing, the endpoint with the
 * highest score of (hash, endpoint). Adding or removing an endpoint moves its
 * own share only, all processes and machines pick the same one, and a retry
 * that excludes the first pick always gets the same second one. It costs about
 * 1 ns an endpoint, 10 ns with weights.
 *
 * Ready endpoints are tried first: those of the node, then of the zone, then
 * all; then, in the same order, endpoints that still serve while they terminate
 * (as kube-proxy does). An endpoint with weight 0 is never picked.
 */
typedef struct kl_pick_options {
    uint64_t hash;        /* by kl_shared_hash; 0: round robin */
    uint64_t zone;        /* kl_shared_hash of the zone's name; 0: none */
    uint64_t node;        /* kl_shared_hash of the node's name; 0: none */
    uint32_t excluded;    /* the number of values in `exclude`; any number */
    uint32_t with_places; /* 1: zone, node and pod are copied too */
    /* What to skip: an endpoint, by its `identity`, which is kl_shared_hash of
     * "host:port" (an IPv6 host without brackets); or all endpoints of a host,
     * by kl_shared_hash of the host. Borrowed. What they would have got goes to
     * all others, by their weights. It costs about the same for any number of
     * endpoints, and some ns for each value. */
    const uint64_t *exclude;
} kl_pick_options;

enum {
    KL_ENDPOINT_READY = 1,
    KL_ENDPOINT_SERVING = 2,
    KL_ENDPOINT_TERMINATING = 4,
    KL_ENDPOINT_DNS = 8,  /* the host is a name that has to be resolved */
    KL_ENDPOINT_KEPT = 16 /* the Service has no usable endpoint now, and this
                             one is kept for a time: see kl_serve_options */
};

/* Why an endpoint was picked: among all, for its zone, or for its node. */
enum { KL_PICK_ALL, KL_PICK_ZONE, KL_PICK_NODE };

/* An endpoint, copied out of the map. Texts end with NUL. */
typedef struct kl_pick {
    uint64_t identity; /* hash of host and port, below 2^53 */
    uint32_t version;  /* before the read: see kl_shared_version */
    uint16_t port;
    uint16_t flags; /* KL_ENDPOINT_READY ... */
    uint16_t weight;
    uint16_t scope;       /* KL_PICK_ALL ... */
    uint16_t ready;       /* ready endpoints of the entry, without weight 0 */
    uint16_t total;       /* all endpoints of the entry */
    uint32_t host_length; /* bytes, without the NUL */
    uint32_t spare;
    char host[KL_SHARED_HOST_MAX + 1];
    char zone[KL_SHARED_ZONES_MAX + 1]; /* several: "a,b" */
    char node[KL_SHARED_NODE_MAX + 1];
    char pod[KL_SHARED_POD_MAX + 1]; /* "": unknown */
} kl_pick;

/* Picks one endpoint of an entry. `options` may be NULL. `pick` is filled with
 * KL_SHARED_OK only, but its `version` always. */
KL_API kl_shared_result kl_shared_pick(const kl_shared *map, kl_shared_key *key,
                                       const kl_pick_options *options,
                                       kl_pick *pick);

/* Copies all endpoints of an entry, of one generation: first the ready ones,
 * then others that serve, then the rest, such as endpoints with weight 0.
 * `count` gets their number in any case; KL_SHARED_TOO_SMALL: it is more than
 * `capacity`. */
KL_API kl_shared_result kl_shared_endpoints(const kl_shared *map,
                                            kl_shared_key *key, kl_pick *picks,
                                            uint32_t capacity, uint32_t *count);

/* The hash of some bytes, for kl_pick_options: below 2^53, never 0, the same in
 * every process, on every machine and in every version. */
KL_API uint64_t kl_shared_hash(const void *bytes, size_t length);

/* An entry as kl_shared_walk finds it. */
typedef struct kl_shared_entry {
    uint32_t bytes;        /* that it takes in the map */
    uint16_t table_length; /* bytes of the table's name */
    uint16_t key_length;
    char name[KL_SHARED_TABLE_MAX + 1 + KL_SHARED_KEY_MAX +
              1]; /* the table, NUL, the key, NUL */
} kl_shared_entry;

/* Where a walk stands. */
typedef struct kl_shared_cursor {
    const char *table; /* borrowed; NULL: all tables */
    uint64_t place;    /* 0 before the first call, and after the last one */
} kl_shared_cursor;

/*
 * Lists the entries of a table, a part with each call until `place` is 0 again.
 * An entry that is there during the whole walk is listed, and more than once if
 * the number of entries falls much meanwhile; one that comes or goes may be.
 * The order is arbitrary, and `count`, the number of entries that a call has
 * listed, may be 0. A call looks at a bounded part of the map, so it takes some
 * 100 us at most. KL_SHARED_TOO_SMALL: `count` entries have to fit into
 * `capacity` (64 do, but for bad luck); nothing was listed. KL_SHARED_BUSY,
 * KL_SHARED_BROKEN.
 */
KL_API kl_shared_result kl_shared_walk(const kl_shared *map,
                                       kl_shared_cursor *cursor,
                                       kl_shared_entry *entries,
                                       uint32_t capacity, uint32_t *count);

/* True once an owner has published a complete list; it stays true. */
KL_API bool kl_shared_synced(const kl_shared *map);

/* Milliseconds since an owner last heard from the server; -1: none has since
 * the machine started. */
KL_API int64_t kl_shared_age_ms(const kl_shared *map);

/* A map at one moment. */
typedef struct kl_shared_status {
    uint64_t size;       /* bytes of the map */
    uint64_t room;       /* bytes for one generation */
    uint64_t used;       /* bytes of the newest generation */
    uint64_t entries;    /* entries of the newest generation */
    uint64_t generation; /* the number of generations published */
    uint64_t epoch;      /* see kl_shared_open */
    uint64_t takeovers;  /* owners so far */
    uint64_t full;       /* publishes that did not fit into `room` */
    int64_t age_ms;      /* see kl_shared_age_ms */
    uint32_t owner_pid;  /* 0: no owner; else it may have died */
    uint32_t synced;     /* 0 or 1 */
    uint64_t left_out;   /* Services and values that are not published, as they
                            do not fit: the entry "left_out" of the table
                            "kubelua" has a line for each of the first ones,
                            "TABLE\tKEY\tWHY\n" */
    uint64_t kept;       /* endpoints with KL_ENDPOINT_KEPT, once a port */
    int64_t owned_ms; /* since the last owner took the map; -1: none has since
                         the machine started */
    int64_t published_ms; /* since the newest generation was published; -1: as
                             owned_ms */
} kl_shared_status;

/* Fills `to` with the state of the map. */
KL_API void kl_shared_get_status(const kl_shared *map, kl_shared_status *to);

#ifdef __cplusplus
}
#endif
#endif
