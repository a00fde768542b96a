/*
 * user_agent.c - makes the User-Agent from uname(); see user_agent.h.
 */
#include "api/user_agent.h"

#include "base/str.h"
#include "kubelua/version.h"

#include <stddef.h>
#include <string.h>
#include <sys/utsname.h>

/* Go's name for a machine, where it differs from uname's. */
static const char *machine_of(const char *name)
{
    static const char *const words[][2] = {{"x86_64", "amd64"},
                                           {"aarch64", "arm64"},
                                           {"i686", "386"},
                                           {"armv7l", "arm"}};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(name, words[i][0]) == 0) {
            return words[i][1];
        }
    }
    return name;
}

char *kl__user_agent(void)
{
    struct utsname host;

    if (uname(&host) != 0) {
        return kl__strprintf("kubelua/%s", kl_version());
    }
    for (char *at = host.sysname; *at != '\0'; at++) {
        if (*at >= 'A' && *at <= 'Z') {
            *at = (char)(*at - 'A' + 'a');
        }
    }
    return kl__strprintf("kubelua/%s (%s/%s)", kl_version(), host.sysname,
                         machine_of(host.machine));
}

bool kl__is_header_text(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text < ' ' || *text > '~') {
            return false;
        }
    }
    return true;
}
