/*
 * queue_rig.c - see queue_rig.h.
 */
#include "queue_rig.h"

#include "kubelua/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void count_wake(void *context)
{
    ((queue_rig *)context)->wakes++;
}

void queue_rig_begin(queue_rig *rig, int64_t gather_ms)
{
    const kl_queue_options options = {.gather_ms = gather_ms,
                                      .clock_stands = true,
                                      .wake = count_wake,
                                      .context = rig};

    memset(rig, 0, sizeof(*rig));
    rig->queue = kl_queue_new(&options, NULL);
    assert_non_null(rig->queue);
}

void queue_rig_end(queue_rig *rig)
{
    kl_queue_free(rig->queue);
    assert_int_equal(kl_live_count(KL_LIVE_WORKQUEUE), 0);
}

void queue_rig_add(queue_rig *rig, const char *key)
{
    assert_int_equal(kl_queue_add(rig->queue, key, KL_LANE_FRONT, NULL), KL_OK);
}

void queue_rig_add_rear(queue_rig *rig, const char *key)
{
    assert_int_equal(kl_queue_add(rig->queue, key, KL_LANE_REAR, NULL), KL_OK);
}

void queue_rig_add_related(queue_rig *rig, const char *key)
{
    assert_int_equal(kl_queue_add_related(rig->queue, key, KL_LANE_FRONT, NULL),
                     KL_OK);
}

void queue_rig_add_after(queue_rig *rig, const char *key, int64_t ms)
{
    assert_int_equal(kl_queue_add_after(rig->queue, key, ms, NULL), KL_OK);
}

kl_queue_item queue_rig_take(queue_rig *rig, const char *key)
{
    kl_queue_item item = {0};

    assert_true(kl_queue_next(rig->queue, &item));
    assert_string_equal(item.key, key);
    return item;
}

const char *queue_rig_take_all(queue_rig *rig)
{
    kl_queue_item item;

    rig->text[0] = '\0';
    while (kl_queue_next(rig->queue, &item)) {
        assert_true(strlen(rig->text) + strlen(item.key) + 2 <
                    sizeof(rig->text));
        if (rig->text[0] != '\0') {
            strcat(rig->text, " ");
        }
        strcat(rig->text, item.key);
    }
    return rig->text;
}

int64_t queue_rig_done(queue_rig *rig, const char *key, kl_queue_result result,
                       int64_t ms)
{
    int64_t again_ms = -2;

    assert_int_equal(kl_queue_done(rig->queue, key, result, ms, &again_ms),
                     KL_OK);
    return again_ms;
}

int64_t queue_rig_fail(queue_rig *rig, const char *key)
{
    (void)queue_rig_take(rig, key);
    return queue_rig_done(rig, key, KL_RESULT_FAILED, -1);
}

kl_queue_status queue_rig_status(queue_rig *rig)
{
    kl_queue_status status;

    kl_queue_get_status(rig->queue, &status);
    return status;
}
