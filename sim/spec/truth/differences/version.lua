-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "the version names the simulator",
    why = "a client may want to know",
    {
        "discovery: the server's version",
        "body.compiler",
        "body.gitCommit",
        "body.gitVersion",
        "body.goVersion",
        "body.platform",
    },
    {
        "discovery: the server's version with a slash",
        "body.compiler",
        "body.gitCommit",
        "body.gitVersion",
        "body.goVersion",
        "body.platform",
    },
}
