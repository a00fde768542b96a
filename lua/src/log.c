/*
 * log.c - writes the log lines of scripts and of the core to standard error:
 * one line each, with a time and a level; in colours on a terminal only.
 */
#include "binding.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *const LEVELS[] = {"debug", "info", "warn",
                                     "error", "off",  NULL};

/* True on a terminal with colours, unless NO_COLOR is set (no-color.org). */
static bool has_colours(int fd)
{
    const char *unwanted = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");

    return isatty(fd) && (unwanted == NULL || unwanted[0] == '\0') &&
           (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

/* Runs on any thread; kl_set_log makes one call at a time. */
static void log_to_stderr(void *context, kl_log_level level,
                          const char *message)
{
    static const char *const colours[] = {"\033[2m", "", "\033[33m",
                                          "\033[31m"};
    const char *colour = has_colours(STDERR_FILENO) ? colours[level] : "";
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

/* Writes a whole line, so that the lines of other processes that write to the
 * same pipe or file do not stand within it, up to PIPE_BUF. */
static void write_line(const char *line, size_t length)
{
    flockfile(stderr);
    while (length > 0) {
        ssize_t written = write(STDERR_FILENO, line, length);

        if (written < 0 && errno != EINTR) {
            break; /* there is no place to report it */
        }
        line += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    funlockfile(stderr);
}

/* The start of a record: its time and level. Returns its length. */
static size_t begin_record(char *to, size_t size, kl_log_level level)
{
    struct timespec now;
    struct tm utc;
    char stamp[32];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &utc);
    return (size_t)snprintf(to, size, "{\"ts\":\"%s.%03ldZ\",\"level\":\"%s\",",
                            stamp, now.tv_nsec / 1000000, LEVELS[level]);
}

/* Copies a text into a JSON string; it is UTF-8, and escaped for a log, so that
 * only these characters are left to escape. Breaks ("; ") become "\n". */
static char *quote_text(char *to, const char *text, size_t length, bool breaks)
{
    for (size_t i = 0; i < length; i++) {
        if (breaks && text[i] == ';' && i + 1 < length && text[i + 1] == ' ') {
            *to++ = '\\';
            *to++ = 'n';
            i++;
            continue;
        }
        if (text[i] == '"' || text[i] == '\\' || text[i] == '\t') {
            *to++ = '\\';
        }
        *to++ = text[i] == '\t' ? 't' : text[i];
    }
    return to;
}

/*
 * A line of the core as a record. Runs on any thread. A traceback, which the
 * watchdog writes, has a member of its own.
 */
static void log_to_json(void *context, kl_log_level level, const char *message)
{
    static const char mark[] = "; stack traceback:; ";
    static const char begin[] = "\"logger\":\"kubelua\",\"msg\":\"";
    static const char middle[] = "\",\"traceback\":\"";
    /* A message of kl_log has at most 2047 bytes. */
    char line[2 * 2048 + 256];
    const char *trace = strstr(message, mark);
    char *at = line + begin_record(line, sizeof(line), level);

    (void)context;
    memcpy(at, begin, sizeof(begin) - 1);
    at = quote_text(at + sizeof(begin) - 1, message,
                    trace != NULL ? (size_t)(trace - message) : strlen(message),
                    false);
    if (trace != NULL) {
        trace += sizeof(mark) - 1;
        memcpy(at, middle, sizeof(middle) - 1);
        at = quote_text(at + sizeof(middle) - 1, trace, strlen(trace), true);
    }
    memcpy(at, "\"}\n", 3);
    write_line(line, (size_t)(at + 3 - line));
}

/* core.log_record(level, members): a record in JSON: its time, level, and these
 * members, which are JSON without their braces. It is written at any level. */
static int write_record(lua_State *L)
{
    int level = luaL_checkoption(L, 1, NULL, LEVELS);
    char head[128];
    const char *line;
    size_t length;

    luaL_checkstring(L, 2);
    lua_settop(L, 2);
    begin_record(head, sizeof(head), (kl_log_level)level);
    lua_pushstring(L, head);
    lua_insert(L, 2);
    lua_pushliteral(L, "}\n");
    lua_concat(L, 3);
    /* level, line */
    line = lua_tolstring(L, 2, &length);
    write_line(line, length);
    return 0;
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

/* core.set_log_level(level, style): style "nginx" writes nginx's format, "json"
 * records in JSON; any other, the lines of a program. */
static int set_log_level(lua_State *L)
{
    int level = luaL_checkoption(L, 1, NULL, LEVELS);
    const char *style = luaL_optstring(L, 2, "");
    kl_log_fn write_to = strcmp(style, "nginx") == 0  ? log_to_nginx
                         : strcmp(style, "json") == 0 ? log_to_json
                                                      : log_to_stderr;

    kl_set_log(write_to, NULL, (kl_log_level)level);
    return 0;
}

/* core.has_colours(): true if standard output is a terminal that is to show
 * colours. */
static int push_has_colours(lua_State *L)
{
    lua_pushboolean(L, has_colours(STDOUT_FILENO));
    return 1;
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

/* core.memory_trim(): gives free memory back to the system. */
static int trim_memory(lua_State *L)
{
    (void)L;
    kl_memory_trim();
    return 0;
}

void bind_log(lua_State *L)
{
    static const luaL_Reg functions[] = {{"log", write_log},
                                         {"log_record", write_record},
                                         {"escape", escape_text},
                                         {"set_log_level", set_log_level},
                                         {"live", push_live_counts},
                                         {"memory_trim", trim_memory},
                                         {"has_colours", push_has_colours},
                                         {NULL, NULL}};

    luaL_setfuncs(L, functions, 0);
}
