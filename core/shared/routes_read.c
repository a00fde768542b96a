/*
 * routes_read.c - reads the fields of Services and EndpointSlices that routes
 * need, once, so that a merge reads no JSON.
 */
#include "shared/routes_parts.h"

#include "base/mem.h"
#include "base/str.h"
#include "json/quote.h"
#include "kubelua/shared.h"
#include "shared/address.h"

#include <stdlib.h>
#include <string.h>

#define SERVICE_NAME_LABEL "kubernetes.io/service-name"

#define NOT_SERVED \
    "is a name, which is served with the option external_names only"

/* Appends a text and its NUL byte to a block and returns its position; a block
 * begins with one NUL byte, so that 0 is "". NULL is "". */
static kl__text_at add_text(kl__buf *texts, const char *text)
{
    kl__text_at at;

    if (texts->length == 0) {
        kl__buf_putc(texts, '\0');
    }
    if (text == NULL || text[0] == '\0') {
        return 0;
    }
    at = (kl__text_at)texts->length;
    kl__buf_append(texts, text, strlen(text) + 1);
    return at;
}

/* The text of a member, or "". Borrowed from the document. */
static const char *member_text(const kl_value *object, const char *name)
{
    const kl_value *value = kl_value_get(object, name);

    return kl_value_type(value) == KL_STRING ? kl_value_string(value, NULL)
                                             : "";
}

/* The text of an annotation, or NULL. Borrowed from the document. */
static const char *annotation_of(const kl_value *root, const char *name)
{
    const kl_value *value = kl_value_get(
        kl_value_get(kl_value_get(root, "metadata"), "annotations"), name);

    return kl_value_type(value) == KL_STRING ? kl_value_string(value, NULL)
                                             : NULL;
}

/* Reads the ports of a Service, or of a slice, into a new array. False: out of
 * memory. */
static bool read_ports(const kl_value *list, kl__buf *texts,
                       kl__route_port **ports, size_t *count)
{
    kl_value_iter iter = {0};
    const kl_value *value;
    size_t size = kl_value_size(list);

    *count = 0;
    *ports = NULL;
    if (kl_value_type(list) != KL_ARRAY || size == 0) {
        return true;
    }
    *ports = kl__calloc(size, sizeof(**ports));
    if (*ports == NULL) {
        return false;
    }
    while ((value = kl_value_next(list, &iter, NULL)) != NULL) {
        kl__route_port *port = &(*ports)[(*count)++];
        const char *protocol = member_text(value, "protocol");
        int64_t number = kl_value_integer(kl_value_get(value, "port"));

        port->name = add_text(texts, member_text(value, "name"));
        port->protocol =
            add_text(texts, protocol[0] != '\0' ? protocol : "TCP");
        port->number =
            number > 0 && number <= UINT16_MAX ? (uint16_t)number : 0;
    }
    return true;
}

/* Moves the texts to *out. False: an append ran out of memory. */
static bool take_texts(kl__buf *texts, char **out)
{
    add_text(texts, NULL);
    *out = kl__buf_take(texts, NULL);
    return *out != NULL;
}

/* The zones of an endpoint's hint, with commas between them, as many as an
 * entry of the map has room for. */
static kl__text_at read_hint(const kl_value *zones, kl__buf *texts)
{
    kl_value_iter iter = {0};
    const kl_value *value;
    size_t at;

    add_text(texts, NULL);
    at = texts->length;
    while (kl_value_type(zones) == KL_ARRAY &&
           (value = kl_value_next(zones, &iter, NULL)) != NULL) {
        const char *zone = member_text(value, "name");
        size_t used = texts->length - at;

        if (zone[0] != '\0' && used + 1 + strlen(zone) <= KL_SHARED_ZONES_MAX) {
            kl__buf_puts(texts, used > 0 ? "," : "");
            kl__buf_puts(texts, zone);
        }
    }
    if (texts->length == at) {
        return 0;
    }
    kl__buf_putc(texts, '\0');
    return (kl__text_at)at;
}

static bool read_condition(const kl_value *conditions, const char *name,
                           bool absent)
{
    const kl_value *value = kl_value_get(conditions, name);

    return kl_value_type(value) == KL_BOOL ? kl_value_bool(value) : absent;
}

