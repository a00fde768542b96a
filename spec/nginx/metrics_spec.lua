-- Who may read /metrics and /kubelua, by the configurations that people copy: docs/NGINX.md and
-- examples/nginx.
local copies = require "nginx_copies"
local nginx = require "nginx"
local page = require "page"
local values = require "kubelua.values"

describe("the pages of administrators", function()
    local one

    after_each(function()
        one:close()
    end)

    local function status_from(address, name)
        return copies.shell(string.format("curl -s -o /dev/null -w '%%{http_code}' --interface %s "
            .. "http://127.0.0.1:%d/%s", address, one.port, name))
    end

    for _, path in ipairs { "docs/NGINX.md", "examples/nginx/nginx.conf" } do
        it("answer this machine, and no other, by " .. path, function()
            local text, locations = page.read(path), {}
            for i, name in ipairs { "metrics", "kubelua" } do
                locations[i] = ("location = /%s %s"):format(name,
                    assert(text:match("location = /" .. name .. " (%b{})")))
            end
            one = nginx.start {
                http = [[
                    init_by_lua_block {
                        kube = require "resty.kubelua"
                        assert(kube.init { connect = { server = "http://127.0.0.1:1" } })
                    }
                ]],
                server = "location / { return 200; } " .. table.concat(locations, " "),
            }
            for _, name in ipairs { "metrics", "kubelua" } do
                assert.equal("200", status_from("127.0.0.1", name))
                assert.equal("403", status_from("127.0.0.2", name))
            end
            local seen = values.decode((copies.shell(("curl -s http://127.0.0.1:%d/kubelua"):format(
                one.port))))
            assert.same({}, seen.services)
            assert.same({ alive = false, pid = 0 }, seen.owner)
        end)
    end
end)
