/*
 * file.c - makes what Lua's own library cannot: folders, and files that only
 * their owner can read, for recordings and kubeconfigs (they contain secrets).
 * Lists folders. And tells, by inotify, that files may have changed, for
 * kubelua run --reload.
 */
#include "binding.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
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

/* core.make_folder(path): true; or nil, message, errno, as os.rename. */
static int make_folder(lua_State *L)
{
    const char *path = check_text(L, 1);

    return luaL_fileresult(L, mkdir(path, 0777) == 0, path);
}

#define TYPE_FILE_WATCH "kubelua.file_watch"

/* What a save does: it writes in place, renames a new file over the old one, or
 * swaps a symbolic link, as the kubelet does for a mounted ConfigMap. */
enum {
    CHANGES = IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_CREATE | IN_DELETE |
              IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF
};

typedef struct file_watch {
    int fd;    /* -1: closed */
    int last;  /* of the numbers that inotify_add_watch has returned: 1, 2, ...
                */
    pid_t pid; /* of the process that has made it, and alone reads it */
} file_watch;

/* False in a child of fork: it shares the watches and the reports with its
 * parent. */
static bool is_own_watch(const file_watch *self)
{
    return self->fd >= 0 && self->pid == getpid();
}

static file_watch *check_file_watch(lua_State *L)
{
    return luaL_checkudata(L, 1, TYPE_FILE_WATCH);
}

/* core.file_watch(poller): a watch that wakes the poller; or nil, message,
 * code: the machine has no inotify, or this user has all instances in use. */
static int file_watch_new(lua_State *L)
{
    file_watch *self = lua_newuserdata(L, sizeof(*self));
    kl_error err;

    *self = (file_watch){.fd = -1, .pid = getpid()};
    luaL_getmetatable(L, TYPE_FILE_WATCH);
    lua_setmetatable(L, -2);
    self->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (self->fd < 0 || !poller_adds(L, 1, self->fd)) {
        kl_error_set(&err, KL_EIO, "inotify: %s", strerror(errno));
        return push_error(L, &err);
    }
    return 1;
}

/* watch:add(path): watches a folder or a file; for a symbolic link, what it
 * leads to. A second call for the same one is fine. True, or nil, message,
 * code. */
static int file_watch_add(lua_State *L)
{
    file_watch *self = check_file_watch(L);
    const char *path = check_text(L, 2);
    int number = inotify_add_watch(self->fd, path, CHANGES);
    kl_error err;

    if (number < 0) {
        kl_error_set(&err, KL_EIO, "%s: %s", path, strerror(errno));
        return push_error(L, &err);
    }
    self->last = number > self->last ? number : self->last;
    lua_pushboolean(L, true);
    return 1;
}

/* Reads all reports; true if there were any. */
static bool read_reports(const file_watch *self)
{
    char buffer[4096];
    bool has_changed = false;

    while (is_own_watch(self) && read(self->fd, buffer, sizeof(buffer)) > 0) {
        has_changed = true;
    }
    return has_changed;
}

/* watch:has_changed(): true if something was reported since the last call. */
static int file_watch_has_changed(lua_State *L)
{
    lua_pushboolean(L, read_reports(check_file_watch(L)));
    return 1;
}

/* A child of fork that lives on has the descriptor, too, so the close does not
 * take it out of the poller: it would wake the poller for ever, and no function
 * could read it. Without watches and reports it wakes nothing. */
static void end_watches(const file_watch *self)
{
    for (int number = 1; is_own_watch(self) && number <= self->last; number++) {
        inotify_rm_watch(self->fd, number); /* which makes a report */
    }
    read_reports(self);
}

static int file_watch_close(lua_State *L)
{
    file_watch *self = check_file_watch(L);

    end_watches(self);
    if (self->fd >= 0) {
        close(self->fd); /* which takes it out of the poller, too */
    }
    self->fd = -1;
    return 0;
}

void bind_file(lua_State *L)
{
    static const luaL_Reg methods[] = {{"__gc", file_watch_close},
                                       {"add", file_watch_add},
                                       {"has_changed", file_watch_has_changed},
                                       {"close", file_watch_close},
                                       {NULL, NULL}};
    static const luaL_Reg functions[] = {
        {"private_file", make_private_file}, {"close_file", close_file},
        {"list_folder", list_folder},        {"file_watch", file_watch_new},
        {"make_folder", make_folder},        {NULL, NULL}};

    push_type(L, TYPE_FILE_WATCH, methods);
    luaL_setfuncs(L, functions, 0);
}
