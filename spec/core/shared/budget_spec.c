/*
 * budget_spec.c - a map that is full: what is too large is left out alone,
 * named in the report, and comes back; all else is published.
 */
#include "base/buf.h"
#include "kubelua/log.h"
#include "routes_rig.h"
#include "shared/budget.h"
#include "shared/owner_feed.h"
#include "shared/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { READY = KL_ENDPOINT_READY | KL_ENDPOINT_SERVING };

typedef struct world {
    kl_shared *map;
    kl__routes *routes;
} world;

static void begin(world *self, size_t size)
{
    self->map = kl_shared_open(&(kl_shared_options){.size = size}, NULL);
    self->routes = kl__routes_new(NULL, NULL);
    assert_non_null(self->map);
    assert_non_null(self->routes);
    assert_int_equal(kl__shared_take(self->map, NULL), KL_OK);
    kl__shared_set_synced(self->map);
}

static void end(world *self)
{
    kl__routes_free(self->routes);
    kl__shared_drop(self->map);
    kl_shared_close(self->map);
}

static kl_shared_key key_of(const world *self, const char *table,
                            const char *name)
{
    kl_shared_key key;

    assert_true(kl_shared_key_init(self->map, table, name, strlen(name), &key));
    return key;
}

static kl_code put_value(world *self, const char *table, const char *name,
                         size_t size)
{
    kl_shared_key key = key_of(self, table, name);
    char *value = calloc(1, size);
    kl_code code = kl_shared_put(self->map, &key, value, size, NULL);

    free(value);
    return code;
}

static bool has_value(const world *self, const char *table, const char *name)
{
    kl_shared_key key = key_of(self, table, name);
    kl_shared_value value;
    kl_shared_result result = kl_shared_get(self->map, &key, NULL, 0, &value);

    assert_true(result == KL_SHARED_TOO_SMALL || result == KL_SHARED_UNKNOWN);
    return result == KL_SHARED_TOO_SMALL;
}

static void put_service(world *self, const char *name, int endpoints)
{
    kl_shared_key key = key_of(self, "services", name);
    kl_endpoint *all = calloc((size_t)endpoints + 1, sizeof(*all));
    char(*hosts)[32] = calloc((size_t)endpoints + 1, sizeof(*hosts));

    for (int i = 0; i < endpoints; i++) {
        snprintf(hosts[i], sizeof(hosts[i]), "10.0.%d.%d", i / 250, i % 250);
        all[i] = (kl_endpoint){
            .host = hosts[i], .port = 80, .weight = 1, .flags = READY};
    }
    assert_int_equal(
        kl_shared_put_endpoints(self->map, &key, all, (size_t)endpoints, NULL),
        KL_OK);
    free(all);
    free(hosts);
}

static bool has_service(const world *self, const char *name)
{
    kl_shared_key key = key_of(self, "services", name);
    kl_pick pick;

    return kl_shared_pick(self->map, &key, NULL, &pick) == KL_SHARED_OK;
}

static kl_shared_status status_of(const world *self)
{
    kl_shared_status status;

    kl_shared_get_status(self->map, &status);
    return status;
}

/* The report; "" if there is none. */
static const char *report_of(const world *self)
{
    static char text[16384];
    kl_shared_key key = key_of(self, KL__REPORT_TABLE, KL__REPORT_KEY);
    kl_shared_value value;

    text[0] = '\0';
    if (kl_shared_get(self->map, &key, text, sizeof(text) - 1, &value) ==
        KL_SHARED_OK) {
        text[value.length] = '\0';
    }
    return text;
}

