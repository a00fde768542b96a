/*
 * server_text.c - the documents that a server sends: objects, events, Statuses,
 * discovery. They are written by hand, as the core's writer is under test.
 */
#include "server_core.h"

#include <string.h>

static const struct {
    const char *kind;
    const char *plural;
} kinds[SERVER_KINDS] = {
    [SERVER_PODS] = {"Pod", "pods"},
    [SERVER_NODES] = {"Node", "nodes"},
};

const char *server_kind_name(server_kind kind)
{
    return kinds[kind].kind;
}

void server_put_number(kl__buf *out, int64_t number)
{
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t rest = (uint64_t)(number < 0 ? -number : number);

    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0) {
        digits[--at] = '-';
    }
    kl__buf_append(out, digits + at, sizeof(digits) - at);
}

static void put_numbered(kl__buf *out, const char *before, int64_t number,
                         const char *after)
{
    kl__buf_puts(out, before);
    server_put_number(out, number);
    kl__buf_puts(out, after);
}

static void put_type(kl__buf *out, server_kind kind)
{
    kl__buf_puts(out, "\"kind\":\"");
    kl__buf_puts(out, kinds[kind].kind);
    kl__buf_puts(out, "\",\"apiVersion\":\"v1\",");
}

static void put_metadata(kl__buf *out, const server_change *object,
                         bool is_whole)
{
    /* Texts that a break in the middle, or a careless reader, would damage. */
    static const char *const notes[] = {
        "plain",
        "gr\xc3\xbcn",
        "\xe6\x97\xa5\xe6\x9c\xac",
        "\\u00fc\\n\\\"\\\\",
        "\\ud83d\\ude00",
        "\xf0\x9f\x98\x80 }],{",
    };
    const char *slash = strchr(object->key, '/');

    kl__buf_puts(out, "\"metadata\":{\"name\":\"");
    kl__buf_puts(out, slash != NULL ? slash + 1 : object->key);
    if (slash != NULL) {
        kl__buf_puts(out, "\",\"namespace\":\"");
        kl__buf_append(out, object->key, (size_t)(slash - object->key));
    }
    kl__buf_puts(out, "\",\"uid\":\"");
    kl__buf_puts(out, object->uid);
    put_numbered(out, "\",\"resourceVersion\":\"", object->version, "\"");
    if (object->spec.app >= 0) {
        put_numbered(out, ",\"labels\":{\"app\":\"app-", object->spec.app,
                     "\"}");
    }
    kl__buf_puts(out, ",\"annotations\":{\"note\":\"");
    kl__buf_puts(
        out,
        notes[(uint64_t)object->version % (sizeof(notes) / sizeof(notes[0]))]);
    kl__buf_puts(out, "\"}");
    if (is_whole && object->version % 4 == 0) {
        kl__buf_puts(out, ",\"managedFields\":[{\"manager\":\"model\","
                          "\"operation\":\"Update\",\"fieldsV1\":{}}]");
    }
    kl__buf_putc(out, '}');
}

/* A member that no reader can read: half of a character of UTF-16, a raw
 * control character, or bytes that are no UTF-8. */
static void put_torn(kl__buf *out, int64_t version)
{
    static const char *const texts[] = {"\\ud83d", "\x01", "\xc3("};

    kl__buf_puts(out, ",\"" SERVER_TORN "\":\"");
    kl__buf_puts(out, texts[version % 3]);
    kl__buf_puts(out, "\"");
}

static void put_spec(kl__buf *out, const server_change *object)
{
    kl__buf_puts(out, ",\"spec\":{");
    if (object->spec.node >= 0) {
        put_numbered(out, "\"nodeName\":\"node-", object->spec.node, "\",");
    }
    put_numbered(out, "\"value\":", object->spec.value, "");
    if (object->spec.is_unreadable) {
        put_torn(out, object->version);
    }
    kl__buf_puts(out, "}}");
}

void server_put_object(kl__buf *out, const server_change *object, bool typed)
{
    kl__buf_putc(out, '{');
    if (typed) {
        put_type(out, object->kind);
    }
    put_metadata(out, object, true);
    put_spec(out, object);
}

char *server_kept_text(const server_change *object)
{
    kl__buf text = {0};

    put_metadata(&text, object, false);
    put_spec(&text, object);
    return kl__buf_take(&text, NULL);
}

