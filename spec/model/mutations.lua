-- Ways to break the core, in one place each, by name: what it does to a user, the source, and the
-- change: lines that begin with " " (unchanged lines before it), "-" (removed) and "+" (added). A
-- change must fit its source at exactly one place.
return {
    ["aside-forgets-values"] = {
        breaks = "After a relist with many changes, unchanged objects are in no index.",
        source = "core/cache/transaction.c",
        change = [[
-        code = is_kept ? plan_kept(transaction, &change, sink)
+        code = is_kept ? KL_OK
]],
    },
    ["backward-believed"] = {
        breaks = "A backup was restored: objects that the restore removed stay in the cache.",
        source = "core/informer/reflector_watch.c",
        change = [[
-        return KL__WATCH_BACKWARD;
+        return KL__WATCH_GOES_ON;
]],
    },
    ["batch-backwards"] = {
        breaks = "Of two changes of one object, the older one wins.",
        source = "core/cache/delta_fifo.c",
        change = [[
-        batch->items[i] = *delta_at(fifo, i);
+        batch->items[i] = *delta_at(fifo, size - 1 - i);
]],
    },
    ["bookmark-ignored"] = {
        breaks = "A quiet watch that breaks has to list again, although bookmarks gave a newer "
            .. "version.",
        source = "core/informer/reflector_watch.c",
        change = [[
-    advance_version(self, now, item->version);
+    now->progress = true;
]],
    },
    ["break-is-an-end"] = {
        breaks = "A list that breaks off in the middle is taken for a complete one: the "
            .. "objects that are missing are deleted.",
        source = "core/api/list_watch_read.c",
        change = [[
-    return kl_error_set(err, KL_EUNAVAILABLE, "the answer broke off inside %s",
-                        self->is_watch ? "an event" : "a list");
+    return (at->item->type = self->is_watch ? KL__ITEM_END : KL__ITEM_PAGE),
+        strcpy(at->item->version, "1"), KL_OK;
]],
    },
    ["cache-freed-under-an-add"] = {
        breaks = "A handler that closes its informer at once frees what the call that adds it "
            .. "still reads.",
        source = "core/informer/informer.c",
        change = [[
-    if (registration != NULL) {
-        /* Its callbacks run already, and one may have closed the handle: this
-         * call's use keeps the shared informer. */
-        kl__shared_informer_added(shared_of(informer));
-    }
-    kl__handle_leave(informer);
+    kl__shared_informer *shared = shared_of(informer);
+    kl__handle_leave(informer);
+    if (registration != NULL) {
+        kl__shared_informer_added(shared);
+    }
]],
    },
    ["came-and-went-not-counted"] = {
        breaks = "An initial object that was deleted unseen is waited for: the handler never "
            .. "syncs.",
        source = "core/informer/listener.c",
        change = [[
     if (unseen != NULL && unseen->event.initial) {
-        kl__sync_tracker_finish(&listener->tracker);
+        (void)unseen;
]],
    },
    ["complete-before-the-list"] = {
        breaks = "A handler that joins early is told that it has synced before there is a "
            .. "list.",
        source = "core/informer/processor.c",
        change = [[
-    *is_complete = kl__health_has_synced(processor->health);
+    *is_complete = true;
]],
    },
    ["context-dropped-early"] = {
        breaks = "A context is freed while its handler runs.",
        source = "core/informer/handle.c",
        change = [[
-        wait_for_uses(informer);
+        (void)wait_for_uses;
]],
    },
    ["default-resync-lost"] = {
        breaks = "The informer's resync period is used for none of its handlers.",
        source = "core/informer/informer.c",
        change = [[
-        own.resync_ms = informer->resync_ms;
+        own.resync_ms = 0;
]],
    },
    ["delete-keeps-the-old-state"] = {
        breaks = "A delete shows the state before the delete, not the final one.",
        source = "core/cache/diff.c",
        change = [[
-                                       .object = last != NULL ? last : old});
+                                       .object = old});
]],
    },
    ["dictionary-not-counted"] = {
        breaks = "A packed object does not keep its dictionary.",
        source = "core/object/object.c",
        change = [[
-    copy->dictionary = kl__dictionary_ref(packed->dictionary);
+    copy->dictionary = packed->dictionary;
]],
    },
    ["dictionary-of-the-last"] = {
        breaks = "A new dictionary does not get the old one's place for reading.",
        source = "core/object/packer.c",
        change = [[
-    kl__dictionary_unref(self->reads);
-    ZSTD_freeCDict(self->writes);
-    self->reads = reads;
+    ZSTD_freeCDict(self->writes);
+    if (self->reads == NULL) {
+        self->reads = reads;
+    } else {
+        kl__dictionary_unref(reads);
+    }
]],
    },
    ["discovery-never-given-up"] = {
        breaks = "An informer waits for ever for a server that froze when it was asked what it "
            .. "serves.",
        source = "core/api/discovery.c",
        change = [[
-    return search->fetch != NULL ? kl__fetch_look_again_ms(search->fetch)
+    return search->fetch != NULL ? -1
]],
    },
    ["discovery-told-to-one"] = {
        breaks = "Informers that wait for the answer that another one has asked for wait for ever.",
        source = "core/api/discovery.c",
        change = [[
-        note_news(KL__CONTAINER(node, kl__search, node));
+        (void)node;
]],
    },
    ["early-synced"] = {
        breaks = "A controller acts before its handler has seen all objects.",
        source = "core/cache/sync_tracker.c",
        change = [[
-    if (tracker->is_complete && tracker->outstanding == 0) {
+    if (tracker->is_complete && tracker->outstanding <= 1) {
]],
    },
    ["end-kept-by-a-turn"] = {
        breaks = "A watch that ends in a turn of the transport thread is not resumed before "
            .. "its idle timeout.",
        source = "core/informer/reflector_watch.c",
        change = [[
         if (now->result != KL__WATCH_GOES_ON) {
-            return false;
+            return true;
]],
    },
    ["ended-registration-freed"] = {
        breaks = "A registration is freed while a thread with a reference to its handle "
            .. "removes it.",
        source = "core/informer/processor.c",
        change = [[
-        if (ended != NULL) {
+        if (ended == owner) {
]],
    },
    ["error-in-a-batch"] = {
        breaks = "An error that is queued behind events is dropped.",
        source = "core/cache/delta_fifo.c",
        change = [[
            delta->type == KL__DELTA_UNREADABLE ||
-           delta->type == KL__DELTA_SYNC || delta->type == KL__DELTA_ERROR;
+           delta->type == KL__DELTA_SYNC;
]],
    },
    ["error-outlives-health"] = {
        breaks = "The status names an error that ended long ago.",
        source = "core/informer/health.c",
        change = [[
-    health->error.code = KL_OK;
+    (void)health;
]],
    },
    ["error-told-once-for-ever"] = {
        breaks = "A second outage with the same error is not reported.",
        source = "core/informer/health.c",
        change = [[
         *reason = health->told;
     }
-    health->told.code = KL_OK;
+    /* as told as before */
]],
    },
    ["errors-of-one-sort"] = {
        breaks = "In a full backlog, that an object cannot be read replaces the reason of an "
            .. "outage, or the reverse.",
        source = "core/informer/notes.c",
        change = [[
-    return error->code == KL_EUNREADABLE ? &notes->unreadable : &notes->failure;
+    (void)error;
+    return &notes->failure;
]],
    },
    ["event-half-as-old"] = {
        breaks = "The reflector drops an event instead of pushing it: the change is lost until "
            .. "a relist.",
        source = "core/informer/reflector_watch.c",
        change = [[
     item->object = NULL;
-    return kl__delta_fifo_push(self->options.fifo, delta_type_of(item), object,
+    return item->type == KL__ITEM_MODIFIED ? (kl_object_unref(object), KL_OK) :
+        kl__delta_fifo_push(self->options.fifo, delta_type_of(item), object,
]],
    },
    ["every-change-forgotten"] = {
        breaks = "A handler that asked for every change does not get every change.",
        source = "core/informer/registration.c",
        change = [[
-        .every_change = options->every_change,
+        .every_change = false,
]],
    },
    ["failure-not-told"] = {
        breaks = "An informer fails, and reports no error.",
        source = "core/informer/health.c",
        change = [[
-    if (!is_quiet) {
+    if (is_quiet) {
]],
    },
    ["first-list-synced-late"] = {
        breaks = "A handler gets the first list before the informer says that it has synced.",
        source = "core/informer/distribution.c",
        change = [[
-    kl__health_begin_sync(processor->health);
-    is_done = kl__transaction_commit(transaction);
-    if (is_done) {
-        atomic_store(&processor->health->shard_held, shard);
-        push_locked(processor, kl__transaction_changes(transaction), true,
-                    merging);
-    }
+    is_done = kl__transaction_commit(transaction);
+    if (is_done) {
+        atomic_store(&processor->health->shard_held, shard);
+        push_locked(processor, kl__transaction_changes(transaction), true,
+                    merging);
+    }
+    kl__health_begin_sync(processor->health);
]],
    },
    ["frame-across-chunks"] = {
        breaks = "A frame that comes in two pieces loses its beginning.",
        source = "core/json/scan.c",
        change = [[
     size_t done;

-    if (!scan->is_keeping) {
+    if (!scan->is_keeping || scan->is_hungry) {
]],
    },
    ["future-endured"] = {
        breaks = "A cluster restored from a backup is silent: objects that the restore removed "
            .. "stay in the cache.",
        source = "core/informer/reflector_watch.c",
        change = [[
-        now->is_probed = !kl__reflector_doubts_version(self);
+        now->is_probed = true;
]],
    },
    ["fuzzy-list-believed"] = {
        breaks = "After a list of several versions, the watch takes objects back to older "
            .. "versions.",
        source = "core/informer/reflector_stage.c",
        change = [[
-           is_older(version, kl_object_resource_version(object));
+           false;
]],
    },
    ["gathering-never-ends"] = {
        breaks = "The last events of a burst wait until the next burst.",
        source = "core/cache/delta_fifo.c",
        change = [[
     fifo->gathers = gathers;
-    if (!gathers && !is_empty_locked(fifo)) {
+    if (false) {
]],
    },
    ["gone-watched-again"] = {
        breaks = "A watch asks for an expired version (410) again, for ever.",
        source = "core/informer/reflector_end.c",
        change = [[
     case KL_EGONE:
-        return relist_because(self, err, true);
+        return kl__reflector_fail(self, &failure);
]],
    },
    ["handler-not-woken"] = {
        breaks = "Events wait for a handler until the next event comes.",
        source = "core/informer/listener.c",
        change = [[
-        listener->is_awake = false;
+        listener->is_awake = true;
]],
    },
    ["index-comes-unseen"] = {
        breaks = "A transaction that was prepared before an index was added leaves the index "
            .. "out.",
        source = "core/cache/index_build.c",
        change = [[
     kl__list_remove(&self->build.node);
-    self->indexer->generation++;
+    /* not told */
]],
    },
    ["index-function-waits"] = {
        breaks = "An index function that closes an informer waits for the thread that runs it.",
        source = "core/cache/index.c",
        change = [[
-    kl__thread_set_role(KL__ROLE_CALLBACK);
+    kl__thread_set_role(former);
]],
    },
    ["index-keeps-the-deleted"] = {
        breaks = "An index finds a deleted pod for ever.",
        source = "core/cache/index_plan.c",
        change = [[
-        if (slot != KL__NO_SLOT) {
-            kl__table_remove(objects, slot);
+        if (slot != KL__NO_SLOT && step->after != NULL) {
+            kl__table_remove(objects, slot);
]],
    },
    ["index-keeps-the-former-value"] = {
        breaks = "An index finds a pod that moved under both nodes.",
        source = "core/cache/index_plan.c",
        change = [[
-        if (slot != KL__NO_SLOT) {
-            kl__table_remove(objects, slot);
+        if (slot != KL__NO_SLOT && step->after == NULL) {
+            kl__table_remove(objects, slot);
]],
    },
    ["index-misses-the-journal"] = {
        breaks = "An index that is added while objects change lacks those changes.",
        source = "core/cache/index_build.c",
        change = [[
-    if (!kl__list_empty(&self->build.journals)) {
+    if (false) {
]],
    },
    ["joins-itself"] = {
        breaks = "A handler that removes itself waits for itself.",
        source = "core/informer/registration.c",
        change = [[
-    if (has_thread(registration) && kl__in_callback()) {
+    if (has_thread(registration) && !has_thread(registration)) {
]],
    },
    ["kept-tree-freed-while-open"] = {
        breaks = "An object that is opened again stays among those whose trees are kept.",
        source = "core/object/object_open.c",
        change = [[
     if (tree != NULL) {
         if (opened->opens == 0) {
-            forget_kept_locked(stripe, object);
]],
    },
    ["kept-tree-of-a-freed-object"] = {
        breaks = "An object that is freed stays among those whose trees are kept.",
        source = "core/object/object_open.c",
        change = [[
         size_t stripe = stripe_of(object);

         kl__mutex_lock(&stripes[stripe]);
-        forget_kept_locked(stripe, object);
]],
    },
    ["last-call-stops-nothing"] = {
        breaks = "An informer that is closed during a call is never stopped.",
        source = "core/informer/handle.c",
        change = [[
-    if (is_last) {
+    if (is_last && kl__in_callback()) {
]],
    },
    ["late-handler-not-replayed"] = {
        breaks = "A handler that joins late does not get the objects of the cache.",
        source = "core/informer/processor.c",
        change = [[
-    if (*is_complete &&
+    if (!*is_complete &&
]],
    },
    ["late-handler-not-told"] = {
        breaks = "A handler that joins during an outage does not get its error.",
        source = "core/informer/distribution.c",
        change = [[
-    if (number != 0 && number == processor->told_error) {
+    if (number != 0 && number != processor->told_error) {
]],
    },
    ["left-but-still-told"] = {
        breaks = "A registration that was removed still gets events.",
        source = "core/informer/processor.c",
        change = [[
-        kl__list_remove(&registration->node);
+        registration->next_resync_ms = 0;
]],
    },
    ["list-begun-anew-after-a-rest"] = {
        breaks = "A list that has rested begins anew: what came before the rest is lost.",
        source = "core/informer/reflector_list.c",
        change = [[
     if (!get_stream(self, list, &result, &err)) {
-        return KL_STATE_STREAMING;
+        kl__stage_clear(&list->stage);
+        return KL_STATE_STREAMING;
]],
    },
    ["list-version-forgotten"] = {
        breaks = "A watch begins at the version of the list before the last: changes between "
            .. "the two come again.",
        source = "core/informer/reflector_list.c",
        change = [[
-    strcpy(self->version, version);
+    strcpy(self->version, self->version[0] ? self->version : version);
]],
    },
    ["lock-dropped-between"] = {
        breaks = "A handler that joins between the change of the cache and its distribution "
            .. "sees the change twice.",
        source = "core/informer/distribution.c",
        change = [[
-    push_locked(processor, kl__transaction_changes(transaction), false,
+    kl__mutex_unlock(&processor->distribute), kl__mutex_lock(&processor->distribute);
+    push_locked(processor, kl__transaction_changes(transaction), false,
]],
    },
    ["merged-delete-lost"] = {
        breaks = "A delete beyond the bound is shown as an update.",
        source = "core/informer/notes.c",
        change = [[
-    last->event.type = KL_EVENT_DELETE;
+    last->event.type = KL_EVENT_UPDATE;
]],
    },
    ["merged-resync-stays-one"] = {
        breaks = "A change that was merged into a resync is reported as a resync.",
        source = "core/informer/notes.c",
        change = [[
-    last->event.resync = false; /* a resync becomes a real update */
+    (void)event;
]],
    },
    ["merged-too-early"] = {
        breaks = "A handler that is behind by less than its backlog does not get each change.",
        source = "core/informer/listener.c",
        change = [[
-        notes->count < listener->options.backlog ||
+        notes->count + 1 < listener->options.backlog ||
]],
    },
    ["never-synced"] = {
        breaks = "No handler learns that the list of an empty collection is complete.",
        source = "core/cache/sync_tracker.c",
        change = [[
     tracker->is_complete = true;
-    update_synced(tracker);
+    (void)tracker;
]],
    },
    ["no-room-signalled"] = {
        breaks = "One slow handler that wants every change keeps events from all others for a "
            .. "minute.",
        source = "core/informer/processor.c",
        change = [[
     kl__mutex_lock(&processor->listeners);
-    kl__cond_broadcast(&processor->room);
+    (void)processor;
]],
    },
    ["order-expected-for-ever"] = {
        breaks = "An aggregated API server whose versions have no order is listed again and "
            .. "again.",
        source = "core/informer/reflector_watch.c",
        change = [[
-    if (kl__reflector_now(self) >= self->backward_until) {
+    if (kl__reflector_now(self) >= 0) {
]],
    },
    ["packed-object-forgets-its-uid"] = {
        breaks = "A packed object has the offset of another identity string.",
        source = "core/object/object.c",
        change = [[
-    copy->uid = object->uid;
+    copy->uid = object->version;
]],
    },
    ["pages-but-the-last"] = {
        breaks = "Only the last page of a list is kept: all other objects are deleted.",
        source = "core/informer/reflector_list.c",
        change = [[
-    return kl__stage_put(&list->stage, object);
+    return list->stage.count > 2 ? (kl__stage_clear(&list->stage),
+        kl__stage_put(&list->stage, object)) : kl__stage_put(&list->stage, object);
]],
    },
    ["queue-forgets-the-others"] = {
        breaks = "Of two registrations that have events, one is not drained.",
        source = "core/base/event_queue.c",
        change = [[
-    if (!kl__list_empty(&queue->ready)) {
+    if (false) {
]],
    },
    ["queue-not-readable"] = {
        breaks = "A script that waits for events is not woken by them.",
        source = "core/base/event_queue.c",
        change = [[
-        must_write = arm_locked(queue);
+        must_write = false;
]],
    },
    ["queue-stays-readable"] = {
        breaks = "A descriptor that is written late, after its event was taken, is not "
            .. "cleared.",
        source = "core/base/event_queue.c",
        change = [[
-    if (done == begun) {
+    if (done <= begun) {
]],
    },
    ["queue-wakes-nobody"] = {
        breaks = "Events wait in the queue until something else wakes its consumer.",
        source = "core/cache/delta_fifo.c",
        change = [[
-    if (!fifo->gathers || !has_object(delta) || fifo->count >= GATHER_MAX) {
+    if (fifo->count >= GATHER_MAX) {
]],
    },
    ["reader-between"] = {
        breaks = "A reader sees some indexes before a transaction, and others after it.",
        source = "core/cache/transaction.c",
        change = [[
-        commit_part_locked(transaction, &transaction->parts[i]);
+        if (i > 0) kl__rwlock_unlock(&indexer->lock), kl__rwlock_write(&indexer->lock);
+        commit_part_locked(transaction, &transaction->parts[i]);
]],
    },
    ["relist-in-a-batch"] = {
        breaks = "A relist that is queued behind events is dropped.",
        source = "core/cache/delta_fifo.c",
        change = [[
-    return delta->type == KL__DELTA_REPLACED ||
-           delta->type == KL__DELTA_UNREADABLE ||
+    return delta->type == KL__DELTA_UNREADABLE ||
]],
    },
    ["relist-keeps-the-deleted"] = {
        breaks = "A pod that was deleted while the watch was down stays in the cache.",
        source = "core/cache/diff.c",
        change = [[
-        if (code == KL_OK && next == NULL) {
+        if (code != KL_OK && next == NULL) {
]],
    },
    ["relist-tells-no-deletes"] = {
        breaks = "Handlers get no delete of a pod that was deleted while the watch was down.",
        source = "core/cache/diff.c",
        change = [[
-        code = append_delete(changes, stored, NULL);
+        code = KL_OK;
]],
    },
    ["resync-for-nobody"] = {
        breaks = "A handler that asked for resyncs gets none.",
        source = "core/informer/distribution.c",
        change = [[
-    return registration->resync_ms > 0 &&
+    return registration->resync_ms > 0 && now_ms < 0 &&
]],
    },
    ["resync-over-news"] = {
        breaks = "A resync overtakes a change that waits: `old` is not the object that the "
            .. "handler saw last.",
        source = "core/informer/listener.c",
        change = [[
-        if (notes->is_keyed &&
+        if (listener->is_closed &&
]],
    },
    ["resync-without-end"] = {
        breaks = "Resyncs come one after the other, without a pause.",
        source = "core/informer/distribution.c",
        change = [[
-    registration->next_resync_ms += registration->resync_ms;
+    registration->next_resync_ms += 1;
]],
    },
    ["selection-not-asked-for"] = {
        breaks = "Handlers get objects that do not match their label selector.",
        source = "core/api/list_watch_ask.c",
        change = [[
-    if (self->labels != NULL && self->labels[0] != '\0') {
+    if (false) {
]],
    },
    ["shared-though-different"] = {
        breaks = "An informer of one namespace gets the objects of all namespaces.",
        source = "core/informer/informer_factory.c",
        change = [[
-           kl__streq(a->name_space, b->name_space) &&
+           b->name_space == b->name_space &&
]],
    },
    ["silence-endured"] = {
        breaks = "A watch whose connection died silently is read for ever.",
        source = "core/informer/reflector_watch.c",
        change = [[
-            now->result = KL__WATCH_SILENT;
+            now->result = KL__WATCH_GOES_ON;
]],
    },
    ["snapshot-behind-news"] = {
        breaks = "A late handler gets changes of objects before their adds.",
        source = "core/informer/listener.c",
        change = [[
-    kl__notes_prepend(&listener->notes, &node_list, count);
+    while (!kl__list_empty(&node_list)) kl__list_append(&listener->notes.list,
+        kl__list_shift(&node_list)); listener->notes.count += count;
]],
    },
    ["stale-bookmarks-believed"] = {
        breaks = "A cluster restored from a backup sends bookmarks with lower versions: "
            .. "objects that the restore removed stay in the cache.",
        source = "core/informer/reflector_watch.c",
        change = [[
-        return kl__reflector_doubts_version(self) ? KL__WATCH_DOUBTED
-                                                  : KL__WATCH_GOES_ON;
+        kl__reflector_trust_version(self);
+        return KL__WATCH_GOES_ON;
]],
    },
    ["stale-old"] = {
        breaks = "Of two updates in one batch, the second has the `old` of the first.",
        source = "core/cache/transaction.c",
        change = [[
-        known.object = transaction->steps[known.step - 1].after;
+        known.object = transaction->steps[known.step - 1].after != NULL
+                           ? known.stored
+                           : NULL;
]],
    },
    ["stream-deletes-ignored"] = {
        breaks = "An object that is deleted during a streaming list stays in the cache.",
        source = "core/informer/reflector_list.c",
        change = [[
-        kl__stage_remove(stage, kl__item_key(item));
+        (void)stage;
]],
    },
    ["sync-wakes-nobody"] = {
        breaks = "A call that waits for sync waits until its timeout.",
        source = "core/informer/health.c",
        change = [[
         health->has_synced = true;
         count_change_locked(health, true);
-        wake_all_locked(health);
+        (void)health;
]],
    },
    ["synced-not-held-back"] = {
        breaks = "`synced` is reported while handlers still run for the last initial objects.",
        source = "core/informer/listener.c",
        change = [[
-           listener->tracker.outstanding == 0;
+           true;
]],
    },
    ["text-unpacked-twice"] = {
        breaks = "Of two readers who unpack an object at once, the second replaces the text.",
        source = "core/object/object_open.c",
        change = [[
-    if (opened->text == NULL) {
+    if (true) {
]],
    },
    ["time-of-a-task-forgotten"] = {
        breaks = "The time until which a task rests does not wake it.",
        source = "core/informer/crew.c",
        change = [[
-    if (due_ms < crew.keeper_ms) {
+    if (false) {
]],
    },
    ["turn-not-applied"] = {
        breaks = "The transport thread queues events and leaves them there.",
        source = "core/informer/reflector_watch.c",
        change = [[
         if (!read_item(self, now, 0)) {
-            set_gathering(self, now, false);
]],
    },
    ["turn-not-kept"] = {
        breaks = "Two threads apply batches at once: the cache ends up with either's state.",
        source = "core/cache/delta_fifo.c",
        change = [[
     kl__mutex_lock(&fifo->mutex);
-    if (!fifo->is_taken && fifo->returned.count == 0 && fifo->count > 0 &&
+    if (fifo->returned.count == 0 && fifo->count > 0 &&
]],
    },
    ["turn-not-taken-back"] = {
        breaks = "A reflector goes on while the transport thread has its turn.",
        source = "core/api/list_watch_read.c",
        change = [[
-    kl__stream_retract(awaited_stream(self));
+    (void)awaited_stream(self);
]],
    },
    ["uid-not-compared"] = {
        breaks = "A pod that was deleted and created again looks like an update.",
        source = "core/cache/diff.c",
        change = [[
-    return strcmp(kl_object_uid(a), kl_object_uid(b)) == 0;
+    return a == b || kl_object_uid(b) != NULL;
]],
    },
    ["unanswered-question-trusted"] = {
        breaks = "A proxy answers for the server: the restore of a backup is noticed minutes "
            .. "late, or never.",
        source = "core/informer/reflector_version.c",
        change = [[
-    if (idle_ms > 0 && !is_final(why)) {
+    if (false) {
]],
    },
    ["unchanged-is-news"] = {
        breaks = "Each relist shows every object as an update.",
        source = "core/cache/diff.c",
        change = [[
-    return version[0] != '\0' &&
+    return version[0] == '\0' &&
]],
    },
    ["unreadable-is-gone"] = {
        breaks = "An object that cannot be read is told as deleted: its controller removes "
            .. "what belongs to it.",
        source = "core/cache/diff.c",
        change = [[
-    if (known == NULL || (same && !delta->is_gone) ||
+    if (known == NULL ||
]],
    },
    ["unreadable-named-for-ever"] = {
        breaks = "status() names an object as unreadable although it can be read again.",
        source = "core/informer/distribution.c",
        change = [[
-        if (key != NULL) {
+        if (key == NULL) {
]],
    },
    ["unreadable-not-told"] = {
        breaks = "No handler is told that an object cannot be read: it is missing without a "
            .. "word.",
        source = "core/informer/distribution.c",
        change = [[
-        if (each->wants_errors) {
-            is_wanted = true;
-            (void)push_unread_locked(processor, each);
-        }
+        is_wanted = is_wanted || each->wants_errors;
]],
    },
    ["unreadable-stays-after-its-end"] = {
        breaks = "An object that cannot be read any more, and is deleted, stays in the cache "
            .. "for ever.",
        source = "core/cache/diff.c",
        change = [[
-    if (known == NULL || (same && !delta->is_gone) ||
+    if (known == NULL || same ||
]],
    },
    ["unreadable-vanishes-at-a-relist"] = {
        breaks = "A relist deletes the cached state of an object that cannot be read.",
        source = "core/cache/diff.c",
        change = [[
-        if (next != NULL ? is_same(stored, next)
-                         : is_unreadable(&listed->unreadable, stored)) {
+        if (next != NULL && is_same(stored, next)) {
]],
    },
    ["version-not-carried"] = {
        breaks = "After a reconnect old events come again, and take objects back to older "
            .. "versions.",
        source = "core/informer/reflector_watch.c",
        change = [[
-        advance_version(self, now, item->version);
+        now->progress = true;
]],
    },
    ["version-of-last-page"] = {
        breaks = "The watch begins after changes that the first pages did not have.",
        source = "core/informer/reflector_list.c",
        change = [[
-    if (list->token == NULL) {
-        strcpy(list->version, item->version);
+    if (true) {
+        strcpy(list->version, item->version);
]],
    },
    ["wake-in-a-turn-lost"] = {
        breaks = "A task that is woken in its turn does not run once more.",
        source = "core/informer/crew.c",
        change = [[
-        task->state = KL__TASK_RUNS_ONCE_MORE;
+        task->state = KL__TASK_RUNS;
]],
    },
    ["young-objects-heap-up"] = {
        breaks = "The queue of young objects keeps its reference to one that was packed.",
        source = "core/object/packer.c",
        change = [[
-        return true;
-    }
-    kl_object_unref(object);
+        return true;
+    }
]],
    },
    ["young-text-freed-while-open"] = {
        breaks = "Packing frees the plain text of an object that a reader has open.",
        source = "core/object/object_open.c",
        change = [[
-    if (opened->texts == 0 && object->dictionary != NULL) {
+    if (object->dictionary != NULL) {
]],
    },
}
