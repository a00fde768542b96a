package main

import (
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

func main() {
	p, err := promlint.New(os.Stdin).Lint()
	for _, x := range p {
		fmt.Println(x.Metric, x.Text)
	}
	if err != nil {
		fmt.Println("ERR", err)
		os.Exit(1)
	}
}
