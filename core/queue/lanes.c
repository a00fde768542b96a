/*
 * lanes.c - see lanes.h.
 */
#include "queue/lanes.h"

void kl__lanes_init(kl__lanes *lanes)
{
    for (int i = 0; i < KL_LANES; i++) {
        kl__list_init(&lanes->keys[i]);
        lanes->counts[i] = 0;
    }
    kl__list_init(&lanes->ages);
}

void kl__lane_place_init(kl__lane_place *place)
{
    kl__list_init(&place->in_lane);
    kl__list_init(&place->by_age);
    place->lane = KL_LANES;
    place->since_ms = 0;
}

size_t kl__lanes_count(const kl__lanes *lanes)
{
    size_t count = 0;

    for (int i = 0; i < KL_LANES; i++) {
        count += lanes->counts[i];
    }
    return count;
}

void kl__lanes_put(kl__lanes *lanes, kl__lane_place *place, kl_lane lane,
                   int64_t now_ms)
{
    if (place->lane <= lane) {
        return;
    }
    if (place->lane == KL_LANES) {
        place->since_ms = now_ms;
        kl__list_append(&lanes->ages, &place->by_age);
    } else {
        kl__list_remove(&place->in_lane);
        lanes->counts[place->lane]--;
    }
    kl__list_append(&lanes->keys[lane], &place->in_lane);
    lanes->counts[lane]++;
    place->lane = lane;
}

void kl__lanes_remove(kl__lanes *lanes, kl__lane_place *place)
{
    if (place->lane == KL_LANES) {
        return;
    }
    kl__list_remove(&place->in_lane);
    kl__list_remove(&place->by_age);
    lanes->counts[place->lane]--;
    place->lane = KL_LANES;
}

kl__lane_place *kl__lanes_first(const kl__lanes *lanes)
{
    for (int i = 0; i < KL_LANES; i++) {
        if (!kl__list_empty(&lanes->keys[i])) {
            return KL__CONTAINER(lanes->keys[i].next, kl__lane_place, in_lane);
        }
    }
    return NULL;
}

int64_t kl__lanes_oldest_ms(const kl__lanes *lanes, int64_t now_ms)
{
    if (kl__list_empty(&lanes->ages)) {
        return 0;
    }
    return now_ms -
           KL__CONTAINER(lanes->ages.next, kl__lane_place, by_age)->since_ms;
}
