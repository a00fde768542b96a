/*
 * loads.c - opens the area of kubelua/shared_load.h, and hands out its columns.
 * A column belongs to the process that holds a lock of fcntl on its byte of the
 * file: the kernel drops the lock when that process dies. So no pid is kept,
 * which another process might get.
 */
#include "shared/loads.h"

#include "base/mem.h"
#include "base/str.h"
#include "shared/map.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = KL__SHARED_HEAD_BYTES };

/* Guards the list of areas, their names, counts and columns of this process.
 * Rank LIFECYCLE, but a native mutex, as it must exist before any call; no
 * other lock is taken with it held. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kl_loads *areas;

/* The threads of the parent, which may have held the lock, do not exist in the
 * child of a fork(). */
static void reset_in_child(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void watch_fork(void)
{
    pthread_atfork(NULL, NULL, reset_in_child);
}

static bool set_lock(const kl_loads *self, uint32_t column, short type)
{
    struct flock wanted = {.l_type = type,
                           .l_whence = SEEK_SET,
                           .l_start = (off_t)column,
                           .l_len = 1};

    return fcntl(self->descriptor, F_SETLK, &wanted) == 0;
}

static void clear_column(kl_loads *self, uint32_t column)
{
    for (uint32_t row = 0; row < self->endpoints; row++) {
        atomic_store_explicit(&kl__loads_row(self, row)->counts[column], 0,
                              memory_order_relaxed);
    }
}

static bool is_joined(const kl_loads *self, uint32_t column)
{
    return atomic_load_explicit(&self->head->joined[column],
                                memory_order_relaxed) != 0;
}

static void set_joined(kl_loads *self, uint32_t column, bool joined)
{
    atomic_store_explicit(&self->head->joined[column], joined ? 1 : 0,
                          memory_order_relaxed);
}

static void raise_columns_used(kl_loads *self, uint32_t least)
{
    _Atomic uint32_t *used = &self->head->columns_used;
    uint32_t now = atomic_load_explicit(used, memory_order_relaxed);

    while (now < least &&
           !atomic_compare_exchange_weak_explicit(
               used, &now, least, memory_order_relaxed, memory_order_relaxed)) {
    }
}

/* The child of a fork() has none of its parent's locks. */
static void forget_parent_locked(kl_loads *self)
{
    if (self->process != getpid()) {
        self->process = getpid();
        memset(self->columns, 0, sizeof(self->columns));
    }
}

static void leave_locked(kl_loads *self, uint32_t column)
{
    if (self->columns[column]) {
        clear_column(self, column);
        set_joined(self, column, false);
        self->columns[column] = false;
        set_lock(self, column, F_UNLCK);
    }
}

uint32_t kl_loads_join(kl_loads *loads)
{
    uint32_t column = 0;

    pthread_mutex_lock(&lock);
    forget_parent_locked(loads);
    while (column < loads->processes &&
           (loads->columns[column] || !set_lock(loads, column, F_WRLCK))) {
        column++;
    }
    if (column < loads->processes) {
        /* 1. the mark: if this process dies now, a sweep clears the column. 2.
         * what a process that died has left. 3. the sums */
        loads->columns[column] = true;
        set_joined(loads, column, true);
        clear_column(loads, column);
        raise_columns_used(loads, column + 1);
    } else {
        column = KL_LOADS_NONE;
    }
    pthread_mutex_unlock(&lock);
    return column;
}

void kl_loads_leave(kl_loads *loads, uint32_t column)
{
    pthread_mutex_lock(&lock);
    forget_parent_locked(loads);
    if (column < loads->processes) {
        leave_locked(loads, column);
    }
    pthread_mutex_unlock(&lock);
}

uint32_t kl_loads_sweep(kl_loads *loads)
{
    uint32_t swept = 0;

    pthread_mutex_lock(&lock);
    forget_parent_locked(loads);
    for (uint32_t i = 0; i < loads->processes; i++) {
        if (!loads->columns[i] && is_joined(loads, i) &&
            set_lock(loads, i, F_WRLCK)) {
            /* while this process holds the lock, no other one joins here */
            if (is_joined(loads, i)) {
                clear_column(loads, i);
                set_joined(loads, i, false);
                swept++;
            }
            set_lock(loads, i, F_UNLCK);
        }
    }
    pthread_mutex_unlock(&lock);
    atomic_fetch_add_explicit(&loads->head->swept, swept, memory_order_relaxed);
    return swept;
}

static void free_area(kl_loads *self)
{
    if (self->bytes != NULL) {
        munmap(self->bytes, self->size);
    }
    if (self->descriptor >= 0) {
        close(self->descriptor);
    }
    kl__free(self->name);
    kl__free(self);
}

/* Fills in the sizes. False: they are too large. */
static bool divide_area(kl_loads *self, const kl_loads_options *options)
{
    uint32_t wanted =
        options->endpoints != 0 ? options->endpoints : KL_LOADS_ENDPOINTS;
    size_t row;

    self->processes =
        options->processes != 0 ? options->processes : KL_LOADS_PROCESSES;
    if (wanted > KL_LOADS_ENDPOINTS_MAX ||
        self->processes > KL_LOADS_PROCESSES_MAX) {
        return false;
    }
    self->endpoints = 1;
    while (self->endpoints < wanted) {
        self->endpoints *= 2;
    }
    row = sizeof(kl__load_row) + self->processes * sizeof(uint32_t);
    self->row_bytes = (uint32_t)((row + 63) & ~(size_t)63);
    self->size = 2 * PAGE +
                 (size_t)self->endpoints * (sizeof(uint64_t) + self->row_bytes);
    return true;
}

/* Reserves the memory as that of a map, and maps it. */
static kl_code map_area(kl_loads *self, kl_error *err)
{
    kl__shared_head file = {.size = self->size};

    self->descriptor = kl__shared_file_open(NULL, &file, err);
    if (self->descriptor < 0) {
        return KL_EIO;
    }
    self->bytes = mmap(NULL, self->size, PROT_READ | PROT_WRITE, MAP_SHARED,
                       self->descriptor, 0);
    if (self->bytes == MAP_FAILED) {
        self->bytes = NULL;
        return kl_error_set(err, KL_ENOMEM,
                            "no address space for %zu bytes of loads",
                            self->size);
    }
    self->head = (kl__loads_head *)(void *)(self->bytes + PAGE);
    self->keys = (_Atomic uint64_t *)(void *)(self->bytes + 2 * PAGE);
    self->rows = self->bytes + 2 * PAGE + self->endpoints * sizeof(*self->keys);
    return KL_OK;
}

_Static_assert(sizeof(kl__loads_head) <= PAGE, "one page");
_Static_assert(sizeof(kl__load_row) == 24, "as kl_loads_options says");

static kl_loads *make_area(const kl_loads_options *options, const char *name,
                           kl_error *err)
{
    kl_loads *self = kl__calloc(1, sizeof(*self));

    if (self == NULL || (self->name = kl__strdup(name)) == NULL) {
        kl__free(self);
        kl_error_set(err, KL_ENOMEM, "out of memory");
        return NULL;
    }
    self->descriptor = -1;
    self->process = getpid();
    if (!divide_area(self, options)) {
        kl_error_set(err, KL_EINVAL,
                     "loads of more than %d endpoints or %d processes",
                     KL_LOADS_ENDPOINTS_MAX, KL_LOADS_PROCESSES_MAX);
        free_area(self);
        return NULL;
    }
    if (map_area(self, err) != KL_OK) {
        free_area(self);
        return NULL;
    }
    self->next = areas;
    areas = self;
    kl__live_add(KL_LIVE_SHARED, 1);
    return self;
}

static bool is_large_enough(const kl_loads *self,
                            const kl_loads_options *options)
{
    return self->endpoints >= options->endpoints &&
           self->processes >= options->processes;
}

kl_loads *kl_loads_open(const kl_loads_options *options, kl_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static const kl_loads_options defaults;
    const char *name;
    kl_loads *loads;

    pthread_once(&once, watch_fork);
    options = options != NULL ? options : &defaults;
    name = options->name != NULL ? options->name : "default";
    pthread_mutex_lock(&lock);
    loads = areas;
    while (loads != NULL && (strcmp(loads->name, name) != 0 ||
                             !is_large_enough(loads, options))) {
        loads = loads->next;
    }
    if (loads == NULL) {
        loads = make_area(options, name, err);
    }
    if (loads != NULL) {
        loads->opened++;
    }
    pthread_mutex_unlock(&lock);
    return loads;
}

void kl_loads_close(kl_loads *loads)
{
    kl_loads **at = &areas;
    bool is_last;

    if (loads == NULL) {
        return;
    }
    pthread_mutex_lock(&lock);
    is_last = --loads->opened == 0;
    if (is_last) {
        forget_parent_locked(loads);
        for (uint32_t i = 0; i < loads->processes; i++) {
            leave_locked(loads, i);
        }
        while (*at != loads) {
            at = &(*at)->next;
        }
        *at = loads->next;
    }
    pthread_mutex_unlock(&lock);
    if (is_last) {
        free_area(loads);
        kl__live_add(KL_LIVE_SHARED, -1);
    }
}

void kl_loads_get_status(const kl_loads *loads, kl_loads_status *to)
{
    *to = (kl_loads_status){.endpoints = loads->endpoints,
                            .processes = loads->processes};
    for (uint32_t i = 0; i < loads->endpoints; i++) {
        to->used +=
            atomic_load_explicit(&loads->keys[i], memory_order_relaxed) != 0;
    }
    for (uint32_t i = 0; i < loads->processes; i++) {
        to->joined += is_joined(loads, i);
    }
    to->swept = atomic_load_explicit(&loads->head->swept, memory_order_relaxed);
    to->full = atomic_load_explicit(&loads->head->full, memory_order_relaxed);
}
