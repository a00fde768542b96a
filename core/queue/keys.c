/*
 * keys.c - see keys.h.
 */
#include "queue/keys.h"

#include "base/mem.h"

#include <string.h>

void kl__keys_init(kl__keys *keys)
{
    *keys = (kl__keys){.phase = KL__KEYS_OPEN};
    kl__lanes_init(&keys->lanes);
    kl__list_init(&keys->runs);
}

void kl__keys_deinit(kl__keys *keys)
{
    const kl__map_slot *slot;
    size_t cursor = 0;

    while ((slot = kl__map_next(&keys->by_name, &cursor)) != NULL) {
        kl__free(slot->value);
    }
    kl__map_deinit(&keys->by_name);
    kl__delays_deinit(&keys->delays);
}

size_t kl__keys_waiting(const kl__keys *keys)
{
    return kl__lanes_count(&keys->lanes);
}

int64_t kl__keys_due(const kl__keys *keys)
{
    return kl__delays_due(&keys->delays);
}

int64_t kl__keys_longest_ms(const kl__keys *keys, int64_t now_ms)
{
    if (kl__list_empty(&keys->runs)) {
        return 0;
    }
    return now_ms -
           KL__CONTAINER(keys->runs.next, kl__queue_key, in_runs)->began_ms;
}

bool kl__keys_are_finished(const kl__keys *keys)
{
    return keys->phase != KL__KEYS_OPEN && keys->running == 0 &&
           kl__keys_waiting(keys) == 0;
}

kl__queue_key *kl__keys_find(const kl__keys *keys, const char *name)
{
    return kl__map_get(&keys->by_name, name);
}

/* Also reserves room in the heap, so that no later step of this key
 * allocates. */
static kl__queue_key *make_key(kl__keys *keys, const char *name)
{
    size_t size = strlen(name) + 1;
    kl__queue_key *made = kl__malloc(sizeof(*made) + size);

    if (made == NULL) {
        return NULL;
    }
    *made = (kl__queue_key){.is_running = false};
    memcpy(made->name, name, size);
    kl__list_init(&made->in_runs);
    kl__lane_place_init(&made->place);
    kl__timing_init(&made->timing);
    if (!kl__delays_reserve(&keys->delays, keys->by_name.count + 1) ||
        !kl__map_put(&keys->by_name, made->name, made, NULL)) {
        kl__free(made);
        return NULL;
    }
    return made;
}

kl__queue_key *kl__keys_at(kl__keys *keys, const char *name)
{
    kl__queue_key *found = kl__keys_find(keys, name);

    return found != NULL ? found : make_key(keys, name);
}

static void drop_key(kl__keys *keys, kl__queue_key *key)
{
    kl__map_remove(&keys->by_name, key->name);
    kl__lanes_remove(&keys->lanes, &key->place);
    kl__delays_remove(&keys->delays, &key->delay);
    keys->failing -= key->timing.failures > 0 ? 1 : 0;
    kl__free(key);
}

/* Puts a key that is not in progress into the lane or heap that its timing asks
 * for. */
static void place_key(kl__keys *keys, kl__queue_key *key, int64_t now_ms)
{
    kl_lane lane = kl__timing_take_due(&key->timing, now_ms);
    int64_t due_ms = kl__timing_due(&key->timing);

    if (lane < KL_LANES) {
        kl__lanes_put(&keys->lanes, &key->place, lane, now_ms);
    }
    if (key->place.lane == KL_LANE_FRONT || due_ms == KL__NEVER) {
        kl__delays_remove(&keys->delays, &key->delay);
    } else {
        kl__delays_set(&keys->delays, &key->delay, due_ms);
    }
}

/* Drops a key without an event or a timer. */
static void drop_idle(kl__keys *keys, kl__queue_key *key)
{
    if (key->place.lane == KL_LANES && key->delay.place == 0) {
        drop_key(keys, key);
    }
}

static kl__queue_key *first_delayed(kl__keys *keys)
{
    kl__delay *delay = kl__delays_first(&keys->delays);

    return delay != NULL ? KL__CONTAINER(delay, kl__queue_key, delay) : NULL;
}

void kl__keys_move_due(kl__keys *keys, int64_t now_ms)
{
    int64_t due_ms;

    while ((due_ms = kl__delays_due(&keys->delays)) <= now_ms) {
        place_key(keys, first_delayed(keys), due_ms);
    }
}

