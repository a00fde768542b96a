/*
 * sim.c - kl_sim_new and kl_sim_unref: the parts of a simulated cluster are
 * made in order and freed in reverse. The parts themselves are in the folders
 * beside this file.
 */
#include "sim/core/store/sim_core.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/schema/schema.h"
#include "sim/core/access/sim_access.h"
#include "sim/core/custom/sim_crd.h"
#include "sim/core/custom/sim_custom.h"
#include "sim/core/http/sim_keeper.h"
#include "sim/core/http/sim_listen.h"
#include "sim/core/life/sim_settle.h"
#include "sim/core/life/sim_snapshot.h"
#include "sim/core/sim_call.h"
#include "sim/core/sim_course.h"
#include "sim/core/sim_faults.h"
#include "sim/core/store/sim_chores.h"
#include "sim/core/store/sim_clock.h"
#include "sim/core/store/sim_owners.h"
#include "sim/core/write/sim_write.h"

enum { DEFAULT_BOOKMARK_MS = 60 * 1000, DEFAULT_HISTORY = 10000 };

static kl_code serve_builtins(kl_sim *sim, kl_error *err)
{
    for (const kl__sim_builtin *row = kl__sim_builtins; row->kind != NULL;
         row++) {
        kl__sim_kind *kind = kl__sim_kind_builtin(row);
        kl_code code;

        if (kind == NULL) {
            return kl_error_set(err, KL_ENOMEM, "out of memory for a kind");
        }
        code = kl__sim_serve(sim, kind, err);
        kl__sim_kind_unref(kind);
        if (code != KL_OK) {
            return code;
        }
    }
    return KL_OK;
}

static void free_sim(kl_sim *sim)
{
    kl__list *node;

    kl__sim_faults_deinit(sim);
    kl__sim_chores_deinit(sim);
    kl__sim_owners_deinit(sim);
    kl__sim_snapshots_deinit(sim);
    while ((node = kl__list_shift(&sim->resources)) != NULL) {
        kl__sim_resource_unref(KL__CONTAINER(node, kl__sim_resource, node));
    }
    kl__map_deinit(&sim->by_name);
    kl__sim_bell_deinit(&sim->grown);
    kl__sim_bell_deinit(&sim->wake);
    kl__mutex_deinit(&sim->mutex);
    kl__mutex_deinit(&sim->listening);
    kl__sim_access_deinit(sim);
    kl__free(sim->token);
    kl__free(sim);
    kl__schema_release();
    kl__live_add(KL_LIVE_SIM, -1);
}

static const kl__sim_hooks hooks = {
    .custom_shape = kl__sim_custom_shape,
    .custom_convert = kl__sim_custom_convert,
    .custom_before = kl__sim_custom_before,
    .custom_validate = kl__sim_custom_validate,
    .crd_complete = kl__sim_crd_complete,
    .crd_validate = kl__sim_crd_validate,
    .namespace_add = kl__sim_namespace_add,
    .crd_apply = kl__sim_crd_apply,
    .crd_withdraw = kl__sim_crd_withdraw,
    .crd_guard = kl__sim_crd_guard,
    .namespace_minds = kl__sim_namespace_minds,
    .roles_settle = kl__sim_roles_settle,
    .creation_authorize = kl__sim_creation_authorize,
    .request_once = kl__sim_request_once,
    .answer_begin = kl__sim_answer_begin,
    .answer_read = kl__sim_answer_read,
};

/* A zeroed cluster with its locks and lists; NULL when out of memory. */
static kl_sim *alloc_sim(const kl_sim_options *options)
{
    kl_sim *sim = kl__calloc(1, sizeof(*sim));

    if (sim == NULL) {
        return NULL;
    }
    kl__live_add(KL_LIVE_SIM, 1);
    kl__schema_hold();
    atomic_init(&sim->refs, 1);
    sim->hooks = &hooks;
    sim->made_in = kl__process_here();
    sim->bookmark_ms =
        options->bookmark_ms > 0 ? options->bookmark_ms : DEFAULT_BOOKMARK_MS;
    sim->history = options->history != 0 ? options->history : DEFAULT_HISTORY;
    sim->no_streaming_list = options->no_streaming_list;
    sim->no_controllers = options->no_controllers;
    kl__sim_clock_init(&sim->clock, options->clock_stands, options->now_ms);
    kl__sim_compact_init(sim, options->compaction_ms);
    kl__mutex_init(&sim->mutex, KL__RANK_SIM);
    kl__mutex_init(&sim->listening, KL__RANK_LIFECYCLE);
    kl__sim_bell_init(&sim->wake);
    kl__sim_bell_init(&sim->grown);
    kl__list_init(&sim->resources);
    kl__list_init(&sim->rules);
    kl__list_init(&sim->chores);
    kl__list_init(&sim->snapshots);
    sim->version = 1;
    if (options->token != NULL) {
        sim->token = kl__strdup(options->token);
        if (sim->token == NULL) {
            free_sim(sim);
            return NULL;
        }
    }
    return sim;
}

kl_sim *kl_sim_new(const kl_sim_options *options, kl_error *err)
{
    static const kl_sim_options defaults;
    kl_sim *sim;
    kl_code code;

    options = options != NULL ? options : &defaults;
    sim = alloc_sim(options);
    if (sim == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a simulator");
        return NULL;
    }
    code = kl__sim_access_init(sim, options, err);
    kl__mutex_lock(&sim->mutex);
    if (code == KL_OK) {
        code = serve_builtins(sim, err);
    }
    if (code == KL_OK) {
        code = kl__sim_boot(sim, err);
    }
    kl__mutex_unlock(&sim->mutex);
    if (code == KL_OK && sim->has_rbac) {
        code = kl__sim_rbac_bootstrap(sim, err);
    }
    if (code != KL_OK) {
        free_sim(sim);
        return NULL;
    }
    return sim;
}

kl_sim *kl_sim_ref(kl_sim *sim)
{
    atomic_fetch_add_explicit(&sim->refs, 1, memory_order_relaxed);
    return sim;
}

void kl_sim_unref(kl_sim *sim)
{
    if (sim == NULL || kl__check_process(sim->made_in, NULL) != KL_OK) {
        return; /* in a forked child: threads and locks are the parent's */
    }
    if (atomic_fetch_sub_explicit(&sim->refs, 1, memory_order_acq_rel) == 1) {
        kl__sim_keeper_stop(sim);
        kl__sim_listener_stop(sim);
        free_sim(sim);
    }
}

int64_t kl_sim_version(kl_sim *sim)
{
    int64_t version;

    if (kl__check_process(sim->made_in, NULL) != KL_OK) {
        return 0;
    }
    kl__mutex_lock(&sim->mutex);
    version = sim->version;
    kl__mutex_unlock(&sim->mutex);
    return version;
}

void kl_sim_bookmark(kl_sim *sim)
{
    if (kl__check_process(sim->made_in, NULL) != KL_OK) {
        return;
    }
    kl__mutex_lock(&sim->mutex);
    sim->bookmarks++;
    kl__sim_wake_all(sim);
    kl__mutex_unlock(&sim->mutex);
}
