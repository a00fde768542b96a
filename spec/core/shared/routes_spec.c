/*
 * routes_spec.c - Services and EndpointSlices come and go in any order; the
 * names of a Service's ports are told, and taken back.
 */
#include "routes_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_port_has_its_name_and_number_and_alone_no_port(void **state)
{
    static const route_row rows[] = {
        {SLICE, IN("a", "1", AT("10.0.0.2") "," AT("10.0.0.1")), ""},
        {SERVICE, SHOP(ONE_PORT),
         "web/shop:http = 10.0.0.1:8080 10.0.0.2:8080\n"
         "web/shop:80 = 10.0.0.1:8080 10.0.0.2:8080\n"
         "web/shop = 10.0.0.1:8080 10.0.0.2:8080\n"},
        {SERVICE,
         SHOP("'ports':[{'name':'http','port':80},{'name':'tls','port':443}]"),
         "web/shop:http = 10.0.0.1:8080 10.0.0.2:8080\n"
         "web/shop:80 = 10.0.0.1:8080 10.0.0.2:8080\n"
         "web/shop:tls = none\nweb/shop:443 = none\nweb/shop gone\n"},
        {SERVICE, SHOP("'ports':[{'name':'http','port':81}]"),
         "web/shop:http = 10.0.0.1:8080 10.0.0.2:8080\n"
         "web/shop:81 = 10.0.0.1:8080 10.0.0.2:8080\n"
         "web/shop = 10.0.0.1:8080 10.0.0.2:8080\n"
         "web/shop:80 gone\nweb/shop:tls gone\nweb/shop:443 gone\n"},
        {0},
    };

    (void)state;
    route_rows_run(rows);
}

static void a_nameless_port_is_the_slices_nameless_one(void **state)
{
    static const route_row rows[] = {
        {SERVICE, SHOP("'ports':[{'port':80}]"),
         "web/shop:80 = none\nweb/shop = none\n"},
        {SLICE,
         OF_SHOP("a", "1",
                 IPV4 ",'ports':[{'name':'','port':9090}],'endpoints':[" AT(
                     "10.0.0.1") "]"),
         "web/shop:80 = 10.0.0.1:9090\nweb/shop = 10.0.0.1:9090\n"},
        {0},
    };

    (void)state;
    route_rows_run(rows);
}

static void a_number_of_two_protocols_means_the_tcp_port(void **state)
{
    static const route_row rows[] = {
        {SLICE,
         OF_SHOP("a", "1",
                 IPV4 ",'ports':[{'name':'dns','port':53,'protocol':'UDP'},"
                      "{'name':'dns-tcp','port':5353,'protocol':'TCP'}],"
                      "'endpoints':[" AT("10.0.0.1") "]"),
         ""},
        {SERVICE,
         SHOP("'ports':[{'name':'dns','port':53,'protocol':'UDP'},"
              "{'name':'dns-tcp','port':53}]"),
         "web/shop:dns = 10.0.0.1:53\nweb/shop:dns-tcp = 10.0.0.1:5353\n"
         "web/shop:53 = 10.0.0.1:5353\n"
         "web/shop: {\"ports\":[{\"port\":53,\"name\":\"dns\",\"protocol\":"
         "\"UDP\"}]}\n"},
        {0},
    };

    (void)state;
    route_rows_run(rows);
}

static void a_service_goes_and_comes_again_with_its_slices(void **state)
{
    static const route_row rows[] = {
        {SERVICE, SHOP(ONE_PORT),
         "web/shop:http = none\nweb/shop:80 = none\nweb/shop = none\n"},
        {SLICE, IN("a", "1", AT("10.0.0.1")),
         "web/shop:http = 10.0.0.1:8080\nweb/shop:80 = 10.0.0.1:8080\n"
         "web/shop = 10.0.0.1:8080\n"},
        {NO_SERVICE, "web/shop",
         "web/shop:http gone\nweb/shop:80 gone\nweb/shop gone\n"},
        {NO_SERVICE, "web/shop", ""},
        {SERVICE, SHOP(ONE_PORT),
         "web/shop:http = 10.0.0.1:8080\nweb/shop:80 = 10.0.0.1:8080\n"
         "web/shop = 10.0.0.1:8080\n"},
        {NO_SLICE, "web/a",
         "web/shop:http = none\nweb/shop:80 = none\nweb/shop = none\n"},
        {NO_SLICE, "web/a", ""},
        {0},
    };

    (void)state;
    route_rows_run(rows);
}

static const kl__route_policy with_names = {.external_names = true};

/* A tenant may give his Service the name of any host (CVE-2021-32783). */
static void an_external_name_is_not_served_by_default(void **state)
{
    static const route_row rows[] = {
        {SERVICE,
         SHOP("'type':'ExternalName','externalName':'127.0.0.1',"
              "'ports':[{'port':29171}]"),
         "web/shop:29171 = none\nweb/shop = none\n"},
        {SERVICE, SHOP("'type':'ExternalName','externalName':'db.example.com'"),
         "web/shop = none\nweb/shop:29171 gone\n"},
        {SLICE, OF_SHOP("a", "1", IPV4 ",'endpoints':[" AT("10.0.0.1") "]"),
         "web/shop = none\n"},
        {SLICE,
         OF_SHOP("a", "2",
                 "'addressType':'FQDN','endpoints':[" AT("127.0.0.1") "]"),
         "web/shop = none\n"},
        {SERVICE, SHOP("'clusterIP':'None'"), "web/shop = none\n"},
        {0},
    };

    (void)state;
    route_rows_run(rows);
}

