---@meta
-- Types that the Lua language server knows by other names.

---@class file*: file

---@class ffi.cdata*
