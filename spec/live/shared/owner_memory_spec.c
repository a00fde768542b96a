/*
 * owner_memory_spec.c - the owner of a shared map runs out of memory for a
 * while: it lists the cluster again, and the map becomes what the cluster is.
 */
#include "base/thread.h"
#include "kubelua/log.h"
#include "kubelua/memory.h"
#include "kubelua/shared_serve.h"
#include "owner_rig.h"
#include "sim_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include <cmocka.h>

/* True: the thread that owns the map gets no memory. Other threads get theirs,
 * so that events reach it. */
static atomic_bool owner_has_none;
static atomic_bool lists_again;

static bool must_fail(void)
{
    char name[16] = "";

    prctl(PR_GET_NAME, name);
    return atomic_load(&owner_has_none) && strcmp(name, "kl-owner") == 0;
}

static void *scarce_malloc(size_t size)
{
    return must_fail() ? NULL : malloc(size);
}

static void *scarce_realloc(void *block, size_t size)
{
    return must_fail() ? NULL : realloc(block, size);
}

static void note_line(void *context, kl_log_level level, const char *message)
{
    (void)context;
    (void)level;
    if (strstr(message, "lists Services again") != NULL) {
        atomic_store(&lists_again, true);
    }
}

static bool has_missed_a_change(const void *context)
{
    (void)context;
    return atomic_load(&lists_again);
}

static void a_service_that_is_deleted_meanwhile_leaves_the_map(void **state)
{
    kl_sim *sim = kl_sim_new(NULL, NULL);
    kl_shared *map = kl_shared_open(NULL, NULL);
    kl_transport *transport = kl_sim_transport(sim, NULL);
    kl_client *client =
        kl_client_new(&(kl_client_options){.transport = transport}, NULL);

    (void)state;
    owner_service(sim, "shop");
    owner_slice(sim, "shop-a", "shop", "10.0.0.1");
    owner_service(sim, "gone");
    owner_slice(sim, "gone-a", "gone", "10.0.1.1");
    assert_int_equal(kl_shared_serve(map, client, NULL, NULL), KL_OK);
    owner_await(map, "gone", "10.0.1.1");
    atomic_store(&owner_has_none, true);
    owner_slice(sim, "shop-a", "shop", "10.0.0.2");
    owner_await_claim(has_missed_a_change, NULL, "the owner lists again");
    owner_delete_service(sim, "gone");
    atomic_store(&owner_has_none, false);
    owner_await(map, "shop", "10.0.0.2");
    owner_await(map, "gone", "unknown");
    kl_shared_close(map);
    kl_client_unref(client);
    kl_transport_unref(transport);
    kl_sim_unref(sim);
    sim_expect_nothing_lives();
}

int main(void)
{
    static const kl_allocator scarce = {scarce_malloc, scarce_realloc, free};
    const struct CMUnitTest specs[] = {
        cmocka_unit_test(a_service_that_is_deleted_meanwhile_leaves_the_map),
    };

    kl_set_allocator(&scarce);
    kl_set_log(note_line, NULL, KL_LOG_ERROR);
    return cmocka_run_group_tests(specs, NULL, NULL);
}
