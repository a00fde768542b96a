-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "columns of tables have no descriptions",
    why = "the compact table of kinds has no texts of the documentation",
    anywhere = "columnDefinitions%..*%.description$",
}
