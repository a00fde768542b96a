-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "pretty printing and compression in detail",
    why = "byte by byte it is another printer",
    { "formats: pretty", "body" },
    { "formats: pretty by a browser", "body" },
    { "formats: pretty by curl", "body" },
    { "formats: a large table with gzip", "header.content-encoding", "header.vary" },
}
