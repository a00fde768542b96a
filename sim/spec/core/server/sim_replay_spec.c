/*
 * sim_replay_spec.c - recorded objects of another server: their versions, and
 * the events that watches get.
 */
#include "spec_case.h"

static kl_code replay(kl_sim *sim, kl_sim_change change, const char *version,
                      const char *value, kl_error *err)
{
    char yaml[512];
    const char *json;

    snprintf(yaml, sizeof(yaml),
             "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: "
             "default, uid: u-1, resourceVersion: '%s', creationTimestamp: "
             "'2020-01-01T00:00:00Z'}, data: {v: '%s'}}",
             version, value);
    json = sim_json(yaml);
    return kl_sim_replay(sim, change, json, strlen(json), err);
}

SIM_CASE(a_replayed_object_keeps_uid_version_and_time)
{
    assert_int_equal(replay(sim, KL_SIM_PUT, "5000", "1", NULL), KL_OK);
    sim_play(sim, "GET configmaps/a -> 200 metadata.uid=u-1 | "
                  "metadata.resourceVersion=5000 | "
                  "metadata.creationTimestamp=2020-01-01T00:00:00Z\n"
                  "GET configmaps -> 200 metadata.resourceVersion=5000\n");
}

RIG_CASE(a_watch_sees_the_changes_with_their_versions)
{
    rig_play(f, "WATCH configmaps?fieldSelector=metadata.name%3Da\n");
    replay(f->sim, KL_SIM_PUT, "5000", "1", NULL);
    replay(f->sim, KL_SIM_PUT, "6000", "2", NULL);
    replay(f->sim, KL_SIM_DELETED, "7000", "2", NULL);
    rig_play(f, "ADDED a, MODIFIED a | metadata.resourceVersion=6000\n"
                "DELETED a | metadata.resourceVersion=7000\n");
}

SIM_CASE(a_version_of_the_past_becomes_the_next_one)
{
    replay(sim, KL_SIM_PUT, "5000", "1", NULL);
    replay(sim, KL_SIM_PUT, "4000", "2", NULL);
    sim_play(sim, "GET configmaps/a -> 200 metadata.resourceVersion=5001\n");
}

RIG_CASE(objects_of_the_first_state_may_have_any_version)
{
    replay(f->sim, KL_SIM_INITIAL, "5000", "1", NULL);
    replay(f->sim, KL_SIM_INITIAL, "4000", "2", NULL);
    rig_play(f, "COMPACT\n"
                "GET configmaps -> 200 metadata.resourceVersion=5000\n"
                "WATCH configmaps?resourceVersion=5000\n");
    replay(f->sim, KL_SIM_PUT, "5001", "3", NULL);
    rig_play(f, "MODIFIED a\n");
}

SIM_CASE(an_impossible_change_is_refused)
{
    static const char *const wrong[] = {
        "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}",
        "{\"apiVersion\":\"v1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"a\"}"
        "}",
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
        "\"a\"}}",
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"a\","
        "\"labels\":5}}",
        "[1]",
        "{"};
    kl_error err;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        kl_code code =
            kl_sim_replay(sim, KL_SIM_PUT, wrong[i], strlen(wrong[i]), &err);

        assert_true(code == KL_EINVAL || code == KL_EPARSE);
        assert_true(err.message[0] != '\0');
    }
    assert_int_equal(replay(sim, KL_SIM_DELETED, "9", "1", NULL), KL_OK);
}

/* A gear that the object "a" of replay() owns. */
static void replay_gear(kl_sim *sim, kl_sim_change change, const char *uid)
{
    char yaml[512];
    const char *json;

    snprintf(yaml, sizeof(yaml),
             "{apiVersion: a.io/v1, kind: Gear, metadata: {name: g, namespace: "
             "default, uid: %s, ownerReferences: [{apiVersion: v1, kind: "
             "ConfigMap, name: a, uid: u-1}]}}",
             uid);
    json = sim_json(yaml);
    assert_int_equal(kl_sim_replay(sim, change, json, strlen(json), NULL),
                     KL_OK);
}

/* The garbage collector remembers nothing that is in no resource. */
SIM_CASE(a_deleted_object_leaves_no_trace_among_owners)
{
    replay(sim, KL_SIM_PUT, "5000", "1", NULL);
    sim_play(sim, "DEFINE gears.a.io Gear\n");
    replay_gear(sim, KL_SIM_PUT, "g-1");
    replay_gear(sim, KL_SIM_PUT, "g-2"); /* another one, as it seems */
    replay_gear(sim, KL_SIM_DELETED, "g-2");
    sim_play(sim, "DELETE crds/gears.a.io -> 200\n"
                  "DELETE configmaps/a -> 200\n");
}
