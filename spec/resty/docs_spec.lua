-- docs/NGINX.md is complete, and the LuaCATS classes have every option.
local page = require "page"

local nginx, expect = page.open("docs/NGINX.md")

-- The options of a table of types, and the fields of the class above it.
local function options_of(path, class, types)
    local text = page.read(path)
    local from = assert(text:find("---@class " .. class .. "[ \n]"), class)
    local comment, list = text:match("^(.-)\nlocal " .. types .. " = (%b{})", from)
    local options, fields = {}, {}
    for name in list:gmatch('([%w_]+) = "') do
        options[name] = true
    end
    for name in comment:gmatch("@field ([%w_]+)") do
        fields[name] = true
    end
    return options, fields
end

describe("docs/NGINX.md", function()
    it("names every call", function()
        for name, value in pairs(require "resty.kubelua") do
            if type(value) == "function" then
                expect("kube." .. name)
            end
        end
        expect("service:pick(")
        expect("service:endpoints(")
    end)

    it("has Lua that parses, in its own blocks and inside of nginx.conf", function()
        local parse = rawget(_G, "loadstring")
        local count = 0
        for block in nginx:gmatch("```lua\n(.-)\n```") do
            assert(parse(block))
            count = count + 1
        end
        for block in nginx:gmatch("_by_lua_block (%b{})") do
            assert(parse(block:sub(2, -2)))
            count = count + 1
        end
        assert.is_true(count > 8)
    end)

    for class, where in pairs {
        ["resty.kubelua.InitOptions"] = { "lua/resty/kubelua.lua", "INIT_TYPES" },
        ["resty.kubelua.ServicesOptions"] = { "lua/resty/kubelua.lua", "SERVICES_TYPES" },
        ["resty.kubelua.InitWorkerOptions"] = { "lua/resty/kubelua.lua", "INIT_WORKER_TYPES" },
        ["resty.kubelua.PickOptions"] = { "lua/resty/kubelua/service.lua", "PICK_TYPES" },
    } do
        it("has every option, and so have editors: " .. class, function()
            local options, fields = options_of(where[1], class, where[2])
            assert.same(options, fields)
            assert.is_truthy(next(options))
            for name in pairs(options) do
                assert.is_truthy(nginx:find("`" .. name .. "`", 1, true)
                    or nginx:find(name .. " =", 1, true), "docs/NGINX.md: " .. name)
            end
        end)
    end
end)
