-- How many requests a fault of a simulated cluster has met; nil: the fault is used up. A request
-- that has no answer yet is not in cluster:requests().
return function(cluster, id)
    for _, fault in ipairs(cluster:faults()) do
        if fault.id == id then
            return fault.hits
        end
    end
end