void kl__keys_add(kl__keys *keys, kl__queue_key *key,
                  const kl__timing_event *event, int64_t now_ms)
{
    if (key->place.lane != KL_LANES) { /* one run serves both events */
        kl__lanes_put(&keys->lanes, &key->place, event->lane, now_ms);
    } else {
        kl__timing_add(&key->timing, event);
    }
    if (!key->is_running) {
        place_key(keys, key, now_ms);
        drop_idle(keys, key);
    }
}

void kl__keys_set_timer(kl__keys *keys, kl__queue_key *key, int64_t due_ms,
                        int64_t now_ms)
{
    kl__timing_set_timer(&key->timing, due_ms);
    if (!key->is_running) {
        place_key(keys, key, now_ms);
        drop_idle(keys, key);
    }
}

bool kl__keys_begin_run(kl__keys *keys, int64_t now_ms, kl_queue_item *item)
{
    kl__lane_place *first = kl__lanes_first(&keys->lanes);
    int64_t asked_ms;
    kl__queue_key *key;

    if (first == NULL) {
        return false;
    }
    key = KL__CONTAINER(first, kl__queue_key, place);
    asked_ms = key->timing.asked_ms;
    *item = (kl_queue_item){.key = key->name,
                            .lane = key->place.lane,
                            .attempt = key->timing.failures + 1,
                            .waited_ms = now_ms - key->place.since_ms,
                            .has_timer = asked_ms != KL__NEVER,
                            .timer_ms =
                                asked_ms != KL__NEVER ? asked_ms - now_ms : 0};
    key->run_lane = key->place.lane;
    key->is_running = true;
    key->began_ms = now_ms;
    kl__list_append(&keys->runs, &key->in_runs);
    keys->began_sum_ms += now_ms;
    keys->running++;
    kl__timing_begin_run(&key->timing);
    kl__lanes_remove(&keys->lanes, &key->place);
    kl__delays_remove(&keys->delays, &key->delay);
    return true;
}

/* The time in ms until the key is in a lane; 0: it is in one now; -1: no run is
 * planned. Call after place_key. */
static int64_t wait_of_key(const kl__queue_key *key, int64_t now_ms)
{
    if (key->place.lane != KL_LANES) {
        return 0;
    }
    return key->delay.place != 0 ? key->delay.due_ms - now_ms : -1;
}

int64_t kl__keys_end_run(kl__keys *keys, kl__queue_key *key,
                         kl__timing_end *end, uint64_t *random)
{
    int64_t again_ms;

    end->lane = key->run_lane;
    keys->failing -= key->timing.failures > 0 ? 1 : 0;
    kl__timing_end_run(&key->timing, end, random);
    keys->failing += key->timing.failures > 0 ? 1 : 0;
    kl__list_remove(&key->in_runs);
    keys->began_sum_ms -= key->began_ms;
    key->is_running = false;
    keys->running--;
    if (keys->phase != KL__KEYS_OPEN) {
        kl__timing_stop_timer(&key->timing, end->now_ms);
    }
    if (keys->phase == KL__KEYS_SHUT) {
        kl__timing_begin_run(&key->timing); /* drops all events */
    }
    place_key(keys, key, end->now_ms);
    again_ms = wait_of_key(key, end->now_ms);
    drop_idle(keys, key);
    return again_ms;
}

void kl__keys_forget(kl__keys *keys, kl__queue_key *key)
{
    keys->failing -= key->timing.failures > 0 ? 1 : 0;
    key->timing.failures = 0;
    key->timing.steps = 0;
}

void kl__keys_enter(kl__keys *keys, kl__keys_phase phase, int64_t now_ms)
{
    kl__lane_place *first;
    kl__queue_key *key;

    keys->phase = keys->phase > phase ? keys->phase : phase;
    while ((key = first_delayed(keys)) != NULL) {
        kl__timing_stop_timer(&key->timing, now_ms);
        place_key(keys, key, now_ms);
        drop_idle(keys, key);
    }
    while (keys->phase == KL__KEYS_SHUT &&
           (first = kl__lanes_first(&keys->lanes)) != NULL) {
        drop_key(keys, KL__CONTAINER(first, kl__queue_key, place));
    }
}
