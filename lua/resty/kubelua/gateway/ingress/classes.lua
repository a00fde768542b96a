-- Which Ingresses are this gateway's: by IngressClass and its controller, by the old annotation, or
-- by the default class.
local classes = {}

local ANNOTATION = "kubernetes.io/ingress.class"
local DEFAULT = "ingressclass.kubernetes.io/is-default-class"

---@class kubelua.gateway.ClassOptions
---@field script (fun(namespace: string, name: string): true|nil, string?)? a ConfigMap has a script
---@field controller string? of IngressClasses; "kubelua.dev/gateway"
---@field nginx boolean? also take what was ingress-nginx's: the class "nginx", with or without an
---IngressClass, and classes of the controller k8s.io/ingress-nginx
---@field without_class boolean? also take Ingresses without a class
---@field certificate string? the Secret for names that have no certificate
---@field owned boolean? a host belongs to the namespace of the oldest Ingress that names it
---@field pace fun()? called between two pieces of work; it may wait
---@field regex (fun(pattern: string): true|nil, string?)? a regular expression can be used
---@field unknown boolean? also take Ingresses without a class, or whose IngressClass is not there

local function annotation_of(object, key)
    local annotations = object.metadata.annotations
    local value = type(annotations) == "table" and annotations[key]
    return type(value) == "string" and value or nil
end

-- The names of this gateway's classes, whether one of them is the default, and the controllers of
-- all classes.
local function read_classes(objects, options)
    local mine, controllers, has_default = {}, {}, false
    for _, class in ipairs(objects) do
        local name = class.metadata.name
        local controller = type(class.spec) == "table" and class.spec.controller
        controllers[name] = tostring(controller)
        if controller == (options.controller or "kubelua.dev/gateway")
            or options.nginx and controller == "k8s.io/ingress-nginx" then
            mine[name] = true
            has_default = has_default or annotation_of(class, DEFAULT) == "true"
        end
    end
    if options.nginx and not controllers.nginx then
        mine.nginx = true -- helm uninstall deletes the IngressClass
    end
    return mine, controllers, has_default
end

---Makes a function that says of an Ingress if it is this gateway's; if not, why.
---@param objects table[] IngressClasses
---@param options kubelua.gateway.ClassOptions
---@return fun(ingress: table): boolean, string?
function classes.chooser(objects, options)
    local mine, controllers, has_default = read_classes(objects, options)
    return function(ingress)
        local spec = type(ingress.spec) == "table" and ingress.spec or {}
        local name = annotation_of(ingress, ANNOTATION) or spec.ingressClassName
        if type(name) ~= "string" or name == "" then
            local taken = has_default or options.without_class or options.unknown or false
            return taken, not taken and "has no class, and no class of this gateway is the default"
                or nil
        elseif mine[name] or options.unknown and not controllers[name] then
            return true
        end
        return false, controllers[name]
            and ("is of the class %s, whose controller is %s"):format(name, controllers[name])
            or ("is of the class %s, which is unknown"):format(name)
    end
end

return classes
