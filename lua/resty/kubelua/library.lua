-- libkubelua.so for LuaJIT's FFI. It is the library that the C module kubelua.core is linked with,
-- so the process has one map, one lock and one set of counters.
local ffi = require "ffi"

-- The parts of shared*.h and error.h in core/include/kubelua that are used here.
local DECLARATIONS = [[
typedef struct kl_shared kl_shared;

typedef struct kl_error {
    int code;
    int http_status;
    long retry_after_ms;
    char message[1024];
} kl_error;

typedef struct kl_shared_options {
    const char *name;
    const char *path;
    size_t size;
} kl_shared_options;

typedef struct kl_shared_key {
    uint32_t bucket;
    uint32_t name_length;
    uint32_t at;
    uint32_t turn;
    uint64_t generation;
    uint64_t hash;
    uint64_t name[68];
} kl_shared_key;

typedef struct kl_shared_value {
    uint32_t version;
    uint32_t length;
} kl_shared_value;

typedef struct kl_pick_options {
    uint64_t hash;
    uint64_t zone;
    uint64_t node;
    uint32_t excluded;
    uint32_t with_places;
    const uint64_t *exclude;
} kl_pick_options;

typedef struct kl_pick {
    uint64_t identity;
    uint32_t version;
    uint16_t port;
    uint16_t flags;
    uint16_t weight;
    uint16_t scope;
    uint16_t ready;
    uint16_t total;
    uint32_t host_length;
    uint32_t spare;
    char host[256];
    char zone[256];
    char node[256];
    char pod[256];
} kl_pick;

typedef struct kl_shared_status {
    uint64_t size;
    uint64_t room;
    uint64_t used;
    uint64_t entries;
    uint64_t generation;
    uint64_t epoch;
    uint64_t takeovers;
    uint64_t full;
    int64_t age_ms;
    uint32_t owner_pid;
    uint32_t synced;
    uint64_t left_out;
    uint64_t kept;
    int64_t owned_ms;
    int64_t published_ms;
} kl_shared_status;

typedef struct kl_shared_cursor {
    const char *table;
    uint64_t place;
} kl_shared_cursor;

typedef struct kl_shared_entry {
    uint32_t bytes;
    uint16_t table_length;
    uint16_t key_length;
    char name[544];
} kl_shared_entry;

int getpid(void);
int usleep(unsigned int microseconds);
const char *kl_code_name(int code);
kl_shared *kl_shared_open(const kl_shared_options *options, kl_error *err);
void kl_shared_close(kl_shared *map);
const char *kl_shared_result_name(int result);
bool kl_shared_key_init(const kl_shared *map, const char *table, const char *text, size_t length,
                        kl_shared_key *key);
uint32_t kl_shared_version(const kl_shared *map, const kl_shared_key *key);
const uint32_t *kl_shared_versions(const kl_shared *map);
int kl_shared_get(const kl_shared *map, kl_shared_key *key, void *buffer, size_t size,
                  kl_shared_value *value);
int kl_shared_pick(const kl_shared *map, kl_shared_key *key, const kl_pick_options *options,
                   kl_pick *pick);
int kl_shared_endpoints(const kl_shared *map, kl_shared_key *key, kl_pick *picks,
                        uint32_t capacity, uint32_t *count);
int kl_shared_walk(const kl_shared *map, kl_shared_cursor *cursor, kl_shared_entry *entries,
                   uint32_t capacity, uint32_t *count);
uint64_t kl_shared_hash(const void *bytes, size_t length);
bool kl_shared_synced(const kl_shared *map);
int64_t kl_shared_age_ms(const kl_shared *map);
void kl_shared_get_status(const kl_shared *map, kl_shared_status *status);
int kl_shared_put(kl_shared *map, const kl_shared_key *key, const void *value, size_t size,
                  kl_error *err);
int kl_shared_remove(kl_shared *map, const kl_shared_key *key, kl_error *err);
int kl_shared_complete(kl_shared *map, const char *table, kl_error *err);
void kl_shared_publish_soon(kl_shared *map);

typedef struct kl_shared_batch kl_shared_batch;

kl_shared_batch *kl_shared_batch_new(kl_shared *map, kl_error *err);
void kl_shared_batch_free(kl_shared_batch *batch);
int kl_shared_batch_put(kl_shared_batch *batch, const kl_shared_key *key, const void *value,
                        size_t size, kl_error *err);
int kl_shared_batch_remove(kl_shared_batch *batch, const kl_shared_key *key, kl_error *err);
int kl_shared_batch_commit(kl_shared_batch *batch, kl_error *err);

typedef struct kl_client kl_client;

typedef struct kl_serve_options {
    const char *const *namespaces;
    size_t namespace_count;
    bool no_services;
    int keep_ms;
    int publish_ms;
    const char *labels;
    bool external_names;
} kl_serve_options;

int kl_shared_serve(kl_shared *map, kl_client *client, const kl_serve_options *options,
                    kl_error *err);
void kl_shared_leave(kl_shared *map);
void kl_shared_tell_age(kl_shared *map, int64_t age_ms);
int kl_shared_role(const kl_shared *map);
bool kl_shared_has_owner(const kl_shared *map);

typedef struct kl_loads kl_loads;

typedef struct kl_loads_options {
    const char *name;
    uint32_t endpoints;
    uint32_t processes;
} kl_loads_options;

typedef struct kl_load_row {
    uint32_t row;
    uint32_t is_known;
} kl_load_row;

typedef struct kl_loads_status {
    uint32_t endpoints;
    uint32_t used;
    uint32_t processes;
    uint32_t joined;
    uint64_t swept;
    uint64_t full;
} kl_loads_status;

typedef struct kl_load_state {
    uint32_t in_flight;
    uint32_t fails;
    int64_t failed_ms;
    int64_t age_ms;
    double latency;
} kl_load_state;

typedef struct kl_hash_endpoints {
    const uint64_t *identities;
    const uint16_t *weights;
    uint32_t count;
} kl_hash_endpoints;

kl_loads *kl_loads_open(const kl_loads_options *options, kl_error *err);
uint32_t kl_loads_join(kl_loads *loads);
uint32_t kl_loads_sweep(kl_loads *loads);
int64_t kl_loads_now(void);
void kl_loads_find(kl_loads *loads, uint64_t identity, uint64_t pod, int64_t now_ms,
                   kl_load_row *to);
void kl_loads_begin(kl_loads *loads, uint32_t row, uint32_t column);
void kl_loads_end(kl_loads *loads, uint32_t row, uint32_t column);
uint32_t kl_loads_in_flight(const kl_loads *loads, uint32_t row);
uint64_t kl_loads_total(const kl_loads *loads, const uint32_t *rows, uint32_t count);
void kl_loads_fail(kl_loads *loads, uint32_t row, int64_t now_ms);
void kl_loads_succeed(kl_loads *loads, uint32_t row);
void kl_loads_try(kl_loads *loads, uint32_t row, int64_t out_ms, int64_t now_ms);
bool kl_loads_is_out(const kl_loads *loads, uint32_t row, uint32_t max_fails, int64_t out_ms,
                     int64_t now_ms);
uint32_t kl_loads_fails(const kl_loads *loads, uint32_t row);
void kl_loads_observe(kl_loads *loads, uint32_t row, double seconds, int64_t now_ms);
double kl_loads_latency(const kl_loads *loads, uint32_t row, int64_t now_ms);
void kl_loads_seed(kl_loads *loads, uint32_t row, double seconds, int64_t now_ms);
void kl_loads_arrive(kl_loads *loads, uint32_t row, int64_t now_ms);
int64_t kl_loads_age(const kl_loads *loads, uint32_t row, int64_t now_ms);
bool kl_loads_look(const kl_loads *loads, uint64_t identity, uint64_t pod, int64_t now_ms,
                   kl_load_state *to);
void kl_loads_get_status(const kl_loads *loads, kl_loads_status *to);
uint32_t kl_hash_choose(const kl_hash_endpoints *endpoints, uint32_t part);
void kl_hash_change(uint16_t *winners, const uint16_t *moved, const kl_hash_endpoints *now,
                    const uint32_t *added, uint32_t added_count);

typedef struct kl_counts kl_counts;

typedef struct kl_counts_options {
    const char *name;
    uint32_t series;
    uint32_t stripes;
} kl_counts_options;

typedef struct kl_count_row {
    uint64_t key;
    uint32_t row;
    uint32_t spare;
} kl_count_row;

typedef struct kl_count_series {
    uint64_t key;
    uint64_t kinds[8];
    uint64_t buckets[14];
    uint64_t sum_ms;
    uint32_t length;
    char name[361];
} kl_count_series;

kl_counts *kl_counts_open(const kl_counts_options *options, kl_error *err);
void kl_counts_find(kl_counts *counts, const char *name, size_t length, int64_t now_ms,
                    kl_count_row *to);
bool kl_counts_add(kl_counts *counts, const kl_count_row *row, uint32_t stripe, uint32_t kind,
                   int64_t ms);
const uint32_t *kl_counts_bounds(void);
uint32_t kl_counts_rows(const kl_counts *counts);
bool kl_counts_read(const kl_counts *counts, uint32_t row, kl_count_series *to);
bool kl_counts_forget(kl_counts *counts, const kl_count_row *row, int64_t now_ms);
uint64_t kl_counts_full(const kl_counts *counts);
]]

