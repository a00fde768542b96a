package main

import (
	"fmt"
	"io"
	"slices"
)

func median(results []result, of func(*result) float64) float64 {
	var values []float64
	for i := range results {
		values = append(values, of(&results[i]))
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 0 {
		return (values[middle-1] + values[middle]) / 2
	}
	return values[middle]
}

// table writes medians, and what they are relative to the first contender.
func table(out io.Writer, names []string, results map[string][]result) {
	fmt.Fprintln(out, "| | CPU to sync, a pod | relative | wall | resident a pod |"+
		" peak over rest | after updates | CPU an update | updates per CPU, relative | updates a second |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|---|")
	sync := func(r *result) float64 { return r.syncCPU }
	update := func(r *result) float64 { return r.updateCPU }
	first := results[names[0]]
	for _, name := range names {
		of := results[name]
		fmt.Fprintf(out, "| %s | %.1f us | %.2f | %.1f us | %.1f KB | %.2f | %.1f KB | %.1f us | %.2f | %.0f |\n",
			name, median(of, sync), median(of, sync)/median(first, sync),
			median(of, func(r *result) float64 { return r.syncWall }),
			median(of, func(r *result) float64 { return r.restBytes })/1024,
			median(of, func(r *result) float64 { return r.peak }),
			median(of, func(r *result) float64 { return r.lateBytes })/1024,
			median(of, update), median(first, update)/median(of, update),
			1e6/median(of, func(r *result) float64 { return r.updateWall }))
	}
}
