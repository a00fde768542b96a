---@meta
-- What the specs of examples/ use of busted: for the step `types` only.

---@param name string
---@param body fun()
function describe(name, body) end

---@param name string
---@param body fun()
function it(name, body) end

---@param body fun()
function setup(body) end

---@param body fun()
function teardown(body) end

---@param body fun()
function before_each(body) end

---@param body fun()
function after_each(body) end

---@class spec.Assert
---@overload fun<T, T1>(v: T, ...: T1...): std.NotNull<T>, T1...
---@field are_not spec.Assert
---@field [string] fun(...: any)
assert = {}
