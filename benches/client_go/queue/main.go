// Runs one scenario of client-go's work queue.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
)

type size struct {
	workers int
	quick   bool
}

func (s size) choose(quick, whole int) int {
	if s.quick {
		return quick
	}
	return whole
}

func (s size) items() int { return s.choose(100_000, 1_000_000) }

func main() {
	runtime.GOMAXPROCS(2)
	var s size
	flag.IntVar(&s.workers, "workers", 1, "workers, for the cycles")
	flag.BoolVar(&s.quick, "quick", false, "run a shorter version")
	flag.Parse()
	scenarios := map[string]func(size){
		"cycles": cycles, "delays": delays, "limits": limits, "memory": memory,
	}
	scenario := scenarios[flag.Arg(0)]
	if scenario == nil {
		fmt.Fprintln(os.Stderr, "usage: [-workers N] [-quick] cycles|delays|limits|memory")
		os.Exit(2)
	}
	scenario(s)
}

// keysOf returns the same keys as src/queue/keys.rs.
func keysOf(count int) []string {
	keys := make([]string, count)
	for number := range keys {
		keys[number] = fmt.Sprintf("team-%03d/web-%06d", number%100, number)
	}
	return keys
}
