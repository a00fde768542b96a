/*
 * metric.c - counters, gauges and histograms of scripts and of controllers, and
 * the texts of the report: kubelua/metric.h and kubelua/report.h have the
 * promises. Each lua_State has one set of metrics and one report.
 */
#include "binding.h"

#include <math.h>
#include <string.h>

/* The set and the report of a lua_State, in its registry. */
typedef struct report_box {
    kl_metrics *metrics; /* NULL while they are made */
    kl_report *report;
} report_box;

typedef struct metric_box {
    kl_metrics *metrics; /* a reference: it keeps the metric */
    kl_metric *metric;
    kl_series *only; /* of a metric without labels, once it was used */
    bool was_full;   /* the log knows that there are too many series */
} metric_box;

/* One series, with its label values given. */
typedef struct series_box {
    kl_metric_type type;
    kl_series *series;
} series_box;

#define TYPE_REPORT "kubelua.report"
#define TYPE_METRIC "kubelua.metric"
#define TYPE_SERIES "kubelua.series"

static const char *const TYPE_NAMES[] = {"counter", "gauge", "histogram", NULL};

/* ---- the report ---- */

static int report_gc(lua_State *L)
{
    report_box *box = lua_touserdata(L, 1);

    kl_report_unref(box->report);
    kl_metrics_unref(box->metrics);
    *box = (report_box){0};
    return 0;
}

static report_box *push_report_box(lua_State *L)
{
    static const char address;
    report_box *box = push_kept(L, &address, sizeof(*box));

    luaL_getmetatable(L, TYPE_REPORT);
    lua_setmetatable(L, -2);
    return box;
}

kl_report *push_report(lua_State *L, kl_error *err)
{
    report_box *box = push_report_box(L);
    kl_report_options options = {0};

    if (box->report != NULL && kl_report_check(box->report, NULL) != KL_OK) {
        kl_report_unref(box->report); /* of the parent; the metrics go on */
        box->report = NULL;
    }
    if (box->metrics == NULL) {
        box->metrics = kl_metrics_new(err);
    }
    if (box->metrics != NULL && box->report == NULL) {
        options.metrics = box->metrics;
        box->report = kl_report_new(&options, err);
    }
    return box->report;
}

typedef char *verdict(kl_report *report, bool *is_well, kl_error *err);

/* Pushes the text and if all is well. */
static int push_verdict(lua_State *L, verdict *make)
{
    char **text = push_text_guard(L);
    kl_error err;
    kl_report *report = push_report(L, &err);
    bool is_well = false;

    *text = report != NULL ? make(report, &is_well, &err) : NULL;
    if (*text == NULL) {
        return push_error(L, &err);
    }
    lua_pushstring(L, *text);
    lua_pushboolean(L, is_well);
    return 2;
}

/* core.health(), core.readiness(): the text; true if all is well. */
static int push_health(lua_State *L)
{
    return push_verdict(L, kl_report_health);
}

static int push_readiness(lua_State *L)
{
    return push_verdict(L, kl_report_readiness);
}

typedef char *long_text(kl_report *report, size_t *length, kl_error *err);

static int push_long_text(lua_State *L, long_text *make)
{
    char **text = push_text_guard(L);
    size_t length = 0;
    kl_error err;
    kl_report *report = push_report(L, &err);

    *text = report != NULL ? make(report, &length, &err) : NULL;
    if (*text == NULL) {
        return push_error(L, &err);
    }
    lua_pushlstring(L, *text, length);
    return 1;
}

/* core.metrics_text(), core.status_text() */
static int push_metrics_text(lua_State *L)
{
    return push_long_text(L, kl_report_metrics_text);
}

static int push_status_text(lua_State *L)
{
    return push_long_text(L, kl_report_status);
}

/* core.report_pointer(): its kl_report, for kubelua.serve; borrowed while the
 * lua_State lives. */
static int push_report_pointer(lua_State *L)
{
    kl_error err;
    kl_report *report = push_report(L, &err);

    if (report == NULL) {
        return push_error(L, &err);
    }
    lua_pushlightuserdata(L, report);
    return 1;
}

/* core.drop_report(): a new set of metrics, and a new report, from now on; for
 * specs that look what is alive. */
