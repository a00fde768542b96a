/*
 * routes_rig.h - rows of objects for specs of the routes of Services: each row
 * applies an object, and has the routes that must be reported then; with short
 * ways to write a Service and its EndpointSlices.
 */
#ifndef KL_SPEC_ROUTES_RIG_H
#define KL_SPEC_ROUTES_RIG_H

#include "base/buf.h"
#include "shared/routes.h"

typedef enum route_action {
    END,
    SERVICE,
    SLICE,
    NO_SERVICE,
    NO_SLICE
} route_action;

/* `text`: JSON with ' for ", without metadata.namespace, which is "web"; for a
 * deletion, the key. `told`: the reported routes, a line each: "name =
 * endpoints". */
typedef struct route_row {
    route_action action;
    const char *text;
    const char *told;
} route_row;

/* Applies the object of a row. */
void route_row_apply(kl__routes *routes, const route_row *row);

/* A kl__route_fn: appends a route to a kl__buf. An endpoint is "host:port",
 * then what is unusual: "*3" its weight, "?" not ready, "~" terminating but
 * serving, "+" terminating, "(dns)", "@zone", "/node"; "none" is a route
 * without usable endpoints. */
kl_code route_print(void *context, const kl__route *route, kl_error *err);

/* Applies all rows (the last is zeroed) to new routes; asserts what is reported
 * after each, and that nothing is left. */
void route_rows_run(const route_row *rows);
void route_rows_run_with(const kl__route_policy *policy, const route_row *rows);

#define META(name, version)                       \
    "'metadata':{'namespace':'web','name':'" name \
    "','resourceVersion':'" version "'"

#define SHOP(spec) "{" META("shop", "1") "},'spec':{" spec "}}"

#define OF_SHOP(name, version, rest)                                    \
    "{" META(name, version) ",'labels':{'kubernetes.io/service-name':'" \
                            "shop'}}," rest "}"

#define HTTP "'ports':[{'name':'http','port':8080}]"

#define IPV4 "'addressType':'IPv4'"

#define AT(address) "{'addresses':['" address "']}"

#define AS(address, conditions) \
    "{'addresses':['" address "'],'conditions':{" conditions "}}"

#define IN(name, version, endpoints) \
    OF_SHOP(name, version, IPV4 "," HTTP ",'endpoints':[" endpoints "]")

#define ONE_PORT "'ports':[{'name':'http','port':80}]"

#define SHOP_IS(endpoints)                                    \
    "web/shop:http = " endpoints "\nweb/shop:80 = " endpoints \
    "\nweb/shop = " endpoints "\n"

#endif
