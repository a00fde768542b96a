/*
 * stream.c - the standard streams, for the command line: all three are open,
 * and what could not be written is noticed.
 */
#include "binding.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* core.open_streams(): puts /dev/null in the place of each standard stream
 * that is closed, lest a socket gets its number and what is printed. */
static int open_streams(lua_State *L)
{
    int fd;

    (void)L;
    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) {
        close(fd);
    }
    return 0;
}

/* core.flush_output(): true; or nil, message, code if something that was
 * printed since the start did not get out. */
static int flush_output(lua_State *L)
{
    kl_error err;

    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        lua_pushboolean(L, true);
        return 1;
    }
    kl_error_set(&err, KL_EIO, "cannot write to standard output%s%s",
                 errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "");
    return push_error(L, &err);
}

void bind_stream(lua_State *L)
{
    static const luaL_Reg functions[] = {{"open_streams", open_streams},
                                         {"flush_output", flush_output},
                                         {NULL, NULL}};

    luaL_setfuncs(L, functions, 0);
}
