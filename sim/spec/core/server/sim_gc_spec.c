/*
 * sim_gc_spec.c - garbage collection: dependents are deleted after their owner,
 * before it, or orphaned; namespaces get their objects, and are deleted in
 * order.
 */
#include "spec_case.h"

#include "failing_alloc.h"

#define MAPS "/api/v1/namespaces/default/configmaps"

/* Creates a ConfigMap of that name, owned by another one. */
static void add_owned(kl_sim *sim, const char *name, const char *owner,
                      bool blocks)
{
    char lines[512];

    snprintf(lines, sizeof(lines),
             "GET configmaps/%s -> 200 $owner=metadata.uid\n"
             "POST configmaps {metadata: {name: %s, ownerReferences: "
             "[{apiVersion: v1, kind: ConfigMap, name: %s, uid: '$owner', "
             "blockOwnerDeletion: %s}]}} -> 201\n",
             owner, name, owner, blocks ? "true" : "false");
    sim_play(sim, lines);
}

RIG_CASE(dependents_are_deleted_after_their_owner)
{
    sim_add(f->sim, "a");
    add_owned(f->sim, "b", "a", true);
    add_owned(f->sim, "c", "b", false);
    rig_play(f, "WATCH configmaps?resourceVersion=0\n"
                "ADDED a, ADDED b, ADDED c\n"
                "DELETE configmaps/a -> 200\n"
                "DELETED a, DELETED b, DELETED c\n");
}

RIG_CASE(blocking_dependents_are_deleted_before_their_owner)
{
    sim_add(f->sim, "a");
    add_owned(f->sim, "b", "a", true);
    add_owned(f->sim, "c", "b", true);
    rig_play(f, "WATCH configmaps?resourceVersion=0\n"
                "ADDED a, ADDED b, ADDED c\n"
                "DELETE configmaps/a?propagationPolicy=Foreground -> 200 "
                "metadata.finalizers[1]=foregroundDeletion\n"
                "MODIFIED a, MODIFIED b, DELETED c, DELETED b, DELETED a\n");
}

RIG_CASE(owners_in_a_circle_do_not_wait_for_each_other)
{
    sim_add(f->sim, "a");
    add_owned(f->sim, "b", "a", true);
    rig_play(f, "GET configmaps/b -> 200 $b=metadata.uid\n"
                "PATCH configmaps/a {metadata: {ownerReferences: [{apiVersion: "
                "v1, kind: ConfigMap, name: b, uid: '$b', blockOwnerDeletion: "
                "true}]}} -> 200\n"
                "DELETE configmaps/a?propagationPolicy=Foreground -> 200\n"
                "GET configmaps/a -> 404\n"
                "GET configmaps/b -> 404\n");
}

RIG_CASE(a_dependent_with_a_finalizer_keeps_its_owner)
{
    sim_add(f->sim, "a");
    add_owned(f->sim, "b", "a", true);
    rig_play(f, "PATCH configmaps/b {metadata: {finalizers: [x/y]}} -> 200\n"
                "DELETE configmaps/a?propagationPolicy=Foreground -> 200\n"
                "GET configmaps/a -> 200\n"
                "PATCH configmaps/b {metadata: {finalizers: null}} -> 200\n"
                "GET configmaps/a -> 404\n"
                "GET configmaps/b -> 404\n");
}

RIG_CASE(dependents_that_do_not_block_are_deleted_after_it)
{
    sim_add(f->sim, "a");
    add_owned(f->sim, "b", "a", false);
    rig_play(f, "WATCH configmaps?resourceVersion=0\n"
                "ADDED a, ADDED b\n"
                "DELETE configmaps/a?propagationPolicy=Foreground -> 200\n"
                "MODIFIED a, DELETED a, DELETED b\n");
}

RIG_CASE(orphaned_dependents_lose_the_owner_reference)
{
    sim_add(f->sim, "a");
    add_owned(f->sim, "b", "a", true);
    rig_play(f, "WATCH configmaps?resourceVersion=0\n"
                "ADDED a, ADDED b\n"
                "DELETE configmaps/a {propagationPolicy: Orphan} -> 200\n"
                "MODIFIED a, MODIFIED b, DELETED a\n"
                "GET configmaps/b -> 200 metadata.ownerReferences=\n");
}

RIG_CASE(a_dependent_stays_while_one_of_two_owners_exists)
{
    sim_add(f->sim, "a");
    add_owned(f->sim, "b", "a", false);
    rig_play(f, "POST configmaps {metadata: {name: o}} -> 201 $o=metadata.uid\n"
                "PATCH configmaps/b {metadata: {ownerReferences: [{apiVersion: "
                "v1, kind: ConfigMap, name: gone, uid: x}, {apiVersion: v1, "
                "kind: ConfigMap, name: o, uid: '$o'}]}} -> 200\n"
                "GET configmaps/b -> 200 metadata.ownerReferences[1].name=o\n"
                "DELETE configmaps/o -> 200\n"
                "GET configmaps/b -> 404\n");
}

RIG_CASE(a_loaded_object_may_lack_its_owner)
{
    static const char text[] =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
        "  ownerReferences:\n  - {apiVersion: v1, kind: ConfigMap, name: gone, "
        "uid: x}\n";

    assert_int_equal(kl_sim_load(f->sim, text, sizeof(text) - 1, NULL), KL_OK);
    sim_expect(f->sim, "GET", MAPS "/a", NULL, 200);
}