static int drop_report(lua_State *L)
{
    report_box *box = push_report_box(L);

    kl_report_unref(box->report);
    kl_metrics_unref(box->metrics);
    *box = (report_box){0};
    return 0;
}

/* core.set_started(yes): see kl_report_set_started. */
static int set_started(lua_State *L)
{
    kl_error err;
    kl_report *report = push_report(L, &err);

    if (report == NULL) {
        return push_error(L, &err);
    }
    kl_report_set_started(report, lua_toboolean(L, 1));
    lua_pushboolean(L, true);
    return 1;
}

/* ---- metrics ---- */

static metric_box *check_metric(lua_State *L)
{
    metric_box *box = luaL_checkudata(L, 1, TYPE_METRIC);

    if (box->metric == NULL) {
        misuse(L, "the metric was not made");
    }
    return box;
}

static int metric_gc(lua_State *L)
{
    metric_box *box = lua_touserdata(L, 1);

    kl_series_unref(box->only);
    kl_metrics_unref(box->metrics);
    *box = (metric_box){0};
    return 0;
}

static int series_gc(lua_State *L)
{
    series_box *box = lua_touserdata(L, 1);

    kl_series_unref(box->series);
    box->series = NULL;
    return 0;
}

/* Fills the buckets from the array at `index`; returns how many there are. */
static size_t check_bounds(lua_State *L, int index, double *bounds)
{
    size_t count = lua_isnoneornil(L, index) ? 0 : lua_rawlen(L, index);

    if (count > KL_METRIC_BUCKETS_MAX) {
        misuse(L, "a histogram has at most %d buckets", KL_METRIC_BUCKETS_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, index, (int)i + 1);
        if (lua_type(L, -1) != LUA_TNUMBER) {
            misuse(L, "buckets are a list of numbers, such as { 0.1, 1, 10 }");
        }
        bounds[i] = lua_tonumber(L, -1);
        lua_pop(L, 1);
    }
    return count;
}

/*
 * core.metric(type, name, help, labels, buckets, limit): a metric; or nil,
 * message, code. The lists may be nil, and so may the limit. lua/kubelua/
 * metric.lua has checked the types.
 */
static int metric_new(lua_State *L)
{
    double bounds[KL_METRIC_BUCKETS_MAX];
    const char *labels[KL_METRIC_LABELS_MAX + 1];
    size_t label_count = lua_isnoneornil(L, 4) ? 0 : lua_rawlen(L, 4);
    kl_metric_options options = {0};
    metric_box *box;
    kl_error err;

    lua_settop(L, 6);
    options.type = (kl_metric_type)luaL_checkoption(L, 1, NULL, TYPE_NAMES);
    options.name = check_text(L, 2);
    options.help = check_text(L, 3);
    luaL_checkstack(L, KL_METRIC_LABELS_MAX + 10, "for a metric");
    for (size_t i = 0; i < label_count && i <= KL_METRIC_LABELS_MAX; i++) {
        lua_rawgeti(L, 4, (int)i + 1);
        labels[i] = check_text(L, -1); /* stays on the stack */
    }
    options.labels = labels;
    options.label_count = label_count;
    options.bucket_count = check_bounds(L, 5, bounds);
    options.buckets = bounds;
    options.limit = (size_t)luaL_optinteger(L, 6, 0);
    box = lua_newuserdata(L, sizeof(*box));
    *box = (metric_box){0};
    luaL_getmetatable(L, TYPE_METRIC);
    lua_setmetatable(L, -2);
    if (push_report(L, &err) == NULL) {
        return push_error(L, &err);
    }
    lua_pop(L, 1);
    box->metrics = kl_metrics_ref(push_report_box(L)->metrics);
    lua_pop(L, 1);
    box->metric = kl_metrics_add(box->metrics, &options, &err);
    return box->metric != NULL ? 1 : push_error(L, &err);
}

/* The label values from `first` on. */
static size_t check_values(lua_State *L, int first, const kl_metric *metric,
                           const char **values)
{
    size_t count = kl_metric_label_count(metric);

    if (lua_gettop(L) - first + 1 != (int)count) {
        misuse(L, "%s has %d labels, and %d values are given",
               kl_metric_name(metric), (int)count, lua_gettop(L) - first + 1);
    }
    for (size_t i = 0; i < count; i++) {
        int index = first + (int)i;

        if (lua_type(L, index) == LUA_TBOOLEAN) {
            lua_pushstring(L, lua_toboolean(L, index) ? "true" : "false");
            lua_replace(L, index);
        } else if (!lua_isstring(L, index)) {
            misuse(L, "%s: the value of a label must be a string, not a %s",
                   kl_metric_name(metric), luaL_typename(L, index));
        }
        values[i] = lua_tostring(L, index);
    }
    return count;
}

