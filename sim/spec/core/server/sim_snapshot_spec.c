/*
 * sim_snapshot_spec.c - snapshots: a cluster goes back to an earlier state.
 */
#include "spec_case.h"
#include "fault_rig.h"

static int64_t list_version(sim_rig *f)
{
    sim_reply list = sim_ask(f->sim, "GET", FAULT_OBJECTS, NULL);
    int64_t version =
        strtoll(sim_text(list.doc, "metadata.resourceVersion"), NULL, 10);

    sim_reply_clear(&list);
    return version;
}

RIG_CASE(a_snapshot_is_restored_with_its_version)
{
    int64_t version;

    sim_add(f->sim, "a");
    sim_touch(f->sim, "a", "1");
    assert_int_equal(kl_sim_snapshot(f->sim, &version, NULL), KL_OK);
    assert_int_equal(version, list_version(f));
    sim_touch(f->sim, "a", "2");
    sim_add(f->sim, "b");
    kl_sim_compact(f->sim); /* a snapshot needs no history */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kl_sim_restore(f->sim, version, NULL), KL_OK);
        assert_int_equal(list_version(f), version);
        rig_play(f, "GET configmaps/a -> 200 data.k=1\n"
                    "GET configmaps/b -> 404\n"
                    "ADD b\n");
        assert_int_equal(list_version(f), version + 1);
    }
}

RIG_CASE(any_version_of_the_history_can_be_restored)
{
    int64_t version;
    kl_error err;

    sim_add(f->sim, "a");
    sim_touch(f->sim, "a", "1");
    version = list_version(f);
    sim_touch(f->sim, "a", "2");
    sim_expect(f->sim, "DELETE", FAULT_OBJECTS "/a", NULL, 200);
    assert_int_equal(kl_sim_restore(f->sim, version + 5, &err), KL_EINVAL);
    assert_int_equal(kl_sim_restore(f->sim, version, NULL), KL_OK);
    rig_play(f, "GET configmaps/a -> 200 data.k=1\n");
    assert_int_equal(kl_sim_restore(f->sim, version - 1, &err), KL_EINVAL);
    assert_non_null(strstr(err.message, "nor in the history"));
}

RIG_CASE(a_restore_breaks_watches_and_leaves_no_history)
{
    int64_t version;
    kl_error err;

    sim_add(f->sim, "a");
    assert_int_equal(kl_sim_snapshot(f->sim, &version, NULL), KL_OK);
    rig_play(f, "WATCH configmaps?resourceVersion=3\n");
    sim_watch_expect(&f->watch, "ADDED", "a");
    assert_int_equal(kl_sim_restore(f->sim, version, NULL), KL_OK);
    assert_int_equal(sim_watch_failure(&f->watch, &err), KL_EUNAVAILABLE);
    rig_play(f, "WATCH configmaps?resourceVersion=3\n"
                "ERROR | code=410\n");
}

RIG_CASE(a_restore_serves_the_kinds_of_its_snapshot)
{
    int64_t without, with;

    assert_int_equal(kl_sim_snapshot(f->sim, &without, NULL), KL_OK);
    rig_play(f, "DEFINE gears.a.io Gear\n"
                "POST a.io/v1/gears {apiVersion: a.io/v1, kind: Gear, "
                "metadata: {name: g}} -> 201\n");
    assert_int_equal(kl_sim_snapshot(f->sim, &with, NULL), KL_OK);
    assert_int_equal(kl_sim_restore(f->sim, without, NULL), KL_OK);
    sim_expect(f->sim, "GET", "/apis/a.io/v1/gears", NULL, 404);
    assert_int_equal(kl_sim_restore(f->sim, with, NULL), KL_OK);
    rig_play(f, "GET a.io/v1/gears/g -> 200\n");
}

RIG_CASE(a_definition_after_a_restore_is_new)
{
    int64_t version;

    assert_int_equal(kl_sim_snapshot(f->sim, &version, NULL), KL_OK);
    rig_play(f, "ADD a b\n"
                "DEFINE gears.a.io Gear\n");
    for (int i = 0; i < 8; i++) { /* the last look was at a later version */
        sim_touch(f->sim, "a", i % 2 != 0 ? "1" : "2");
    }
    rig_play(f, "DELETE crds/gears.a.io -> 200\n");
    assert_int_equal(kl_sim_restore(f->sim, version, NULL), KL_OK);
    rig_play(f, "DEFINE gears.a.io Gear\n");
    sim_expect(f->sim, "GET", "/apis/a.io/v1/gears", NULL, 200);
}
