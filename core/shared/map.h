/*
 * map.h - a shared map in one process: the struct behind kl_shared. map.c opens
 * it, read.c and pick.c read it, writer.c writes it.
 */
#ifndef KL_SHARED_MAP_H
#define KL_SHARED_MAP_H

#include "shared/layout.h"

typedef struct kl__shared_writer kl__shared_writer;

struct kl_shared {
    /* The verified sizes; those in the map are not read again. */
    kl__shared_head *head;
    kl__word *slots;
    _Atomic uint32_t *versions;
    uint32_t slot_words;
    uint64_t seed;
    size_t size;
    int descriptor;
    uint64_t epoch; /* the epoch of the last kl_shared_open before the fork */
    /* Set by the first kl__shared_take in this process, and not unset while the
     * map is open: reading it needs no lock. */
    _Atomic(kl__shared_writer *) writer;
    atomic_bool is_serving;
    /* Frees the writer; set before `writer`. */
    void (*free_writer)(struct kl_shared *map);
    /* The owner's state (owner.c); NULL: this process does not serve. */
    void *owner;
    void (*leave)(struct kl_shared *map); /* ends the owner; set with it */

    /* Guarded by the lock in map.c. */
    char *name;
    int opened; /* how often it was opened */
    struct kl_shared *next;
};

/* A random number of this process, another one after a fork: turns of round
 * robin begin there, so that processes do not all pick the same endpoint
 * first. */
uint64_t kl__shared_process_seed(void);

/* Milliseconds since the time in a word of the head; -1: it says none since the
 * machine started. */
int64_t kl__shared_age_of(const kl__word *word);

/*
 * Makes the memory of a map with this `head`, and reserves its disk space or
 * pages. With a path, opens that file, whatever is in it, or makes it; refuses
 * what another user could change (see kl_shared_options). Returns a descriptor,
 * close-on-exec; -1: KL_EIO, KL_ENOMEM, KL_ECONFIG (refused).
 */
int kl__shared_file_open(const char *path, const kl__shared_head *head,
                         kl_error *err);

/* Returns the bytes of memory that are still free on the machine. If `cgroup`,
 * the folder of the container's cgroup (v2), sets a limit that leaves less,
 * that is returned. UINT64_MAX: not known. */
uint64_t kl__shared_memory_left(const char *cgroup);

#endif