static void tell_full(metric_box *box, const kl_error *err)
{
    if (err->code == KL_ETOO_LARGE && !box->was_full) {
        box->was_full = true;
        kl_log(KL_LOG_WARN, "%s", err->message);
    }
}

/* The series with the label values from `first` on, with a reference; NULL and
 * an error. No lua_* call may follow before the reference is dropped. */
static kl_series *find_series(lua_State *L, metric_box *box, int first,
                              kl_error *err)
{
    const char *values[KL_METRIC_LABELS_MAX];
    size_t count = check_values(L, first, box->metric, values);
    kl_series *series = kl_metric_series(box->metric, values, count, err);

    if (series == NULL) {
        tell_full(box, err);
    }
    return series;
}

/* What may be done to a metric of a type. */
typedef enum action {
    ACTION_INC,
    ACTION_DEC,
    ACTION_SET,
    ACTION_OBSERVE
} action;

static void refuse_action(lua_State *L, kl_metric_type type, action what)
{
    static const char *const names[] = {"inc", "dec", "set", "observe"};
    static const char *const theirs[] = {"inc", "inc, dec and set", "observe"};

    misuse(L, "a %s has %s, not %s", TYPE_NAMES[type], theirs[type],
           names[what]);
}

/* Checks the number at 2, and that the action is one of the type. */
static double check_amount(lua_State *L, kl_metric_type type, action what)
{
    double amount = 1;
    bool fits = what == ACTION_INC       ? type != KL_METRIC_HISTOGRAM
                : what == ACTION_OBSERVE ? type == KL_METRIC_HISTOGRAM
                                         : type == KL_METRIC_GAUGE;

    if (!fits) {
        refuse_action(L, type, what);
    }
    if (what <= ACTION_DEC && lua_isnoneornil(L, 2)) {
        return what == ACTION_DEC ? -1 : 1;
    }
    if (lua_type(L, 2) != LUA_TNUMBER) {
        misuse(L,
               "a number expected, and then the values of the labels, not a "
               "%s",
               luaL_typename(L, 2));
    }
    amount = lua_tonumber(L, 2);
    if (type == KL_METRIC_COUNTER && !(amount >= 0 && amount < INFINITY)) {
        misuse(L, "a counter only rises: inc takes a number of 0 or more; what "
                  "goes down is a gauge");
    }
    return what == ACTION_DEC ? -amount : amount;
}

static void apply_amount(kl_series *series, action what, double amount)
{
    switch (what) {
    case ACTION_SET:
        kl_series_set(series, amount);
        break;
    case ACTION_OBSERVE:
        kl_series_observe(series, amount);
        break;
    default:
        kl_series_add(series, amount);
        break;
    }
}

/* metric:inc(by, value...) and the like: true; or nil, message, code if there
 * are too many series. */
static int act_on_metric(lua_State *L, action what)
{
    metric_box *box = check_metric(L);
    double amount = check_amount(L, kl_metric_type_of(box->metric), what);
    kl_series *series = box->only;
    kl_error err;

    if (lua_gettop(L) < 2) {
        lua_settop(L, 2);
    }
    if (series == NULL || lua_gettop(L) > 2) {
        series = find_series(L, box, 3, &err);
        if (series == NULL) {
            return push_error(L, &err);
        }
        if (kl_metric_label_count(box->metric) == 0) {
            box->only = series;
        }
    }
    apply_amount(series, what, amount);
    if (series != box->only) {
        kl_series_unref(series);
    }
    lua_pushboolean(L, true);
    return 1;
}

static int metric_inc(lua_State *L)
{
    return act_on_metric(L, ACTION_INC);
}

static int metric_dec(lua_State *L)
{
    return act_on_metric(L, ACTION_DEC);
}

static int metric_set(lua_State *L)
{
    return act_on_metric(L, ACTION_SET);
}

static int metric_observe(lua_State *L)
{
    return act_on_metric(L, ACTION_OBSERVE);
}

