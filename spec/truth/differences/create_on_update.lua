-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "PUT does not make objects",
    why = "kinds that allow it are few",
    { "update: a lease", "status" },
    { "update: a lease is made by PUT", "status" },
}