static void
two_large_values_stop_neither_services_nor_small_values(void **state)
{
    world self;
    kl_error err;

    (void)state;
    begin(&self, 4 << 20);
    assert_int_equal(put_value(&self, "hosts", "a", 900000), KL_OK);
    assert_int_equal(put_value(&self, "hosts", "b", 900000), KL_OK);
    assert_int_equal(put_value(&self, "hosts", "small", 10), KL_OK);
    assert_int_equal(put_value(&self, "other", "small", 10), KL_OK);
    put_service(&self, "web/shop:http", 3);
    assert_int_equal(kl_shared_publish(self.map, &err), KL_ETOO_LARGE);
    assert_non_null(strstr(err.message, "1 entries were left out"));
    assert_true(has_service(&self, "web/shop:http"));
    assert_true(has_value(&self, "hosts", "small"));
    assert_true(has_value(&self, "other", "small"));
    assert_true(has_value(&self, "hosts", "a"));
    assert_false(has_value(&self, "hosts", "b"));
    assert_int_equal(status_of(&self).left_out, 1);
    assert_int_equal(status_of(&self).full, 1);
    assert_ptr_equal(strstr(report_of(&self), "hosts\tb\tneeds 9"),
                     report_of(&self));
    put_service(&self, "web/shop:tls", 3);
    assert_int_equal(kl_shared_publish(self.map, NULL), KL_ETOO_LARGE);
    assert_true(has_service(&self, "web/shop:tls"));
    assert_int_equal(put_value(&self, "hosts", "a", 10), KL_OK);
    assert_int_equal(kl_shared_publish(self.map, NULL), KL_OK);
    assert_true(has_value(&self, "hosts", "a"));
    assert_true(has_value(&self, "hosts", "b"));
    assert_int_equal(status_of(&self).left_out, 0);
    assert_string_equal(report_of(&self), "");
    end(&self);
}

static void a_value_beyond_the_map_is_refused_at_once(void **state)
{
    world self;

    (void)state;
    begin(&self, 1 << 20);
    assert_int_equal(put_value(&self, "hosts", "a", 300000), KL_ETOO_LARGE);
    assert_int_equal(put_value(&self, "hosts", "a", 200000), KL_OK);
    assert_int_equal(kl_shared_publish(self.map, NULL), KL_OK);
    end(&self);
}

static void names_of_a_service_are_left_out_together(void **state)
{
    world self;

    (void)state;
    begin(&self, 1 << 20); /* 253 kB for a generation */
    put_service(&self, "web/big:http", 2000);
    put_service(&self, "web/big:80", 2000);
    put_service(&self, "web/big", 1);
    put_service(&self, "web/shop", 3);
    assert_int_equal(kl_shared_publish(self.map, NULL), KL_ETOO_LARGE);
    assert_true(has_service(&self, "web/shop"));
    assert_false(has_service(&self, "web/big:http"));
    assert_false(has_service(&self, "web/big:80"));
    assert_false(has_service(&self, "web/big"));
    assert_int_equal(status_of(&self).left_out, 1);
    assert_ptr_equal(strstr(report_of(&self), "services\tweb/big\tneeds "),
                     report_of(&self));
    end(&self);
}

/* However many Services a namespace has, those of another one are there. */
static void a_namespace_takes_no_room_from_another(void **state)
{
    world self;
    char name[32];
    int here = 0;

    (void)state;
    begin(&self, 1 << 20);
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof(name), "evil/s%04d:http", i);
        put_service(&self, name, 3);
    }
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "web/s%04d:http", i);
        put_service(&self, name, 3);
    }
    put_service(&self, "web/large:http", 300);
    assert_int_equal(kl_shared_publish(self.map, NULL), KL_ETOO_LARGE);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "web/s%04d:http", i);
        assert_true(has_service(&self, name));
    }
    assert_true(has_service(&self, "web/large:http"));
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof(name), "evil/s%04d:http", i);
        here += has_service(&self, name) ? 1 : 0;
    }
    /* what fits is published */
    assert_in_range(here, 300, 1000);
    assert_int_equal(status_of(&self).left_out, 2000 - here);
    assert_true(status_of(&self).used > status_of(&self).room / 10 * 9);
    end(&self);
}

static int count_services(const world *self, const char *name_space, int of)
{
    char name[32];
    int here = 0;

    for (int i = 0; i < of; i++) {
        snprintf(name, sizeof(name), "%s/s%04d:http", name_space, i);
        here += has_service(self, name) ? 1 : 0;
    }
    return here;
}

static void large_namespaces_have_equal_shares(void **state)
{
    world self;
    char name[32];
    int one, other;

    (void)state;
    begin(&self, 1 << 20);
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof(name), "evil/s%04d:http", i);
        put_service(&self, name, 3);
        snprintf(name, sizeof(name), "web/s%04d:http", i);
        put_service(&self, name, i < 1000 ? 3 : 0);
    }
    assert_int_equal(kl_shared_publish(self.map, NULL), KL_ETOO_LARGE);
    one = count_services(&self, "evil", 2000);
    other = count_services(&self, "web", 1000);
    assert_true(one > 100);
    assert_in_range(other, 0, one);
    assert_int_equal(status_of(&self).entries - 1 - (uint64_t)one > 1000, 1);
    end(&self);
}

