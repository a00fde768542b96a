/*
 * routes_spec.c - Services and EndpointSlices come and go in any order; the
 * names of a Service's ports are told, taken back, and put into a map: all
 * names of a port have its endpoints, and under "keep" each name keeps its own.
 */
#include "routes_rig.h"

#include "shared/owner_feed.h"
#include "shared/writer.h"

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

#define TWO_PORTS "'ports':[{'name':'a','port':80},{'name':'b','port':443}]"
#define BOTH_OF(address)                                                  \
    OF_SHOP("shop-1", "1",                                                \
            IPV4 ",'ports':[{'name':'a','port':8080},{'name':'b','port':" \
                 "8443}],'endpoints':[" address "]")

typedef struct world {
    kl_shared *map;
    kl__routes *routes;
    kl__keeping *keeping;
} world;

static void begin(world *self)
{
    self->map = kl_shared_open(&(kl_shared_options){.size = 1 << 20}, NULL);
    self->routes = kl__routes_new(NULL, NULL);
    assert_non_null(self->map);
    assert_non_null(self->routes);
    self->keeping = kl__keeping_new(self->routes, 1000000, NULL);
    assert_non_null(self->keeping);
    assert_int_equal(kl__shared_take(self->map, NULL), KL_OK);
}

static void end(world *self)
{
    kl__keeping_free(self->keeping);
    kl__routes_free(self->routes);
    kl__shared_drop(self->map);
    kl_shared_close(self->map);
}

static void apply(world *self, route_action action, const char *text)
{
    route_row_apply(self->routes, &(route_row){action, text, ""});
}

static void publish(world *self)
{
    assert_int_equal(
        kl__put_routes(self->routes, self->map, self->keeping, NULL), KL_OK);
    assert_int_equal(kl_shared_publish(self->map, NULL), KL_OK);
}

/* Asserts the only endpoint of a name; `host` NULL: there is no such name. */
static void assert_only(world *self, const char *name, const char *host,
                        int port, int ready)
{
    kl_shared_key key;
    kl_pick found[2];
    uint32_t count;
    kl_shared_result result;

    assert_true(
        kl_shared_key_init(self->map, "services", name, strlen(name), &key));
    result = kl_shared_endpoints(self->map, &key, found, 2, &count);
    if (host == NULL) {
        assert_int_equal(result, KL_SHARED_NOT_SYNCED);
        return;
    }
    assert_int_equal(result, KL_SHARED_OK);
    assert_int_equal(count, 1);
    assert_string_equal(found[0].host, host);
    assert_int_equal(found[0].port, port);
    assert_int_equal(found[0].ready, ready);
}

static void all_names_of_a_port_have_its_endpoints(void **state)
{
    world self;

    (void)state;
    begin(&self);
    apply(&self, SERVICE, SHOP(ONE_PORT));
    apply(&self, SLICE, IN("shop-1", "1", AT("10.0.0.1")));
    publish(&self);
    assert_only(&self, "web/shop:http", "10.0.0.1", 8080, 1);
    assert_only(&self, "web/shop:80", "10.0.0.1", 8080, 1);
    assert_only(&self, "web/shop", "10.0.0.1", 8080, 1);
    apply(&self, SLICE, IN("shop-1", "2", AT("10.0.0.2")));
    publish(&self);
    assert_only(&self, "web/shop:http", "10.0.0.2", 8080, 1);
    assert_only(&self, "web/shop:80", "10.0.0.2", 8080, 1);
    assert_only(&self, "web/shop", "10.0.0.2", 8080, 1);
    end(&self);
}

/* Of the three names only the number had endpoints before. */
static void a_name_that_keeps_its_endpoints_changes_no_other(void **state)
{
    world self;

    (void)state;
    begin(&self);
    apply(&self, SERVICE, SHOP(TWO_PORTS));
    apply(&self, SLICE, BOTH_OF(AT("10.0.0.1")));
    publish(&self);
    assert_only(&self, "web/shop:80", "10.0.0.1", 8080, 1);
    assert_only(&self, "web/shop:443", "10.0.0.1", 8443, 1);
    apply(&self, SERVICE, SHOP(ONE_PORT));
    apply(&self, SLICE, IN("shop-1", "2", AS("10.0.0.250", "'ready':false")));
    publish(&self);
    assert_only(&self, "web/shop:http", "10.0.0.250", 8080, 0);
    assert_only(&self, "web/shop:80", "10.0.0.1", 8080, 1);
    assert_only(&self, "web/shop", "10.0.0.250", 8080, 0);
    assert_only(&self, "web/shop:443", NULL, 0, 0);
    end(&self);
}

#define OF(service, name, version, endpoints)                             \
    "{" META(name,                                                        \
             version) ",'labels':{'kubernetes.io/service-name':'" service \
                      "'}}," IPV4 "," HTTP ",'endpoints':[" endpoints "]}"
#define POD(address, name)                                                     \
    "{'addresses':['" address "'],'targetRef':{'kind':'Pod','name':'" name "'" \
    "}"                                                                        \
    "}"

