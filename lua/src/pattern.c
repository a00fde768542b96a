/*
 * pattern.c - Lua's patterns for code that is not trusted: as string.find, but
 * a search that takes long looks at the limits (budget.c), and so it ends.
 */
#include "budget.h"

#include <ctype.h>
#include <string.h>

#define MOST_CAPTURES 32
#define MOST_DEPTH 200  /* frames of the C stack */
#define LOOK_STEPS 1000 /* about 5 us */

#define IS_OPEN ((ptrdiff_t)-1)
#define IS_POSITION ((ptrdiff_t)-2)

typedef struct search {
    lua_State *L;
    const char *text, *end; /* what is searched */
    const char *pattern_end;
    int depth;
    int steps; /* since the last look */
    int captures;
    struct {
        const char *at;
        ptrdiff_t length;
    } capture[MOST_CAPTURES];
} search;

static const char *match_rest(search *self, const char *s, const char *p);

static void count_step(search *self)
{
    if (++self->steps >= LOOK_STEPS) {
        self->steps = 0;
        budget_look(self->L);
    }
}

static int refuse_pattern(search *self, const char *why)
{
    return luaL_error(self->L, "malformed pattern (%s)", why);
}

/* The end of the set whose "[" is at p. A "]" that comes first is a member. */
static const char *end_of_set(search *self, const char *p)
{
    p++;
    if (p < self->pattern_end && *p == '^') {
        p++;
    }
    do {
        if (p >= self->pattern_end) {
            refuse_pattern(self, "missing ']'");
        }
        if (*p++ == '%') {
            if (p >= self->pattern_end) {
                refuse_pattern(self, "missing ']'");
            }
            p++;
        }
    } while (p >= self->pattern_end || *p != ']');
    return p + 1;
}

/* The end of the item at p that stands for one byte. */
static const char *end_of_item(search *self, const char *p)
{
    if (*p == '%') {
        if (p + 1 >= self->pattern_end) {
            refuse_pattern(self, "ends with '%'");
        }
        return p + 2;
    }
    return *p == '[' ? end_of_set(self, p) : p + 1;
}

static bool is_of_class(int byte, int class)
{
    bool is;

    switch (tolower(class)) {
    case 'a':
        is = isalpha(byte) != 0;
        break;
    case 'c':
        is = iscntrl(byte) != 0;
        break;
    case 'd':
        is = isdigit(byte) != 0;
        break;
    case 'g':
        is = isgraph(byte) != 0;
        break;
    case 'l':
        is = islower(byte) != 0;
        break;
    case 'p':
        is = ispunct(byte) != 0;
        break;
    case 's':
        is = isspace(byte) != 0;
        break;
    case 'u':
        is = isupper(byte) != 0;
        break;
    case 'w':
        is = isalnum(byte) != 0;
        break;
    case 'z':
        is = byte == 0;
        break;
    case 'x':
        is = isxdigit(byte) != 0;
        break;
    default:
        return class == byte;
    }
    return islower(class) ? is : !is;
}

/* `p` is the "[", `last` the "]". */
static bool is_in_set(int byte, const char *p, const char *last)
{
    bool wanted = true;

    p++;
    if (*p == '^') {
        wanted = false;
        p++;
    }
    while (p < last) {
        int low = (unsigned char)*p;

        if (low == '%') {
            if (is_of_class(byte, (unsigned char)p[1])) {
                return wanted;
            }
            p += 2;
        } else if (p + 2 < last && p[1] == '-') {
            if (low <= byte && byte <= (unsigned char)p[2]) {
                return wanted;
            }
            p += 3;
        } else {
            if (low == byte) {
                return wanted;
            }
            p++;
        }
    }
    return !wanted;
}

/* True if the byte at s fits the item from p to `after`. */
static bool fits_item(search *self, const char *s, const char *p,
                      const char *after)
{
    int byte;

    count_step(self);
    if (s >= self->end) {
        return false;
    }
    byte = (unsigned char)*s;
    switch (*p) {
    case '.':
        return true;
    case '%':
        return is_of_class(byte, (unsigned char)p[1]);
    case '[':
        return is_in_set(byte, p, after - 1);
    default:
        return (unsigned char)*p == byte;
    }
}

