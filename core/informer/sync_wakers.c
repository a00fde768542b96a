/*
 * sync_wakers.c - a list of event queues, each woken once; see sync_wakers.h.
 */
#include "informer/sync_wakers.h"

#include "base/mem.h"
#include "base/event_queue.h"

typedef struct waker {
    kl__list node;
    const void *user;
    kl_event_queue *queue; /* a reference */
} waker;

void kl__sync_wakers_init(kl__sync_wakers *wakers)
{
    kl__list_init(&wakers->list);
}

static bool has_waker(const kl__sync_wakers *wakers, const void *user,
                      const kl_event_queue *queue)
{
    for (const kl__list *node = wakers->list.next; node != &wakers->list;
         node = node->next) {
        const waker *each = KL__CONTAINER(node, waker, node);

        if (each->user == user && each->queue == queue) {
            return true;
        }
    }
    return false;
}

kl_code kl__sync_wakers_add(kl__sync_wakers *wakers, const void *user,
                            kl_event_queue *queue)
{
    waker *added;

    if (has_waker(wakers, user, queue)) {
        return KL_OK;
    }
    added = kl__malloc(sizeof(*added));
    if (added == NULL) {
        return KL_ENOMEM;
    }
    kl__event_queue_ref(queue);
    added->user = user;
    added->queue = queue;
    kl__list_append(&wakers->list, &added->node);
    return KL_OK;
}

static void drop_waker(waker *each)
{
    kl__list_remove(&each->node);
    kl__event_queue_unref(each->queue);
    kl__free(each);
}

void kl__sync_wakers_wake(kl__sync_wakers *wakers)
{
    while (!kl__list_empty(&wakers->list)) {
        waker *first = KL__CONTAINER(wakers->list.next, waker, node);

        kl_event_queue_wake(first->queue);
        drop_waker(first);
    }
}

void kl__sync_wakers_forget(kl__sync_wakers *wakers, const void *user)
{
    kl__list *node, *next;

    for (node = wakers->list.next; node != &wakers->list; node = next) {
        waker *each = KL__CONTAINER(node, waker, node);

        next = node->next;
        if (user == NULL || each->user == user) {
            drop_waker(each);
        }
    }
}
