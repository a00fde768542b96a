/*
 * loads.c - opens the area of kubelua/shared_load.h, and hands out its columns.
 * A column belongs to the process that holds a lock of fcntl on its byte of the
 * file: the kernel drops the lock when that process dies. So no pid is kept,
 * which another process might get.
 */
#include "shared/loads.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = KL__AREA_PAGE };

static bool set_lock(const kl_loads *self, uint32_t column, short type)
{
    struct flock wanted = {.l_type = type,
                           .l_whence = SEEK_SET,
                           .l_start = (off_t)column,
                           .l_len = 1};

    return fcntl(self->area.descriptor, F_SETLK, &wanted) == 0;
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

    kl__areas_lock();
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
    kl__areas_unlock();
    return column;
}

void kl_loads_leave(kl_loads *loads, uint32_t column)
{
    kl__areas_lock();
    forget_parent_locked(loads);
    if (column < loads->processes) {
        leave_locked(loads, column);
    }
    kl__areas_unlock();
}

uint32_t kl_loads_sweep(kl_loads *loads)
{
    uint32_t swept = 0;

    kl__areas_lock();
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
    kl__areas_unlock();
    atomic_fetch_add_explicit(&loads->head->swept, swept, memory_order_relaxed);
    return swept;
}

static kl_loads *of_area(kl__area *area)
{
    return (kl_loads *)(void *)area;
}

static kl_code divide_area(kl__area *area, const void *asked, kl_error *err)
{
    const kl_loads_options *options = asked;
    kl_loads *self = of_area(area);
    uint32_t wanted =
        options->endpoints != 0 ? options->endpoints : KL_LOADS_ENDPOINTS;
    size_t row;

    self->processes =
        options->processes != 0 ? options->processes : KL_LOADS_PROCESSES;
    if (wanted > KL_LOADS_ENDPOINTS_MAX ||
        self->processes > KL_LOADS_PROCESSES_MAX) {
        return kl_error_set(err, KL_EINVAL,
                            "loads of more than %d endpoints or %d processes",
                            KL_LOADS_ENDPOINTS_MAX, KL_LOADS_PROCESSES_MAX);
    }
    self->endpoints = 1;
    while (self->endpoints < wanted) {
        self->endpoints *= 2;
    }
    row = sizeof(kl__load_row) + self->processes * sizeof(uint32_t);
    self->row_bytes = (uint32_t)((row + 63) & ~(size_t)63);
    area->size = 2 * PAGE +
                 (size_t)self->endpoints * (sizeof(uint64_t) + self->row_bytes);
    return KL_OK;
}

_Static_assert(sizeof(kl__loads_head) <= PAGE, "one page");
_Static_assert(sizeof(kl__load_row) == 24, "as kl_loads_options says");

static void lay_out_area(kl__area *area)
{
    kl_loads *self = of_area(area);

    self->process = getpid();
    self->head = (kl__loads_head *)(void *)(area->bytes + PAGE);
    self->keys = (_Atomic uint64_t *)(void *)(area->bytes + 2 * PAGE);
    self->rows = area->bytes + 2 * PAGE + self->endpoints * sizeof(*self->keys);
}

static bool is_large_enough(const kl__area *area, const void *asked)
{
    const kl_loads *self = (const kl_loads *)(const void *)area;
    const kl_loads_options *options = asked;

    return self->endpoints >= options->endpoints &&
           self->processes >= options->processes;
}

static void leave_all_locked(kl__area *area)
{
    kl_loads *self = of_area(area);

    forget_parent_locked(self);
    for (uint32_t i = 0; i < self->processes; i++) {
        leave_locked(self, i);
    }
}

static kl__area_kind kind = {
    .what = "loads",
    .bytes = sizeof(kl_loads),
    .keeps_file = true, /* its columns are locks on it */
    .divide = divide_area,
    .lay_out = lay_out_area,
    .fits = is_large_enough,
    .leave = leave_all_locked,
};

kl_loads *kl_loads_open(const kl_loads_options *options, kl_error *err)
{
    static const kl_loads_options defaults;
    const char *name;

    options = options != NULL ? options : &defaults;
    name = options->name != NULL ? options->name : "default";
    return of_area(kl__area_open(&kind, name, options, err));
}

void kl_loads_close(kl_loads *loads)
{
    if (loads != NULL) {
        kl__area_close(&kind, &loads->area);
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
