/*
 * routes_merge_spec.c - the EndpointSlices of a Service as one list: which
 * endpoints, each once, with conditions, places and weights.
 */
#include "routes_rig.h"
#include "shared/weights.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void several_slices_are_one_list(void **state)
{
    static const route_row rows[] = {
        {SERVICE, SHOP(ONE_PORT), SHOP_IS("none")},
        {SLICE, IN("b", "1", AT("10.0.0.3") "," AT("10.0.0.1")),
         SHOP_IS("10.0.0.1:8080 10.0.0.3:8080")},
        {SLICE, IN("a", "2", AT("10.0.0.2")),
         SHOP_IS("10.0.0.1:8080 10.0.0.2:8080 10.0.0.3:8080")},
        {NO_SLICE, "web/b", SHOP_IS("10.0.0.2:8080")},
        {0},
    };

    (void)state;
    route_rows_run(rows);
}

/* While slices are rebalanced, an endpoint is in two of them. */
static void an_address_in_two_slices_is_as_the_newer_one_says(void **state)
{
    static const route_row rows[] = {
        {SERVICE, SHOP(ONE_PORT), SHOP_IS("none")},
        {SLICE, IN("a", "9", AT("10.0.0.1")), SHOP_IS("10.0.0.1:8080")},
        {SLICE, IN("b", "10", AS("10.0.0.1", "'ready':false")),
         SHOP_IS("10.0.0.1:8080? none")},
        {SLICE, IN("a", "11", AT("10.0.0.1")), SHOP_IS("10.0.0.1:8080")},
        {NO_SLICE, "web/a", SHOP_IS("10.0.0.1:8080? none")},
        {0},
    };

    (void)state;
    route_rows_run(rows);
}

/* Pods whose targetPort has a name: each slice has its own number. */
static void an_address_with_two_ports_is_two_endpoints(void **state)
{
    static const route_row rows[] = {
        {SERVICE, SHOP(ONE_PORT), SHOP_IS("none")},
        {SLICE, IN("a", "1", AT("10.0.0.1")), SHOP_IS("10.0.0.1:8080")},
        {SLICE,
         OF_SHOP("b", "2",
                 IPV4 ",'ports':[{'name':'http','port':9090}],'endpoints':[" AT(
                     "10.0.0.1") "]"),
         SHOP_IS("10.0.0.1:8080 10.0.0.1:9090")},
        {0},
    };

    (void)state;
    route_rows_run(rows);
}

#define UP "'ready':true,'serving':true,'terminating':false"
#define DRAINING "'ready':false,'serving':true,'terminating':true"
#define ENDING "'ready':false,'serving':false,'terminating':true"
#define DOWN "'ready':false"
#define FOUR_WAYS                                                           \
    AS("10.0.0.1", UP)                                                      \
    "," AS("10.0.0.2", DRAINING) "," AS("10.0.0.3", "'ready':null") "," AS( \
        "10.0.0.4", DOWN)

static void conditions_are_read_as_their_documentation_says(void **state)
{
    static const route_row rows[] = {
        {SERVICE, SHOP(ONE_PORT), SHOP_IS("none")},
        {SLICE, IN("a", "1", FOUR_WAYS),
         SHOP_IS("10.0.0.1:8080 10.0.0.2:8080~ 10.0.0.3:8080 "
                 "10.0.0.4:8080?")},
        {SLICE, IN("a", "2", AS("10.0.0.2", DRAINING)),
         SHOP_IS("10.0.0.2:8080~")},
        {SLICE, IN("a", "3", AS("10.0.0.2", ENDING)),
         SHOP_IS("10.0.0.2:8080+ none")},
        {SERVICE, SHOP(ONE_PORT ",'publishNotReadyAddresses':true"),
         SHOP_IS("10.0.0.2:8080~") "web/shop: "
                                   "{\"publishNotReadyAddresses\":true}\n"},
        {SLICE, IN("a", "4", "{'addresses':[]},{}"), SHOP_IS("none")},
        {0},
    };

    (void)state;
    route_rows_run(rows);
}

