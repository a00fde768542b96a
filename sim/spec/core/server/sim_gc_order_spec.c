/*
 * sim_gc_order_spec.c - garbage collection takes dependents in the order in
 * which they came, in each run: what a script sees does not depend on hashes.
 */
#include "spec_case.h"

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
