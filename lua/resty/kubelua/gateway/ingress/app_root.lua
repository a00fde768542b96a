-- app-root: where the requests for "/" of a host are sent. As in ingress-nginx it holds for the
-- host, whichever path fits "/", or none; but not for "/" that another namespace has.
local app_root = {}

local NAME = "nginx.ingress.kubernetes.io/app-root"

---The app-root of a host: of several that of the longest path.
---@param host kubelua.gateway.ClaimedHost
---@return string?
function app_root.of(host)
    local root = host.by_key["=/"] or host.by_key["^/"]
    local owner = root and root.item or host.first
    local found, longest = owner.parsed.settings.app_root, -1
    for _, claim in ipairs(host.list) do
        local item = claim.item
        local target = item.parsed.settings.app_root
        if target and item.namespace ~= owner.namespace then
            item.problems[#item.problems + 1] = { object = item.object, kind = "conflict",
                annotation = NAME, message = ("/ of %s is that of %s, which has its requests")
                    :format(host.name, owner.object) }
        elseif target and #claim.path > longest then
            found, longest = target, #claim.path
        end
    end
    return found
end

return app_root
