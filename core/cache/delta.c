/*
 * delta.c - frees what deltas and batches of deltas own.
 */
#include "cache/delta_fifo.h"

#include "base/mem.h"

void kl__listed_clear(kl__listed *listed)
{
    kl_object_list_clear(&listed->objects);
    kl__unreadables_clear(&listed->unreadable);
}

void kl__delta_clear(kl__delta *delta)
{
    kl_object_unref(delta->object);
    kl__free(delta->unreadable);
    if (delta->listed != NULL) {
        kl__listed_clear(delta->listed);
        kl__free(delta->listed);
    }
    kl__free(delta->version);
    kl__free(delta->error);
    *delta = (kl__delta){0};
}

void kl__delta_batch_clear(kl__delta_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        kl__delta_clear(&batch->items[i]);
    }
    kl__free(batch->items);
    if (batch->turn != NULL) {
        kl__delta_fifo_end_turn(batch->turn);
    }
    *batch = (kl__delta_batch){0};
}
