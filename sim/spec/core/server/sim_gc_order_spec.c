/*
 * sim_gc_order_spec.c - garbage collection takes dependents in the order in
 * which they came, in each run: what a script sees does not depend on hashes.
 */
#include "spec_case.h"

#define MAPS "/api/v1/namespaces/default/configmaps"

enum { COUNT = 10 };

/* The name of the dependent that is made as number `i`. */
static const char *name_of(int i)
{
    static char name[8];

    snprintf(name, sizeof(name), "b%d", i * 7 % COUNT);
    return name;
}

static void add_owned(kl_sim *sim, const char *name, const char *uid)
{
    char body[512];

    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"%s\",\"ownerReferences\":[{"
             "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"a\","
             "\"uid\":\"%s\"}]}}",
             name, uid);
    sim_expect(sim, "POST", MAPS, body, 201);
}

/* The owner "a" and its dependents; then deletes the owner. */
static void delete_an_owner(sim_rig *f, const char *target)
{
    sim_reply owner;

    sim_add(f->sim, "a");
    owner = sim_ask(f->sim, "GET", MAPS "/a", NULL);
    for (int i = 0; i < COUNT; i++) {
        add_owned(f->sim, name_of(i), sim_text(owner.doc, "metadata.uid"));
    }
    sim_watch_open(&f->watch, f->transport, "",
                   MAPS "?watch=1&resourceVersion=0&fieldSelector="
                        "metadata.name!=a");
    for (int i = 0; i < COUNT; i++) {
        char name[8];

        snprintf(name, sizeof(name), "b%d", i); /* sorted */
        sim_watch_expect(&f->watch, "ADDED", name);
    }
    sim_expect(f->sim, "DELETE", target, NULL, 200);
    sim_reply_clear(&owner);
}

RIG_CASE(the_first_dependent_is_deleted_first)
{
    delete_an_owner(f, MAPS "/a");
    for (int i = 0; i < COUNT; i++) {
        sim_watch_expect(&f->watch, "DELETED", name_of(i));
    }
}

RIG_CASE(the_first_dependent_is_orphaned_first)
{
    delete_an_owner(f, MAPS "/a?propagationPolicy=Orphan");
    for (int i = 0; i < COUNT; i++) {
        sim_watch_expect(&f->watch, "MODIFIED", name_of(i));
    }
}
