/*
 * put_routes_spec.c - routes that the owner puts into a map: all names of a
 * port have its endpoints, and under "keep" each name keeps its own.
 */
#include "routes_rig.h"
#include "shared/owner_put.h"
#include "shared/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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
