-- The shapes of objects in files, which no API server has checked: a field that has another type
-- than the API says is named, and its object is left out. Only fields that the gateway reads.
local shapes = {}

-- A shape is "string", "integer", "string!" (must be there), or one of these.
local function list(of)
    return { list = of }
end

local function map(of)
    return { map = of }
end

local function fields(of)
    return { fields = of }
end

local REFERENCE = fields { group = "string", kind = "string", namespace = "string",
    name = "string!", port = "integer" }
local PARENT = fields { group = "string", kind = "string", namespace = "string", name = "string!",
    sectionName = "string", port = "integer" }
local SELECTOR = fields { matchLabels = map "string", matchExpressions = list(fields {
    key = "string!", operator = "string!", values = list "string" }) }
local PAIR = fields { name = "string!", value = "string!", type = "string" }
local HEADERS = fields { set = list(PAIR), add = list(PAIR), remove = list "string" }
local PATH = fields { type = "string!", replaceFullPath = "string", replacePrefixMatch = "string" }
local FILTERS = list(fields { type = "string!", requestHeaderModifier = HEADERS,
    responseHeaderModifier = HEADERS, extensionRef = fields { group = "string", kind = "string!",
        name = "string!" },
    requestRedirect = fields { scheme = "string", hostname = "string", port = "integer",
        statusCode = "integer", path = PATH },
    urlRewrite = fields { hostname = "string", path = PATH },
    requestMirror = fields { backendRef = REFERENCE, percent = "integer",
        fraction = fields { numerator = "integer!", denominator = "integer" } },
    cors = fields { allowOrigins = list "string", allowMethods = list "string",
        allowHeaders = list "string", exposeHeaders = list "string", maxAge = "integer",
        allowCredentials = "boolean" } })
local BACKENDS = list(fields { group = "string", kind = "string", namespace = "string",
    name = "string!", port = "integer", weight = "integer", filters = FILTERS })
local PERSISTENCE = fields { sessionName = "string", type = "string", absoluteTimeout = "string",
    idleTimeout = "string", cookieConfig = fields { lifetimeType = "string" } }

local function route(matches)
    return fields { parentRefs = list(PARENT), hostnames = list "string", rules = list(fields {
        name = "string", matches = list(matches), filters = FILTERS, backendRefs = BACKENDS,
        timeouts = fields { request = "string", backendRequest = "string" },
        retry = fields { attempts = "integer", codes = list "integer", backoff = "string" },
        sessionPersistence = PERSISTENCE }) }
end

local LISTENERS = list(fields { name = "string!", port = "integer!", protocol = "string!",
    hostname = "string", allowedRoutes = fields {
        namespaces = fields { from = "string", selector = SELECTOR },
        kinds = list(fields { group = "string", kind = "string!" }) },
    tls = fields { mode = "string", certificateRefs = list(REFERENCE), options = map "string" } })

local SPECS = {
    Gateway = fields { gatewayClassName = "string!", listeners = LISTENERS,
        addresses = list(fields { type = "string", value = "string" }),
        infrastructure = fields { parametersRef = fields {}, labels = map "string",
            annotations = map "string" } },
    GatewayClass = fields { controllerName = "string!", parametersRef = fields {} },
    HTTPRoute = route(fields { path = fields { type = "string", value = "string" },
        headers = list(PAIR), queryParams = list(PAIR), method = "string" }),
    GRPCRoute = route(fields { method = fields { type = "string", service = "string",
        method = "string" }, headers = list(PAIR) }),
    ReferenceGrant = fields { from = list(fields { group = "string!", kind = "string!",
        namespace = "string!" }), to = list(fields { group = "string!", kind = "string!",
        name = "string" }) },
    BackendTLSPolicy = fields { targetRefs = list(fields { group = "string", kind = "string!",
        name = "string!", sectionName = "string" }), options = map "string",
        validation = fields { hostname = "string!", wellKnownCACertificates = "string",
            caCertificateRefs = list(REFERENCE),
            subjectAltNames = list(fields { type = "string", hostname = "string",
                uri = "string" }) } },
    Service = fields { type = "string", externalName = "string", clusterIP = "string",
        ports = list(fields { name = "string", port = "integer!", protocol = "string",
            appProtocol = "string" }) },
}
local METADATA = fields { name = "string!", namespace = "string", creationTimestamp = "string",
    labels = map "string", annotations = map "string", generation = "integer" }

local find_problem

-- All numbers of the API that are read here have 32 bits.
local function is_integer(value)
    return type(value) == "number" and value % 1 == 0 and math.abs(value) < 2 ^ 31
end

local function find_in_list(value, of, path)
    for key, item in pairs(value) do
        if type(key) ~= "number" then
            return path .. " is no list"
        end
        local problem = find_problem(item, of, ("%s[%d]"):format(path, key - 1), true)
        if problem then
            return problem
        end
    end
end

local function find_in_map(value, shape, path)
    for key, each in pairs(shape.fields or value) do
        local of = shape.fields and each or shape.map
        local problem = find_problem(value[key], of, path .. "." .. tostring(key), not shape.fields)
        if problem then
            return problem
        end
    end
end

-- The first field that has another type, or is missing.
function find_problem(value, shape, path, is_needed)
    if type(shape) == "string" then
        local name, mark = shape:match("^(%l+)(!?)$")
        if value == nil and (mark == "!" or is_needed) then
            return path .. " is missing"
        end
        local has_type = type(value) == name or name == "integer" and is_integer(value)
        return value ~= nil and not has_type and ("%s is no %s"):format(path, name) or nil
    elseif value == nil and not is_needed then
        return nil
    elseif type(value) ~= "table" then
        return path .. " is no " .. (shape.list and "list" or "object")
    elseif shape.list then
        return find_in_list(value, shape.list, path)
    elseif value[1] ~= nil then
        return path .. " is a list"
    end
    return find_in_map(value, shape, path)
end

---What is wrong with the shape of an object; nil: nothing, or its kind is not checked.
---@param object table
---@return string?
function shapes.check(object)
    local shape = SPECS[object.kind]
    return shape and (find_problem(object.metadata, METADATA, "metadata", true)
        or find_problem(object.spec, shape, "spec", true))
end

return shapes
