/*
 * kubeconfig.c - a kubeconfig file, whose first line may be "# context NAME". A
 * file that loads can be used, and loads the same twice; the error of any other
 * names the file. No other file is read, and no program is run.
 */
#include "fuzz.h"

#include "base/str.h"
#include "config/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

/* Writes the file to memory; its path is the same in every run. */
static const char *path_of(fuzz_text text, char *path, size_t size)
{
    static int file = -1;

    if (file < 0) {
        file = memfd_create("kubeconfig", MFD_CLOEXEC);
        FUZZ_EXPECT(file >= 0);
        unsetenv("KUBERNETES_SERVICE_HOST");
        unsetenv("HTTPS_PROXY");
        unsetenv("HTTP_PROXY");
        unsetenv("https_proxy");
        unsetenv("http_proxy");
    }
    FUZZ_EXPECT(ftruncate(file, 0) == 0);
    FUZZ_EXPECT(pwrite(file, text.bytes, text.length, 0) ==
                (ssize_t)text.length);
    snprintf(path, size, "/proc/self/fd/%d", file);
    return path;
}

static void expect_pem(const kl__pem *pem)
{
    FUZZ_EXPECT(pem->text == NULL || pem->file == NULL);
    FUZZ_EXPECT(pem->text == NULL || strstr(pem->text, "-----BEGIN") != NULL);
    FUZZ_EXPECT(pem->file == NULL || pem->file[0] == '/');
}

static void expect_settings(const kl__settings *settings)
{
    const char *server = settings->server;

    FUZZ_EXPECT(server != NULL && settings->name_space != NULL);
    FUZZ_EXPECT(strncasecmp(server, "http://", 7) == 0 ||
                strncasecmp(server, "https://", 8) == 0);
    FUZZ_EXPECT(server[strlen(server) - 1] != '/');
    FUZZ_EXPECT(settings->source != NULL && *settings->source != '\0');
    FUZZ_EXPECT(*settings->name_space != '\0');
    FUZZ_EXPECT(settings->token_file == NULL || settings->token_file[0] == '/');
    expect_pem(&settings->ca);
    expect_pem(&settings->cert);
    expect_pem(&settings->key);
    FUZZ_EXPECT((settings->cert.text == NULL && settings->cert.file == NULL) ||
                settings->key.text != NULL || settings->key.file != NULL);
    FUZZ_EXPECT(settings->exec == NULL || settings->exec->args[0] != NULL);
    for (size_t i = 0; i < settings->impersonation_count; i++) {
        FUZZ_EXPECT(settings->impersonation[i].name != NULL);
        FUZZ_EXPECT(strpbrk(settings->impersonation[i].name, "\r\n: ") == NULL);
        FUZZ_EXPECT(strpbrk(settings->impersonation[i].value, "\r\n") == NULL);
    }
}

static void expect_equal(const kl__settings *a, const kl__settings *b)
{
    FUZZ_EXPECT(kl__streq(a->server, b->server));
    FUZZ_EXPECT(kl__streq(a->name_space, b->name_space));
    FUZZ_EXPECT(kl__streq(a->token, b->token));
    FUZZ_EXPECT(kl__streq(a->ca.text, b->ca.text));
    FUZZ_EXPECT(a->insecure == b->insecure);
    FUZZ_EXPECT((a->exec == NULL) == (b->exec == NULL));
    FUZZ_EXPECT(a->impersonation_count == b->impersonation_count);
}

void fuzz_kubeconfig(const char *bytes, size_t length)
{
    static const char mark[] = "# context ";
    fuzz_text text = {bytes, length}, rest = text;
    char *line = fuzz_string(fuzz_line(&rest)), path[64];
    kl_config_options options = {0};
    kl__config_seams seams = {0};
    kl__settings settings = {0}, again = {0};
    kl_error err = {.code = KL_OK};
    kl_code code;

    options.kubeconfig = path_of(text, path, sizeof(path));
    if (strncmp(line, mark, sizeof(mark) - 1) == 0) {
        options.context = line + sizeof(mark) - 1;
    }
    code = kl__settings_load(&options, &seams, &settings, &err);
    if (code == KL_OK) {
        expect_settings(&settings);
        FUZZ_EXPECT(kl__settings_load(&options, &seams, &again, &err) == KL_OK);
        expect_equal(&settings, &again);
    } else {
        FUZZ_EXPECT(code == KL_ECONFIG && err.code == code);
        FUZZ_EXPECT(strstr(err.message, path) != NULL ||
                    strstr(err.message, settings.source) != NULL);
    }
    kl__settings_deinit(&settings);
    kl__settings_deinit(&again);
    free(line);
}