static void read_endpoint(const kl_value *value, kl__buf *texts,
                          kl__slice_endpoint *endpoint)
{
    const kl_value *conditions = kl_value_get(value, "conditions");
    const kl_value *address = kl_value_at(kl_value_get(value, "addresses"), 0);

    /* Only the first address is used: the API gives the others no meaning. An
     * absent condition has the default of its documentation. */
    endpoint->address = add_text(texts, kl_value_type(address) == KL_STRING
                                            ? kl_value_string(address, NULL)
                                            : NULL);
    endpoint->zone = add_text(texts, member_text(value, "zone"));
    endpoint->node = add_text(texts, member_text(value, "nodeName"));
    endpoint->pod =
        add_text(texts, member_text(kl_value_get(value, "targetRef"), "name"));
    endpoint->hint = read_hint(
        kl_value_get(kl_value_get(value, "hints"), "forZones"), texts);
    endpoint->ready = read_condition(conditions, "ready", true);
    endpoint->serving = read_condition(conditions, "serving", endpoint->ready);
    endpoint->terminating = read_condition(conditions, "terminating", false);
}

/* Why the last endpoint that was read is not served; NULL: it is. */
static const char *check_address(const kl__buf *texts,
                                 const kl__route_slice *slice,
                                 const kl__route_policy *policy)
{
    const kl__slice_endpoint *endpoint =
        &slice->endpoints[slice->endpoint_count];

    if (slice->family == KL__FAMILY_FQDN && !policy->external_names) {
        return NOT_SERVED;
    }
    return texts->bytes != NULL
               ? kl__address_fault(slice->family,
                                   texts->bytes + endpoint->address)
               : NULL;
}

static bool read_endpoints(const kl_value *list, kl__buf *texts,
                           const kl__route_policy *policy,
                           kl__route_slice *slice)
{
    kl_value_iter iter = {0};
    const kl_value *value;
    size_t size = kl_value_size(list);

    if (kl_value_type(list) != KL_ARRAY || size == 0) {
        return true;
    }
    slice->endpoints = kl__calloc(size, sizeof(*slice->endpoints));
    if (slice->endpoints == NULL) {
        return false;
    }
    while ((value = kl_value_next(list, &iter, NULL)) != NULL) {
        kl__slice_endpoint *endpoint = &slice->endpoints[slice->endpoint_count];

        const char *fault;

        read_endpoint(value, texts, endpoint);
        if (endpoint->address == 0) {
            continue;
        }
        fault = check_address(texts, slice, policy);
        if (fault == NULL) {
            slice->endpoint_count++;
        } else if (slice->refused++ == 0) {
            slice->first_refused = endpoint->address;
            slice->fault = fault;
        }
    }
    return true;
}

static kl__family read_family(const char *type)
{
    if (strcmp(type, "IPv6") == 0) {
        return KL__FAMILY_IPV6;
    }
    return strcmp(type, "FQDN") == 0 ? KL__FAMILY_FQDN : KL__FAMILY_IPV4;
}

static kl__text_at read_service_key(const kl_object *object,
                                    const kl_value *root, kl__buf *texts)
{
    const char *name =
        member_text(kl_value_get(kl_value_get(root, "metadata"), "labels"),
                    SERVICE_NAME_LABEL);
    kl__text_at at;

    if (name[0] == '\0') {
        return 0;
    }
    add_text(texts, NULL);
    at = (kl__text_at)texts->length;
    kl__buf_puts(texts, kl_object_namespace(object));
    kl__buf_putc(texts, '/');
    kl__buf_append(texts, name, strlen(name) + 1);
    return at;
}

/* A port with its texts, to be sorted. */
typedef struct named_port {
    const char *name, *protocol;
    kl__route_port port;
} named_port;

static int compare_ports(const void *left, const void *right)
{
    const named_port *a = left, *b = right;
    int order = strcmp(a->name, b->name);

    return order != 0 ? order : strcmp(a->protocol, b->protocol);
}

/* Sorts the ports of a slice, so that finding one takes no time that grows with
 * their number. False: out of memory. */
static bool sort_ports(kl__route_slice *slice)
{
    named_port *ports;

    if (slice->port_count < 2) {
        return true;
    }
    ports = kl__malloc(slice->port_count * sizeof(*ports));
    if (ports == NULL) {
        return false;
    }
    for (size_t i = 0; i < slice->port_count; i++) {
        ports[i] =
            (named_port){.name = slice->texts + slice->ports[i].name,
                         .protocol = slice->texts + slice->ports[i].protocol,
                         .port = slice->ports[i]};
    }
    qsort(ports, slice->port_count, sizeof(*ports), compare_ports);
    for (size_t i = 0; i < slice->port_count; i++) {
        slice->ports[i] = ports[i].port;
    }
    kl__free(ports);
    return true;
}