static void services_and_tables_have_room_for_certain(void **state)
{
    world self;
    char name[32];

    (void)state;
    begin(&self, 1 << 20);
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof(name), "n%d/s%04d:http", i % 100, i);
        put_service(&self, name, 3);
        snprintf(name, sizeof(name), "%d", i);
        assert_int_equal(put_value(&self, "mine", name, 400), KL_OK);
    }
    assert_int_equal(put_value(&self, "other", "a", 8000), KL_OK);
    assert_int_equal(kl_shared_publish(self.map, NULL), KL_ETOO_LARGE);
    int services = 0, values = 0;
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof(name), "n%d/s%04d:http", i % 100, i);
        services += has_service(&self, name) ? 1 : 0;
        snprintf(name, sizeof(name), "%d", i);
        values += has_value(&self, "mine", name) ? 1 : 0;
    }
    assert_true(has_value(&self, "other", "a"));
    assert_in_range(services, 400, 700); /* of some 300 bytes */
    assert_in_range(values, 80, 130);    /* of some 480 bytes */
    end(&self);
}

static void a_new_owner_takes_the_report_back(void **state)
{
    world self;

    (void)state;
    begin(&self, 1 << 20);
    assert_int_equal(put_value(&self, "hosts", "a", 200000), KL_OK);
    assert_int_equal(put_value(&self, "hosts", "b", 200000), KL_OK);
    assert_int_equal(kl_shared_publish(self.map, NULL), KL_ETOO_LARGE);
    assert_true(strlen(report_of(&self)) > 0);
    kl__shared_drop(self.map);
    assert_int_equal(kl__shared_take(self.map, NULL), KL_OK);
    put_service(&self, "web/shop:tls", 3);
    assert_int_equal(kl_shared_publish(self.map, NULL), KL_OK);
    assert_string_equal(report_of(&self), "");
    assert_int_equal(status_of(&self).left_out, 0);
    end(&self);
}

/* A Service, and a slice of it, with that many ports and endpoints. */
static void load(world *self, const char *name_space, int ports, int endpoints)
{
    kl__buf text = {0}, list = {0};
    kl_object *object;

    for (int i = 0; i < ports; i++) {
        kl__buf_printf(&list, "%s{\"name\":\"p%d\",\"port\":%d}",
                       i > 0 ? "," : "", i, i + 1);
    }
    kl__buf_putc(&list, '\0');
    kl__buf_printf(&text,
                   "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"shop\"},"
                   "\"spec\":{\"ports\":[%s]}}",
                   name_space, list.bytes);
    object = kl_object_parse(text.bytes, text.length, NULL, NULL);
    assert_int_equal(kl__routes_put_service(self->routes, object, NULL), KL_OK);
    kl_object_unref(object);
    kl__buf_reset(&text);
    kl__buf_printf(&text,
                   "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"shop-1\","
                   "\"labels\":{\"kubernetes.io/service-name\":\"shop\"}},"
                   "\"addressType\":\"IPv4\",\"ports\":[%s],\"endpoints\":[",
                   name_space, list.bytes);
    for (int i = 0; i < endpoints; i++) {
        kl__buf_printf(&text, "%s{\"addresses\":[\"10.0.0.%d\"]}",
                       i > 0 ? "," : "", i + 1);
    }
    kl__buf_puts(&text, "]}");
    object = kl_object_parse(text.bytes, text.length, NULL, NULL);
    assert_int_equal(kl__routes_put_slice(self->routes, object, NULL), KL_OK);
    kl_object_unref(object);
    kl__buf_deinit(&text);
    kl__buf_deinit(&list);
}

static kl_code put_all(world *self)
{
    while (kl__routes_changed(self->routes)) {
        assert_int_equal(kl__put_routes(self->routes, self->map, NULL, NULL),
                         KL_OK);
    }
    return kl_shared_publish(self->map, NULL);
}

