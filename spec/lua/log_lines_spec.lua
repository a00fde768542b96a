-- What others have written (names, messages of servers, output of programs, arguments) forges no
-- line of the log, and a terminal that shows a message does not obey it.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local process_of = require("spec.support.processes").output_of
local Sim = require "kubelua.sim"

-- CR, LF, ESC, C1 (as UTF-8, and as a lone byte), bidi controls, NUL.
local EVIL = "x\r\n2026-11-26T00:00:00Z error forged\27[2J\194\133\155\226\128\174\226\129\166\0y"
local SHOWN = "x\\r\\n2026-11-26T00:00:00Z error forged\\x1b[2J\\u0085\\x9b\\u202e\\u2066\\0y"

-- Fails if a terminal would obey something in the text, but for `allowed`.
local function check_shown(text, allowed)
    local found = text:gsub(allowed or "", ""):find("[%c\155]")
    assert.is_nil(found, string.format("%q", text))
    assert.is_nil(text:find("\194\133", 1, true) or text:find("\226\128\174", 1, true), text)
end

local function raise(_, message)
    error(message, 0)
end

-- The lines that a script writes to standard error.
local function lines_of(script)
    local said = process_of("local kubelua = require 'kubelua'\nlocal EVIL = '"
        .. EVIL:gsub(".", function(byte) return "\\" .. string.format("%03d", byte:byte()) end)
        .. "'\n" .. script, "KUBELUA_LOG=debug")
    local lines = {}
    for line in said:gmatch("([^\n]*)\n") do
        lines[#lines + 1] = line
    end
    assert.equal("status 0", table.remove(lines))
    return lines
end

describe("a call of kubelua.log", function()
    it("is one line at every level #processes", function()
        local lines = lines_of [[
            for _, level in ipairs { "debug", "info", "warn", "error" } do
                kubelua.log(level, "said: %s", EVIL:gsub("%z.*", ""))
                kubelua.log(level, EVIL)
            end
        ]]
        assert.equal(8, #lines, table.concat(lines, "\n"))
        for i, line in ipairs(lines) do
            check_shown(line)
            assert.matches(i % 2 == 0 and SHOWN or SHOWN:sub(1, -4), line, 1, true)
        end
    end)
end)

describe("an error of a task", function()
    it("is one line with its traceback #processes", function()
        local lines = lines_of [[
            kubelua.spawn(function() error("oops " .. EVIL) end)
            kubelua.step(1)
        ]]
        assert.equal(1, #lines, table.concat(lines, "\n"))
        check_shown(lines[1])
        assert.matches("oops " .. SHOWN .. "; stack traceback:; ", lines[1], 1, true)
    end)
end)

describe("the message of a failure", function()
    local cluster, client

    setup(function()
        cluster = assert(Sim.new())
        client = assert(kubelua.connect { sim = cluster })
    end)

    teardown(function()
        client:close()
        cluster:close()
    end)

    it("shows a server's text", function()
        cluster:fail { status = 500, message = EVIL:gsub("\155", ""), count = 1 }
        local _, message = client:get("pods", "web/a", { timeout = 5 })
        check_shown(message)
        assert.matches("forged\\x1b[2J\\u0085", message, 1, true)
    end)

    it("shows the name that the script gave", function()
        local _, message = client:get(EVIL, "web/a")
        check_shown(message)
        assert.matches("forged\\x1b[2J\\u0085", message, 1, true)
    end)

    it("shows what a program wrote to standard error #processes", function()
        local _, message = kubelua.exec({ "sh", "-c", "printf 'a\\033[2J\\r\\000\\n' >&2; exit 3" })
        assert.equal("sh: exit status 3: a\\x1b[2J\\r\\0", message)
    end)

    it("shows the arguments of a misuse", function()
        for i, call in ipairs {
            function() kubelua.log(EVIL, "x") end,
            function() client:informer { "pods", [EVIL] = 1 } end,
            function() raise(client:informer { "pods", labels = EVIL:gsub("%z", "") }) end,
            function() raise(client:informer { "pods", namespace = EVIL:gsub("%z", "") }) end,
            function() raise(client:get("pods", EVIL)) end,
            function() raise(kubelua.timestamp(EVIL)) end,
        } do
            local ok, message = pcall(call)
            assert.is_false(ok, "call " .. i)
            check_shown(message, "\n    ")
        end
    end)
end)

describe("core.escape", function()
    it("keeps further lines where it is told to", function()
        assert.equal("a; b\\nc", core.escape("a\n    b\nc"))
        assert.equal("a\n    b\\nc", core.escape("a\n    b\nc", "indented"))
    end)
end)
