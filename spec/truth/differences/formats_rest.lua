-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "pretty printing and compression in detail",
    why = "byte by byte it is another printer",
    { "formats: a large table with gzip", "header.content-encoding", "header.vary" },
}