static bool read_slice(kl__route_slice *slice, kl_object *object,
                       const kl_value *root, const kl__route_policy *policy)
{
    const char *weight = annotation_of(root, KL__WEIGHT_ANNOTATION);
    kl__buf texts = {0};
    bool fits;

    slice->version = add_text(&texts, kl_object_resource_version(object));
    slice->service = read_service_key(object, root, &texts);
    slice->family = read_family(member_text(root, "addressType"));
    slice->weight =
        weight != NULL ? kl__weight_parse(weight, strlen(weight)) : -1;
    fits =
        read_ports(kl_value_get(root, "ports"), &texts, &slice->ports,
                   &slice->port_count) &&
        read_endpoints(kl_value_get(root, "endpoints"), &texts, policy, slice);
    fits = take_texts(&texts, &slice->texts) && fits && sort_ports(slice);
    kl__buf_deinit(&texts);
    return fits;
}

kl__route_slice *kl__route_slice_read(kl_object *object,
                                      const kl__route_policy *policy,
                                      kl_error *err)
{
    const kl_value *root = kl_object_open(object, err);
    kl__route_slice *slice;
    bool fits;

    if (root == NULL) {
        return NULL;
    }
    slice = kl__calloc(1, sizeof(*slice));
    fits = slice != NULL && read_slice(slice, object, root, policy);
    kl_object_close(object);
    if (!fits) {
        kl__route_slice_free(slice);
        kl_error_set(err, KL_ENOMEM, "out of memory for an EndpointSlice");
        return NULL;
    }
    return slice;
}

void kl__route_slice_free(kl__route_slice *slice)
{
    if (slice == NULL) {
        return;
    }
    kl__free(slice->texts);
    kl__free(slice->ports);
    kl__free(slice->endpoints);
    kl__free(slice);
}

/* Reads the families in the Service's order; families that it does not name
 * follow. */
static void read_families(const kl_value *list, kl__route_service *service)
{
    bool has[KL__FAMILIES] = {false};
    kl_value_iter iter = {0};
    const kl_value *value;
    size_t count = 0;

    while (kl_value_type(list) == KL_ARRAY &&
           (value = kl_value_next(list, &iter, NULL)) != NULL) {
        kl__family family = kl_value_type(value) == KL_STRING
                                ? read_family(kl_value_string(value, NULL))
                                : KL__FAMILY_IPV4;

        if (!has[family] && family != KL__FAMILY_FQDN) {
            has[family] = true;
            service->families[count++] = family;
        }
    }
    for (int i = 0; i < KL__FAMILIES; i++) {
        if (!has[i]) {
            service->families[count++] = (kl__family)i;
        }
    }
}

/* A port that may be meant by its number. */
typedef struct numbered_port {
    uint16_t number;
    bool is_other; /* not TCP */
    size_t index;
} numbered_port;

static int compare_numbers(const void *left, const void *right)
{
    const numbered_port *a = left, *b = right;

    if (a->number != b->number) {
        return a->number < b->number ? -1 : 1;
    }
    if (a->is_other != b->is_other) {
        return a->is_other ? 1 : -1;
    }
    return (a->index > b->index) - (a->index < b->index);
}

/* If two ports have one number (DNS has TCP and UDP at 53), the number means
 * the TCP port, else the first one. False: out of memory. */
static bool find_owners(kl__route_service *service)
{
    size_t count = service->port_count;
    numbered_port *ports = kl__malloc((count + 1) * sizeof(*ports));

    if (ports == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const kl__route_port *port = &service->ports[i];

        ports[i] = (numbered_port){
            .number = port->number,
            .is_other = strcmp(service->texts + port->protocol, "TCP") != 0,
            .index = i,
        };
    }
    qsort(ports, count, sizeof(*ports), compare_numbers);
    for (size_t i = 0; i < count; i++) {
        service->ports[ports[i].index].has_number =
            ports[i].number != 0 &&
            (i == 0 || ports[i].number != ports[i - 1].number);
    }
    kl__free(ports);
    return true;
}

static void read_external_name(const kl_value *spec, kl__buf *texts,
                               const kl__route_policy *policy,
                               kl__route_service *service)
{
    const char *name = member_text(spec, "externalName");

    service->is_external = true;
    service->fault = policy->external_names ? kl__name_fault(name) : NOT_SERVED;
    if (service->fault == NULL) {
        service->external_name = add_text(texts, name);
    }
}

