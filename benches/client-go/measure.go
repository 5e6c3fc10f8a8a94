package main

import (
	"encoding/json"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
)

// figure prints what was measured.
func figure(measure, unit string, value float64) {
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"subject": "client-go", "measure": measure, "against": measure, "unit": unit, "value": value,
	})
}

// stopwatch runs from its start on.
type stopwatch struct {
	wall       time.Time
	processors time.Duration
}

func startStopwatch() stopwatch { return stopwatch{time.Now(), processors()} }

func (s stopwatch) stop() (wall, cpu time.Duration) {
	return time.Since(s.wall), processors() - s.processors
}

func processors() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// perCall gives nanoseconds per call, as the median of chunks of calls.
func perCall(chunk, calls int, call func(number int)) float64 {
	var chunks []float64
	for at := 0; at+chunk <= calls; at += chunk {
		start := time.Now()
		for number := at; number < at+chunk; number++ {
			call(number)
		}
		chunks = append(chunks, float64(time.Since(start).Nanoseconds())/float64(chunk))
	}
	slices.Sort(chunks)
	return chunks[len(chunks)/2]
}

// longestCall calls for as long as going is set, and gives the longest call.
func longestCall(going *atomic.Bool, call func(number int)) time.Duration {
	var longest time.Duration
	for number := 0; going.Load(); number++ {
		start := time.Now()
		call(number)
		longest = max(longest, time.Since(start))
	}
	return longest
}

// waits prints the longest waits of several tries.
func waits(measure string, waits []time.Duration) {
	slices.Sort(waits)
	micros := func(wait time.Duration) float64 { return float64(wait.Nanoseconds()) / 1e3 }
	figure(measure+", least", "µs", micros(waits[0]))
	figure(measure+", median", "µs", micros(waits[len(waits)/2]))
}

// gaps keeps the longest time between two deliveries.
type gaps struct {
	start         time.Time
	last, longest atomic.Int64
}

func (g *gaps) delivered() {
	now := int64(time.Since(g.start))
	last := g.last.Swap(now)
	for last > 0 {
		longest := g.longest.Load()
		if now-last <= longest || g.longest.CompareAndSwap(longest, now-last) {
			return
		}
	}
}

func (g *gaps) takeLongest() time.Duration { return time.Duration(g.longest.Swap(0)) }
