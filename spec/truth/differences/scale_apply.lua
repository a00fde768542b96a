-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "server-side apply of a Scale",
    why = "scale takes the other writes",
    { "apply: its scale", "status" },
    { "apply: its replicas, which the scaler has", "status" },
}