-- KubeLua can be installed in two ways; the message names both.
local REMEDY = "\nresty.kubelua needs libkubelua.so and its module kubelua/core.so for LuaJIT. "
    .. "Install them by either\n"
    .. "  luarocks --lua-version=5.1 install kubelua-0.2.0-1.src.rock   (a rock), or\n"
    .. "  cmake --install build                  (or a package; docs/NGINX.md has both)\n"
    .. "and name the folder in nginx.conf: "
    .. "lua_package_cpath \"/usr/local/lib/lua/5.1/?.so;;\";"

-- kubelua.core has loaded the library already; the dynamic linker finds it by its name.
local function load_library()
    local loaded, core = pcall(require, "kubelua.core")
    if not loaded then
        error(tostring(core) .. REMEDY, 0)
    end
    -- A rock has the library in kubelua/core.so, which makes its names known to the process.
    if pcall(function() return ffi.C.kl_shared_tell_age end) then
        return ffi.C
    end
    -- Its SONAME has the minor version, too, until 1.0 (cmake/core.cmake).
    local name = "libkubelua.so." .. (core.version:match("^0%.%d+") or core.version:match("^%d+"))
    local found, library = pcall(ffi.load, name)
    if not found then
        error(name .. ": " .. tostring(library) .. REMEDY, 0)
    end
    return library
end

-- A second cdef of a struct raises; so a module that is required again declares nothing.
if not pcall(ffi.typeof, "kl_shared_status") then
    ffi.cdef(DECLARATIONS)
end

local library = load_library()
if not pcall(function() return library.kl_counts_open end) then
    error("resty.kubelua: this libkubelua.so is older than these Lua files: install both of one"
        .. " version" .. REMEDY, 0)
end
return library