#define HINTED(address, zone, hints)             \
    "{'addresses':['" address "'],'zone':'" zone \
    "','nodeName':'n1','hints':{'forZones':[" hints "]}}"
#define FOR(zone) "{'name':'" zone "'}"
#define BOTH_HINTED                     \
    HINTED("10.0.0.1", "z1", FOR("z2")) \
    "," HINTED("10.0.0.2", "z1", FOR("z2") "," FOR("z1"))
#define ONE_HINTED HINTED("10.0.0.1", "z1", FOR("z2"))

static void a_hint_is_the_zone_where_all_that_are_ready_have_one(void **state)
{
    static const route_row rows[] = {
        {SERVICE, SHOP(ONE_PORT), SHOP_IS("none")},
        {SLICE, IN("a", "1", BOTH_HINTED),
         SHOP_IS("10.0.0.1:8080@z2/n1 10.0.0.2:8080@z2,z1/n1")},
        {SLICE, IN("a", "2", ONE_HINTED "," HINTED("10.0.0.2", "z3", "")),
         SHOP_IS("10.0.0.1:8080@z1/n1 10.0.0.2:8080@z3/n1")},
        {SLICE, IN("a", "3", ONE_HINTED "," AS("10.0.0.2", DOWN)),
         SHOP_IS("10.0.0.1:8080@z2/n1 10.0.0.2:8080?")},
        {0},
    };

    (void)state;
    route_rows_run(rows);
}

#define V6(endpoints)   \
    OF_SHOP("six", "1", \
            "'addressType':'IPv6'," HTTP ",'endpoints':[" endpoints "]")

static void the_first_family_that_is_ready_is_taken(void **state)
{
    static const route_row rows[] = {
        {SLICE, V6(AT("fd00::1")), ""},
        {SLICE, IN("four", "1", AT("10.0.0.1")), ""},
        {SERVICE, SHOP(ONE_PORT), SHOP_IS("10.0.0.1:8080")},
        {SERVICE, SHOP(ONE_PORT ",'ipFamilies':['IPv4','IPv6']"),
         SHOP_IS("10.0.0.1:8080")},
        {SERVICE, SHOP(ONE_PORT ",'ipFamilies':['IPv6','IPv4']"),
         SHOP_IS("fd00::1:8080")},
        {SLICE, V6(AS("fd00::1", "'ready':false")), SHOP_IS("10.0.0.1:8080")},
        {SLICE,
         IN("four", "2",
            AS("10.0.0.1", "'ready':false,'serving':true,'terminating':true")),
         SHOP_IS("10.0.0.1:8080~")},
        {SLICE, IN("four", "3", AS("10.0.0.1", "'ready':false")),
         SHOP_IS("fd00::1:8080? none")},
        {0},
    };

    (void)state;
    route_rows_run(rows);
}

static void slices_of_host_names_come_last(void **state)
{
    static const route_row rows[] = {
        {SERVICE, SHOP(ONE_PORT), SHOP_IS("none")},
        {SLICE,
         OF_SHOP("f", "1",
                 "'addressType':'FQDN'," HTTP
                 ",'endpoints':[" AT("a.example.com") "]"),
         SHOP_IS("a.example.com:8080(dns)")},
        {SLICE, IN("a", "1", AT("10.0.0.1")), SHOP_IS("10.0.0.1:8080")},
        {0},
    };

    (void)state;
    route_rows_run_with(&(kl__route_policy){.external_names = true}, rows);
}

#define WEIGHED(weights)                                                    \
    "{" META("shop", "1") ",'annotations':{'kubelua.dev/weights':'" weights \
                          "'}},'spec':{" ONE_PORT "}}"

