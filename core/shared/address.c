/*
 * address.c - checks the hosts that tenants write; see address.h.
 */
#include "shared/address.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

enum { NAME_MAX_BYTES = 253 };

static const char *fault_of_v4(const uint8_t *bytes)
{
    if (bytes[0] == 0) {
        return "is an unspecified address";
    }
    if (bytes[0] == 127) {
        return "is a loopback address";
    }
    if (bytes[0] == 169 && bytes[1] == 254) {
        return "is a link-local address";
    }
    if (bytes[0] >= 224 && bytes[0] <= 239) {
        return "is a multicast address";
    }
    return memcmp(bytes, "\xff\xff\xff\xff", 4) == 0 ? "is a broadcast address"
                                                     : NULL;
}

static bool begins_with(const uint8_t *bytes, const char *prefix, size_t length)
{
    return memcmp(bytes, prefix, length) == 0;
}

/* The IPv4 address in an IPv6 address; NULL: it contains none. */
static const uint8_t *find_v4(const uint8_t *bytes)
{
    static const char compatible[12];

    if (begins_with(bytes, compatible, 12) ||
        begins_with(bytes, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12) ||
        begins_with(bytes, "\0\0\0\0\0\0\0\0\xff\xff\0\0", 12) ||
        begins_with(bytes, "\0\x64\xff\x9b\0\0\0\0\0\0\0\0", 12)) {
        return bytes + 12;
    }
    return begins_with(bytes, "\x20\x02", 2) ? bytes + 2 : NULL;
}

static const char *fault_of_v6(const uint8_t *bytes)
{
    static const uint8_t loopback[16] = {[15] = 1};
    const uint8_t *v4 = find_v4(bytes);

    if (memcmp(bytes, loopback, 16) == 0) {
        return "is a loopback address";
    }
    if (bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80) {
        return "is a link-local address";
    }
    if (bytes[0] == 0xff) {
        return "is a multicast address";
    }
    return v4 != NULL ? fault_of_v4(v4) : NULL;
}

const char *kl__address_fault(kl__family family, const char *text)
{
    uint8_t bytes[16];

    switch (family) {
    case KL__FAMILY_IPV4:
        return inet_pton(AF_INET, text, bytes) == 1 ? fault_of_v4(bytes)
                                                    : "is no IPv4 address";
    case KL__FAMILY_IPV6:
        return inet_pton(AF_INET6, text, bytes) == 1 ? fault_of_v6(bytes)
                                                     : "is no IPv6 address";
    default:
        return kl__name_fault(text);
    }
}

static bool has_only(const char *text, size_t length, const char *characters)
{
    return length > 0 && strspn(text, characters) >= length;
}

/* True for a number as inet_aton reads it: decimal, octal or hexadecimal. */
static bool is_address_part(const char *label, size_t length)
{
    if (length >= 2 && label[0] == '0' && (label[1] | 0x20) == 'x') {
        return length == 2 ||
               has_only(label + 2, length - 2, "0123456789abcdefABCDEF");
    }
    return has_only(label, length, "0123456789");
}

/* True if the name is `end`, or ends in a dot and `end`. */
static bool is_under(const char *text, size_t length, const char *end)
{
    size_t tail = strlen(end);

    return length >= tail &&
           strncasecmp(text + length - tail, end, tail) == 0 &&
           (length == tail || text[length - tail - 1] == '.');
}

/* The length of the label at `text`; 0: it is not one of a DNS name. */
static size_t label_length(const char *text, const char *end)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
    size_t left = (size_t)(end - text);

    length = length < left ? length : left;
    return length <= 63 && (length == left || text[length] == '.') ? length : 0;
}

const char *kl__name_fault(const char *text)
{
    size_t length = strlen(text), label = 0;
    const char *end, *at = text;

    length -= length > 0 && text[length - 1] == '.' ? 1 : 0;
    end = text + length;
    while (at <= end && length <= NAME_MAX_BYTES &&
           (label = label_length(at, end)) > 0 && at + label < end) {
        at += label + 1;
    }
    if (length > NAME_MAX_BYTES || label == 0) {
        return "is no DNS name";
    }
    if (is_address_part(at, label)) {
        return "is an address, not a name";
    }
    return is_under(text, length, "localhost") ||
                   is_under(text, length, "localhost.localdomain")
               ? "is the name of this machine"
               : NULL;
}
