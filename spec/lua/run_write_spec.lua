-- run:create and run:apply: they write objects that the run's object owns, and touch no others.
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
