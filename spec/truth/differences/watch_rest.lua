-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "watches from before the server began, and in forms for lists",
    why = "here the whole history is there",
    { "watch: as a list of metadata", "events" },
}
