/*
 * proxy.c - see proxy.h.
 */
#include "config/proxy.h"

#include "base/mem.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_HOST = 256, MAX_PORT = 8 };

/* A host in lower case, without brackets, and a port. */
typedef struct place {
    char host[MAX_HOST];
    char port[MAX_PORT]; /* "": any */
    bool is_ip;
    uint8_t ip[16]; /* IPv4 as ::ffff:a.b.c.d */
} place;

/* The prefix of an IPv4 address that is written as an IPv6 address. */
static const uint8_t MAPPED[12] = {[10] = 255, [11] = 255};

static bool is_v4(const uint8_t ip[16])
{
    return memcmp(ip, MAPPED, sizeof(MAPPED)) == 0;
}

static bool read_ip(const char *text, uint8_t ip[16])
{
    memcpy(ip, MAPPED, sizeof(MAPPED));
    return inet_pton(AF_INET, text, ip + 12) == 1 ||
           inet_pton(AF_INET6, text, ip) == 1;
}

/* Parses "host", "host:port", "[ip]", "[ip]:port" or an IPv6 address without
 * brackets. False: too long. */
static bool read_place(const char *text, size_t length, place *out)
{
    const char *end = text + length;
    const char *host = text, *host_end = end;
    const char *colon = memchr(text, ':', length);
    const char *bracket = memchr(text, ']', length);

    *out = (place){.is_ip = false};
    if (length > 0 && *text == '[' && bracket != NULL) {
        host = text + 1;
        host_end = bracket;
        colon = bracket + 1 < end && bracket[1] == ':' ? bracket + 1 : NULL;
    } else if (colon != NULL &&
               memchr(colon + 1, ':', (size_t)(end - colon - 1)) != NULL) {
        colon = NULL; /* several colons: an IPv6 address without a port */
    } else if (colon != NULL) {
        host_end = colon;
    }
    if (host_end - host >= MAX_HOST ||
        (colon != NULL && end - colon - 1 >= MAX_PORT)) {
        return false;
    }
    for (size_t i = 0; host + i < host_end; i++) {
        char c = host[i];

        out->host[i] = c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
    }
    if (colon != NULL) {
        memcpy(out->port, colon + 1, (size_t)(end - colon - 1));
    }
    out->is_ip = read_ip(out->host, out->ip);
    return true;
}

/* The host and port of the server's URL; without a port, the scheme's port. */
static bool read_server(const char *server, place *out)
{
    const char *host = strstr(server, "://") + 3;
    size_t length = strcspn(host, "/?#");
    const char *user = memchr(host, '@', length);
    const char *port = strncasecmp(server, "https", 5) == 0 ? "443" : "80";

    if (user != NULL) {
        length -= (size_t)(user + 1 - host);
        host = user + 1;
    }
    if (!read_place(host, length, out)) {
        return false;
    }
    if (out->port[0] == '\0') {
        memcpy(out->port, port, strlen(port) + 1);
    }
    return true;
}

static bool is_loopback(const place *server)
{
    static const uint8_t v6[16] = {[15] = 1};

    if (!server->is_ip) {
        return strcmp(server->host, "localhost") == 0;
    }
    return memcmp(server->ip, v6, sizeof(v6)) == 0 ||
           (is_v4(server->ip) && server->ip[12] == 127);
}

static bool same_prefix(const uint8_t *a, const uint8_t *b, long bits)
{
    size_t whole = (size_t)bits / 8;
    unsigned rest = (unsigned)bits % 8;

    return memcmp(a, b, whole) == 0 &&
           (rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0);
}

/* True if the text is a network such as "10.0.0.0/8"; `*matches` says if the
 * server is in it. */
static bool read_network(const char *text, const place *server, bool *matches)
{
    char address[MAX_HOST];
    const char *slash = strchr(text, '/');
    uint8_t ip[16];
    bool has_colon;
    char *end;
    long bits;

    if (slash == NULL || slash - text >= MAX_HOST || slash[1] == '\0') {
        return false;
    }
    memcpy(address, text, (size_t)(slash - text));
    address[slash - text] = '\0';
    has_colon = strchr(address, ':') != NULL;
    bits = strtol(slash + 1, &end, 10);
    if (!read_ip(address, ip) || *end != '\0' || bits < 0 ||
        bits > (has_colon ? 128 : 32)) {
        return false;
    }
    /* An IPv4 address is never in an IPv6 network, not even in ::/0. */
    *matches = server->is_ip && is_v4(ip) == is_v4(server->ip) &&
               same_prefix(ip, server->ip, has_colon ? bits : bits + 96);
    return true;
}

/* "foo.com" matches the host and its subdomains; ".foo.com" and "*.foo.com"
 * match subdomains only. */
