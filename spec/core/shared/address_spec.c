/*
 * address_spec.c - the hosts that a tenant can write into an EndpointSlice or
 * an ExternalName, in every form that some resolver takes for an address.
 */
#include "shared/address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct expectation {
    const char *text;
    const char *fault; /* a part of it; NULL: it is served */
} expectation;

static void check_all(kl__family family, const expectation *all)
{
    for (; all->text != NULL; all++) {
        const char *fault = kl__address_fault(family, all->text);

        if (all->fault == NULL && fault != NULL) {
            fail_msg("\"%s\" %s", all->text, fault);
        }
        if (all->fault != NULL &&
            (fault == NULL || strstr(fault, all->fault) == NULL)) {
            fail_msg("\"%s\": %s, and not %s", all->text,
                     fault != NULL ? fault : "served", all->fault);
        }
    }
}

static void ipv4_addresses_of_machine_link_and_groups_are_refused(void **state)
{
    static const expectation all[] = {
        {"10.0.0.1", NULL},
        {"192.168.1.1", NULL},
        {"126.255.255.255", NULL},
        {"128.0.0.1", NULL},
        {"169.253.1.1", NULL},
        {"169.255.1.1", NULL},
        {"223.255.255.255", NULL},
        {"240.0.0.1", NULL},
        {"127.0.0.1", "loopback"},
        {"127.255.255.254", "loopback"},
        {"169.254.169.254", "link-local"},
        {"0.0.0.0", "unspecified"},
        {"0.1.2.3", "unspecified"},
        {"224.0.0.1", "multicast"},
        {"239.255.255.255", "multicast"},
        {"255.255.255.255", "broadcast"},
        {0},
    };

    (void)state;
    check_all(KL__FAMILY_IPV4, all);
}

static void an_ipv4_address_has_four_decimal_numbers_only(void **state)
{
    static const expectation all[] = {
        {"127.1", "no IPv4"},
        {"0177.0.0.1", "no IPv4"},
        {"010.0.0.1", "no IPv4"},
        {"0x7f.0.0.1", "no IPv4"},
        {"2130706433", "no IPv4"},
        {"127.0.0.1.", "no IPv4"},
        {"10.0.0.1 ", "no IPv4"},
        {" 10.0.0.1", "no IPv4"},
        {"10.0.0.1:80", "no IPv4"},
        {"10.0.0.1/8", "no IPv4"},
        {"::1", "no IPv4"},
        {"::ffff:10.0.0.1", "no IPv4"},
        {"10.0.0.256", "no IPv4"},
        {"unix:/run/nginx.sock", "no IPv4"},
        {"", "no IPv4"},
        {"localhost", "no IPv4"},
        {0},
    };

    (void)state;
    check_all(KL__FAMILY_IPV4, all);
}

static void ipv6_addresses_are_refused_in_any_writing(void **state)
{
    static const expectation all[] = {
        {"fd00::1", NULL},
        {"2001:db8::1", NULL},
        {"::ffff:10.0.0.1", NULL},
        {"64:ff9b::10.0.0.1", NULL},
        {"fec0::1", NULL},
        {"::1", "loopback"},
        {"0:0:0:0:0:0:0:1", "loopback"},
        {"0000:0000:0000:0000:0000:0000:0000:0001", "loopback"},
        {"::", "unspecified"},
        {"fe80::1", "link-local"},
        {"FEBF::1", "link-local"},
        {"ff02::1", "multicast"},
        {"::ffff:127.0.0.1", "loopback"},
        {"::ffff:7f00:1", "loopback"},
        {"0:0:0:0:0:FFFF:7f00:0001", "loopback"},
        {"::ffff:169.254.169.254", "link-local"},
        {"::ffff:a9fe:a9fe", "link-local"},
        {"::ffff:0.0.0.0", "unspecified"},
        {"::ffff:224.0.0.1", "multicast"},
        {"::ffff:0:127.0.0.1", "loopback"},
        {"::127.0.0.1", "loopback"},
        {"64:ff9b::127.0.0.1", "loopback"},
        {"64:ff9b::a9fe:a9fe", "link-local"},
        {"2002:7f00:1::", "loopback"},
        {"fe80::1%eth0", "no IPv6"},
        {"::1%lo", "no IPv6"},
        {"[::1]", "no IPv6"},
        {"10.0.0.1", "no IPv6"},
        {"::ffff:127.1", "no IPv6"},
        {"::ffff:0177.0.0.1", "no IPv6"},
        {"", "no IPv6"},
        {0},
    };

    (void)state;
    check_all(KL__FAMILY_IPV6, all);
}

static void a_name_is_neither_an_address_nor_this_machine(void **state)
{
    static const expectation all[] = {
        {"db.example.com", NULL},
        {"db.example.com.", NULL},
        {"db", NULL},
        {"_sip._tcp.example.com", NULL},
        {"127.0.0.1.example.com", NULL},
        {"0x7f.example", NULL},
        {"1a", NULL},
        {"0xg", NULL},
        {"xn--80ak6aa92e.com", NULL},
        {"localhost.example", NULL},
        {"127.0.0.1", "an address"},
        {"127.0.0.1.", "an address"},
        {"10.0.0.1", "an address"},
        {"127.1", "an address"},
        {"0177.0.0.1", "an address"},
        {"017700000001", "an address"},
        {"0x7f.1", "an address"},
        {"0x7f000001", "an address"},
        {"0X7F000001", "an address"},
        {"a.0x7f", "an address"},
        {"0x", "an address"},
        {"2130706433", "an address"},
        {"0", "an address"},
        {"::1", "no DNS name"},
        {"[::1]", "no DNS name"},
        {"fe80::1%eth0", "no DNS name"},
        {"unix:/run/nginx.sock", "no DNS name"},
        {"db.example.com:80", "no DNS name"},
        {"user@db.example.com", "no DNS name"},
        {"a b", "no DNS name"},
        {"a..b", "no DNS name"},
        {".a", "no DNS name"},
        {"a..", "no DNS name"},
        {"", "no DNS name"},
        {".", "no DNS name"},
        {"\xef\xbc\x91.0.0.1", "no DNS name"},
        {"localhost", "this machine"},
        {"LocalHost.", "this machine"},
        {"a.localhost", "this machine"},
        {"localhost.localdomain", "this machine"},
        {0},
    };

    (void)state;
    check_all(KL__FAMILY_FQDN, all);
}

static void a_name_and_its_labels_have_the_lengths_of_dns(void **state)
{
    char text[300];

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_non_null(kl__name_fault(text));
    text[63] = '\0';
    assert_null(kl__name_fault(text));
    text[63] = 'a';
    text[64] = '\0';
    assert_non_null(kl__name_fault(text));
    memset(text, 'a', 258);
    for (int i = 50; i < 258; i += 50) {
        text[i] = '.';
    }
    text[253] = '\0';
    assert_null(kl__name_fault(text));
    text[253] = 'a';
    text[254] = '\0';
    assert_non_null(kl__name_fault(text));
}

int main(void)
{
    const struct CMUnitTest specs[] = {
        cmocka_unit_test(ipv4_addresses_of_machine_link_and_groups_are_refused),
        cmocka_unit_test(an_ipv4_address_has_four_decimal_numbers_only),
        cmocka_unit_test(ipv6_addresses_are_refused_in_any_writing),
        cmocka_unit_test(a_name_is_neither_an_address_nor_this_machine),
        cmocka_unit_test(a_name_and_its_labels_have_the_lengths_of_dns),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
