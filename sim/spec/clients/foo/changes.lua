-- The script of changes: what people, other controllers and failures do to Foos and Deployments. A
-- change is a sentence, a function that makes it, and a condition that the controller must fulfil
-- before the next change.
return {
    {
        "a Foo is made",
        function(w) w:create_foo("a", "web", 1) end,
        function(w)
            return w:has_deployment("web", "a", 1) and w:has_status("a", 0)
                and w:has_event("a", "Synced")
        end,
    },
    {
        "its Deployment becomes available",
        function(w) w:make_available("web", 1) end,
        function(w) return w:has_status("a", 1) end,
    },
    {
        "the Foo wants more replicas",
        function(w) w:update("foos", "a", function(foo) foo.spec.replicas = 3 end) end,
        function(w) return w:has_deployment("web", "a", 3) end,
    },
    {
        "somebody scales the Deployment",
        function(w) w:update("deployments", "web", function(d) d.spec.replicas = 5 end) end,
        function(w) return w:has_deployment("web", "a", 3) end,
    },
    {
        "somebody deletes the Deployment",
        function(w) w:delete("deployments", "web") end,
        function(w) return w:has_deployment("web", "a", 3) and w:has_status("a", 0) end,
    },
    {
        "a Foo names a Deployment that is not controlled by anything",
        function(w)
            w:create_deployment("other")
            w:create_foo("b", "other", 2)
        end,
        function(w) return w:has_event("b", "ErrResourceExists") end,
    },
    {
        "that Deployment goes",
        function(w) w:delete("deployments", "other") end,
        function(w) return w:has_deployment("other", "b", 2) and w:has_event("b", "Synced") end,
    },
    {
        "a Foo names the Deployment of another Foo",
        function(w) w:create_foo("c", "web", 7) end,
        function(w) return w:has_event("c", "ErrResourceExists") end,
    },
    {
        "a Foo does not care about replicas, and somebody scales its Deployment",
        function(w)
            w:create_foo("free", "free", nil)
            w:wait("the event of free", function() return w:has_event("free", "Synced") end)
            w:update("deployments", "free", function(d) d.spec.replicas = 4 end)
            w:make_available("free", 4)
        end,
        function(w) return w:has_status("free", 4) and w:has_deployment("free", "free", 4) end,
    },
    {
        "a Foo names no Deployment at first",
        function(w)
            w:create_foo("late", nil, 1)
            w:create_foo("marker", "marker", 1) -- the controller has seen late, too, by then
            w:wait("the event of marker", function() return w:has_event("marker", "Synced") end)
            w:update("foos", "late", function(foo) foo.spec.deploymentName = "late-1" end)
        end,
        function(w) return w:has_deployment("late-1", "late", 1) and w:has_status("late", 0) end,
    },
    {
        "it names another Deployment later; the first one stays",
        function(w)
            w:update("foos", "late", function(foo) foo.spec.deploymentName = "late-2" end)
            w:wait("the other Deployment", function()
                return w:has_deployment("late-2", "late", 1)
            end)
            w:make_available("late-1", 1)
            w:make_available("late-2", 1)
        end,
        function(w) return w:has_status("late", 1) end,
    },
    {
        "while the controller is away: a change, a delete of a Deployment, and one of a Foo",
        function(w)
            w:stop_controller()
            w:update("foos", "a", function(foo) foo.spec.replicas = 2 end)
            w:delete("deployments", "late-2")
            w:delete("foos", "marker")
            w:delete("deployments", "marker") -- as a garbage collector would
            w:start_controller()
        end,
        function(w)
            return w:has_deployment("web", "a", 2) and w:has_deployment("late-2", "late", 1)
                and w:has_status("late", 0)
        end,
    },
    {
        "a Foo is deleted and made again before its old Deployment is collected",
        function(w)
            w:delete("foos", "b")
            w:create_foo("b", "other", 1)
        end,
        function(w) return w:has_event("b", "ErrResourceExists") end,
    },
    {
        "the old Deployment is collected",
        function(w) w:delete("deployments", "other") end,
        function(w) return w:has_deployment("other", "b", 1) and w:has_event("b", "Synced") end,
    },
    {
        "a Foo is deleted, its Deployment collected; nothing makes that again",
        function(w)
            w:delete("foos", "free")
            w:create_foo("last", "last", 1) -- done: the controller knows that free is gone
            w:wait("the Deployment of last", function() return w:has_status("last", 0) end)
            w:delete("deployments", "free")
            w:make_available("web", 2)
        end,
        function(w)
            return w:has_status("a", 2) and w:has_event("last", "Synced")
                and not w:get("deployments", "free")
        end,
    },
}