static bool matches_domain(const char *pattern, const char *host)
{
    bool itself = pattern[0] != '.' && strncmp(pattern, "*.", 2) != 0;
    const char *suffix = pattern + (pattern[0] == '*' && pattern[1] == '.');
    size_t suffix_length, host_length = strlen(host);

    if (itself && strcmp(pattern, host) == 0) {
        return true;
    }
    suffix += suffix[0] == '.';
    suffix_length = strlen(suffix);
    return host_length > suffix_length &&
           host[host_length - suffix_length - 1] == '.' &&
           strcmp(host + host_length - suffix_length, suffix) == 0;
}

/* True if one entry of NO_PROXY, without the spaces around it, matches the
 * server. */
static bool entry_matches(const char *text, size_t length, const place *server)
{
    char entry[MAX_HOST];
    place rule;
    bool matches;

    if (length == 0 || length >= sizeof(entry)) {
        return false;
    }
    memcpy(entry, text, length);
    entry[length] = '\0';
    if (strcmp(entry, "*") == 0) {
        return true;
    }
    if (read_network(entry, server, &matches)) {
        return matches;
    }
    if (entry[0] == '[' && entry[length - 1] == ']') {
        return false; /* Go takes no address in brackets without a port */
    }
    if (!read_place(entry, length, &rule) || rule.host[0] == '\0' ||
        (rule.port[0] != '\0' && strcmp(rule.port, server->port) != 0)) {
        return false;
    }
    if (rule.is_ip || server->is_ip) {
        return rule.is_ip && server->is_ip &&
               memcmp(rule.ip, server->ip, sizeof(rule.ip)) == 0;
    }
    return matches_domain(rule.host, server->host);
}

static bool is_excluded(const char *no_proxy, const place *server)
{
    while (no_proxy != NULL && *no_proxy != '\0') {
        const char *begin = no_proxy + strspn(no_proxy, " \t");
        size_t length = strcspn(begin, ",");
        const char *next = begin + length;

        while (length > 0 && strchr(" \t", begin[length - 1]) != NULL) {
            length--;
        }
        if (entry_matches(begin, length, server)) {
            return true;
        }
        no_proxy = *next == ',' ? next + 1 : next;
    }
    return false;
}

/* The value of the upper-case variable, else of the lower-case one; NULL: both
 * are unset or empty. */
static const char *read_variable(const char *upper, const char *lower)
{
    const char *value = getenv(upper);

    if (value == NULL || *value == '\0') {
        value = getenv(lower);
    }
    return value != NULL && *value != '\0' ? value : NULL;
}

kl_code kl__proxy_check(const char *proxy_url, kl_error *err)
{
    static const char *const schemes[] = {"http://", "https://", "socks5://",
                                          "socks5h://"};
    size_t count = sizeof(schemes) / sizeof(schemes[0]);

    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(schemes[i]);

        if (strncasecmp(proxy_url, schemes[i], length) == 0 &&
            proxy_url[length] != '\0' && proxy_url[length] != '/') {
            return KL_OK;
        }
    }
    /* The message does not contain the URL, which may have a password. */
    return kl_error_set(err, KL_ECONFIG,
                        "the proxy's URL is not of the form http://, https:// "
                        "or socks5://host:port");
}

kl_code kl__proxy_from_environment(const char *server, char **proxy_url,
                                   kl_error *err)
{
    bool is_https = strncasecmp(server, "https:", 6) == 0;
    const char *value = is_https ? read_variable("HTTPS_PROXY", "https_proxy")
                                 : read_variable("HTTP_PROXY", "http_proxy");
    const char *scheme;
    place where;
    kl_code code;

    *proxy_url = NULL;
    /* If REQUEST_METHOD is set, this is a CGI program, and HTTP_PROXY may come
     * from the header "Proxy:" of a request (CVE-2016-5386). It is ignored, or
     * the sender of that request could redirect the traffic. */
    if (value == NULL || (!is_https && getenv("REQUEST_METHOD") != NULL) ||
        !read_server(server, &where) || is_loopback(&where) ||
        is_excluded(read_variable("NO_PROXY", "no_proxy"), &where)) {
        return KL_OK;
    }
    scheme = strstr(value, "://") != NULL ? "" : "http://";
    *proxy_url = kl__strprintf("%s%s", scheme, value);
    if (*proxy_url == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a config");
    }
    code = kl__proxy_check(*proxy_url, err);
    if (code != KL_OK) {
        kl_error_prefix(err, "%s", is_https ? "HTTPS_PROXY" : "HTTP_PROXY");
        kl__free(*proxy_url);
        *proxy_url = NULL;
    }
    return code;
}
