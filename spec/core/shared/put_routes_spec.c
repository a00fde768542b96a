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
} world;

static void begin(world *self)
{
    self->map = kl_shared_open(&(kl_shared_options){.size = 1 << 20}, NULL);
    self->routes = kl__routes_new(NULL, NULL);
    assert_non_null(self->map);
    assert_non_null(self->routes);
    assert_int_equal(kl__shared_take(self->map, NULL), KL_OK);
}

static void end(world *self)
{
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
    assert_int_equal(kl__put_routes(self->routes, self->map, false, NULL),
                     KL_OK);
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

int main(void)
{
    const struct CMUnitTest specs[] = {
        cmocka_unit_test(all_names_of_a_port_have_its_endpoints),
        cmocka_unit_test(a_name_that_keeps_its_endpoints_changes_no_other),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
