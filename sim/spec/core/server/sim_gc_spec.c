/*
 * sim_gc_spec.c - garbage collection where plays.txt cannot tell it: of a
 * loaded object, and when memory runs out.
 */
#include "spec_case.h"

#include "failing_alloc.h"

#define MAPS "/api/v1/namespaces/default/configmaps"

RIG_CASE(a_loaded_object_may_lack_its_owner)
{
    static const char text[] =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
        "  ownerReferences:\n  - {apiVersion: v1, kind: ConfigMap, name: gone, "
        "uid: x}\n";

    assert_int_equal(kl_sim_load(f->sim, text, sizeof(text) - 1, NULL), KL_OK);
    sim_expect(f->sim, "GET", MAPS "/a", NULL, 200);
}

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
        sim_play(sim, "OWN b a true\n");
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