void server_put_event(kl__buf *out, const char *type,
                      const server_change *object)
{
    kl__buf_puts(out, "{\"type\":\"");
    kl__buf_puts(out, type);
    kl__buf_puts(out, "\",\"object\":");
    server_put_object(out, object, true);
    kl__buf_puts(out, "}\n");
}

void server_put_bookmark(kl__buf *out, server_kind kind, int64_t version,
                         bool ends_initial)
{
    kl__buf_puts(out, "{\"type\":\"BOOKMARK\",\"object\":{");
    put_type(out, kind);
    put_numbered(out, "\"metadata\":{\"resourceVersion\":\"", version, "\"");
    kl__buf_puts(out, ",\"creationTimestamp\":null");
    if (ends_initial) {
        kl__buf_puts(out, ",\"annotations\":{\"k8s.io/initial-events-end\":"
                          "\"true\"}");
    }
    kl__buf_puts(out, "}}}\n");
}

static const char *reason_of(int code)
{
    switch (code) {
    case 400:
        return "BadRequest";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "NotFound";
    case 410:
        return "Expired";
    case 422:
        return "Invalid";
    case 429:
        return "TooManyRequests";
    case 503:
        return "ServiceUnavailable";
    case 504:
        return "Timeout";
    default:
        return "InternalError";
    }
}

void server_put_status(kl__buf *out, int code, const char *message,
                       const char *token, int retry_after_s)
{
    kl__buf_puts(out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\","
                      "\"metadata\":{");
    if (token != NULL) {
        kl__buf_puts(out, "\"continue\":\"");
        kl__buf_puts(out, token);
        kl__buf_puts(out, "\"");
    }
    kl__buf_puts(out, "},\"status\":\"Failure\",\"message\":\"");
    kl__buf_puts(out, message);
    kl__buf_puts(out, "\",\"reason\":\"");
    /* Older servers give the reason Gone; clients must know both reasons. */
    kl__buf_puts(out,
                 code == 410 && message[0] == 'G' ? "Gone" : reason_of(code));
    kl__buf_puts(out, "\"");
    if (strncmp(message, "Too large", 9) == 0) {
        kl__buf_puts(out, ",\"details\":{\"causes\":[{\"reason\":"
                          "\"ResourceVersionTooLarge\",\"message\":"
                          "\"Too large resource version\"}],"
                          "\"retryAfterSeconds\":1}");
    } else if (retry_after_s > 0) {
        put_numbered(out, ",\"details\":{\"retryAfterSeconds\":", retry_after_s,
                     "}");
    }
    put_numbered(out, ",\"code\":", code, "}");
}

void server_put_error(kl__buf *out, int code, const char *message)
{
    kl__buf_puts(out, "{\"type\":\"ERROR\",\"object\":");
    server_put_status(out, code, message, NULL, 0);
    kl__buf_puts(out, "}\n");
}

static void put_resource(kl__buf *out, server_kind kind, const char *scope)
{
    kl__buf_puts(out, "{\"resource\":\"");
    kl__buf_puts(out, kinds[kind].plural);
    kl__buf_puts(out, "\",\"responseKind\":{\"group\":\"\",\"version\":\"v1\","
                      "\"kind\":\"");
    kl__buf_puts(out, kinds[kind].kind);
    kl__buf_puts(out, "\"},\"scope\":\"");
    kl__buf_puts(out, scope);
    kl__buf_puts(out, "\",\"verbs\":[\"list\",\"watch\"]}");
}

void server_put_discovery(kl__buf *out, bool is_core)
{
    kl__buf_puts(out, "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":"
                      "\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":[");
    if (is_core) {
        kl__buf_puts(out, "{\"metadata\":{},\"versions\":[{\"version\":\"v1\","
                          "\"resources\":[");
        put_resource(out, SERVER_PODS, "Namespaced");
        kl__buf_putc(out, ',');
        put_resource(out, SERVER_NODES, "Cluster");
        kl__buf_puts(out, "],\"freshness\":\"Current\"}]}");
    }
    kl__buf_puts(out, "]}");
}

/* Writes a continue token, "v<version>.<key>", which needs no escaping. */
void server_put_token(kl__buf *out, int64_t version, const char *key)
{
    put_numbered(out, "v", version, ".");
    kl__buf_puts(out, key);
}