static void
a_service_of_5000_ports_and_50_endpoints_is_left_out_alone(void **state)
{
    world self;

    (void)state;
    begin(&self, KL_SHARED_SIZE);
    load(&self, "web", 1, 3);
    load(&self, "evil", 5000, 50);
    assert_int_equal(put_all(&self), KL_OK);
    assert_true(has_service(&self, "web/shop:p0"));
    assert_false(has_service(&self, "evil/shop:p0"));
    assert_string_equal(report_of(&self),
                        "services\tevil/shop\thas too many ports and "
                        "endpoints\n");
    assert_int_equal(status_of(&self).left_out, 1);
    load(&self, "other", 1, 3);
    assert_int_equal(put_all(&self), KL_OK);
    assert_true(has_service(&self, "other/shop:p0"));
    load(&self, "evil", 50, 50);
    assert_int_equal(put_all(&self), KL_OK);
    assert_true(has_service(&self, "evil/shop:p49"));
    assert_int_equal(status_of(&self).left_out, 0);
    load(&self, "evil", 5000, 50);
    assert_int_equal(put_all(&self), KL_OK);
    assert_false(has_service(&self, "evil/shop:p49"));
    kl__routes_remove_service(self.routes, "evil/shop");
    assert_int_equal(put_all(&self), KL_OK);
    assert_int_equal(status_of(&self).left_out, 0);
    end(&self);
}

static void twenty_services_of_100_ports_leave_others_alone(void **state)
{
    world self;
    char name[32];

    (void)state;
    begin(&self, KL_SHARED_SIZE);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "evil%d", i);
        load(&self, name, 100, 50);
    }
    load(&self, "web", 2, 200);
    put_all(&self);
    assert_true(has_service(&self, "web/shop:p0"));
    load(&self, "web2", 1, 3);
    put_all(&self);
    assert_true(has_service(&self, "web2/shop:p0"));
    assert_true(status_of(&self).left_out < 20);
    end(&self);
}

static kl_code count_names(void *context, const kl__route *route, kl_error *err)
{
    kl__buf *told = context;

    (void)err;
    kl__buf_printf(told, "%s\n", route->names[0]);
    return KL_OK;
}

/* Small Services do not wait while large ones are merged; those have turns. */
static void small_services_go_before_large_ones(void **state)
{
    world self;
    kl__buf told = {0};
    int rounds = 0;

    (void)state;
    begin(&self, 1 << 20);
    for (char name[] = "a"; name[0] < 'd'; name[0]++) {
        load(&self, name, 400, 50);
    }
    load(&self, "z", 1, 3);
    assert_int_equal(kl__routes_flush(self.routes, count_names, &told, NULL),
                     KL_OK);
    kl__buf_putc(&told, '\0');
    assert_string_equal(told.bytes, "z/shop:p0\n");
    assert_true(kl__routes_changed(self.routes));
    kl__buf_reset(&told);
    assert_int_equal(kl__routes_flush(self.routes, count_names, &told, NULL),
                     KL_OK);
    kl__buf_putc(&told, '\0');
    assert_non_null(strstr(told.bytes, "a/shop:p399\n"));
    assert_null(strstr(told.bytes, "b/shop"));
    do { /* small ones that change all the time stop no large one */
        kl__buf_reset(&told);
        load(&self, "z", 1, 3);
        assert_int_equal(
            kl__routes_flush(self.routes, count_names, &told, NULL), KL_OK);
        kl__buf_putc(&told, '\0');
    } while (strstr(told.bytes, "c/shop:p399\n") == NULL && ++rounds < 20);
    assert_in_range(rounds, 2, 12);
    kl__buf_deinit(&told);
    end(&self);
}

int main(void)
{
    const struct CMUnitTest specs[] = {
        cmocka_unit_test(
            two_large_values_stop_neither_services_nor_small_values),
        cmocka_unit_test(a_value_beyond_the_map_is_refused_at_once),
        cmocka_unit_test(names_of_a_service_are_left_out_together),
        cmocka_unit_test(a_namespace_takes_no_room_from_another),
        cmocka_unit_test(large_namespaces_have_equal_shares),
        cmocka_unit_test(services_and_tables_have_room_for_certain),
        cmocka_unit_test(a_new_owner_takes_the_report_back),
        cmocka_unit_test(
            a_service_of_5000_ports_and_50_endpoints_is_left_out_alone),
        cmocka_unit_test(twenty_services_of_100_ports_leave_others_alone),
        cmocka_unit_test(small_services_go_before_large_ones),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