/* --- Namespaces. ---------------------------------------------------------- */

RIG_CASE(a_namespace_waits_for_each_of_its_finalizers)
{
    const kl_sim_options options = {.no_controllers = true};
    kl_sim *sim = kl_sim_new(&options, NULL);

    sim_play(
        sim,
        "POST /api/v1/namespaces {metadata: {name: web}, spec: {finalizers: "
        "[x/y]}} -> 201\n"
        "PUT /api/v1/namespaces/web {metadata: {name: web}, spec: {}} -> 200\n"
        "DELETE /api/v1/namespaces/web -> 200\n"
        "PUT /api/v1/namespaces/web/finalize {metadata: {name: web}, spec: "
        "{finalizers: [x/y]}} -> 200\n"
        "GET /api/v1/namespaces/web -> 200\n"
        "GET /api/v1/namespaces/web/finalize -> 405\n"
        "PUT /api/v1/namespaces/web/finalize {metadata: {name: web}, spec: {}} "
        "-> 200\n"
        "GET /api/v1/namespaces/web -> 404\n");
    kl_sim_unref(sim);
}

RIG_CASE(without_controllers_dependents_and_namespaces_stay)
{
    const kl_sim_options options = {.no_controllers = true};
    kl_sim *sim = kl_sim_new(&options, NULL);

    sim_add(sim, "a");
    add_owned(sim, "b", "a", true);
    sim_play(sim, "DELETE configmaps/a -> 200\n"
                  "GET configmaps/b -> 200\n"
                  "POST /api/v1/namespaces {metadata: {name: web}} -> 201\n"
                  "GET /api/v1/namespaces/web/serviceaccounts/default -> 404\n"
                  "DELETE /api/v1/namespaces/web -> 200\n"
                  "GET /api/v1/namespaces/web -> 200\n");
    kl_sim_unref(sim);
}

/* --- Memory. -------------------------------------------------------------- */

static kl_code delete_owner(void *context)
{
    const kl_call call = {.method = "DELETE",
                          .target = MAPS "/a?propagationPolicy=Foreground"};
    kl_reply reply;
    kl_error err = {0};
    kl_code code = kl_sim_call(context, &call, &reply, &err);

    if (code == KL_OK) {
        kl_reply_clear(&reply);
    }
    return code;
}

/* Whatever fails, the next request brings it to its end. */
RIG_CASE(controllers_catch_up_after_running_out_of_memory)
{
    bool failed = true;

    for (long nth = 1; failed; nth++) {
        kl_sim *sim = kl_sim_new(NULL, NULL);
        kl_code code;

        sim_add(sim, "a");
        add_owned(sim, "b", "a", true);
        failing_alloc_install();
        failing_alloc_fail_at(nth, 0);
        code = delete_owner(sim);
        failed = failing_alloc_has_failed();
        failing_alloc_fail_at(0, 0);
        failing_alloc_uninstall();
        assert_true(code == KL_OK || code == KL_ENOMEM);
        sim_expect(sim, "GET", MAPS, NULL, 200);
        if (code == KL_OK) {
            sim_expect(sim, "GET", MAPS "/a", NULL, 404);
            sim_expect(sim, "GET", MAPS "/b", NULL, 404);
        }
        kl_sim_unref(sim);
    }
}

/* ---- Garbage collection takes dependents in the order in which they came,
 * in each run: what a script sees does not depend on hashes. */

/* The owner "a", its dependents, and a watch of these, which come sorted. */
static void add_all(sim_rig *f)
{
    static const char order[] = "0741852963";
    char line[256];

    rig_play(f, "POST configmaps {metadata: {name: a}} -> 201 $a=metadata.uid");
    for (const char *number = order; *number != '\0'; number++) {
        snprintf(line, sizeof(line),
                 "POST configmaps {metadata: {name: b%c, ownerReferences: "
                 "[{apiVersion: v1, kind: ConfigMap, name: a, uid: '$a'}]}} -> "
                 "201",
                 *number);
        rig_play(f, line);
    }
    rig_play(
        f, "WATCH configmaps?resourceVersion=0&fieldSelector=metadata.name!=a\n"
           "ADDED b0, ADDED b1, ADDED b2, ADDED b3, ADDED b4, ADDED b5, ADDED "
           "b6, ADDED b7, ADDED b8, ADDED b9\n");
}

RIG_CASE(the_first_dependent_is_deleted_first)
{
    add_all(f);
    rig_play(f, "DELETE configmaps/a -> 200\n"
                "DELETED b0, DELETED b7, DELETED b4, DELETED b1, DELETED b8, "
                "DELETED b5, DELETED b2, DELETED b9, DELETED b6, DELETED b3\n");
}

RIG_CASE(the_first_dependent_is_orphaned_first)
{
    add_all(f);
    rig_play(
        f, "DELETE configmaps/a?propagationPolicy=Orphan -> 200\n"
           "MODIFIED b0, MODIFIED b7, MODIFIED b4, MODIFIED b1, MODIFIED b8, "
           "MODIFIED b5, MODIFIED b2, MODIFIED b9, MODIFIED b6, MODIFIED b3\n");
}