static const char *match_longest(search *self, const char *s, const char *p,
                                 const char *after)
{
    ptrdiff_t count = 0;

    while (fits_item(self, s + count, p, after)) {
        count++;
    }
    for (; count >= 0; count--) {
        const char *found = match_rest(self, s + count, after + 1);

        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

static const char *match_shortest(search *self, const char *s, const char *p,
                                  const char *after)
{
    for (;;) {
        const char *found = match_rest(self, s, after + 1);

        if (found != NULL) {
            return found;
        }
        if (!fits_item(self, s, p, after)) {
            return NULL;
        }
        s++;
    }
}

static const char *open_capture(search *self, const char *s, const char *p,
                                ptrdiff_t length)
{
    const char *found;

    if (self->captures >= MOST_CAPTURES) {
        luaL_error(self->L, "too many captures");
    }
    self->capture[self->captures].at = s;
    self->capture[self->captures].length = length;
    self->captures++;
    found = match_rest(self, s, p);
    if (found == NULL) {
        self->captures--;
    }
    return found;
}

static const char *close_capture(search *self, const char *s, const char *p)
{
    int i = self->captures - 1;
    const char *found;

    while (i >= 0 && self->capture[i].length != IS_OPEN) {
        i--;
    }
    if (i < 0) {
        luaL_error(self->L, "invalid pattern capture");
    }
    self->capture[i].length = s - self->capture[i].at;
    found = match_rest(self, s, p);
    if (found == NULL) {
        self->capture[i].length = IS_OPEN;
    }
    return found;
}

/* "%bxy", p is at x: the end of what is balanced from s on. */
static const char *match_balance(search *self, const char *s, const char *p)
{
    int depth = 1;

    if (p + 1 >= self->pattern_end) {
        refuse_pattern(self, "missing arguments to '%b'");
    }
    if (s >= self->end || *s != p[0]) {
        return NULL;
    }
    for (s++; s < self->end; s++) {
        count_step(self);
        if (*s == p[1]) {
            if (--depth == 0) {
                return s + 1;
            }
        } else if (*s == p[0]) {
            depth++;
        }
    }
    return NULL;
}

/* "%f[set]", p is at "[": true at a place between a byte that is not in the set
 * and one that is. */
static bool is_frontier(search *self, const char *s, const char *p,
                        const char *after)
{
    int before = s == self->text ? 0 : (unsigned char)s[-1];
    int here = s < self->end ? (unsigned char)*s : 0;

    return !is_in_set(before, p, after - 1) && is_in_set(here, p, after - 1);
}

/* "%1": the end of the same text as that capture; NULL: it is not at s. */
static const char *match_again(search *self, const char *s, int digit)
{
    int i = digit - '1';
    size_t length;

    if (i < 0 || i >= self->captures || self->capture[i].length < 0) {
        luaL_error(self->L, "invalid capture index");
    }
    length = (size_t)self->capture[i].length;
    self->steps += (int)(length / 16 < LOOK_STEPS ? length / 16 : LOOK_STEPS);
    count_step(self);
    if ((size_t)(self->end - s) < length ||
        memcmp(self->capture[i].at, s, length) != 0) {
        return NULL;
    }
    return s + length;
}

/* An item for one byte, with what follows it. */
static const char *match_item(search *self, const char *s, const char *p)
{
    const char *after = end_of_item(self, p);
    int suffix = after < self->pattern_end ? *after : 0;
    const char *found;

    switch (suffix) {
    case '*':
        return match_longest(self, s, p, after);
    case '-':
        return match_shortest(self, s, p, after);
    case '+':
        return fits_item(self, s, p, after)
                   ? match_longest(self, s + 1, p, after)
                   : NULL;
    case '?':
        if (fits_item(self, s, p, after)) {
            found = match_rest(self, s + 1, after + 1);
            if (found != NULL) {
                return found;
            }
        }
        return match_rest(self, s, after + 1);
    default:
        return fits_item(self, s, p, after) ? match_rest(self, s + 1, after)
                                            : NULL;
    }
}

/* A "%" with a meaning of its own; sets `known` to false if it has none. */
static const char *match_special(search *self, const char *s, const char *p,
                                 bool *known)
{
    const char *after;

    if (p + 1 < self->pattern_end && p[1] == 'b') {
        s = match_balance(self, s, p + 2);
        return s != NULL ? match_rest(self, s, p + 4) : NULL;
    } else if (p + 1 < self->pattern_end && p[1] == 'f') {
        if (p + 2 >= self->pattern_end || p[2] != '[') {
            refuse_pattern(self, "missing '[' after '%f'");
        }
        after = end_of_set(self, p + 2);
        return is_frontier(self, s, p + 2, after) ? match_rest(self, s, after)
                                                  : NULL;
    } else if (p + 1 < self->pattern_end && isdigit((unsigned char)p[1])) {
        s = match_again(self, s, p[1]);
        return s != NULL ? match_rest(self, s, p + 2) : NULL;
    }
    *known = false;
    return NULL;
}

static const char *match_any(search *self, const char *s, const char *p)
{
    bool known = true;
    const char *found = NULL;

    if (p == self->pattern_end) {
        return s;
    } else if (*p == '(') {
        return p + 1 < self->pattern_end && p[1] == ')'
                   ? open_capture(self, s, p + 2, IS_POSITION)
                   : open_capture(self, s, p + 1, IS_OPEN);
    } else if (*p == ')') {
        return close_capture(self, s, p + 1);
    } else if (*p == '$' && p + 1 == self->pattern_end) {
        return s == self->end ? s : NULL;
    } else if (*p == '%') {
        found = match_special(self, s, p, &known);
        if (known) {
            return found;
        }
    }
    return match_item(self, s, p);
}

/* The end of the text from s on that fits the pattern from p on; NULL: none. */
static const char *match_rest(search *self, const char *s, const char *p)
{
    const char *found;

    /* Plain items need no frame each: a long pattern is no deep one. */
    while (p < self->pattern_end && strchr("()%$[", *p) == NULL &&
           (p + 1 >= self->pattern_end || strchr("*+-?", p[1]) == NULL)) {
        if (!fits_item(self, s, p, p + 1)) {
            return NULL;
        }
        s++;
        p++;
    }
    if (++self->depth > MOST_DEPTH) {
        luaL_error(self->L, "pattern too complex");
    }
    found = match_any(self, s, p);
    self->depth--;
    return found;
}

static void push_capture(search *self, int i)
{
    if (self->capture[i].length == IS_POSITION) {
        lua_pushinteger(self->L,
                        (lua_Integer)(self->capture[i].at - self->text + 1));
    } else if (self->capture[i].length == IS_OPEN) {
        luaL_error(self->L, "unfinished capture");
    } else {
        lua_pushlstring(self->L, self->capture[i].at,
                        (size_t)self->capture[i].length);
    }
}

/* core.find_pattern(text, pattern, from): the first and the last place of what
 * fits, then the captures; or nil. `from` is 1 to #text + 1. */
static int find_pattern(lua_State *L)
{
    size_t length, pattern_length;
    const char *text = luaL_checklstring(L, 1, &length);
    const char *pattern = luaL_checklstring(L, 2, &pattern_length);
    lua_Integer from = luaL_checkinteger(L, 3);
    search self = {.L = L,
                   .text = text,
                   .end = text + length,
                   .pattern_end = pattern + pattern_length};
    bool is_anchored = pattern_length > 0 && *pattern == '^';
    const char *s;

    if (from < 1 || (size_t)from > length + 1) {
        lua_pushnil(L);
        return 1;
    }
    for (s = text + from - 1; s <= self.end; s++) {
        const char *found;

        self.captures = self.depth = 0;
        count_step(&self);
        found = match_rest(&self, s, pattern + is_anchored);
        if (found != NULL) {
            luaL_checkstack(L, MOST_CAPTURES + 2, "captures");
            lua_pushinteger(L, (lua_Integer)(s - text + 1));
            lua_pushinteger(L, (lua_Integer)(found - text));
            for (int i = 0; i < self.captures; i++) {
                push_capture(&self, i);
            }
            return 2 + self.captures;
        } else if (is_anchored) {
            break;
        }
    }
    lua_pushnil(L);
    return 1;
}

/* core.find_text(text, part, from): as string.find with `plain`; its time grows
 * with the length of the text only. */
static int find_text(lua_State *L)
{
    size_t length, part_length;
    const char *text = luaL_checklstring(L, 1, &length);
    const char *part = luaL_checklstring(L, 2, &part_length);
    lua_Integer from = luaL_checkinteger(L, 3);
    const char *found = NULL;

    budget_look(L);
    if (from >= 1 && (size_t)from <= length + 1) {
        found = memmem(text + from - 1, length + 1 - (size_t)from, part,
                       part_length);
    }
    if (found == NULL) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushinteger(L, (lua_Integer)(found - text + 1));
    lua_pushinteger(L, (lua_Integer)(found - text) + (lua_Integer)part_length);
    return 2;
}

void bind_pattern(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"find_pattern", find_pattern}, {"find_text", find_text}, {NULL, NULL}};

    luaL_setfuncs(L, functions, 0);
}