/* Appends ,"NAME":"TEXT" unless the text is the usual one or absent. */
static void add_unusual(kl__buf *json, const char *name, const char *text,
                        const char *usual)
{
    if (text[0] != '\0' && strcmp(text, usual) != 0) {
        kl__buf_printf(json, ",\"%s\":", name);
        kl__quote(json, text, strlen(text));
    }
}

/* Appends the ports that have an appProtocol, or are not TCP. */
static void add_ports(kl__buf *json, const kl_value *ports)
{
    kl_value_iter iter = {0};
    const kl_value *port;
    const char *comma = ",\"ports\":[";

    while (kl_value_type(ports) == KL_ARRAY &&
           (port = kl_value_next(ports, &iter, NULL)) != NULL) {
        const char *protocol = member_text(port, "protocol");
        const char *application = member_text(port, "appProtocol");

        if (application[0] == '\0' &&
            (protocol[0] == '\0' || strcmp(protocol, "TCP") == 0)) {
            continue;
        }
        kl__buf_printf(json, "%s{\"port\":%lld", comma,
                       (long long)kl_value_integer(kl_value_get(port, "port")));
        add_unusual(json, "name", member_text(port, "name"), "");
        add_unusual(json, "protocol", protocol, "TCP");
        add_unusual(json, "appProtocol", application, "");
        kl__buf_puts(json, "}");
        comma = ",";
    }
    kl__buf_puts(json, comma[1] == '\0' ? "]" : "");
}

/* Reads what is not usual in a spec, and that a proxy may honour. False: out of
 * memory. */
static bool read_spec(kl__route_service *service, const kl_value *spec)
{
    static const char *const usual[][2] = {{"sessionAffinity", "None"},
                                           {"internalTrafficPolicy", "Cluster"},
                                           {"trafficDistribution", ""}};
    int64_t timeout = kl_value_integer(kl_value_get(
        kl_value_get(kl_value_get(spec, "sessionAffinityConfig"), "clientIP"),
        "timeoutSeconds"));
    kl__buf json = {0};
    bool fits = true;

    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        add_unusual(&json, usual[i][0], member_text(spec, usual[i][0]),
                    usual[i][1]);
    }
    if (timeout > 0) {
        kl__buf_printf(&json, ",\"sessionAffinityTimeout\":%lld",
                       (long long)timeout);
    }
    if (service->publish_not_ready) {
        kl__buf_puts(&json, ",\"publishNotReadyAddresses\":true");
    }
    add_ports(&json, kl_value_get(spec, "ports"));
    if (json.length > 0) {
        kl__buf_puts(&json, "}");
        kl__buf_putc(&json, '\0');
        service->spec = kl__buf_take(&json, NULL);
        fits = service->spec != NULL;
        if (fits) {
            service->spec[0] = '{'; /* for the first comma */
        }
    }
    kl__buf_deinit(&json);
    return fits;
}

static bool read_service(kl__route_service *service, const kl_value *root,
                         const kl__route_policy *policy)
{
    const kl_value *spec = kl_value_get(root, "spec");
    kl__buf texts = {0};
    bool fits;

    if (strcmp(member_text(spec, "type"), "ExternalName") == 0) {
        read_external_name(spec, &texts, policy, service);
    }
    service->publish_not_ready =
        kl_value_bool(kl_value_get(spec, "publishNotReadyAddresses"));
    read_families(kl_value_get(spec, "ipFamilies"), service);
    fits = read_ports(kl_value_get(spec, "ports"), &texts, &service->ports,
                      &service->port_count) &&
           kl__weights_read(&service->weights,
                            annotation_of(root, KL__WEIGHTS_ANNOTATION));
    fits = take_texts(&texts, &service->texts) && fits &&
           find_owners(service) && read_spec(service, spec);
    kl__buf_deinit(&texts);
    return fits;
}

kl__route_service *kl__route_service_read(kl_object *object,
                                          const kl__route_policy *policy,
                                          kl_error *err)
{
    const kl_value *root = kl_object_open(object, err);
    kl__route_service *service;
    bool fits;

    if (root == NULL) {
        return NULL;
    }
    service = kl__calloc(1, sizeof(*service));
    fits = service != NULL && read_service(service, root, policy);
    kl_object_close(object);
    if (!fits) {
        kl__route_service_free(service);
        kl_error_set(err, KL_ENOMEM, "out of memory for a Service");
        return NULL;
    }
    return service;
}

void kl__route_service_free(kl__route_service *service)
{
    if (service == NULL) {
        return;
    }
    kl__free(service->texts);
    kl__free(service->ports);
    kl__weights_deinit(&service->weights);
    kl__free(service->spec);
    kl__free(service);
}
