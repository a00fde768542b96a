-- Ways to break requests and their credentials: as in ../mutations.lua, for request_turns_spec.
local COURSE = "core/api/request_course.c"
local CREDENTIALS = "core/config/credentials.c"
local LOOP = "core/api/request_loop.c"
local REQUEST = "core/api/request.c"
local REQUESTER = "core/api/requester.c"
local SENDING = "core/api/request_sending.c"
return {
    ["attended-twice"] = {
        breaks = "The loop and the transport's thread read one stream at once.",
        source = COURSE,
        change = [[
-    if (request->is_attended) {
+    if (request->is_attended && request->phase == KL__PHASE_DONE) {
]],
    },
    ["batch-dropped"] = {
        breaks = "If credentials cannot be had, all requests but one never end.",
        source = SENDING,
        change = [[
-    while ((node = kl__list_shift(&requester->batch)) != NULL) {
+    while ((node = requester->batch.next) != &requester->batch) {
+        kl__list_init(&requester->batch);
]],
    },
    ["cancel-waits-for-the-pause"] = {
        breaks = "A request that is cancelled while a 429 comes ends after the Retry-After.",
        source = COURSE,
        change = [[
-        take_answer(request, ends_request(failure->code), &ignored) == KL_OK) {
+        take_answer(request, false, &ignored) == KL_OK) {
]],
    },
    ["closing-not-told"] = {
        breaks = "A client that is closed leaves its requests to their timeouts.",
        source = REQUESTER,
        change = [[
-    (void)kl__cancel_add(kl__client_closed(client), &requester->closing);
+    kl__list_init(&requester->closing.node);
]],
    },
    ["due-not-found"] = {
        breaks = "A timeout that comes after another one is missed.",
        source = REQUESTER,
        change = [[
-    if (next_ms < requester->due_ms) {
+    if (next_ms < requester->due_ms && requester->due_ms != INT64_MAX) {
]],
    },
    ["end-not-looked-for"] = {
        breaks = "A client whose last answer ends on the transport's thread is never freed.",
        source = SENDING,
        change = [[
-    if (requester->is_ending) {
-        kl__requester_look(requester);
-    }
-    kl__mutex_unlock(&requester->mutex);
-    kl__request_unref(request);
+    kl__mutex_unlock(&requester->mutex);
+    kl__request_unref(request);
]],
    },
    ["ending-sender-not-told"] = {
        breaks = "A client whose sender ends last is never freed.",
        source = SENDING,
        change = [[
-            if (requester->is_ending) {
-                kl__requester_look(requester);
-            }
]],
    },
    ["failed-start-forgets"] = {
        breaks = "A request that comes while the sender cannot be started is never sent.",
        source = SENDING,
        change = [[
-    kl__requester_look_at_outbox(requester);
]],
    },
    ["flight-begins-blind"] = {
        breaks = "A plugin that hangs starts although its last request was cancelled.",
        source = SENDING,
        change = [[
-    code = has_batch(requester)
+    code = has_batch(requester) || true
]],
    },
    ["flight-goes-on"] = {
        breaks = "A plugin that hangs runs on after the last request was cancelled.",
        source = COURSE,
        change = [[
-        if (code != KL_ETIMEOUT) {
+        if (code == KL_ECLOSED) {
]],
    },
    ["flight-not-ended"] = {
        breaks = "The token of a wait that is over is fired.",
        source = SENDING,
        change = [[
-    requester->is_flying = false;
-    kl__cancel_deinit(&requester->flight);
+    kl__cancel_deinit(&requester->flight);
]],
    },
    ["freed-early"] = {
        breaks = "A client is freed while its last turn runs.",
        source = LOOP,
        change = [[
-    member->is_ready = false;
+    member->is_ready = false;
+    member->is_over = member->due_ms == INT64_MAX;
]],
    },
    ["freed-while-ending"] = {
        breaks = "The loop is freed while its thread uses it.",
        source = LOOP,
        change = [[
-        kl__thread_join(&self->thread);
-        free_loop(self);
+        free_loop(self);
+        kl__thread_join(&self->thread);
]],
    },
    ["held-not-counted"] = {
        breaks = "A client is freed while the transport's thread ends a request of it.",
        source = REQUESTER,
        change = [[
-           kl__list_empty(&requester->all) &&
-           atomic_load_explicit(&requester->held, memory_order_relaxed) == 0;
+           kl__list_empty(&requester->all);
]],
    },
    ["look-once"] = {
        breaks = "A client that has requests when it is freed is freed never.",
        source = REQUESTER,
        change = [[
-        if (requester->may_end && loop_is_over(requester)) {
+        if (todo.is_all && loop_is_over(requester)) {
]],
    },
    ["loop-waits"] = {
        breaks = "All clients that share a loop wait for the plugin of one.",
        source = SENDING,
        change = [[
-    if (has_batch && !send_batch_now(requester)) {
+    if (has_batch && !send_batch_now(requester) &&
+        (send_batch(requester), false)) {
]],
    },
    ["news-while-it-runs"] = {
        breaks = "A requester that is woken during its turn rests after it.",
        source = LOOP,
        change = [[
-    member->is_ready = false;
-    kl__mutex_unlock(&self->mutex);
-    due_ms = member->run(member->arg);
-    kl__mutex_lock(&self->mutex);
+    kl__mutex_unlock(&self->mutex);
+    due_ms = member->run(member->arg);
+    kl__mutex_lock(&self->mutex);
+    kl__list_remove(&member->node);
+    member->is_ready = false;
]],
    },
    ["not-joined"] = {
        breaks = "Each run of a plugin leaves a thread.",
        source = SENDING,
        change = [[
-    join_sender(requester);
-    kl__mutex_lock(&requester->mutex);
-    requester->sender_runs = true;
+    kl__mutex_lock(&requester->mutex);
+    requester->sender_runs = true;
]],
    },
    ["outbox-forgotten"] = {
        breaks = "A request that comes as the sender ends is never sent.",
        source = SENDING,
        change = [[
-        goes_on = take_outbox_locked(requester);
-        if (!goes_on) {
+        goes_on = take_outbox_locked(requester);
+        kl__mutex_unlock(&requester->mutex);
+        kl__mutex_lock(&requester->mutex);
+        if (!goes_on) {
]],
    },
    ["overlooked"] = {
        breaks = "A cancel that comes while the request is read is lost.",
        source = COURSE,
        change = [[
-        request->is_overlooked = true;
-        kl__mutex_unlock(mutex);
+        kl__mutex_unlock(mutex);
]],
    },
    ["passed-by"] = {
        breaks = "A cancel that comes while the stream is opened is lost.",
        source = SENDING,
        change = [[
-        if (has_news || request->was_passed_by) {
+        if (has_news) {
]],
    },
    ["plugin-runs-twice"] = {
        breaks = "Clients that share a plugin run it once each for the same 401.",
        source = CREDENTIALS,
        change = [[
-    } else if (generation == config->generation && !config->renews) {
+    } else if (generation == config->generation) {
]],
    },
    ["refused-token-again"] = {
        breaks = "After a 401 the plugin does not run again.",
        source = CREDENTIALS,
        change = [[
-        config->rejected = true;
+        config->rejected = false;
]],
    },
    ["rest-not-ended"] = {
        breaks = "A request that pauses is sent when its timeout is over.",
        source = COURSE,
        change = [[
-    kl__request_due_locked(request, request->rest_until_ms);
-    kl__mutex_unlock(&requester->mutex);
+    kl__mutex_unlock(&requester->mutex);
]],
    },
    ["room-not-told"] = {
        breaks = "A stream stops for ever once its reader was slow.",
        source = REQUEST,
        change = [[
-        unread - length <= MAX_AHEAD / 2) {
+        unread - length < MAX_AHEAD / 64) {
]],
    },
    ["second-answer"] = {
        breaks = "Requests of a stream that broke are told twice.",
        source = COURSE,
        change = [[
-    kl__list_remove(&request->node);
-    kl__mutex_lock(&requester->news_mutex);
-    kl__list_remove(&request->news_node);
-    kl__mutex_unlock(&requester->news_mutex);
+    kl__list_remove(&request->node);
]],
    },
    ["sender-told-late"] = {
        breaks = "A request that comes as the sender ends waits for the next one.",
        source = REQUESTER,
        change = [[
-    if (!requester->sender_runs) {
+    if (!requester->sender_runs && !requester->has_sender) {
]],
    },
    ["shared-loop-ends"] = {
        breaks = "A client that is freed ends the loop of the others.",
        source = LOOP,
        change = [[
-        is_last = --self->users == 0;
+        is_last = --self->users <= 1;
]],
    },
    ["signal-lost"] = {
        breaks = "News that comes between the look and the rest wakes no loop.",
        source = REQUESTER,
        change = [[
-    requester->is_resting = !has_found;
-    *due_ms = requester->due_ms;
-    kl__mutex_unlock(&requester->news_mutex);
+    *due_ms = requester->due_ms;
+    kl__mutex_unlock(&requester->news_mutex);
+    requester->is_resting = !has_found;
]],
    },
    ["sleeps-on"] = {
        breaks = "The loop sleeps although a requester was woken.",
        source = LOOP,
        change = [[
-        must_wake = self->is_asleep;
-        self->is_asleep = false;
+        must_wake = self->is_asleep && kl__list_empty(&self->resting);
+        self->is_asleep = false;
]],
    },
    ["turn-not-again"] = {
        breaks = "After sixteen requests the rest wait for other news.",
        source = REQUESTER,
        change = [[
-    return KL__LOOP_AGAIN;
+    return INT64_MAX;
]],
    },
    ["wait-not-woken"] = {
        breaks = "A client that waits for credentials of another one is not woken.",
        source = CREDENTIALS,
        change = [[
-    kl__cond_broadcast(&config->landed);
-}
+}
]],
    },
}