static void names_that_are_addresses_are_never_served(void **state)
{
    static const route_row rows[] = {
        {SERVICE, SHOP("'type':'ExternalName','externalName':'2852039166'"),
         "web/shop = none\n"},
        {SERVICE, SHOP("'type':'ExternalName','externalName':'0x7f.1'"),
         "web/shop = none\n"},
        {SERVICE, SHOP("'type':'ExternalName','externalName':'unix:/run/x'"),
         "web/shop = none\n"},
        {SERVICE, SHOP("'type':'ExternalName','externalName':'a.example'"),
         "web/shop = a.example:0(dns)\n"},
        {SERVICE, SHOP(ONE_PORT), SHOP_IS("none")},
        {SLICE,
         OF_SHOP("a", "1",
                 "'addressType':'FQDN'," HTTP ",'endpoints':[" AT(
                     "127.0.0.1") "," AT("b.example") "," AT("::1") "]"),
         SHOP_IS("b.example:8080(dns)")},
        {0},
    };

    (void)state;
    route_rows_run_with(&with_names, rows);
}

static void addresses_of_the_machine_and_its_link_are_left_out(void **state)
{
    static const route_row rows[] = {
        {SERVICE, SHOP(ONE_PORT), SHOP_IS("none")},
        {SLICE,
         IN("a", "1",
            AT("127.0.0.1") "," AT("10.0.0.1") "," AT("169.254.169.254")),
         SHOP_IS("10.0.0.1:8080")},
        {SLICE, IN("a", "2", AT("0.0.0.0") "," AT("010.0.0.1")),
         SHOP_IS("none")},
        {SLICE,
         OF_SHOP("a", "3",
                 "'addressType':'IPv6'," HTTP
                 ",'endpoints':[" AT("::1") "," AT("::ffff:127.0.0.1") "," AT(
                     "fd00::1") "," AT("fe80::1%lo") "]"),
         SHOP_IS("fd00::1:8080")},
        {0},
    };

    (void)state;
    route_rows_run(rows);
}

static void an_external_name_is_the_one_endpoint(void **state)
{
    static const route_row rows[] = {
        {SERVICE, SHOP("'type':'ExternalName','externalName':'db.example.com'"),
         "web/shop = db.example.com:0(dns)\n"},
        {SERVICE,
         SHOP("'type':'ExternalName','externalName':'db.example.com',"
              "'ports':[{'port':443}]"),
         "web/shop:443 = db.example.com:443(dns)\n"
         "web/shop = db.example.com:443(dns)\n"},
        {SERVICE, SHOP(ONE_PORT ",'externalName':'left.over'"),
         SHOP_IS("none") "web/shop:443 gone\n"},
        {0},
    };

    (void)state;
    route_rows_run_with(&with_names, rows);
}

static void a_headless_service_without_ports_has_its_name_alone(void **state)
{
    static const route_row rows[] = {
        {SERVICE, SHOP("'clusterIP':'None'"), "web/shop = none\n"},
        {SLICE, OF_SHOP("a", "1", IPV4 ",'endpoints':[" AT("10.0.0.1") "]"),
         "web/shop = 10.0.0.1:0\n"},
        {SLICE, IN("a", "2", AT("10.0.0.1")), "web/shop = 10.0.0.1:8080\n"},
        {0},
    };

    (void)state;
    route_rows_run(rows);
}

static void a_slice_that_changes_its_service_leaves_the_former(void **state)
{
    static const route_row rows[] = {
        {SERVICE, SHOP(ONE_PORT), SHOP_IS("none")},
        {SLICE, IN("a", "1", AT("10.0.0.1")), SHOP_IS("10.0.0.1:8080")},
        {SLICE,
         "{" META("a",
                  "2") ",'labels':{'kubernetes.io/service-name':'cart'}}," IPV4
                       "," HTTP ",'endpoints':[" AT("10.0.0.1") "]}",
         SHOP_IS("none")},
        {SLICE, "{" META("a", "3") "}}", ""},
        {SLICE, IN("a", "4", AT("10.0.0.1")), SHOP_IS("10.0.0.1:8080")},
        {SLICE, "{" META("a", "5") "}}", SHOP_IS("none")},
        {0},
    };

    (void)state;
    route_rows_run(rows);
}

static void members_of_a_wrong_type_are_absent(void **state)
{
    static const route_row rows[] = {
        {SERVICE, SHOP("'ports':{'a':1},'ipFamilies':'IPv4','type':4"),
         "web/shop = none\n"},
        {SLICE, OF_SHOP("a", "1", "'ports':[1,null],'endpoints':[1,null,[]]"),
         "web/shop = none\n"},
        {SLICE,
         OF_SHOP("a", "2", "'ports':[{'port':70000}],'endpoints':{'a':1}"),
         "web/shop = none\n"},
        {SERVICE, SHOP("'ports':[{'port':'80'},{'name':7,'port':80}]"),
         "web/shop:80 = none\nweb/shop gone\n"},
        {0},
    };

    (void)state;
    route_rows_run(rows);
}

