/*
 * delays.c - see delays.h.
 */
#include "queue/delays.h"

#include "base/mem.h"

enum { FIRST_CAPACITY = 16 };

void kl__delays_deinit(kl__delays *delays)
{
    kl__free(delays->heap);
    *delays = (kl__delays){0};
}

bool kl__delays_reserve(kl__delays *delays, size_t count)
{
    size_t capacity = delays->capacity > 0 ? delays->capacity : FIRST_CAPACITY;
    kl__delay **bigger;

    if (count <= delays->capacity) {
        return true;
    }
    while (capacity < count) {
        if (capacity > SIZE_MAX / 2 / sizeof(kl__delay *)) {
            return false;
        }
        capacity *= 2;
    }
    bigger = kl__realloc(delays->heap, capacity * sizeof(kl__delay *));
    if (bigger == NULL) {
        return false;
    }
    delays->heap = bigger;
    delays->capacity = capacity;
    return true;
}

static bool is_before(const kl__delay *a, const kl__delay *b)
{
    return a->due_ms < b->due_ms ||
           (a->due_ms == b->due_ms && a->turn < b->turn);
}

static void put_at(kl__delays *delays, size_t i, kl__delay *delay)
{
    delays->heap[i] = delay;
    delay->place = i + 1;
}

static void move_up(kl__delays *delays, size_t i)
{
    kl__delay *delay = delays->heap[i];

    while (i > 0 && is_before(delay, delays->heap[(i - 1) / 2])) {
        put_at(delays, i, delays->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    put_at(delays, i, delay);
}

static void move_down(kl__delays *delays, size_t i)
{
    kl__delay *delay = delays->heap[i];

    while (2 * i + 1 < delays->count) {
        size_t child = 2 * i + 1;

        if (child + 1 < delays->count &&
            is_before(delays->heap[child + 1], delays->heap[child])) {
            child++;
        }
        if (!is_before(delays->heap[child], delay)) {
            break;
        }
        put_at(delays, i, delays->heap[child]);
        i = child;
    }
    put_at(delays, i, delay);
}

void kl__delays_set(kl__delays *delays, kl__delay *delay, int64_t due_ms)
{
    if (delay->place != 0 && delay->due_ms == due_ms) {
        return;
    }
    if (delay->place == 0) {
        put_at(delays, delays->count++, delay);
    }
    delay->due_ms = due_ms;
    delay->turn = ++delays->turns;
    move_up(delays, delay->place - 1);
    move_down(delays, delay->place - 1);
}

void kl__delays_remove(kl__delays *delays, kl__delay *delay)
{
    size_t i = delay->place - 1;
    kl__delay *last;

    if (delay->place == 0) {
        return;
    }
    delay->place = 0;
    last = delays->heap[--delays->count];
    if (last == delay) {
        return;
    }
    put_at(delays, i, last);
    move_up(delays, i);
    move_down(delays, last->place - 1);
}

kl__delay *kl__delays_first(const kl__delays *delays)
{
    return delays->count > 0 ? delays->heap[0] : NULL;
}

int64_t kl__delays_due(const kl__delays *delays)
{
    return delays->count > 0 ? delays->heap[0]->due_ms : KL__NEVER;
}
