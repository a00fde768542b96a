-- nginx takes the nginx.conf of the gateway as it is printed, with the files that it includes.
local conf = require "resty.kubelua.gateway.conf"
local copies = require "nginx_copies"
local nginx = require "nginx"

local missing = nginx.missing()
if missing then
    pending("no nginx: " .. missing)
    return
end

-- What `nginx -t` says of a text.
local function try(changes)
    local copy, folder = assert(copies.find()), copies.shell("mktemp -d")
    local options = nginx.surroundings(copy, folder)
    options.main = nil
    options.address, options.admin = "127.0.0.1", "127.0.0.1:8181"
    options.ports, options.tls_ports = { 8080 }, { 8443 }
    options.http2 = nginx.http2_of(copy)
    for name, value in pairs(changes) do
        options[name] = value
    end
    local file = assert(io.open(folder .. "/nginx.conf", "w"))
    assert(file:write(conf.text(options)))
    assert(file:close())
    local command = ("%s -t -p %s -c %s/nginx.conf -e stderr "
        .. "-g 'pid %s/pid; error_log stderr warn;'")
        :format(copy.NGINX, folder, folder, folder)
    local said, status = copies.shell(("ulimit -Sn 1024; LD_LIBRARY_PATH=%s LD_PRELOAD=%s %s")
        :format(copy.LIBRARIES, copies.preload, command))
    copies.shell("rm -r " .. folder)
    return status, said
end

describe("the printed nginx.conf #processes", function()
    it("is one that nginx takes", function()
        local status, said = try { resolvers = { "127.0.0.1" }, named = { [8080] = 80 },
            options = "addresses = { \"192.0.2.1\" },\nnginx = true" }
        assert.equal(0, status, said)
        assert.falsy(said:find("%[warn%]"), said)
    end)

    it("is one that nginx takes without TLS", function()
        local status, said = try { tls_ports = {} }
        assert.equal(0, status, said)
    end)
end)
