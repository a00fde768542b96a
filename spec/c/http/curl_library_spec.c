/*
 * curl_library_spec.c - libcurl is not there before it is needed, and one that
 * cannot be loaded is an error that tells why. A process of its own: nothing
 * before may have loaded it.
 */
#include "http/curl_library.h"
#include "http/transport.h"
#include "kubelua/sim.h"

#include "scarce.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#ifdef KL__CURL_LIBRARY

static bool is_there(void)
{
    void *library = dlopen(KL__CURL_LIBRARY, RTLD_NOW | RTLD_NOLOAD);

    if (library != NULL) {
        dlclose(library);
    }
    return library != NULL;
}

static void without_descriptors_it_says_so_and_is_tried_again(void **state)
{
    kl_transport *transport;
    kl_error err = {0};

    (void)state;
    assert_false(is_there());
    scarce_descriptors(0);
    assert_null(kl__curl_transport_new(&err));
    assert_int_equal(err.code, KL_EIO);
    assert_non_null(strstr(err.message, "cannot load libcurl"));
    assert_non_null(strstr(err.message, "(ulimit -n)"));
    scarce_descriptors_end();
    assert_false(is_there());
    transport = kl__curl_transport_new(&err);
    assert_non_null(transport);
    assert_true(is_there());
    kl_transport_unref(transport);
}

#else

static void it_is_linked(void **state)
{
    (void)state;
    assert_int_equal(kl__curl_load(NULL), KL_OK);
    assert_non_null(curl_version_info(CURLVERSION_NOW));
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef KL__CURL_LIBRARY
        cmocka_unit_test(without_descriptors_it_says_so_and_is_tried_again),
#else
        cmocka_unit_test(it_is_linked),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