static void what_is_unusual_in_a_spec_is_told(void **state)
{
    static const route_row rows[] = {
        {SERVICE,
         SHOP("'sessionAffinity':'None','clusterIP':'None',"
              "'internalTrafficPolicy':'Cluster'"),
         "web/shop = none\n"},
        {SERVICE,
         SHOP("'sessionAffinity':'ClientIP','sessionAffinityConfig':{"
              "'clientIP':{'timeoutSeconds':600}},'internalTrafficPolicy':"
              "'Local','ports':[{'name':'a','port':80},{'name':'g','port':81,"
              "'appProtocol':'kubernetes.io/h2c'},{'port':53,'protocol':"
              "'UDP'}]"),
         "web/shop:a = none\nweb/shop:80 = none\nweb/shop:g = none\n"
         "web/shop:81 = none\nweb/shop:53 = none\n"
         "web/shop: {\"sessionAffinity\":\"ClientIP\","
         "\"internalTrafficPolicy\":\"Local\",\"sessionAffinityTimeout\":"
         "600,\"ports\":[{\"port\":81,\"name\":\"g\",\"appProtocol\":"
         "\"kubernetes.io/h2c\"},{\"port\":53,\"protocol\":\"UDP\"}]}\n"
         "web/shop gone\n"},
        {SERVICE, SHOP("'clusterIP':'None'"),
         "web/shop = none\nweb/shop: usual\nweb/shop:a gone\n"
         "web/shop:80 gone\nweb/shop:g gone\nweb/shop:81 gone\n"
         "web/shop:53 gone\n"},
        {SERVICE, SHOP("'publishNotReadyAddresses':true"),
         "web/shop = none\n"
         "web/shop: {\"publishNotReadyAddresses\":true}\n"},
        {NO_SERVICE, "web/shop", "web/shop: usual\nweb/shop gone\n"},
        {0},
    };

    (void)state;
    route_rows_run(rows);
}

typedef struct stopper {
    kl__buf *told;
    int left;
} stopper;

static kl_code stop_after(void *context, const kl__route *route, kl_error *err)
{
    stopper *self = context;

    if (self->left-- == 0) {
        return kl_error_set(err, KL_ENOMEM, "enough");
    }
    return route_print(self->told, route, err);
}

/* However far a flush got: the next one takes back each name that was told. */
static void a_flush_that_stops_forgets_no_name(void **state)
{
    static const route_row first = {SERVICE, SHOP(ONE_PORT), ""};
    static const route_row second = {
        SERVICE, SHOP("'ports':[{'name':'tls','port':443}]"), ""};

    (void)state;
    for (int left = 0; left < 3; left++) {
        kl__routes *routes = kl__routes_new(NULL, NULL);
        kl__buf told = {0};
        stopper stop = {&told, left};

        route_row_apply(routes, &first);
        kl__routes_flush(routes, route_print, &told, NULL);
        route_row_apply(routes, &second);
        assert_int_equal(kl__routes_flush(routes, stop_after, &stop, NULL),
                         KL_ENOMEM);
        assert_true(kl__routes_changed(routes));
        kl__routes_remove_service(routes, "web/shop");
        kl__buf_reset(&told);
        assert_int_equal(kl__routes_flush(routes, route_print, &told, NULL),
                         KL_OK);
        assert_non_null(strstr(told.bytes, "web/shop:http gone\n"));
        assert_non_null(strstr(told.bytes, "web/shop gone\n"));
        if (left > 0) {
            assert_non_null(strstr(told.bytes, "web/shop:tls gone\n"));
        }
        kl__buf_deinit(&told);
        kl__routes_free(routes);
    }
}

int main(void)
{
    const struct CMUnitTest specs[] = {
        cmocka_unit_test(a_port_has_its_name_and_number_and_alone_no_port),
        cmocka_unit_test(a_nameless_port_is_the_slices_nameless_one),
        cmocka_unit_test(a_number_of_two_protocols_means_the_tcp_port),
        cmocka_unit_test(a_service_goes_and_comes_again_with_its_slices),
        cmocka_unit_test(an_external_name_is_not_served_by_default),
        cmocka_unit_test(names_that_are_addresses_are_never_served),
        cmocka_unit_test(addresses_of_the_machine_and_its_link_are_left_out),
        cmocka_unit_test(an_external_name_is_the_one_endpoint),
        cmocka_unit_test(a_headless_service_without_ports_has_its_name_alone),
        cmocka_unit_test(a_slice_that_changes_its_service_leaves_the_former),
        cmocka_unit_test(members_of_a_wrong_type_are_absent),
        cmocka_unit_test(what_is_unusual_in_a_spec_is_told),
        cmocka_unit_test(a_flush_that_stops_forgets_no_name),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
