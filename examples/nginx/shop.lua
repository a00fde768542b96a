-- The Service default/shop, and its Deployment of three pods. Returns a function that rolls out
-- another image, and waits until all its pods are available.
return function(cluster, port)
    local labels = { app = "shop" }
    assert(cluster:apply { apiVersion = "v1", kind = "Service",
        metadata = { name = "shop", namespace = "default" },
        spec = { selector = labels, ports = { { name = "http", port = port } } } })

    local function is_rolled_out(found)
        local status = found.status
        return status and status.observedGeneration == found.metadata.generation
            and status.updatedReplicas == 3 and status.replicas == 3
            and status.availableReplicas == 3
    end

    return function(image)
        assert(cluster:apply { apiVersion = "apps/v1", kind = "Deployment",
            metadata = { name = "shop", namespace = "default" },
            spec = { replicas = 3, selector = { matchLabels = labels }, template = {
                metadata = { labels = labels },
                spec = { containers = { { name = "shop", image = image } } } } } })
        assert(cluster:wait("deployments", "default/shop", is_rolled_out, 30))
    end
end
