/*
 * process.c - runs programs for a script (kubelua/process.h). The tag of a
 * process in the event queue is the id of its source in Lua.
 */
#include "binding.h"

#include "kubelua/process.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

typedef struct process_box {
    kl_process *process; /* NULL while it is made, and once it is freed */
} process_box;

static kl_process *check_process(lua_State *L)
{
    process_box *box = luaL_checkudata(L, 1, TYPE_PROCESS);

    if (box->process == NULL) {
        luaL_error(L, "the process is closed");
    }
    return box->process;
}

/* True if the entry "NAME=value" of an environment has the name that `change`
 * begins with. */
static bool is_changed_by(const char *entry, const char *change)
{
    size_t length = strcspn(change, "=");

    return strncmp(entry, change, length) == 0 && entry[length] == '=';
}

/* The environment of this process with the changes of the option "env":
 * "NAME=value" sets, "NAME" removes. NULL: no changes. Pushes a userdata with
 * the array; its strings are borrowed. */
static const char *const *check_environment(lua_State *L, int index)
{
    const char *const *changes = push_texts(L, index, "env");
    const char **all;
    size_t count = 1, n = 0;

    if (changes == NULL) {
        return NULL;
    }
    for (char **each = environ; *each != NULL; each++) {
        count++;
    }
    for (const char *const *each = changes; *each != NULL; each++) {
        count++;
    }
    all = lua_newuserdata(L, count * sizeof(*all));
    for (char **each = environ; *each != NULL; each++) {
        const char *const *change = changes;

        while (*change != NULL && !is_changed_by(*each, *change)) {
            change++;
        }
        if (*change == NULL) {
            all[n++] = *each;
        }
    }
    for (; *changes != NULL; changes++) {
        if (strchr(*changes, '=') != NULL) {
            all[n++] = *changes;
        }
    }
    all[n] = NULL;
    return all;
}

/* The option as milliseconds that fit into an int. */
static int option_int_ms(lua_State *L, const char *name)
{
    int64_t ms = option_ms(L, 1, name, 0);

    return ms < INT_MAX ? (int)ms : INT_MAX;
}

/* core.process_start({args =, env =, cwd =, input =, timeout =, grace =},
 * poller, id) */
static int process_start(lua_State *L)
{
    kl_process_options options = {.cwd = option_string(L, 1, "cwd"),
                                  .timeout_ms = option_int_ms(L, "timeout"),
                                  .grace_ms = option_int_ms(L, "grace")};
    kl_event_queue *queue;
    process_box *box;
    lua_Integer id;
    kl_error err;

    lua_settop(L, 3);
    id = luaL_checkinteger(L, 3);
    push_option(L, 1, "input");
    if (!lua_isnil(L, -1)) {
        options.input = luaL_checklstring(L, -1, &options.input_length);
    }
    options.args = push_texts(L, 1, "args");
    options.env = check_environment(L, 1);
    box = lua_newuserdata(L, sizeof(*box));
    box->process = NULL;
    luaL_getmetatable(L, TYPE_PROCESS);
    lua_setmetatable(L, -2);
    queue = check_queue(L, 2);
    box->process =
        kl_process_start(&options, queue, (void *)(intptr_t)id, &err);
    return box->process != NULL ? 1 : push_error(L, &err);
}

static int process_is_complete(lua_State *L)
{
    lua_pushboolean(L, kl_process_is_complete(check_process(L)));
    return 1;
}

/* core.process_result(process): {status =, stdout =, stderr =}, with `signal`
 * instead of status if a signal ended it; or nil, message, code. */
static int process_result(lua_State *L)
{
    kl_process_outcome outcome;
    kl_error err;

    if (kl_process_result(check_process(L), &outcome, &err) != KL_OK) {
        return push_error(L, &err);
    }
    lua_createtable(L, 0, 3);
    lua_pushinteger(L, outcome.status);
    lua_setfield(L, -2, outcome.has_exited ? "status" : "signal");
    lua_pushlstring(L, outcome.output, outcome.output_length);
    lua_setfield(L, -2, "stdout");
    lua_pushlstring(L, outcome.errors, outcome.errors_length);
    lua_setfield(L, -2, "stderr");
    return 1;
}

static int process_cancel(lua_State *L)
{
    process_box *box = luaL_checkudata(L, 1, TYPE_PROCESS);

    if (box->process != NULL) {
        kl_process_cancel(box->process);
    }
    return 0;
}

/* core.process_free(process): kills the program at once if it still runs. */
static int process_free(lua_State *L)
{
    process_box *box = luaL_checkudata(L, 1, TYPE_PROCESS);

    kl_process_free(box->process);
    box->process = NULL;
    return 0;
}

void bind_process(lua_State *L)
{
    static const luaL_Reg methods[] = {{"__gc", process_free}, {NULL, NULL}};
    static const luaL_Reg functions[] = {
        {"process_start", process_start},
        {"process_is_complete", process_is_complete},
        {"process_result", process_result},
        {"process_cancel", process_cancel},
        {"process_free", process_free},
        {NULL, NULL}};

    push_type(L, TYPE_PROCESS, methods);
    luaL_setfuncs(L, functions, 0);
}
