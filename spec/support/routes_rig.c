/*
 * routes_rig.c - see routes_rig.h.
 */
#include "routes_rig.h"

#include "kubelua/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static kl_object *parse_quoted(const char *text)
{
    char json[4096];
    kl_object *object;
    kl_error err;

    snprintf(json, sizeof(json), "%s", text);
    for (char *at = json; *at != '\0'; at++) {
        *at = *at == '\'' ? '"' : *at;
    }
    object = kl_object_parse(json, strlen(json), NULL, &err);
    if (object == NULL) {
        fail_msg("%s: %s", json, err.message);
    }
    return object;
}

static void print_endpoint(kl__buf *out, const kl__endpoint *endpoint)
{
    kl__buf_printf(out, " %s:%d", endpoint->host, endpoint->port);
    if (endpoint->weight != 1) {
        kl__buf_printf(out, "*%d", endpoint->weight);
    }
    if (endpoint->terminating) {
        kl__buf_puts(out, endpoint->serving ? "~" : "+");
    }
    if (!endpoint->ready && !endpoint->terminating) {
        kl__buf_puts(out, "?");
    }
    kl__buf_puts(out, endpoint->is_name ? "(dns)" : "");
    if (endpoint->zone[0] != '\0') {
        kl__buf_printf(out, "@%s", endpoint->zone);
    }
    if (endpoint->node[0] != '\0') {
        kl__buf_printf(out, "/%s", endpoint->node);
    }
}

kl_code route_print(void *context, const kl__route *route, kl_error *err)
{
    kl__buf *out = context;

    (void)err;
    if (route->is_spec) {
        kl__buf_printf(out, "%s: %s\n", route->service,
                       route->spec != NULL ? route->spec : "usual");
    }
    for (size_t k = 0; k < route->name_count; k++) {
        kl__buf_printf(out,
                       route->is_gone ? "%s gone\n" : "%s =", route->names[k]);
        for (size_t i = 0; i < route->count; i++) {
            print_endpoint(out, &route->endpoints[i]);
        }
        if (!route->is_gone) {
            kl__buf_puts(out, route->usable == 0 ? " none\n" : "\n");
        }
    }
    return KL_OK;
}

void route_row_apply(kl__routes *routes, const route_row *this_row)
{
    kl_object *object = NULL;

    switch (this_row->action) {
    case SERVICE:
        object = parse_quoted(this_row->text);
        assert_int_equal(kl__routes_put_service(routes, object, NULL), KL_OK);
        break;
    case SLICE:
        object = parse_quoted(this_row->text);
        assert_int_equal(kl__routes_put_slice(routes, object, NULL), KL_OK);
        break;
    case NO_SERVICE:
        kl__routes_remove_service(routes, this_row->text);
        break;
    default:
        kl__routes_remove_slice(routes, this_row->text);
    }
    kl_object_unref(object);
}

void route_rows_run(const route_row *rows)
{
    route_rows_run_with(NULL, rows);
}

void route_rows_run_with(const kl__route_policy *policy, const route_row *rows)
{
    kl__routes *routes = kl__routes_new(policy, NULL);
    kl__buf told = {0};

    assert_non_null(routes);
    for (; rows->action != END; rows++) {
        kl__buf_reset(&told);
        kl__buf_puts(&told, "");
        route_row_apply(routes, rows);
        assert_int_equal(kl__routes_flush(routes, route_print, &told, NULL),
                         KL_OK);
        if (told.length == 0) {
            kl__buf_putc(&told, '\0');
        }
        assert_string_equal(told.bytes, rows->told);
        assert_false(kl__routes_changed(routes));
    }
    kl__buf_deinit(&told);
    kl__routes_free(routes);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
    assert_int_equal(kl_live_count(KL_LIVE_DOC), 0);
}
