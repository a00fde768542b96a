-- Asserts that a verb has failed: what it returned is nil, a message with `text`, and the code.
local assert = require "luassert"

return function(text, code, object, message, got)
    assert.is_nil(object)
    assert.truthy(message:find(text, 1, true), message)
    assert.equal(code, got, message)
end
