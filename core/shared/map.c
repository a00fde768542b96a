/*
 * map.c - opens and closes shared maps. A process has one map of a name.
 */
#include "shared/map.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/str.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Guards the list of maps, their names and counts. Rank LIFECYCLE, but a native
 * mutex, as it must exist before any call; no other lock is taken with it held.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kl_shared *maps;

/* Relaxed: no other data depends on it. */
static _Atomic uint64_t process_seed;

static void set_process_seed(void)
{
    uint64_t seed = kl__random_seed(&lock) ^ ((uint64_t)getpid() << 20);

    atomic_store_explicit(&process_seed, seed, memory_order_relaxed);
}

/* In the child of a fork() the lock is made anew: its parent's threads, which
 * may have held it, do not exist here. */
static void reset_in_child(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    set_process_seed();
}

static void watch_fork(void)
{
    set_process_seed();
    pthread_atfork(NULL, NULL, reset_in_child);
}

uint64_t kl__shared_process_seed(void)
{
    return atomic_load_explicit(&process_seed, memory_order_relaxed);
}

/* Maps the file and checks its head. */
static kl_code map_file(kl_shared *self, const char *where, kl_error *err)
{
    kl__shared_head head = {0};
    struct stat file;
    char *bytes;
    size_t size;

    if (fstat(self->descriptor, &file) != 0 || !S_ISREG(file.st_mode) ||
        file.st_size < 0 ||
        pread(self->descriptor, &head, sizeof(head), 0) != sizeof(head)) {
        memset(&head, 0, sizeof(head));
        file.st_size = 0;
    }
    size = (size_t)file.st_size;
    if (kl__shared_check_head(&head, size, where, err) != KL_OK) {
        return KL_ECONFIG;
    }
    bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
                 self->descriptor, 0);
    if (bytes == MAP_FAILED) {
        return kl_error_set(err, KL_ENOMEM,
                            "no address space for a shared map of %zu bytes",
                            size);
    }
    self->head = (kl__shared_head *)(void *)bytes;
    self->size = size;
    self->versions =
        (_Atomic uint32_t *)(void *)(bytes + KL__SHARED_HEAD_BYTES);
    self->slots = (kl__word *)(void *)(bytes + head.slots_at);
    self->slot_words = (uint32_t)head.slot_words;
    self->seed = head.seed;
    return KL_OK;
}

static void free_map(kl_shared *self)
{
    if (self->owner != NULL) {
        self->leave(self);
    }
    if (atomic_load_explicit(&self->writer, memory_order_acquire) != NULL) {
        self->free_writer(self);
    }
    if (self->head != NULL) {
        munmap(self->head, self->size);
    }
    if (self->descriptor >= 0) {
        close(self->descriptor);
    }
    kl__free(self->name);
    kl__free(self);
}

static kl_shared *make_map(const kl_shared_options *options, const char *name,
                           kl_error *err)
{
    size_t size = options->size != 0 ? options->size : KL_SHARED_SIZE;
    kl__shared_head head = {0};
    kl_shared *self;

    if (kl__shared_divide(size, &head, err) != KL_OK) {
        return NULL;
    }
    self = kl__calloc(1, sizeof(*self));
    if (self == NULL || (self->name = kl__strdup(name)) == NULL) {
        kl__free(self);
        kl_error_set(err, KL_ENOMEM, "out of memory");
        return NULL;
    }
    head.seed = kl__random_seed(self);
    self->descriptor = kl__shared_file_open(options->path, &head, err);
    if (self->descriptor < 0 ||
        map_file(self, options->path != NULL ? options->path : "the map",
                 err) != KL_OK) {
        free_map(self);
        return NULL;
    }
    self->next = maps;
    maps = self;
    kl__live_add(KL_LIVE_SHARED, 1);
    return self;
}

static kl_shared *find_map(const char *name)
{
    kl_shared *map = maps;

    while (map != NULL && strcmp(map->name, name) != 0) {
        map = map->next;
    }
    return map;
}

/* Finds the open map of this file, by any name. A process loses its lock of a
 * file when it closes any descriptor of it, so a file is opened only once. */
static kl_shared *find_file(const char *path)
{
    kl_shared *map = maps;
    struct stat wanted, file;

    if (path == NULL || lstat(path, &wanted) != 0) {
        return NULL;
    }
    while (map != NULL &&
           (fstat(map->descriptor, &file) != 0 ||
            file.st_dev != wanted.st_dev || file.st_ino != wanted.st_ino)) {
        map = map->next;
    }
    return map;
}

kl_shared *kl_shared_open(const kl_shared_options *options, kl_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static const kl_shared_options defaults;
    const char *name;
    kl_shared *map;

    pthread_once(&once, watch_fork);
    options = options != NULL ? options : &defaults;
    name = options->name != NULL   ? options->name
           : options->path != NULL ? options->path
                                   : "default";
    pthread_mutex_lock(&lock);
    map = find_map(name);
    if (map == NULL) {
        map = find_file(options->path);
    }
    if (map == NULL) {
        map = make_map(options, name, err);
    }
    if (map != NULL) {
        map->opened++;
        if (options->path == NULL &&
            !atomic_load_explicit(&map->is_serving, memory_order_relaxed)) {
            map->epoch = atomic_fetch_add_explicit(&map->head->epoch, 1,
                                                   memory_order_relaxed) +
                         1;
        }
    }
    pthread_mutex_unlock(&lock);
    return map;
}

void kl_shared_close(kl_shared *map)
{
    kl_shared **at = &maps;
    bool is_last;

    if (map == NULL) {
        return;
    }
    pthread_mutex_lock(&lock);
    is_last = --map->opened == 0;
    if (is_last) {
        while (*at != map) {
            at = &(*at)->next;
        }
        *at = map->next;
    }
    pthread_mutex_unlock(&lock);
    if (is_last) {
        free_map(map);
        kl__live_add(KL_LIVE_SHARED, -1);
    }
}

const uint32_t *kl_shared_versions(const kl_shared *map)
{
    return (const uint32_t *)(const void *)map->versions;
}

bool kl_shared_synced(const kl_shared *map)
{
    /* Acquire: what is read after it is of the complete list, or newer. */
    return atomic_load_explicit(&map->head->synced, memory_order_acquire) != 0;
}

int64_t kl__shared_age_of(const kl__word *word)
{
    uint64_t at = kl__word_load(word);
    int64_t now = kl__clock_now(kl__clock_real());

    /* A time to come is one of before the machine started: the map is a file.
     */
    return at == 0 || at > (uint64_t)now ? -1 : now - (int64_t)at;
}

int64_t kl_shared_age_ms(const kl_shared *map)
{
    return kl__shared_age_of(&map->head->heard_ms);
}
