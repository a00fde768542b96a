-- Why the gateway does not claim a feature in the status of its GatewayClass: for table.lua.
return {
}