static void annotations_weigh_endpoints(void **state)
{
    static const route_row rows[] = {
        {SLICE,
         "{" META(
             "a",
             "1") ",'labels':{'kubernetes.io/service-name':'shop'},"
                  "'annotations':{'kubelua.dev/weight':'7'}}," IPV4 "," HTTP
                  ",'endpoints':[" AT(
                      "10.0.0.1") ","
                                  "{'addresses':['10.0.0.2'],'zone':'z1',"
                                  "'nodeName':'n1','targetRef':{'kind':'Pod',"
                                  "'name':'shop-canary-x'}}]}",
         ""},
        {SERVICE, SHOP(ONE_PORT),
         SHOP_IS("10.0.0.1:8080*7 10.0.0.2:8080*7@z1/n1")},
        {SERVICE, WEIGHED("shop-canary-*=2, 10.0.0.1=5"),
         SHOP_IS("10.0.0.1:8080*5 10.0.0.2:8080*2@z1/n1")},
        {SERVICE, WEIGHED("z1=0"),
         SHOP_IS("10.0.0.1:8080*7 10.0.0.2:8080*0@z1/n1")},
        {SERVICE, WEIGHED("n1=3,z1=0,*=1"),
         SHOP_IS("10.0.0.1:8080 10.0.0.2:8080*3@z1/n1")},
        {SERVICE, WEIGHED("*=1000,junk,=4,n1=1001,z1=-1"),
         SHOP_IS("10.0.0.1:8080*1000 10.0.0.2:8080*1000@z1/n1")},
        {SERVICE, WEIGHED("*=0"),
         SHOP_IS("10.0.0.1:8080*0 10.0.0.2:8080*0@z1/n1 none")},
        {0},
    };

    (void)state;
    route_rows_run(rows);
}

/* The annotation may have 262,144 bytes, and its rules meet each endpoint. */
static void only_the_first_rules_of_weights_count(void **state)
{
    kl__weights weights = {0};
    kl__buf text = {0};
    const char *const first[] = {"10.0.0.1", "pod-0", "", ""};
    const char *const last[] = {"10.0.0.1", "pod-1023", "n", "z"};
    const char *const beyond[] = {"10.0.0.1", "pod-1024", "n", "z"};

    (void)state;
    for (int i = 0; i < 20000; i++) {
        kl__buf_printf(&text, "pod-%d=%d,", i, i % 1000);
    }
    kl__buf_putc(&text, '\0');
    assert_true(kl__weights_read(&weights, text.bytes));
    assert_true(weights.is_cut);
    assert_int_equal(weights.count, KL__WEIGHT_RULES);
    assert_int_equal(kl__weights_find(&weights, first), 0);
    assert_int_equal(kl__weights_find(&weights, last), 23);
    assert_int_equal(kl__weights_find(&weights, beyond), -1);
    kl__weights_deinit(&weights);
    kl__buf_reset(&text);
    for (int i = 0; i < 100; i++) {
        kl__buf_printf(&text, "pod-%d*=%d ", i, i);
    }
    kl__buf_putc(&text, '\0');
    assert_true(kl__weights_read(&weights, text.bytes));
    assert_true(weights.is_cut);
    assert_int_equal(weights.count, KL__WEIGHT_PREFIXES);
    assert_int_equal(kl__weights_find(&weights, last), 1);
    kl__weights_deinit(&weights);
    kl__buf_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest specs[] = {
        cmocka_unit_test(several_slices_are_one_list),
        cmocka_unit_test(an_address_in_two_slices_is_as_the_newer_one_says),
        cmocka_unit_test(an_address_with_two_ports_is_two_endpoints),
        cmocka_unit_test(conditions_are_read_as_their_documentation_says),
        cmocka_unit_test(a_hint_is_the_zone_where_all_that_are_ready_have_one),
        cmocka_unit_test(the_first_family_that_is_ready_is_taken),
        cmocka_unit_test(slices_of_host_names_come_last),
        cmocka_unit_test(annotations_weigh_endpoints),
        cmocka_unit_test(only_the_first_rules_of_weights_count),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
