/*
 * standard_streams.c - the standard streams of the command kubelua: all three
 * must be open, and output that cannot be written is an error.
 */
#include "binding.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* core.open_streams(): opens /dev/null for each standard stream that is closed.
 * Otherwise a socket could get number 1 or 2, and what is printed. */
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
 * printed since the start could not be written. */
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
