-- The soak of shards: starts members on a real API server, changes objects, and does to the members
-- (and to the clusters of a fleet) what machines and people do. Between that all is left in peace:
-- then every object must be as it should be.
--   kubelua run trouble.lua FOLDER SECONDS OBJECTS MEMBERS BY
local folder, seconds, objects, most, by = arg[1], tonumber(arg[2]), tonumber(arg[3]),
    tonumber(arg[4]), arg[5]
local here = arg[0]:match("^(.*)/")
local program = here .. "/../../../bin/kubelua"
local script = here .. "/../../cluster/cluster.sh"

local ROUND = 20 -- seconds of trouble, then comes a rest
local QUIET = 30 -- seconds in which all must be done after the last trouble

local client = assert(kubelua.connect())
local members, made, changes, is_resting = {}, 0, 0, false
local troubles, clusters = 0, nil -- clusters: of a fleet
local wanted = {} -- by name of an object: what its data should be; nil: it was deleted

local function shell(command)
    local result = assert(kubelua.exec({ "sh", "-c", command }, { timeout = 120 }))
    return result.stdout or ""
end

local function start_member(identity)
    made = made + 1
    identity = identity or "m" .. made
    local command = "%s run --log-level warn %s/member.lua %s %s %s >%s/member-%d.log 2>&1 & "
        .. "echo $!"
    local pid = shell(command:format(program, here, identity, by, folder .. "/clusters", folder,
        made)):match("%d+")
    members[#members + 1] = { identity = identity, pid = pid }
end

local function signal(member, name)
    shell("kill -" .. name .. " " .. member.pid .. " 2>/dev/null; true")
end

local function suspend(member, duration)
    signal(member, "STOP")
    kubelua.sleep(duration)
    signal(member, "CONT")
end

local function remove(member)
    for i, each in ipairs(members) do
        if each == member then
            table.remove(members, i)
        end
    end
end

local function namespace_of(name)
    return "soak-" .. tonumber(name:match("%d+")) % (clusters and #clusters.names or 40)
end

-- True if no member has to work on a namespace.
local function is_away(namespace)
    return clusters ~= nil and clusters.away[namespace] ~= nil
end

-- Writes until the server has taken it: it may be away.
local function insist(write)
    while true do
        local ok, _, code = write()
        if ok or code == "not_found" then
            return
        end
        kubelua.sleep(0.5)
    end
end

local function change(name)
    changes = changes + 1
    local n = tostring(changes)
    local object
    insist(function()
        local message, code
        object, message, code = client:apply { apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = name, namespace = namespace_of(name),
                labels = { soak = "shards" } }, data = { n = n } }
        return object, message, code
    end)
    -- What is being deleted stays so, whatever is changed in it.
    wanted[name] = object and object:get("metadata.deletionTimestamp") == nil and n or nil
end

local function delete(name)
    insist(function()
        return client:delete("configmaps", namespace_of(name) .. "/" .. name)
    end)
    wanted[name] = nil
end

local function server(command)
    shell(("%s %s >>%s/cluster.log 2>&1"):format(script, command, folder))
end

local TROUBLE = {
    function(member) -- a process dies, and another one comes
        signal(member, "KILL")
        remove(member)
        start_member()
    end,
    function(member) -- the same, with its identity, as in a StatefulSet
        signal(member, "KILL")
        remove(member)
        start_member(member.identity)
    end,
    function(member) -- a process is suspended for a moment
        suspend(member, math.random() * 7)
    end,
    function(member) -- the same, until others have what it had
        suspend(member, 7 + math.random() * 6)
    end,
    function(member) -- a process leaves in order
        signal(member, "TERM")
        remove(member)
        kubelua.sleep(math.random() * 3)
        start_member()
    end,
    function() -- one more
        if #members < most + 2 then
            start_member()
        end
    end,
    function(member) -- one less
        if #members > 2 then
            signal(member, "KILL")
            remove(member)
        end
    end,
    function() -- all connections end
        server("restart-apiserver " .. folder .. "/c " .. (os.getenv("FLAGS") or ""))
    end,
    function() -- the server is gone without a word, and its watch cache begins anew
        server("kill-apiserver " .. folder .. "/c")
        server("start-apiserver " .. folder .. "/c " .. (os.getenv("FLAGS") or ""))
    end,
    function()
        server("compact " .. folder .. "/c")
    end,
    function() -- a user deletes Leases
        local leases = client:list("leases", { namespace = "default" }) or {}
        if #leases > 0 then
            client:delete(leases[math.random(#leases)])
        end
    end,
}

local function count_wrong()
    local wrong, found, example = 0, {}, nil
    for _, object in ipairs(assert(client:list("configmaps", { namespace = "*",
        labels = "soak=shards" }))) do
        found[object.name] = true
        local seen = object.metadata.annotations and object.metadata.annotations.seen
        if seen ~= wanted[object.name] and not is_away(object.namespace) then
            wrong, example = wrong + 1, object.key
        end
    end
    for name in pairs(wanted) do
        if not found[name] and not is_away(namespace_of(name)) then
            wrong, example = wrong + 1, name
        end
    end
    for _, secret in ipairs(assert(client:list("secrets", { namespace = "*",
        labels = "soak=shards" }))) do
        if not wanted[secret.name] and not is_away(secret.namespace) then
            wrong, example = wrong + 1, "child " .. secret.key
        end
    end
    return wrong, example
end

local function await_peace(limit)
    local began = kubelua.now()
    repeat
        kubelua.sleep(0.5)
        local wrong, example = count_wrong()
        if wrong == 0 then
            return kubelua.now() - began
        end
        if kubelua.now() - began > limit then
            print(("BREACH  %d objects are not as they should be after %d s, such as %s"):format(
                wrong, limit, example))
            return nil
        end
    until false
end

-- Changes an object in each cluster that is away: no member may see that. Then all clusters come
-- back, and all must be done again. Returns the seconds that this took; nil: a breach.
local function end_absences()
    local before, ok = {}, true
    for i = 1, #clusters.names do
        if is_away(namespace_of("o" .. i)) then
            change("o" .. i)
            before["o" .. i] = wanted["o" .. i]
        end
    end
    kubelua.sleep(3)
    for name, n in pairs(before) do
        local object = client:get("configmaps", namespace_of(name), name)
        if object and object:get("metadata.annotations.seen") == n then
            print(("BREACH  %s was worked on, its cluster has left"):format(object.key))
            ok = false
        end
    end
    clusters:give_all()
    return ok and await_peace(QUIET) or nil
end

-- Leaves all in peace until everything is done. Returns the seconds that this took; nil: a breach.
local function rest()
    is_resting = true
    kubelua.sleep(1)
    local peace = await_peace(QUIET)
    local again = peace and clusters and end_absences() or peace
    is_resting = false
    return peace and again and math.max(peace, again)
end

local function change_objects(ends_at)
    while kubelua.now() < ends_at do
        local name = "o" .. math.random(objects)
        if is_resting then
            kubelua.sleep(0.1)
        elseif math.random() < 0.05 then
            delete(name)
        else
            change(name)
        end
        kubelua.sleep(0.02)
    end
end

local function make_troubles(list, ends_at)
    while kubelua.now() < ends_at do
        kubelua.sleep(math.random() * 8)
        list[math.random(#list)](members[math.random(#members)])
        troubles = troubles + 1
    end
    return true
end

-- Troubles of members and, of a fleet, those of clusters at the same time.
local function make_round(ends_at)
    local other = clusters and kubelua.spawn(make_troubles, clusters:troubles(), ends_at)
    make_troubles(TROUBLE, ends_at)
    assert(not other or other:wait())
end

local function prepare()
    if by == "fleet" then
        clusters = dofile(here .. "/clusters.lua")(folder, script, shell, client)
    end
    for i = 0, clusters and -1 or 39 do
        client:create { apiVersion = "v1", kind = "Namespace", metadata = { name = "soak-" .. i } }
    end
    for _ = 1, most do
        start_member()
    end
    for i = 1, objects do
        change("o" .. i)
    end
    local first = await_peace(300)
    print(("%d objects, all reconciled %.1f s after the last was made"):format(objects,
        first or -1))
    return first
end

local function run_soak()
    local ok = prepare()
    local ends_at, rests = kubelua.now() + seconds, {}
    kubelua.spawn(change_objects, ends_at)
    while ok and kubelua.now() < ends_at do
        make_round(math.min(ends_at, kubelua.now() + ROUND))
        ok = rest()
        rests[#rests + 1] = ok
    end
    table.sort(rests)
    print(("%d changes, %d troubles, %d processes, %d new credentials; %d rests, %.1f s to peace "
        .. "in half of them, %.1f s at most"):format(changes, troubles, made,
        clusters and clusters.renewed or 0, #rests, rests[math.ceil(#rests / 2)] or -1,
        rests[#rests] or -1))
    return ok
end

kubelua.spawn(function()
    local ran, ok = pcall(run_soak)
    if not ran then
        print("BREACH  " .. tostring(ok))
    end
    for _, member in ipairs(members) do
        signal(member, "KILL")
    end
    os.exit(ran and ok and 0 or 1)
end)
