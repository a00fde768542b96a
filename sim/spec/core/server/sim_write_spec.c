/*
 * sim_write_spec.c - create, update and patch of an object, and their refusals.
 */
#include "spec_case.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

SIM_CASE(a_new_object_gets_uid_version_and_time)
{
    sim_play(
        sim,
        "POST configmaps {apiVersion: v1, kind: ConfigMap, metadata: {name: "
        "a}, data: {k: v}} -> 201 "
        "^{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
        "\"a\",\"namespace\":\"default\",\"uid\":\" | #metadata.uid=36 | "
        "$uid=metadata.uid | #metadata.creationTimestamp=20 | "
        "metadata.generation= | data.k=v\n");
    assert_int_equal(sim_kept("uid")[14], '4');
    assert_non_null(strchr("89ab", sim_kept("uid")[19]));
}

SIM_CASE(versions_are_one_counter_of_all_changes)
{
    sim_play(sim, "POST configmaps {metadata: {name: a}} -> 201 "
                  "$first=metadata.resourceVersion\n"
                  "DELETE configmaps/a -> 200\n"
                  "POST secrets {metadata: {name: b}} -> 201 "
                  "$second=metadata.resourceVersion\n");
    assert_int_equal(atoi(sim_kept("second")), atoi(sim_kept("first")) + 2);
}

SIM_CASE(a_nesting_bomb_is_a_bad_request)
{
    enum { DEEP = 100000 };
    char *body = malloc(2 * DEEP + 64);
    size_t at = (size_t)sprintf(body, "{\"metadata\":{\"name\":\"a\"},\"x\":");

    memset(body + at, '[', DEEP);
    memset(body + at + DEEP, ']', DEEP);
    strcpy(body + at + 2 * DEEP, "}");
    sim_expect(sim, "POST", CONFIGMAPS, body, 400);
    free(body);
}

SIM_CASE(an_upload_of_more_than_3_mb_is_too_large)
{
    enum { BIG = 3 * 1024 * 1024 + 1 };
    kl__buf line = {0};

    kl__buf_puts(&line, "POST configmaps =");
    memset(kl__buf_reserve(&line, BIG), 'x', BIG);
    line.length += BIG;
    kl__buf_puts(&line, " -> 413 RequestEntityTooLarge: Request entity too "
                        "large: limit is 3145728");
    sim_play(sim, line.bytes);
    kl__buf_deinit(&line);
}

SIM_CASE(a_replaced_object_keeps_its_identity)
{
    sim_play(sim,
             "POST configmaps {metadata: {name: a}} -> 201 $uid=metadata.uid | "
             "$old=metadata.resourceVersion\n"
             "PUT configmaps/a {metadata: {name: a, resourceVersion: '$old'}, "
             "data: {k: v}} -> 200 metadata.uid=$uid | data.k=v | "
             "$new=metadata.resourceVersion\n"
             "PUT configmaps/a {metadata: {name: a, resourceVersion: '$old'}, "
             "data: {k: v}} -> 409 Conflict: Operation cannot be fulfilled on "
             "configmaps \"a\": the object has been modified; please apply "
             "your changes to the latest version and try again\n");
    assert_int_equal(atoi(sim_kept("new")), atoi(sim_kept("old")) + 1);
}

/* A ConfigMap "a" whose data are k0, k1, ... of one value, or null. */
static const char *many_names(char *text, size_t size, int count,
                              const char *value)
{
    size_t at = (size_t)snprintf(text, size,
                                 "{\"metadata\":{\"name\":\"a\"},\"data\":{");

    for (int i = 0; i < count; i++) {
        at += (size_t)snprintf(text + at, size - at, "%s\"k%d\":%s",
                               i > 0 ? "," : "", i, value);
    }
    snprintf(text + at, size - at, "}}");
    return text;
}

SIM_CASE(a_merge_patch_may_have_many_members)
{
    char text[2048];

    sim_expect(sim, "POST", CONFIGMAPS,
               many_names(text, sizeof(text), 40, "\"v\""), 201);
    sim_expect(sim, "PATCH", CONFIGMAPS "/a",
               many_names(text, sizeof(text), 38, "null"), 200);
    sim_play(sim, "GET configmaps/a -> 200 data={k38: v, k39: v}\n");
    sim_expect(sim, "PATCH", CONFIGMAPS "/a",
               many_names(text, sizeof(text), 40, "\"w\""), 200);
    sim_play(sim, "GET configmaps/a -> 200 data.k0=w | data.k39=w\n");
}
