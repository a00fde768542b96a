/*
 * file.c - makes files that only their owner can read, for recordings and
 * kubeconfigs: they contain secrets. Lists folders.
 */
#include "binding.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse_file(lua_State *L, const char *path, const char *why)
{
    kl_error err;

    kl_error_set(&err, KL_EIO, "%s: %s", path, why);
    return push_error(L, &err);
}

/* Makes a new, empty file of mode 0600 in the place of what was there. Returns
 * its descriptor; -1 and errno. `made` is the template of its first name. */
static int replace_file(const char *path, char *made)
{
    int fd = mkostemp(made, O_CLOEXEC);

    if (fd >= 0 && rename(made, path) != 0) {
        int failure = errno;

        close(fd);
        unlink(made);
        errno = failure;
        return -1;
    }
    return fd;
}

/* core.private_file(path): a descriptor to write to; the caller closes it. A
 * device or a pipe is opened as it is. nil, message, code. */
static int make_private_file(lua_State *L)
{
    const char *path = check_text(L, 1);
    struct stat now;
    char *made;
    int fd;

    lua_pushfstring(L, "%s.XXXXXX", path);
    made = lua_newuserdata(L, strlen(path) + sizeof(".XXXXXX"));
    memcpy(made, lua_tostring(L, -2), strlen(path) + sizeof(".XXXXXX"));
    if (lstat(path, &now) != 0 || S_ISREG(now.st_mode)) {
        fd = replace_file(path, made);
    } else if (S_ISLNK(now.st_mode)) {
        return refuse_file(L, path, "is a symbolic link; name the file itself");
    } else {
        fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
    }
    if (fd < 0) {
        return refuse_file(L, path, strerror(errno));
    }
    lua_pushinteger(L, fd);
    return 1;
}

/* core.close_file(descriptor) */
static int close_file(lua_State *L)
{
    close((int)luaL_checkinteger(L, 1));
    return 0;
}

/* push_names(folder, list): runs protected, since the folder is to be closed
 * when memory is missing. */
static int push_names(lua_State *L)
{
    DIR *folder = lua_touserdata(L, 1);
    int count = 0;

    for (const struct dirent *entry = readdir(folder); entry != NULL;
         entry = readdir(folder)) {
        if (strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0) {
            lua_pushstring(L, entry->d_name);
            lua_rawseti(L, 2, ++count);
        }
    }
    return 0;
}

/* core.list_folder(path): the names in a folder, in no order. nil, message,
 * code, also if the path is none of a folder. */
static int list_folder(lua_State *L)
{
    const char *path = check_text(L, 1);
    DIR *folder;
    int status;

    lua_newtable(L);
    lua_pushcfunction(L, push_names); /* path, list, push_names */
    folder = opendir(path);
    if (folder == NULL) {
        return refuse_file(L, path, strerror(errno));
    }
    lua_pushlightuserdata(L, folder);
    lua_pushvalue(L, -3);
    status = lua_pcall(L, 2, 0, 0);
    closedir(folder);
    if (status != 0) {
        return lua_error(L);
    }
    return 1; /* path, list */
}

void bind_file(lua_State *L)
{
    static const luaL_Reg functions[] = {{"private_file", make_private_file},
                                         {"close_file", close_file},
                                         {"list_folder", list_folder},
                                         {NULL, NULL}};

    luaL_setfuncs(L, functions, 0);
}
