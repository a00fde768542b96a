/*
 * log.c - writes the log lines of scripts and of the core to standard error:
 * one line each, with a time and a level; in colours on a terminal only.
 */
#include "binding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *const LEVELS[] = {"debug", "info", "warn",
                                     "error", "off",  NULL};

/* True on a terminal, unless NO_COLOR is set (no-color.org). */
static bool has_colours(void)
{
    const char *unwanted = getenv("NO_COLOR");

    return isatty(STDERR_FILENO) && (unwanted == NULL || unwanted[0] == '\0');
}

/* Runs on any thread; kl_set_log makes one call at a time. */
static void log_to_stderr(void *context, kl_log_level level,
                          const char *message)
{
    static const char *const colours[] = {"\033[2m", "", "\033[33m",
                                          "\033[31m"};
    const char *colour = has_colours() ? colours[level] : "";
    struct timespec now;
    struct tm utc;
    char stamp[32];

    (void)context;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &utc);
    flockfile(stderr);
    fprintf(stderr, "%s%s.%03ldZ %-5s %s%s\n", colour, stamp,
            now.tv_nsec / 1000000, LEVELS[level], message,
            colour[0] != '\0' ? "\033[0m" : "");
    funlockfile(stderr);
}

/* core.log(level, message): one line. kl_log escapes it; a NUL byte must be
 * escaped before. */
static int write_log(lua_State *L)
{
    int level = luaL_checkoption(L, 1, NULL, LEVELS);
    char line[2048]; /* a message of kl_log has no more */
    size_t length;
    const char *message = luaL_checklstring(L, 2, &length);

    kl_text_escape(line, sizeof(line), message, length, KL_ONE_LINE);
    kl_log((kl_log_level)level, "%s", line);
    return 0;
}

/* core.escape(text, breaks): the text so that a log or a terminal shows it:
 * as one line, or with the breaks "indented", see kl_text_escape. */
static int escape_text(lua_State *L)
{
    static const char *const breaks[] = {"one_line", "indented", NULL};
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    size_t size = 4 * length + 1;
    int kept = luaL_checkoption(L, 2, "one_line", breaks);
    char *escaped = lua_newuserdata(L, size);

    lua_pushlstring(
        L, escaped,
        kl_text_escape(escaped, size, text, length, (kl_text_breaks)kept));
    return 1;
}

/*
 * Runs on any thread. nginx's standard error is its error log, opened to
 * append: one write() is one whole line between those of nginx.
 */
static void log_to_nginx(void *context, kl_log_level level, const char *message)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    char line[2304]; /* a message of kl_log has at most 2048 */
    struct timespec now;
    struct tm here;
    size_t length;

    (void)context;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &here);
    length = strftime(line, sizeof(line), "%Y/%m/%d %H:%M:%S", &here);
    snprintf(line + length, sizeof(line) - length - 1,
             " [%s] %ld#%ld: kubelua: %s", names[level], (long)getpid(),
             (long)syscall(SYS_gettid), message);
    length = strlen(line);
    line[length] = '\n';
    /* If even this write fails, there is no place to report it. */
    (void)!write(STDERR_FILENO, line, length + 1);
}

/* core.set_log_level(level, style): style "nginx" writes nginx's format; any
 * other, that of a program. */
static int set_log_level(lua_State *L)
{
    int level = luaL_checkoption(L, 1, NULL, LEVELS);
    bool is_nginx = strcmp(luaL_optstring(L, 2, ""), "nginx") == 0;

    kl_set_log(is_nginx ? log_to_nginx : log_to_stderr, NULL,
               (kl_log_level)level);
    return 0;
}

/* core.live(): a table with the number of live things of each kind. */
static int push_live_counts(lua_State *L)
{
    lua_newtable(L);
    for (int kind = 0; kind < KL_LIVE_KINDS; kind++) {
        lua_pushinteger(L, (lua_Integer)kl_live_count((kl_live_kind)kind));
        lua_setfield(L, -2, kl_live_name((kl_live_kind)kind));
    }
    return 1;
}

void bind_log(lua_State *L)
{
    static const luaL_Reg functions[] = {{"log", write_log},
                                         {"escape", escape_text},
                                         {"set_log_level", set_log_level},
                                         {"live", push_live_counts},
                                         {NULL, NULL}};

    luaL_setfuncs(L, functions, 0);
}
