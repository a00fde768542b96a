/*
 * temp_files.c - see temp_files.h.
 */
#include "temp_files.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATHS = 32, PATH_SIZE = 256 };

static char folder[64];
static char paths[PATHS][PATH_SIZE];
static unsigned next_path;

int temp_files_setup(void **state)
{
    static const char *const variables[] = {"KUBECONFIG",
                                            "KUBERNETES_SERVICE_HOST",
                                            "KUBERNETES_SERVICE_PORT",
                                            "POD_NAMESPACE",
                                            "HTTPS_PROXY",
                                            "https_proxy",
                                            "HTTP_PROXY",
                                            "http_proxy",
                                            "NO_PROXY",
                                            "no_proxy",
                                            "REQUEST_METHOD",
                                            NULL};

    strcpy(folder, "/tmp/kubelua-spec-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    for (size_t i = 0; variables[i] != NULL; i++) {
        unsetenv(variables[i]);
    }
    setenv("HOME", folder, 1);
    *state = folder;
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int type,
                      struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

int temp_files_teardown(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *temp_path(const char *name)
{
    char *path = paths[next_path++ % PATHS];

    snprintf(path, PATH_SIZE, "%s/%s", folder, name);
    return path;
}

const char *temp_write_bytes(const char *name, const void *bytes, size_t length)
{
    const char *path = temp_path(name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    return path;
}

const char *temp_write(const char *name, const char *text)
{
    return temp_write_bytes(name, text, strlen(text));
}

static const char *write_formatted(const char *name, const char *format,
                                   va_list args)
{
    char *text = NULL;
    const char *path;

    assert_true(vasprintf(&text, format, args) >= 0);
    path = temp_write(name, text);
    free(text);
    return path;
}

const char *temp_printf(const char *name, const char *format, ...)
{
    va_list args;
    const char *path;

    va_start(args, format);
    path = write_formatted(name, format, args);
    va_end(args);
    return path;
}

const char *temp_script(const char *name, const char *format, ...)
{
    va_list args;
    const char *path;

    va_start(args, format);
    path = write_formatted(name, format, args);
    va_end(args);
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

int temp_count_lines(const char *name)
{
    FILE *file = fopen(temp_path(name), "r");
    int lines = 0, c;

    if (file == NULL) {
        return 0;
    }
    while ((c = getc(file)) != EOF) {
        lines += c == '\n';
    }
    fclose(file);
    return lines;
}
