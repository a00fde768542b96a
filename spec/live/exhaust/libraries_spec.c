/*
 * libraries_spec.c - malloc itself fails, for libcurl, its TLS library,
 * libyaml, zlib, libmicrohttpd, GnuTLS and the C library: each call returns an
 * error, and works afterwards. This program replaces malloc, calloc and
 * realloc.
 */
#include "failing_plan.h"
#include "kubeconfigs.h"
#include "kubelua/manifest.h"
#include "kubelua/memory.h"
#include "live_world.h"
#include "temp_files.h"

#include "base/clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* ---- instead of the C library's functions ---- */

/* True with OpenSSL 3.2 or newer, whose allocations must not fail:
 * SSL_set_connect_state ignores that there was no memory for a record layer,
 * and SSL_set0_wbio then follows a NULL pointer. Seen with 3.5.1 of Debian
 * 13. */
static bool is_openssl_spared;

static void look_at_openssl(void)
{
    void *library = dlopen("libcrypto.so.3", RTLD_LAZY);
    void *symbol =
        library != NULL ? dlsym(library, "OpenSSL_version_num") : NULL;
    unsigned long (*version)(void) = NULL;

    memcpy(&version, &symbol, sizeof(version));
    is_openssl_spared = version != NULL && version() >= 0x30200000UL;
}

/* A sanitizer has its own malloc, which must not be replaced. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

KL_API void *malloc(size_t size);
KL_API void *calloc(size_t count, size_t size);
KL_API void *realloc(void *block, size_t size);

/* True for libraries that end the process without memory: GMP, below GnuTLS,
 * aborts if there is no memory for a number, and libtasn1 writes through a NULL
 * pointer. KubeLua cannot help that. */
