# One Lua C module an ABI: kubelua/core.so for each Lua that is there.
