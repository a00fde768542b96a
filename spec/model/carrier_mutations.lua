-- Ways to break core/http/carrier.c: as in mutations.lua, for carrier_turns_spec.
local CARRIER = "core/http/carrier.c"
return {
    ["asleep-too-late"] = {
        breaks = "A command that comes between the look at the list and the sleep waits for long.",
        source = CARRIER,
        change = [[
-    self->is_asleep = limit_ms != 0;
-    kl__mutex_unlock(&self->mutex);
+    kl__mutex_unlock(&self->mutex);
+    self->is_asleep = limit_ms != 0;
]],
    },
    ["due-missed"] = {
        breaks = "A loop whose time comes while another one has an earlier one sleeps on.",
        source = CARRIER,
        change = [[
-        } else if (each->due_ms < next) {
+        } else if (next == INT64_MAX) {
]],
    },
    ["ends-with-the-first"] = {
        breaks = "A client that is closed ends the thread of the others.",
        source = CARRIER,
        change = [[
-    if (--self->users == 0) {
+    if (--self->users <= 1) {
]],
    },
    ["first-turn-missing"] = {
        breaks = "A new client looks at its first commands after another one was woken.",
        source = CARRIER,
        change = [[
-    kl__carrier_wake(carried);
-    return KL_OK;
+    return KL_OK;
]],
    },
    ["freed-while-it-runs"] = {
        breaks = "The thread uses what was freed with the last loop.",
        source = CARRIER,
        change = [[
-    kl__thread_join(&self->thread);
-    free_carrier(self);
+    free_carrier(self);
+    kl__thread_join(&self->thread);
]],
    },
    ["greedy-round"] = {
        breaks = "While one client is busy, no socket and no time of another one is looked at.",
        source = CARRIER,
        change = [[
-    while ((node = kl__list_shift(&round)) != NULL) {
+    while ((node = kl__list_shift(&round)) != NULL ||
+           (node = kl__list_shift(&self->ready)) != NULL) {
]],
    },
    ["left-too-early"] = {
        breaks = "A client is freed while the thread uses it.",
        source = CARRIER,
        change = [[
-    while (!carried->is_over) {
+    if (!carried->is_over) {
]],
    },
    ["level"] = {
        breaks = "A socket that can be written to keeps the thread awake.",
        source = CARRIER,
        change = [[
-                                    EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
+                                    EPOLLIN | EPOLLOUT | EPOLLRDHUP,
]],
    },
    ["not-forgotten"] = {
        breaks = "A socket that a child of fork() has, too, wakes a client that is gone.",
        source = CARRIER,
        change = [[
-    if (carried->carrier != NULL) {
-        (void)epoll_ctl(carried->carrier->epoll, EPOLL_CTL_DEL, socket, NULL);
-    }
+    (void)carried;
+    (void)socket;
]],
    },
    ["ready-after-the-end"] = {
        breaks = "A command that comes during the last turn has the freed client run again.",
        source = CARRIER,
        change = [[
-    kl__list_remove(&carried->ready_node);
-    carried->is_over = true;
+    carried->is_over = true;
]],
    },
    ["sleeps-although-ready"] = {
        breaks = "A loop that has asked for one more turn waits for news of others.",
        source = CARRIER,
        change = [[
-    if (!kl__list_empty(&self->ready) || self->ends) {
+    if (self->ends) {
]],
    },
    ["wake-not-read"] = {
        breaks = "After the first wake-up the thread never sleeps again.",
        source = CARRIER,
        change = [[
-            (void)!read(self->wakeup, &wakes, sizeof(wakes));
+            (void)wakes;
]],
    },
    ["wake-not-sent"] = {
        breaks = "A command waits until a socket or a time has news.",
        source = CARRIER,
        change = [[
-        must_wake = self->is_asleep;
+        must_wake = false;
]],
    },
}
