/*
 * quantity_spec.c - quantities are read and written as a real API server does:
 * each line is what it answered.
 */
#include "spec_case.h"
#include "sim/core/schema/quantity.h"

static const char wrong_format[] =
    "quantities must match the regular expression "
    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
static const char wrong_suffix[] = "unable to parse quantity's suffix";

static const struct line {
    const char *text;
    const char *canonical;
    const char *error;
} lines[] = {
    {"1000m", "1", NULL},
    {"0.5", "500m", NULL},
    {"1024Mi", "1Gi", NULL},
    {"1Gi", "1Gi", NULL},
    {"1536Mi", "1536Mi", NULL},
    {"100", "100", NULL},
    {"1000", "1k", NULL},
    {"1500", "1500", NULL},
    {"1e3", "1e3", NULL},
    {"1E3", "1E3", NULL},
    {"1e-3", "1e-3", NULL},
    {"0.1Gi", "107374182400m", NULL},
    {"1.5Gi", "1536Mi", NULL},
    {"0", "0", NULL},
    {"0m", "0", NULL},
    {"00", "0", NULL},
    {"+1", "+1", NULL},
    {"1k", "1k", NULL},
    {"1K", NULL, wrong_suffix},
    {"1Ki", "1Ki", NULL},
    {"1023Ki", "1023Ki", NULL},
    {"1025", "1025", NULL},
    {"1n", "1n", NULL},
    {"1u", "1u", NULL},
    {"0.1n", "1n", NULL},
    {"1.0000000001", "1000000001n", NULL},
    /* The suffix counts before anything is rounded. */
    {"6.609130090996T", "6.609130090996T", NULL},
    {"3520.033800141269Gi", "3779607513105337633735n", NULL},
    {"400.020009605072e9", "400.020009605072e9", NULL},
    {"123456789012345678901234567890", "123456789012345678901234567890", NULL},
    {"9223372036854775807", "9223372036854775807", NULL},
    {"9223372036854775808", "9223372036854775808", NULL},
    {"1E", "1E", NULL},
    {"1e", NULL, wrong_suffix},
    {"1ee3", NULL, wrong_suffix},
    {"1x", NULL, wrong_format},
    {".", "0", NULL},
    {"1.", "1.", NULL},
    {".5", "500m", NULL},
    {"-", "0", NULL},
    {"", NULL, wrong_format},
    {"12345678901234567890Ei", "9223372036854775807", NULL},
    {"1Mi", "1Mi", NULL},
    {"1000Ki", "1000Ki", NULL},
    {"1024", "1024", NULL},
    {"0.001", "1m", NULL},
    {"1100m", "1100m", NULL},
    {"10e3", "10e3", NULL},
    {"1e1", "10", NULL},
    {"1e2", "100", NULL},
    {"1e10", "10e9", NULL},
    {"1.2e3", "1200", NULL},
    {"100Ki", "100Ki", NULL},
    {"512", "512", NULL},
    {"1000000", "1M", NULL},
    {"1Eix", NULL, wrong_format},
    {"3e", NULL, wrong_suffix},
    {"1 ", "1", NULL},
    {"1\t", NULL, wrong_format},
    /* Larger than anything: the text is what counts, but for suffixes. */
    {"1e30", "1e30", NULL},
    {"12e31", "120e30", NULL},
    {"1000e30", "1e33", NULL},
    {"1.50e33", "1500e30", NULL},
    {"0.5e40", "5e39", NULL},
    {"1e40000", "10e39999", NULL},
    {"1e675673", "10e675672", NULL},
    {"12345678901234567890e30", "12345678901234567890e30", NULL},
    {"123456789012345678e100", "1234567890123456780e99", NULL},
    {"12345678901234567e101", "1234567890123456700e99", NULL},
    {"123456789012345678901234567890123", "123456789012345678901234567890123",
     NULL},
    {"999999999999999999E", "999999999999999999E", NULL},
    {"1000E", "1", NULL},
    {"1000000000000E", "1", NULL},
};

PLAIN_CASE(quantities_become_canonical_as_on_a_real_server)
{
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        const struct line *line = &lines[i];
        char out[KL__QUANTITY_SIZE] = "";
        const char *why =
            kl__quantity_canonical(line->text, strlen(line->text), -9, out);

        if (why != line->error && (why == NULL || line->error == NULL ||
                                   strcmp(why, line->error) != 0)) {
            fail_msg("%s: %s", line->text, why ? why : "no error");
        }
        if (why == NULL && strcmp(out, line->canonical) != 0) {
            fail_msg("%s: %s, not %s", line->text, out, line->canonical);
        }
    }
}

PLAIN_CASE(resources_are_rounded_up_to_thousandths)
{
    char out[KL__QUANTITY_SIZE];

    assert_null(kl__quantity_canonical("1u", 2, -3, out));
    assert_string_equal(out, "1m");
    assert_null(kl__quantity_canonical("-1500u", 6, -3, out));
    assert_string_equal(out, "-2m");
    assert_null(kl__quantity_canonical("1500m", 5, -3, out));
    assert_string_equal(out, "1500m");
}

/* More digits than there is room for are cut, once. */
PLAIN_CASE(a_canonical_quantity_does_not_change)
{
    static const char *const texts[] = {
        "888888888888888888888888888888888888888888888888888888888888",
        "888888888888888888888888888888888888888888888888888888888888e7",
        "170141183460469231731687303715884105735",
        "0.1234567890123456789e61",
        "1e1000000000000",
        "-99999e99999"};
    char out[KL__QUANTITY_SIZE];

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char once[KL__QUANTITY_SIZE], twice[KL__QUANTITY_SIZE];

        assert_null(
            kl__quantity_canonical(texts[i], strlen(texts[i]), -9, once));
        assert_null(kl__quantity_canonical(once, strlen(once), -9, twice));
        assert_string_equal(once, twice);
    }
    /* Digits beyond the eighteenth behind the point are cut, not rounded up. */
    assert_null(
        kl__quantity_canonical("0.1234567890123456789e61", 24, -9, out));
    assert_string_equal(out, "1234567890123456780e42");
}

PLAIN_CASE(quantities_beyond_the_largest_are_compared)
{
    assert_int_equal(kl__quantity_compare("1e40000", "999E"), 1);
    assert_int_equal(kl__quantity_compare("-1e40000", "-999E"), -1);
    assert_int_equal(kl__quantity_compare("1e40000", "1e50000"), 0);
}
