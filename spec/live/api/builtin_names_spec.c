/*
 * builtin_names_spec.c - each name in the table of built-in names means the
 * same as in a server's discovery. The simulator's discovery was copied from a
 * kube-apiserver.
 */
#include "api/builtin_names.h"

#include "api/discovery.h"
#include "kubelua/client.h"
#include "kubelua/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static kl_sim *sim;
static kl_client *client;

static int set_up(void **state)
{
    kl_transport *transport;

    (void)state;
    sim = kl_sim_new(&(kl_sim_options){0}, NULL);
    assert_non_null(sim);
    transport = kl_sim_transport(sim, NULL);
    assert_non_null(transport);
    client = kl_client_new(&(kl_client_options){.transport = transport}, NULL);
    kl_transport_unref(transport);
    assert_non_null(client);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kl_client_unref(client);
    kl_sim_unref(sim);
    return 0;
}

/* Compares what discovery and the table say of a name. */
static void check_name(const char *typed)
{
    const kl_kind *row = kl_kind_builtin(typed);
    kl__resource resource = {0};
    kl_error err = {0};

    if (row == NULL) {
        fail_msg("the table does not have %s", typed);
        return;
    }
    if (kl__discovery_resolve(client, typed, &resource, NULL, &err) != KL_OK) {
        fail_msg("discovery does not have %s: %s", typed, err.message);
    }
    if (strcmp(row->group, resource.group) != 0 ||
        strcmp(row->version, resource.version) != 0 ||
        strcmp(row->plural, resource.plural) != 0 ||
        strcmp(row->kind, resource.kind) != 0 ||
        row->namespaced != resource.namespaced) {
        fail_msg("%s: the table says %s/%s %s %s, discovery %s/%s %s %s", typed,
                 row->group, row->version, row->plural, row->kind,
                 resource.group, resource.version, resource.plural,
                 resource.kind);
    }
    kl__resource_clear(&resource);
}

/* Kinds that the simulator does not serve (docs/DIFFERENCES.md): their rows
 * were compared with a kube-apiserver's discovery before they left it. */
static const char *const unserved[] = {
    "ipaddresses",
    "servicecidrs",
    "volumeattachments",
    "csidrivers",
    "csinodes",
    "csistoragecapacities",
    "volumeattributesclasses",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "flowschemas",
    "prioritylevelconfigurations",
    "resourceclaims",
    "resourceclaimtemplates",
    "resourceslices",
    "deviceclasses",
};
enum { UNSERVED = sizeof(unserved) / sizeof(unserved[0]) };

static bool is_unserved(const kl_kind *row)
{
    for (size_t i = 0; i < UNSERVED; i++) {
        if (strcmp(row->plural, unserved[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Checks "plural.group", or "plural" in the core group. */
static void check_in_group(const kl_kind *row, const char *name)
{
    char typed[160];

    snprintf(typed, sizeof(typed), "%s%s%s", name,
             row->group[0] != '\0' ? "." : "", row->group);
    check_name(typed);
}

static void each_plural_and_kind_means_what_discovery_says(void **state)
{
    size_t count = 0, left_out = 0;
    const kl_kind *row;

    (void)state;
    for (; (row = kl__builtin_at(count)) != NULL; count++) {
        if (is_unserved(row)) {
            left_out++;
            continue;
        }
        check_in_group(row, row->plural);
        check_in_group(row, row->kind);
        check_name(row->plural);
    }
    assert_int_equal(left_out, UNSERVED);
    assert_true(count > 50);
}

/* So that no row is left out of the comparison for nothing. */
static void what_is_left_out_is_not_served(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNSERVED; i++) {
        kl__resource resource = {0};

        assert_int_not_equal(
            kl__discovery_resolve(client, unserved[i], &resource, NULL, NULL),
            KL_OK);
    }
}

static void each_short_name_means_what_discovery_says(void **state)
{
    const kl_kind *row;

    (void)state;
    for (size_t i = 0; (row = kl__builtin_at(i)) != NULL; i++) {
        char names[64];
        char *rest = names;
        const char *name;

        if (is_unserved(row)) {
            continue;
        }
        snprintf(names, sizeof(names), "%s", row->short_names);
        while ((name = strtok_r(rest, ",", &rest)) != NULL) {
            check_name(name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_plural_and_kind_means_what_discovery_says),
        cmocka_unit_test(what_is_left_out_is_not_served),
        cmocka_unit_test(each_short_name_means_what_discovery_says),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
