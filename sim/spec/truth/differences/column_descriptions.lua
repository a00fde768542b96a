-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "columns of tables have no descriptions",
    why = "the compact table of kinds has no documentation texts",
    anywhere = "columnDefinitions%..*%.description$",
}
