// Package measure holds how things are measured, whatever is measured.
package measure

import (
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
)

// Figure prints what was measured.
func Figure(measure, unit string, value float64) {
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"subject": "client-go", "measure": measure, "against": measure, "unit": unit, "value": value,
	})
}

// Stopwatch runs from its start on.
type Stopwatch struct {
	wall       time.Time
	processors time.Duration
}

// StartStopwatch starts one now.
func StartStopwatch() Stopwatch { return Stopwatch{time.Now(), processors()} }

// Stop gives what it took until now, on the wall and on all processors.
func (s Stopwatch) Stop() (wall, cpu time.Duration) {
	return time.Since(s.wall), processors() - s.processors
}

func processors() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// PerCall gives nanoseconds per call, as the median of chunks of calls.
func PerCall(chunk, calls int, call func(number int)) float64 {
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

// LongestCall calls for as long as going is set, and gives the longest call.
func LongestCall(going *atomic.Bool, call func(number int)) time.Duration {
	var longest time.Duration
	for number := 0; going.Load(); number++ {
		start := time.Now()
		call(number)
		longest = max(longest, time.Since(start))
	}
	return longest
}

// Waits prints the longest waits of several tries.
func Waits(measure string, waits []time.Duration) {
	slices.Sort(waits)
	micros := func(wait time.Duration) float64 { return float64(wait.Nanoseconds()) / 1e3 }
	Figure(measure+", least", "µs", micros(waits[0]))
	Figure(measure+", median", "µs", micros(waits[len(waits)/2]))
}

// Gaps keeps the longest time between two deliveries.
type Gaps struct {
	start         time.Time
	last, longest atomic.Int64
}

// NewGaps has seen nothing yet.
func NewGaps() *Gaps { return &Gaps{start: time.Now()} }

// Delivered says that there is a delivery, now.
func (g *Gaps) Delivered() {
	now := int64(time.Since(g.start))
	last := g.last.Swap(now)
	for last > 0 {
		longest := g.longest.Load()
		if now-last <= longest || g.longest.CompareAndSwap(longest, now-last) {
			return
		}
	}
}

// TakeLongest gives the longest gap since this was asked before.
func (g *Gaps) TakeLongest() time.Duration { return time.Duration(g.longest.Swap(0)) }

// Each prints what one of so many took, on the wall and on all processors.
func Each(measure string, count int, stopwatch Stopwatch) {
	wall, cpu := stopwatch.Stop()
	each := func(all time.Duration) float64 { return float64(all.Nanoseconds()) / float64(count) }
	Figure(measure, "ns", each(wall))
	Figure(measure+", processor time", "ns", each(cpu))
}

// Allocated gives the bytes that are in use.
func Allocated() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
