-- kubelua run --reload: how it finds that files have changed.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local scheduler = require "kubelua.scheduler"
local world = require "reload_world"

local await, run, save_good = world.await, world.run, world.save_good
local text_of = world.text_of

local witness

before_each(function()
    witness = world.begin()
    world.take_notes()
end)

after_each(function()
    world.finish()
end)

-- The times of the looks at the script, as the code under test has read them, until there were so
-- many. Meanwhile another file in the folder changes all the time.
local function record_looks(count)
    local open, now, last, times = io.open, core.now, nil, {}
    function core.now()
        last = now()
        return last
    end
    function io.open(path, ...) -- luacheck: ignore
        if path == world.path then
            times[#times + 1] = last
        end
        return open(path, ...)
    end
    local ok, message = pcall(await, function()
        world.write_file("other", "text")
        return #times >= count
    end, count .. " looks")
    io.open, core.now = open, now -- luacheck: ignore
    assert(ok, message)
    return times
end

-- How many rounds the loop runs in that time.
local function count_rounds(seconds)
    local round, count = scheduler.round, 0
    function scheduler.round(...)
        count = count + 1
        return round(...)
    end
    local ok, message = pcall(kubelua.sleep, seconds)
    scheduler.round = round
    assert(ok, message)
    return count
end

describe("a folder in which other files change all the time", function()
    it("is looked at now and then", function()
        run(text_of("-- NAME", 1), function()
            local times = record_looks(4)
            for i = 2, #times do
                assert.is_true(times[i] - times[i - 1] >= 0.199)
            end
        end)
    end)

    it("does not make the loop spin until the next look", function()
        run(text_of("-- NAME", 1), function()
            record_looks(1)
            world.write_file("other", "text")
            local count = count_rounds(0.1)
            assert.is_true(count < 30, count .. " rounds")
        end)
    end)
end)

describe("a script that is written all the time", function()
    it("does not make the loop spin until its text rests", function()
        run(text_of("-- NAME", 1), function()
            local counts = {}
            for i = 1, 10 do
                world.save("-- " .. i)
                counts[i] = count_rounds(0.04)
            end
            table.sort(counts)
            assert.is_true(counts[#counts] < 30, counts[#counts] .. " rounds")
        end)
    end)
end)

describe("a watch of files", function()
    local function count_watches()
        local count = 0
        for _, descriptor in ipairs(assert(core.list_folder("/proc/self/fdinfo"))) do
            local file = io.open("/proc/self/fdinfo/" .. descriptor)
            for line in file and file:lines() or function() end do
                count = count + (line:find("^inotify ") and 1 or 0)
            end
            if file then
                file:close()
            end
        end
        return count
    end

    it("ends when the script does not need the file any more", function()
        for i = 1, 5 do
            assert(core.make_folder(world.folder .. "/m" .. i))
            world.write_file("m" .. i .. "/part.lua", "return " .. i)
        end
        run(text_of("-- NAME", 1), function()
            local before = count_watches()
            assert.is_true(before > 0)
            for i = 1, 5 do
                save_good(text_of('witness.note(require("mNAME.part"))', i))
            end
            assert.same({ 1, 2, 3, 4, 5 }, witness.notes)
            save_good(text_of("-- NAME", 6))
            assert.equal(before, count_watches())
            save_good(text_of("witness.note('NAME')", 7)) -- and files are still watched
        end)
    end)

    it("ends with the run", function()
        run(text_of("-- NAME", 1), function()
            assert.is_true(count_watches() > 0)
        end)
        assert.equal(0, count_watches())
    end)
end)

describe("a script whose folder is replaced", function()
    local function write_version(number)
        assert(core.make_folder(world.folder .. "/v" .. number))
        world.write_file("v" .. number .. "/script.lua", text_of("witness.note('NAME')", number))
    end

    local function swap_link(number)
        assert(os.execute(("ln -sfn v%d %s/next && mv -T %s/next %s/now"):format(number,
            world.folder, world.folder, world.folder)))
    end

    it("by a link to another folder is reloaded #processes", function()
        write_version(1)
        swap_link(1)
        world.path = world.folder .. "/now/script.lua"
        run(nil, function()
            write_version(2)
            swap_link(2)
            await(function() return witness.has("2") end, "the folder of the link")
            world.write_file("v2/script.lua", text_of("witness.note('NAME')", 3))
            await(function() return witness.has("3") end, "a change in it")
        end)
    end)

    it("by a folder that is made anew, is reloaded", function()
        write_version(1)
        world.path = world.folder .. "/v1/script.lua"
        run(nil, function()
            assert(os.remove(world.path))
            assert(os.remove(world.folder .. "/v1"))
            world.await_more(world.FAILED, world.metric(world.FAILED) or 0)
            assert(core.make_folder(world.folder .. "/v1"))
            world.write_file("v1/script.lua", text_of("witness.note('NAME')", 2))
            await(function() return witness.has("2") end, "the new file")
            world.write_file("v1/script.lua", text_of("witness.note('NAME')", 3))
            await(function() return witness.has("3") end, "a change in the new folder")
        end)
    end)
end)

describe("two saves one after the other", function()
    it("end with the second one, however soon it comes", function()
        run(text_of("witness.note('NAME')", 1), function()
            for i = 2, 20, 2 do
                world.save(text_of("witness.note('NAME')", i))
                kubelua.sleep(i / 200) -- from within a rest to after a start
                world.save(text_of("witness.note('NAME')", i + 1))
                await(function() return witness.has(tostring(i + 1)) end, "save " .. i + 1)
                assert.equal(tostring(i + 1), witness.notes[#witness.notes])
            end
        end)
    end)
end)
