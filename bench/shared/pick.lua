-- pick.lua - measures a pick through LuaJIT's FFI, of any of the 10,000 Services in the map that
-- shared.c has left in a file. Usage: luajit bench/shared/pick.lua LIBKUBELUA.SO MAP
local ffi = require "ffi"

ffi.cdef [[
typedef struct kl_shared kl_shared;
typedef struct { const char *name; const char *path; size_t size; } kl_shared_options;
typedef struct { uint32_t bucket, name_length, at, turn; uint64_t generation, hash, name[68]; }
    kl_shared_key;
typedef struct { uint64_t identity; uint32_t version; uint16_t port, flags, weight, scope, ready,
    total; uint32_t host_length, spare; char host[256], zone[256], node[256],
    pod[256]; } kl_pick;
kl_shared *kl_shared_open(const kl_shared_options *options, void *err);
bool kl_shared_key_init(const kl_shared *map, const char *table, const char *text, size_t length,
    kl_shared_key *key);
int kl_shared_pick(const kl_shared *map, kl_shared_key *key, const void *options, kl_pick *pick);
const uint32_t *kl_shared_versions(const kl_shared *map);
]]

local SERVICES, READS, ROUNDS = 10000, 20000, 41
local library = ffi.load(assert(arg[1], "which libkubelua.so?"))
local options = ffi.new("kl_shared_options", { path = assert(arg[2], "which map?") })
local map = library.kl_shared_open(options, nil)
assert(map ~= nil, "no map there")
local versions = library.kl_shared_versions(map)
local keys, pick = ffi.new("kl_shared_key[?]", SERVICES), ffi.new("kl_pick")
local order, cached = {}, {}

for i = 0, SERVICES - 1 do
    local name = string.format("namespace-%d/service-%d:http", i % 100, i)
    assert(library.kl_shared_key_init(map, "services", name, #name, keys + i))
    table.insert(order, math.random(#order + 1), i)
    cached[i] = { bucket = keys[i].bucket, version = versions[keys[i].bucket] }
end

local function least(name, read)
    local best = math.huge
    for _ = 1, ROUNDS do
        local begun = os.clock()
        for i = 1, READS do
            read(order[i % SERVICES + 1])
        end
        best = math.min(best, (os.clock() - begun) / READS * 1e9)
    end
    print(string.format("%-44s %9.2f ns", name, best))
end

local sum = 0
least("FFI: pick, any of 10,000, port", function(i)
    assert(library.kl_shared_pick(map, keys + i, nil, pick) == 0)
    sum = sum + pick.port
end)
least("FFI: pick, any of 10,000, host and port", function(i)
    assert(library.kl_shared_pick(map, keys + i, nil, pick) == 0)
    sum = sum + pick.port + #ffi.string(pick.host, pick.host_length)
end)
least("FFI: table whose version is checked", function(i)
    local entry = cached[i]
    assert(versions[entry.bucket] == entry.version)
    sum = sum + entry.bucket
end)
assert(sum > 0)
