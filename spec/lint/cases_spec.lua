-- How scripts/cases.lua counts what ctest has printed: on logs of a few lines.
local folder

local function write(name, text)
    local file = assert(io.open(folder .. "/" .. name, "w"))
    file:write(text)
    file:close()
end

-- One run of a test in ctest's LastTest.log.
local function block(name, output)
    return ("1/1 Test: %s\nCommand: \"x\"\nOutput:\n%s\n%s<end of output>\nTest time = 0.01 sec\n")
        :format(name, ("-"):rep(58), output)
end

-- Counts runs of tests: a list of { name, how it ended, output }. Returns what is appended to the
-- totals, as one text.
local function count(runs)
    local console, log = {}, {}
    for _, run in ipairs(runs) do
        console[#console + 1] = ("1/1 Test #1: %s ....%s  0.1 sec\n"):format(run[1], run[2])
        log[#log + 1] = block(run[1], run[3] or "")
    end
    write("console", table.concat(console))
    write("log", table.concat(log))
    local pipe = io.popen(("lua5.4 scripts/cases.lua %s/console %s/log %s s. 2>/dev/null")
        :format(folder, folder, folder))
    local text = pipe:read("*a")
    pipe:close()
    return (text:gsub(folder:gsub("%p", "%%%0"), "F"))
end

describe("the count of cases", function()
    before_each(function()
        folder = os.tmpname()
        os.remove(folder)
        os.execute("mkdir " .. folder)
    end)

    after_each(function()
        os.execute("rm -r " .. folder)
    end)

    it("has the cases of TAP and of cmocka", function()
        assert.equal("passed 3\nfailed 0\n", count {
            { "a_spec", "   Passed", "ok 1 - x\nok 2 - y\n" },
            { "b_spec", "   Passed", "[       OK ] z\n" },
        })
    end)

    it("has a failure that cmocka names twice once", function()
        assert.equal("passed 1\nfailed 1\n", count {
            { "a_spec", "***Failed",
                "[       OK ] x\n[  FAILED  ] y\n[  FAILED  ] tests: 1 test\n[  FAILED  ] y\n" },
        })
    end)

    it("has a program that is no spec as one case", function()
        assert.equal("passed 1\nfailed 0\n", count { { "command", "   Passed", "anything\n" } })
        assert.equal("passed 0\nfailed 1\n", count { { "command", "***Failed", "anything\n" } })
    end)

    it("has a spec without a case as a failure, unless options exclude all cases", function()
        assert.equal("passed 0\nfailed 1\n", count { { "a_spec", "   Passed", "" } })
        assert.equal("passed 0\nfailed 0\n", count { { "a_spec", "   Passed", "1..0\n" } })
    end)

    it("has a time limit that is over as a failure", function()
        assert.equal("passed 1\nfailed 1\n", count { { "a_spec", "***Timeout", "ok 1 - x\n" } })
    end)

    it("names the reason of a test that the machine cannot run", function()
        assert.equal("skipped s.a_spec: no nginx here\npassed 0\nfailed 0\n",
            count { { "a_spec", "***Skipped", "some words\nno nginx here\n" } })
    end)

    it("names a test as unsteady that passes when it runs again", function()
        assert.equal("unsteady s.a_spec: F/s.a_spec.first.log\npassed 1\nfailed 0\n", count {
            { "a_spec", "***Failed", "not ok 1 - x\n" }, { "a_spec", "   Passed", "ok 1 - x\n" },
        })
    end)

    it("does not put the step before a name that has it already", function()
        assert.equal("skipped s.a_spec: why\npassed 0\nfailed 0\n",
            count { { "s.a_spec", "***Skipped", "why\n" } })
    end)

    it("has a crash as a failure, also if the test passes when it runs again", function()
        assert.equal("passed 1\nfailed 1\n", count {
            { "a_spec", "***Exception: SegFault", "" }, { "a_spec", "   Passed", "ok 1 - x\n" },
        })
    end)

    it("has a sanitizer's report as a failure, also if the second run passes", function()
        assert.equal("passed 1\nfailed 1\n", count {
            { "a_spec", "***Failed", "WARNING: ThreadSanitizer: data race\n" },
            { "a_spec", "   Passed", "ok 1 - x\n" },
        })
    end)

    it("does not count leaks of a case that failed", function()
        local leak = "ERROR: LeakSanitizer: detected memory leaks\n"
        assert.equal("unsteady s.a_spec: F/s.a_spec.first.log\npassed 1\nfailed 0\n", count {
            { "a_spec", "***Failed", "[  FAILED  ] x\n" .. leak },
            { "a_spec", "   Passed", "[       OK ] x\n" },
        })
        assert.equal("passed 1\nfailed 1\n", count {
            { "a_spec", "***Failed", "[       OK ] x\n" .. leak },
            { "a_spec", "   Passed", "[       OK ] x\n" },
        })
    end)

    it("has a run of ctest without a test as a failure", function()
        assert.equal("passed 0\nfailed 1\n", count {})
    end)
end)