/* The addresses of a name, as "10.0.0.1+", where "+" is one that is kept. */
static const char *text_of(world *self, const char *name)
{
    static char text[512];
    kl_pick found[8];
    uint32_t count = 0;
    kl_shared_key key;

    assert_true(
        kl_shared_key_init(self->map, "services", name, strlen(name), &key));
    assert_int_equal(kl_shared_endpoints(self->map, &key, found, 8, &count),
                     KL_SHARED_OK);
    text[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        strcat(text, i > 0 ? " " : "");
        strcat(text, found[i].host);
        strcat(text, found[i].flags & KL_ENDPOINT_KEPT ? "+" : "");
    }
    return text;
}

/* Its pod may be gone, and the address be another pod's by now. */
static void an_address_is_dropped_when_another_service_has_it(void **state)
{
    world self;

    (void)state;
    begin(&self);
    apply(&self, SERVICE, SHOP(ONE_PORT));
    apply(&self, SLICE,
          OF("shop", "shop-1", "1",
             POD("10.0.0.1", "a") "," POD("10.0.0.2", "b")));
    publish(&self);
    apply(&self, SLICE, OF("shop", "shop-1", "2", ""));
    publish(&self);
    assert_true(strstr(text_of(&self, "web/shop"), "10.0.0.1+") != NULL);
    assert_true(strstr(text_of(&self, "web/shop"), "10.0.0.2+") != NULL);
    assert_int_equal(kl__keeping_count(self.keeping), 2);
    apply(&self, SLICE, OF("other", "other-1", "3", POD("10.0.0.1", "c")));
    publish(&self);
    assert_string_equal(text_of(&self, "web/shop"), "10.0.0.2+");
    assert_string_equal(text_of(&self, "web/shop:80"), "10.0.0.2+");
    assert_int_equal(kl__keeping_count(self.keeping), 1);
    apply(&self, SLICE, OF("other", "other-1", "4", AT("10.0.0.2")));
    publish(&self);
    assert_string_equal(text_of(&self, "web/shop"), "");
    assert_int_equal(kl__keeping_count(self.keeping), 0);
    apply(&self, SLICE, OF("shop", "shop-1", "5", POD("10.0.0.1", "a")));
    publish(&self);
    assert_string_equal(text_of(&self, "web/shop"), "10.0.0.1");
    end(&self);
}

static void
an_address_that_another_service_has_already_is_not_kept(void **state)
{
    world self;

    (void)state;
    begin(&self);
    apply(&self, SERVICE, SHOP(ONE_PORT));
    apply(&self, SLICE, OF("other", "other-1", "1", POD("10.0.0.2", "c")));
    apply(&self, SLICE,
          OF("shop", "shop-1", "2",
             POD("10.0.0.1", "a") "," POD("10.0.0.2", "b")));
    publish(&self);
    apply(&self, SLICE, OF("shop", "shop-1", "3", ""));
    publish(&self);
    assert_string_equal(text_of(&self, "web/shop"), "10.0.0.1+");
    end(&self);
}

/* A pod is often in several Services, such as a headless one. */
static void an_address_of_the_same_pod_in_another_service_is_kept(void **state)
{
    world self;

    (void)state;
    begin(&self);
    apply(&self, SERVICE, SHOP(ONE_PORT));
    apply(&self, SLICE, OF("shop", "shop-1", "1", POD("10.0.0.1", "a")));
    apply(&self, SLICE, OF("other", "other-1", "1", POD("10.0.0.1", "a")));
    publish(&self);
    apply(&self, SLICE, OF("shop", "shop-1", "2", ""));
    apply(&self, SLICE, OF("other", "other-1", "2", POD("10.0.0.1", "a")));
    publish(&self);
    assert_string_equal(text_of(&self, "web/shop"), "10.0.0.1+");
    end(&self);
}

static void a_new_owner_does_not_keep_what_was_kept(void **state)
{
    world self;

    (void)state;
    begin(&self);
    apply(&self, SERVICE, SHOP(ONE_PORT));
    apply(&self, SLICE, IN("shop-1", "1", AT("10.0.0.1")));
    publish(&self);
    apply(&self, SLICE, IN("shop-1", "2", ""));
    publish(&self);
    assert_string_equal(text_of(&self, "web/shop"), "10.0.0.1+");
    kl__keeping_free(self.keeping);
    self.keeping = kl__keeping_new(self.routes, 1000000, NULL);
    kl__routes_touch(self.routes, "web/shop");
    publish(&self);
    assert_string_equal(text_of(&self, "web/shop"), "");
    end(&self);
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
        cmocka_unit_test(all_names_of_a_port_have_its_endpoints),
        cmocka_unit_test(an_address_is_dropped_when_another_service_has_it),
        cmocka_unit_test(
            an_address_that_another_service_has_already_is_not_kept),
        cmocka_unit_test(an_address_of_the_same_pod_in_another_service_is_kept),
        cmocka_unit_test(a_new_owner_does_not_keep_what_was_kept),
        cmocka_unit_test(a_name_that_keeps_its_endpoints_changes_no_other),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
