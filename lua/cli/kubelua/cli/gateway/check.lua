-- kubelua gateway check: says for each Ingress of files or of a cluster what works with KubeLua's
-- gateway as it did with ingress-nginx, and what will differ.
local annotations = require "resty.kubelua.gateway.annotations"
local complain = require "kubelua.cli.complaint"
local core = require "kubelua.core"
local ingress = require "resty.kubelua.gateway.ingress"
local Inventory = require "kubelua.cli.gateway.inventory"
local known = require "resty.kubelua.gateway.annotations.known"
local manifests = require "kubelua.cli.gateway.manifests"
local references = require "kubelua.cli.gateway.references"
local scripts = require "kubelua.cli.gateway.scripts"
local compiled = require "kubelua.cli.gateway.compiled"

local NOTHING, FAILED, SOMETHING = 0, 1, 2

local WORDS = { unsupported = "not supported: ", wrong = "wrong: ", differs = "differs: ",
    conflict = "conflict: ", missing = "missing: ", foreign = "ignored: ", refused = "refused: " }

-- Adds what the Secrets show.
local function check_secrets(inventory, result)
    for _, object in ipairs(inventory.secret_count > 0 and inventory.ingresses or {}) do
        local name = object.metadata.namespace .. "/" .. object.metadata.name
        if result.taken[name] then
            references.check(object, annotations.parse(object), inventory.secrets,
                function(message, annotation)
                    result.problems[#result.problems + 1] = { object = "Ingress " .. name,
                        kind = "missing", message = message, annotation = annotation }
                end)
        end
    end
end

