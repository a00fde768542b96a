/*
 * address.h - which hosts of EndpointSlices and ExternalName Services are
 * served. A tenant writes them, so they must not lead a proxy to itself, to its
 * machine's neighbours (metadata servers) or to whole groups of machines.
 */
#ifndef KL_SHARED_ADDRESS_H
#define KL_SHARED_ADDRESS_H

#include "shared/routes_parts.h"

/*
 * Why an address is not served ("is a loopback address"), or NULL. It must be
 * written as the family's only usual form: an IPv4 address has four decimal
 * numbers without leading zeros, an IPv6 address has no zone id. Addresses
 * refused: loopback, link-local, unspecified (all of 0.0.0.0/8), multicast,
 * broadcast, and IPv6 addresses that contain such an IPv4 address (mapped,
 * compatible, translated, NAT64, 6to4). KL__FAMILY_FQDN: as
 * kl__name_fault. Static; thread-safe.
 */
const char *kl__address_fault(kl__family family, const char *text);

/*
 * The same for a DNS name: it is no DNS name, or it is an address in any form
 * that inet_aton reads ("127.1", "0x7f000001", "2130706433": its last label is
 * a number, as in URLs), or it means this machine ("localhost").
 */
const char *kl__name_fault(const char *text);

#endif
