-- Ways to break core/queue, by name: what it does to a user, the source, and the change: lines
-- that begin with " " (unchanged lines before it), "-" (removed) and "+" (added). A change must fit
-- its source at exactly one place.
return {
    ["attempts-not-forgotten"] = {
        breaks = "After a success, the backoff of the next failure goes on where the last one "
            .. "was.",
        source = "core/queue/timing.c",
        change = [[
         timing->failures = 0;
-        timing->steps = 0;
]],
    },
    ["drain-drops-the-gathered"] = {
        breaks = "Events that are being gathered when a drain begins are lost.",
        source = "core/queue/timing.c",
        change = [[
     timing->is_backoff = false;
-    timing->gathered_ms = timing->gathered_ms != KL__NEVER ? now_ms : KL__NEVER;
+    timing->gathered_ms = now_ms == 0 ? 0 : KL__NEVER;
]],
    },
    ["drained-unheard"] = {
        breaks = "A thread that waits is not woken at the end of the queue.",
        source = "core/queue/workqueue.c",
        change = [[
     if (queue->sleepers > 0) {
-        kl__cond_broadcast(&queue->changed);
+        kl__keys_waiting(&queue->keys) > 0 ? kl__cond_broadcast(&queue->changed) : (void)0;
]],
    },
    ["due-moves-late"] = {
        breaks = "Keys that became due come after keys that were added later.",
        source = "core/queue/workqueue.c",
        change = [[
-    kl__keys_move_due(&queue->keys, now_ms);
+    kl__keys_move_due(&queue->keys, now_ms - 50);
]],
    },
    ["gathering-starts-anew"] = {
        breaks = "Events that never stop delay the run for ever.",
        source = "core/queue/timing.c",
        change = [[
-    if (timing->gathered_ms == KL__NEVER) {
+    if (timing->gathered_ms == KL__NEVER || due_ms > timing->gathered_ms) {
]],
    },
    ["heap-not-kept"] = {
        breaks = "A timer that was put off stays ahead of earlier timers, which come late.",
        source = "core/queue/delays.c",
        change = [[
     move_up(delays, delay->place - 1);
-    move_down(delays, delay->place - 1);
]],
    },
    ["in-progress-twice"] = {
        breaks = "A key that is added during its run is handed out a second time: two runs of "
            .. "one object at once.",
        source = "core/queue/keys.c",
        change = [[
         kl__timing_add(&key->timing, event);
     }
-    if (!key->is_running) {
+    if (true) {
]],
    },
    ["loop-oversleeps"] = {
        breaks = "A loop that sleeps until a late timer is not woken for an earlier one.",
        source = "core/queue/workqueue.c",
        change = [[
-                            kl__keys_due(&queue->keys) >= queue->told_due_ms)) {
+                            queue->told_due_ms < KL__NEVER)) {
]],
    },
    ["loop-told-of-the-former-timer"] = {
        breaks = "A loop sleeps for a timer that was put off, and is not woken for an earlier "
            .. "one.",
        source = "core/queue/workqueue.c",
        change = [[
-    queue->told_due_ms = due_ms;
]],
    },
    ["loop-told-once"] = {
        breaks = "A loop is woken for its first key only, and sleeps for ever after.",
        source = "core/queue/workqueue.c",
        change = [[
-        queue->was_told = false;
+        queue->was_told = true;
]],
    },
    ["news-stay-in-the-rear"] = {
        breaks = "A change of an object that waits for a resync waits until all resyncs are "
            .. "done.",
        source = "core/queue/lanes.c",
        change = [[
-    if (place->lane <= lane) {
+    if (place->lane != KL_LANES) {
]],
    },
    ["one-sleeper-told"] = {
        breaks = "Of several threads, one is woken for an earlier timer; if it stops waiting, "
            .. "the others sleep too long.",
        source = "core/queue/workqueue.c",
        change = [[
-        kl__cond_broadcast(&queue->changed);
+        kl__cond_signal(&queue->changed);
]],
    },
    ["related-ends-backoff"] = {
        breaks = "Each change of an owned object runs a failing object again without backoff: "
            .. "a hot loop.",
        source = "core/queue/timing.c",
        change = [[
-    if (timing->is_backoff && event->is_related) {
+    if (timing->is_backoff && event->is_related && timing->failures == 0) {
]],
    },
    ["removal-leaves-a-hole"] = {
        breaks = "The heap is out of order after a key was removed from it: timers come late.",
        source = "core/queue/delays.c",
        change = [[
     put_at(delays, i, last);
     move_up(delays, i);
-    move_down(delays, last->place - 1);
]],
    },
    ["run-forgets-news"] = {
        breaks = "A change during a run is taken for seen: the last change of an object is "
            .. "never reconciled.",
        source = "core/queue/keys.c",
        change = [[
     key->is_running = false;
     keys->running--;
-    if (keys->phase != KL__KEYS_OPEN) {
+    if (keys->phase == KL__KEYS_OPEN) {
+        key->timing.gathered_ms = KL__NEVER;
+    }
+    if (keys->phase != KL__KEYS_OPEN) {
]],
    },
    ["timer-outlives-its-run"] = {
        breaks = "\"return 60\" and then \"return nothing\" still runs after 60 s.",
        source = "core/queue/timing.c",
        change = [[
 void kl__timing_begin_run(kl__timing *timing)
 {
     timing->gathered_ms = KL__NEVER;
-    timing->timer_ms = KL__NEVER;
]],
    },
}