-- The problems by object, in the order in which they came up.
local function group(problems)
    local by_object = {}
    for _, problem in ipairs(problems) do
        local list = by_object[problem.object] or {}
        by_object[problem.object] = list
        list[#list + 1] = problem
    end
    return by_object
end

local function describe(problem)
    return (problem.annotation and ("annotation %s: "):format(problem.annotation) or "")
        .. WORDS[problem.kind] .. problem.message
end

-- The annotations of an Ingress that work, and the number of its paths.
local function describe_working(object, problems)
    local bad, good, count = {}, {}, 0
    for _, problem in ipairs(problems) do
        bad[problem.annotation or ""] = true
    end
    for key in pairs(type(object.metadata.annotations) == "table" and object.metadata.annotations
        or {}) do
        local name = type(key) == "string" and key:sub(1, #known.PREFIX) == known.PREFIX
            and key:sub(#known.PREFIX + 1)
        good[#good + 1] = name and not bad[key] and name or nil
    end
    table.sort(good)
    local spec = type(object.spec) == "table" and object.spec or {}
    for _, rule in ipairs(type(spec.rules) == "table" and spec.rules or {}) do
        local http = type(rule) == "table" and type(rule.http) == "table" and rule.http.paths
        count = count + (type(http) == "table" and #http or 0)
    end
    return ("works: %d path%s%s"):format(count, count == 1 and "" or "s",
        #good > 0 and ", with " .. table.concat(good, ", ") or "")
end

local Report = {}
Report.__index = Report

function Report:line(path, object, text)
    self.lines[#self.lines + 1] = core.escape(("%s:%s: %s"):format(path, object, text))
end

-- What is good about an Ingress, and defaults that it takes.
function Report:add_good(path, title, object, problems)
    if not self.quiet then
        self:line(path, title, describe_working(object, problems))
    end
    local given, spec = object.metadata.annotations, object.spec
    if type(given) ~= "table" or not given[known.PREFIX .. "proxy-body-size"] then
        self.without_size = self.without_size + 1
    end
    local tls = type(spec) == "table" and spec.tls
    self.with_tls = self.with_tls + (type(tls) == "table" and next(tls) and 1 or 0)
end

-- The lines of an Ingress. Without `object` it could not be read.
function Report:add(path, title, object, problems, left)
    if left then
        self.left = self.left + 1
        return not self.quiet and self:line(path, title, "not checked: " .. left)
    end
    local differs = false
    for _, problem in ipairs(problems) do
        if problem.kind ~= "foreign" or not self.quiet then
            self:line(problem.path or path, title, describe(problem))
        end
        differs = differs or problem.kind ~= "foreign"
    end
    if object then
        self:add_good(path, title, object, problems)
    end
    self[differs and "differ" or "same"] = self[differs and "differ" or "same"] + 1
end

-- A default of ingress-nginx that differs, of so many Ingresses.
function Report:note(count, text)
    if not self.quiet and count > 0 then
        print(("note: %d Ingress%s %s"):format(count, count == 1 and "" or "es", text))
    end
end

-- What depends on the version of nginx, which is not known here.
function Report:note_h2c()
    if not self.quiet and self.h2c > 0 then
        print("note: a GRPCRoute on a listener with HTTP needs nginx 1.25.1, as HTTP is HTTP/1.1 "
            .. "only before")
    end
end

function Report:print()
    for _, line in ipairs(self.lines) do
        print(line)
    end
    self:note(self.without_size, "without proxy-body-size: ingress-nginx takes bodies of 1m at "
        .. "most, here they have no limit")
    self:note(self.with_tls, "with TLS: ingress-nginx sends Strict-Transport-Security, here "
        .. "nginx.conf says it (docs/MIGRATE.md)")
    self:note_h2c()
    if not self.quiet then
        print(("%d Ingress%s: %d as before, %d with differences%s"):format(
            self.same + self.differ, self.same + self.differ == 1 and "" or "es", self.same,
            self.differ, self.left > 0 and (", %d of others"):format(self.left) or ""))
    end
    if not self.quiet and self.others > 0 then
        print(("%d other object%s: %d with problems"):format(self.others,
            self.others == 1 and "" or "s", self.bad_others))
    end
end

-- Puts the problems that showed while reading before the others.
local function join_problems(inventory, found)
    local problems = group(found)
    for title, list in pairs(group(inventory.problems)) do
        problems[title] = problems[title] or {}
        for i, problem in ipairs(list) do
            table.insert(problems[title], i, problem)
        end
        if not inventory.places[title] then
            inventory.order[#inventory.order + 1] = title
        end
    end
    return problems
end

-- The lines of Gateways, of routes, and of objects with a wrong shape.
local function report_others(report, inventory, problems)
    for _, title in ipairs(inventory.other_order) do
        local path, list = inventory.places[title], problems[title] or {}
        for _, problem in ipairs(list) do
            report:line(path, title, describe(problem))
        end
        if #list == 0 and not report.quiet then
            report:line(path, title, "works")
        end
        report.bad_others = report.bad_others + (#list > 0 and 1 or 0)
    end
end

local function report_on(inventory, options)
    local result = ingress.compile({ ingresses = inventory.ingresses, classes = inventory.classes,
        services = (options.cluster or #inventory.services > 0) and inventory.services or nil },
        { nginx = true, unknown = not options.cluster, controller = options.controller,
            script = scripts(inventory.scripts) })
    check_secrets(inventory, result)
    local report = setmetatable({ lines = {}, same = 0, without_size = 0, differ = 0, left = 0,
        with_tls = 0, h2c = compiled.count_h2c(inventory), bad_others = 0,
        others = #inventory.other_order, quiet = options.quiet }, Report)
    for _, problem in ipairs(compiled.check(inventory, result.contributions)) do
        result.problems[#result.problems + 1] = problem
    end
    local problems = join_problems(inventory, result.problems)
    local objects = {}
    for _, object in ipairs(inventory.ingresses) do
        objects["Ingress " .. object.metadata.namespace .. "/" .. object.metadata.name] = object
    end
    for _, title in ipairs(inventory.order) do
        report:add(inventory.places[title] or "", title, objects[title],
            problems[title] or {}, result.left[(title:gsub("^Ingress ", ""))])
    end
    report_others(report, inventory, problems)
    return report
end

-- Reads the cluster or the files; false if a part could not be read.
local function read(inventory, options)
    local is_whole = true
    local function visit(object, path)
        if type(object) == "table" then
            inventory:add(object, path)
        end
    end
    if options.cluster then
        local read_cluster = require "kubelua.cli.gateway.cluster"
        local ok, message = read_cluster(options, visit, complain)
        if ok == nil then
            complain(message)
        end
        return ok or false
    end
    manifests.read(options.files, visit, function(message)
        complain(message)
        is_whole = false
    end)
    return is_whole
end

---Runs the command; returns the exit status.
---@param options table of the command line
---@return integer
return function(options)
    local inventory = Inventory.new(options.namespace)
    local is_whole = read(inventory, options)
    local report = report_on(inventory, options)
    report:print()
    local differs = report.differ + report.bad_others > 0
    return not is_whole and FAILED or differs and SOMETHING or NOTHING
end
