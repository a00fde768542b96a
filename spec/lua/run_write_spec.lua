-- run:create and run:apply: they write objects that the run's object owns, and touch no others;
-- without an owner, run:apply takes nothing that the controller's field manager has not applied.
local world = require "controller_world"

local secret = world.secret

describe("a run writes:", function()
    local w

    before_each(function()
        w = world.new()
        w.owner = w:apply("a")
    end)

    after_each(function()
        w:close()
    end)

    local function run(f, options)
        return w:in_run("a", f, options)
    end

    local function owner_of(name)
        local references = w.cluster:get("secrets", "web/" .. name):table().metadata.ownerReferences
        return references and references[1], references and #references
    end

    for _, verb in ipairs { "create", "apply" } do
        it(verb .. " sets the controller reference, the namespace and the manager", function()
            local made = run(function(_, of_run)
                return assert(of_run[verb](of_run, secret("s")))
            end)
            assert.equal("web/s", made.key)
            assert.same({ apiVersion = "v1", kind = "ConfigMap", name = "a", uid = w.owner.uid,
                controller = true, blockOwnerDeletion = true }, (owner_of("s")))
            local request = w.cluster:requests { resource = "secrets" }
            assert.equal("spec", request[#request].query.fieldManager)
        end)

        it(verb .. " leaves the table that it is given as it is", function()
            local given = secret("s")
            run(function(_, of_run) return assert(of_run[verb](of_run, given)) end)
            assert.same(secret("s"), given)
        end)

        it(verb .. " with owner = false sets no owner, also in another namespace", function()
            assert(w.cluster:apply { apiVersion = "v1", kind = "Namespace",
                metadata = { name = "db" } })
            local made = run(function(_, of_run)
                return assert(of_run[verb](of_run, secret("s", { namespace = "db" }),
                    { owner = false }))
            end)
            assert.equal("db/s", made.key)
            assert.is_nil(made.metadata.ownerReferences)
        end)

        it(verb .. " raises for an owner that cannot be", function()
            local in_other, of_cluster = run(function(_, of_run)
                local _, one = pcall(of_run[verb], of_run, secret("s", { namespace = "db" }))
                local _, two = pcall(of_run[verb], of_run, { apiVersion = "v1",
                    kind = "Namespace", metadata = { name = "n" } })
                return one, two
            end)
            assert.match("ConfigMap web/a cannot own a Secret in the namespace db", in_other)
            assert.match("owner = false", in_other)
            assert.match("cannot own a Namespace, which has none", of_cluster)
        end)

        it(verb .. " of what nothing controls is not_owned, and adopt takes it", function()
            assert(w.cluster:apply(secret("s", { namespace = "web" })))
            local made, message, code, taken = run(function(_, of_run)
                local one, why, its_code = of_run[verb](of_run, secret("s"))
                return one, why, its_code,
                    assert(of_run[verb](of_run, secret("s"), { adopt = true }))
            end)
            assert.is_nil(made)
            assert.match("Secret web/s exists already, and no object controls it", message)
            assert.equal("not_owned", code)
            assert.equal("web/s", taken.key)
            local reference, count = owner_of("s")
            assert.equal(w.owner.uid, reference.uid)
            assert.equal(1, count)
        end)

        it(verb .. " takes nothing that another controls, even to adopt", function()
            local other = w:apply("b")
            assert(w.cluster:apply(secret("s", { namespace = "web", ownerReferences = { {
                apiVersion = "v1", kind = "ConfigMap", name = "b", uid = other.uid,
                controller = true } } })))
            local made, message, code = run(function(_, of_run)
                return of_run[verb](of_run, secret("s"), { adopt = true })
            end)
            assert.is_nil(made)
            assert.match("is controlled by ConfigMap b", message)
            assert.equal("not_owned", code)
            assert.equal(other.uid, owner_of("s").uid)
        end)

        it(verb .. " takes from a former owner of the same name, to adopt", function()
            assert(w.cluster:apply(secret("s", { namespace = "web", ownerReferences = { {
                apiVersion = "v1", kind = "ConfigMap", name = "a", uid = "0-former",
                controller = true } } })))
            local code, taken = run(function(_, of_run)
                local _, _, its_code = of_run[verb](of_run, secret("s"))
                return its_code, assert(of_run[verb](of_run, secret("s"), { adopt = true }))
            end)
            assert.equal("not_owned", code)
            assert.is_not_nil(taken)
            local reference, count = owner_of("s")
            assert.equal(w.owner.uid, reference.uid)
            assert.equal(1, count)
        end)

        it(verb .. " sees what is there, though the cache does not know it yet", function()
            local _, _, code = run(function(_, of_run)
                w.cluster:freeze { verb = "watch", resource = "secrets" }
                assert(w.cluster:apply(secret("s", { namespace = "web" })))
                return of_run[verb](of_run, secret("s"))
            end, { owns = { "secrets" } })
            assert.equal("not_owned", code)
            assert.is_nil((owner_of("s")))
        end)
    end

    it("create of an object that it controls already is already_exists", function()
        local _, _, code = run(function(_, of_run)
            assert(of_run:create(secret("s")))
            return of_run:create(secret("s"))
        end)
        assert.equal("already_exists", code)
    end)

    it("apply to an object that it controls sends no read if a cache has the object", function()
        local made = run(function(_, of_run)
            assert(of_run:apply(secret("s")))
            local changed = secret("s")
            changed.stringData.b = "2"
            return assert(of_run:apply(changed))
        end, { owns = { "secrets" } })
        assert.equal("Mg==", made.data.b)
        assert.equal(0, #w.cluster:requests { verb = "get", resource = "secrets" })
    end)

    it("apply creates a deleted object again, however old the cache is", function()
        local before, after = run(function(_, of_run)
            local one = assert(of_run:apply(secret("s")))
            assert.equal("web/s", of_run:get("secrets", "web/s").key)
            w.cluster:freeze { verb = "watch", resource = "secrets" }
            assert(w.cluster:delete("secrets", "web/s"))
            local changed = secret("s")
            changed.stringData.a = "2"
            local two = assert(of_run:apply(changed))
            w.cluster:heal()
            return one, two
        end, { owns = { "secrets" } })
        assert.not_equal(before.uid, after.uid)
    end)

    it("apply goes on after conflicts", function()
        w.cluster:fail { verb = "patch", resource = "secrets", status = 409, count = 2 }
        assert.equal("web/s", run(function(_, of_run)
            return assert(of_run:apply(secret("s")))
        end).key)
    end)

    it("apply takes fields of others, unless force is false", function()
        local _, _, code, forced = run(function(_, of_run)
            assert(of_run:apply(secret("s")))
            assert(w.client:apply({ apiVersion = "v1", kind = "Secret",
                metadata = { name = "s", namespace = "web" }, stringData = { a = "2" } },
                { manager = "other", force = true }))
            local one, why, its_code = of_run:apply(secret("s"), { force = false })
            return one, why, its_code, assert(of_run:apply(secret("s")))
        end)
        assert.equal("conflict", code)
        assert.equal("MQ==", forced.data.a)
    end)

    it("apply of an object that was read raises: all its fields would be owned", function()
        local message = run(function(object, of_run)
            local _, problem = pcall(of_run.apply, of_run, object)
            return problem
        end)
        assert.match("run:apply: this object was read from the cluster", message)
    end)

    it("a document's text as well, and a mistyped option raises", function()
        local made, message = run(function(_, of_run)
            local _, problem = pcall(of_run.apply, of_run, secret("t"), { adpot = true })
            return assert(of_run:apply("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n")),
                problem
        end)
        assert.equal("web/s", made.key)
        assert.match("do you mean 'adopt'%?", message)
    end)
end)

local w

local UNOWNED = { owner = false }

local function web_secret(value)
    local document = w.secret("s", { namespace = "web" })
    document.stringData = { a = value }
    return document
end

-- Reads of the Secret by the controller's runs.
local function count_reads()
    local count = 0
    for _, request in ipairs(w.cluster:requests { resource = "secrets", verb = "get" }) do
        count = count + (request.controller and 1 or 0)
    end
    return count
end

-- What an apply in a run gives, with these options of the controller.
local function apply(options, given, document)
    return w:in_run("a", function(_, run)
        return run:apply(document or web_secret("mine"), given or UNOWNED)
    end, options)
end

local function value()
    return require("kubelua").unbase64(w.cluster:get("secrets", "web/s").data.a)
end

describe("an apply without an owner", function()
    before_each(function()
        w = world.new()
        w:apply("a")
    end)

    after_each(function()
        w:close()
    end)

    it("creates what is not there, and changes it again later", function()
        local made, again = w:in_run("a", function(_, run)
            local first = assert(run:apply(web_secret("one"), UNOWNED))
            return first, assert(run:apply(web_secret("two"), UNOWNED))
        end)
        assert.is_nil(made.metadata.ownerReferences)
        assert.equal(made.uid, again.uid)
        assert.equal("two", value())
    end)

    it("refuses what its field manager has never applied", function()
        assert(w.cluster:apply(web_secret("theirs")))
        local made, message, code = apply()
        assert.is_nil(made)
        assert.equal("not_owned", code)
        assert.matches("Secret web/s exists already, and \"spec\" has never applied it; to take it "
            .. "over, pass { adopt = true }", message, 1, true)
        assert.equal("theirs", value())
    end)

    it("refuses what its field manager has only patched", function()
        assert(w.cluster:apply(web_secret("theirs"), { manager = "them" }))
        local _, _, code = w:in_run("a", function(_, run)
            assert(run:patch("secrets", "web/s", { metadata = { labels = { a = "b" } } }))
            return run:apply(web_secret("mine"), UNOWNED)
        end)
        assert.equal("not_owned", code)
    end)

    it("takes it with adopt = true, and then goes on without", function()
        assert(w.cluster:apply(web_secret("theirs")))
        assert(apply(nil, { owner = false, adopt = true }))
        assert.equal("mine", value())
        w.cluster:patch("secrets", "web/s", { stringData = { a = "forged" } })
        assert(apply({ name = "spec" }))
        assert.equal("mine", value())
    end)

    it("knows after a restart what it has applied, by the object's managed fields", function()
        assert(apply())
        local made = apply({ name = "spec", reads = { "secrets" } })
        assert.is_truthy(made)
        local _, _, code = apply({ name = "other" })
        assert.equal("not_owned", code)
    end)

    it("reads the object once, and then not again", function()
        assert(apply(nil))
        local before = count_reads()
        w:in_run("a", function(_, run)
            for i = 1, 5 do
                assert(run:apply(web_secret("v" .. i), UNOWNED))
            end
        end, { name = "spec", reads = { "secrets" } })
        assert.equal(1, count_reads() - before)
    end)

    it("refuses an object that comes between its look and its write", function()
        local made, _, code = w:in_run("a", function(_, run)
            w.cluster:freeze { verb = "watch", resource = "secrets" }
            assert(w.cluster:apply(web_secret("theirs")))
            return run:apply(web_secret("mine"), UNOWNED)
        end, { reads = { "secrets" } })
        assert.is_nil(made)
        assert.equal("not_owned", code)
        assert.equal("theirs", value())
    end)

    it("refuses another object that has the name by now", function()
        local _, _, code = w:in_run("a", function(_, run)
            assert(run:apply(web_secret("mine"), UNOWNED))
            assert(run:get("secrets", "web/s"))
            w.cluster:freeze { verb = "watch", resource = "secrets" }
            assert(w.cluster:delete("secrets", "web/s"))
            assert(w.cluster:apply(web_secret("theirs")))
            return run:apply(web_secret("mine"), UNOWNED)
        end, { reads = { "secrets" } })
        assert.equal("not_owned", code)
        assert.equal("theirs", value())
    end)

    it("is also one in gone, and in a controller without a resource", function()
        assert(w.cluster:apply(web_secret("theirs")))
        local codes = {}
        local function note_code(_, run)
            codes[#codes + 1] = select(3, run:apply(web_secret("mine")))
            w:note("done")
        end
        w:controller { keyless = true, name = "keys", reconcile = note_code }:enqueue("all")
        w:noted()
        w:controller { gone = note_code, reconcile = function() return true end }
            :enqueue("web/none")
        w:noted()
        assert.same({ "not_owned", "not_owned" }, codes)
        assert.equal("theirs", value())
    end)

    it("fails as the read does, if the object cannot be read", function()
        w.cluster:fail { verb = "get", resource = "secrets", status = 403, count = 0 }
        local _, _, code = apply()
        assert.equal("forbidden", code)
    end)

    it("with force = false is a conflict over a field of another manager", function()
        local mine = web_secret("mine")
        mine.metadata.labels = { of = "spec" } -- nothing else takes this field
        assert(apply(nil, nil, mine))
        assert(w.cluster:apply(web_secret("theirs"), { manager = "them", force = true }))
        local _, _, code = apply({ name = "spec" }, { owner = false, force = false })
        assert.equal("conflict", code)
    end)
end)