static bool ends_the_process(const void *caller)
{
    static const char *const family[] = {"libgnutls", "libgmp", "libtasn1",
                                         "libnettle", "libhogweed"};
    Dl_info found;

    if (dladdr(caller, &found) == 0 || found.dli_fname == NULL) {
        return false;
    }
    if (is_openssl_spared && strstr(found.dli_fname, "libcrypto") != NULL) {
        return true;
    }
    for (size_t i = 0; i < sizeof(family) / sizeof(family[0]); i++) {
        if (strstr(found.dli_fname, family[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static bool refuses(const void *caller)
{
    bool refused = failing_plan_must_fail() && !ends_the_process(caller);

    if (refused) {
        errno = ENOMEM;
    }
    return refused;
}

KL_API void *malloc(size_t size)
{
    return refuses(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

KL_API void *calloc(size_t count, size_t size)
{
    return refuses(__builtin_return_address(0)) ? NULL
                                                : __libc_calloc(count, size);
}

KL_API void *realloc(void *block, size_t size)
{
    return refuses(__builtin_return_address(0)) ? NULL
                                                : __libc_realloc(block, size);
}

#endif

/* ---- what is tried ---- */

typedef kl_code (*try_fn)(void *context, kl_error *err);

/* Makes the call with its nth allocation failing, then again without; true if
 * the call needed fewer than `nth`. */
static bool try_once(try_fn run, void *context, long nth)
{
    kl_error err = {0};
    kl_code code;
    bool failed;

    failing_plan_follow((failing_plan){.nth = nth});
    code = run(context, &err);
    failing_plan_pause();
    failed = failing_plan_failures() > 0;
    if (code != KL_OK &&
        (!failed || err.code != code || err.message[0] == '\0')) {
        fail_msg("allocation %ld: %s, %s", nth, kl_code_name(code),
                 err.message);
    }
    err = (kl_error){0};
    if (failed && run(context, &err) != KL_OK) {
        fail_msg("after allocation %ld: %s", nth, err.message);
    }
    return !failed;
}

/* Lets each of the first allocations fail, then fewer and fewer of them: a TLS
 * handshake makes some thousands. Asserts that the call makes more than
 * `least`. */
static void try_all(try_fn run, void *context, long least)
{
    long nth = 1;

    while (!try_once(run, context, nth)) {
        nth += 1 + nth / 12;
    }
    assert_true(nth > least);
}

static kl_code load_config(void *context, kl_error *err)
{
    const kl_config_options options = {.kubeconfig = context};

    kl_config_unref(kl_config_load(&options, err));
    return err->code;
}

static void a_kubeconfig_is_read_without_memory(void **state)
{
    const char *path = kubeconfig_write(
        "{server: \"https://s:6443\", insecure-skip-tls-verify: true}",
        "{token: t}");

    (void)state;
    try_all(load_config, (char *)(uintptr_t)path, 100);
}

static kl_code take(void *context, const char *json, size_t length,
                    kl_error *err)
{
    (void)context;
    (void)json;
    (void)length;
    (void)err;
    return KL_OK;
}

static kl_code read_manifest(void *context, kl_error *err)
{
    const char *text = context;

    return kl_manifest_each(text, strlen(text), take, NULL, err);
}

static void a_manifest_is_read_without_memory(void **state)
{
    static char text[] = "a: &x [1, 2, 'three']\nb: *x\n---\nc: |\n  text\n";

    (void)state;
    try_all(read_manifest, text, 50);
}

static kl_code listen_once(void *context, kl_error *err)
{
    (void)kl_sim_listen(context, &(kl_sim_listen_options){.tls = true}, err);
    kl_sim_unlisten(context);
    return err->code;
}

static void a_port_is_opened_without_memory(void **state)
{
    kl_sim *sim = kl_sim_new(NULL, NULL);

    (void)state;
    try_all(listen_once, sim, 100);
    kl_sim_unref(sim);
}

/* Opens a client and makes one call: name resolution, connect, handshake, and a
 * compressed answer if it is long. */
static kl_code call_once(void *context, kl_error *err)
{
    const kl_call call = {
        .method = "GET", .target = LIVE_WORLD_TARGET, .timeout_ms = 10000};
    kl_client *client =
        kl_client_new(&(kl_client_options){.config = context}, err);
    kl_code code = err->code;
    kl_reply reply;

    if (client != NULL) {
        code = kl_client_call(client, &call, &reply, err);
        kl_reply_clear(&reply);
        kl_client_unref(client);
    }
    return code;
}

static void call_over(bool is_tls, long least)
{
    kl_sim *sim = kl_sim_new(NULL, NULL);
    const kl_sim_listen_options options = {.tls = is_tls};
    char *text;
    kl_config *config;

    assert_int_equal(kl_sim_listen(sim, &options, NULL), KL_OK);
    text = kl_sim_kubeconfig(sim, NULL);
    config = config_load(
        &(kl_config_options){.kubeconfig = temp_write("config", text)});
    kl_free(text);
    try_all(call_once, config, least);
    kl_config_unref(config);
    kl_sim_unref(sim);
}

static void a_call_over_http_is_made_without_memory(void **state)
{
    (void)state;
    call_over(false, 50);
}

static void a_call_over_tls_is_made_without_memory(void **state)
{
    (void)state;
    call_over(true, is_openssl_spared ? 50 : 500);
}

/* Allocations fail at random, on all threads but the one that changes the
 * cluster. */
static void an_informer_over_tls_survives_failing_malloc(void **state)
{
    static live_world live;

    (void)state;
    live_world_open(&live, LIVE_WORLD_TLS);
    for (unsigned one_in = 1000; one_in > 10; one_in /= 5) {
        failing_plan_follow(
            (failing_plan){.one_in = one_in, .seed = one_in, .not_here = true});
        for (int i = 0; i < 40; i++) {
            live_world_touch(&live, (char)('b' + i % 7));
            if (i % 10 == 9) {
                kl_sim_cut(live.sim);
            }
            (void)kl_event_queue_wait(live.queue, 2);
            live_world_pull(&live);
        }
        failing_plan_pause();
        live_world_assert_whole(&live);
    }
    live_world_close(&live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(a_kubeconfig_is_read_without_memory),
        cmocka_unit_test(a_manifest_is_read_without_memory),
        cmocka_unit_test(a_port_is_opened_without_memory),
        SPEC(a_call_over_http_is_made_without_memory),
        SPEC(a_call_over_tls_is_made_without_memory),
        cmocka_unit_test(an_informer_over_tls_survives_failing_malloc),
    };

    if (IS_SANITIZED) {
        print_message("malloc is the sanitizer's: nothing is tried\n");
        return 77; /* skipped */
    }
    look_at_openssl();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