/* metric:with(value...): the series, to be kept; or nil, message, code. */
static int metric_with(lua_State *L)
{
    metric_box *box = check_metric(L);
    series_box *made = lua_newuserdata(L, sizeof(*made));
    kl_error err;

    *made = (series_box){.type = kl_metric_type_of(box->metric)};
    luaL_getmetatable(L, TYPE_SERIES);
    lua_setmetatable(L, -2);
    lua_insert(L, 2); /* metric, series, value... */
    made->series = find_series(L, box, 3, &err);
    if (made->series == NULL) {
        return push_error(L, &err);
    }
    lua_pushvalue(L, 2);
    return 1;
}

/* metric:remove(value...): takes a series out of the text; true if there was
 * one. */
static int metric_remove(lua_State *L)
{
    metric_box *box = check_metric(L);
    const char *values[KL_METRIC_LABELS_MAX];
    size_t count = check_values(L, 2, box->metric, values);
    kl_series *only = box->only;

    box->only = NULL;
    kl_series_unref(only);
    lua_pushboolean(L, kl_metric_remove(box->metric, values, count));
    return 1;
}

static int push_value(lua_State *L, const kl_series *series)
{
    uint64_t count;
    double value = kl_series_value(series, &count);

    lua_pushnumber(L, value);
    lua_pushinteger(L, (lua_Integer)count);
    return 2;
}

/* metric:value(value...): of a counter or gauge, its value; of a histogram, the
 * sum, and how many values it has counted. */
static int metric_value(lua_State *L)
{
    metric_box *box = check_metric(L);
    kl_error err;
    kl_series *series = find_series(L, box, 2, &err);
    uint64_t count = 0;
    double value;

    if (series == NULL) {
        return push_error(L, &err);
    }
    value = kl_series_value(series, &count);
    kl_series_unref(series);
    lua_pushnumber(L, value);
    lua_pushinteger(L, (lua_Integer)count);
    return 2;
}

static int act_on_series(lua_State *L, action what)
{
    const series_box *box = luaL_checkudata(L, 1, TYPE_SERIES);
    double amount = check_amount(L, box->type, what);

    if (lua_gettop(L) > 2) {
        misuse(L, "the values of the labels were given to with() already");
    }
    apply_amount(box->series, what, amount);
    lua_pushboolean(L, true);
    return 1;
}

static int series_inc(lua_State *L)
{
    return act_on_series(L, ACTION_INC);
}

static int series_dec(lua_State *L)
{
    return act_on_series(L, ACTION_DEC);
}

static int series_set(lua_State *L)
{
    return act_on_series(L, ACTION_SET);
}

static int series_observe(lua_State *L)
{
    return act_on_series(L, ACTION_OBSERVE);
}

static int series_value(lua_State *L)
{
    const series_box *box = luaL_checkudata(L, 1, TYPE_SERIES);

    return push_value(L, box->series);
}

void bind_metric(lua_State *L)
{
    static const luaL_Reg of_report[] = {{"__gc", report_gc}, {NULL, NULL}};
    static const luaL_Reg of_metric[] = {{"__gc", metric_gc},
                                         {"inc", metric_inc},
                                         {"dec", metric_dec},
                                         {"set", metric_set},
                                         {"observe", metric_observe},
                                         {"with", metric_with},
                                         {"remove", metric_remove},
                                         {"value", metric_value},
                                         {NULL, NULL}};
    static const luaL_Reg of_series[] = {{"__gc", series_gc},
                                         {"inc", series_inc},
                                         {"dec", series_dec},
                                         {"set", series_set},
                                         {"observe", series_observe},
                                         {"value", series_value},
                                         {NULL, NULL}};
    static const luaL_Reg functions[] = {
        {"metric", metric_new},
        {"metrics_text", push_metrics_text},
        {"status_text", push_status_text},
        {"health", push_health},
        {"readiness", push_readiness},
        {"report_pointer", push_report_pointer},
        {"set_started", set_started},
        {"drop_report", drop_report},
        {NULL, NULL}};

    push_type(L, TYPE_REPORT, of_report);
    push_type(L, TYPE_METRIC, of_metric);
    push_type(L, TYPE_SERIES, of_series);
    luaL_setfuncs(L, functions, 0);
}
