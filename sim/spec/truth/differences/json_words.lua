-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "numbers with exponents in the text of a refusal",
    why = "the simulator prints the value of a number, not its original text",
    { "bodies: containers: 14", "body.message" },
    { "bodies: a deployment: 9", "body.message" },
}
