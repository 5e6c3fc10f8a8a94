// Package measure contains common measurements.
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

// Figure prints a measurement.
func Figure(measure, unit string, value float64) {
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"subject": "client-go", "measure": measure, "against": measure, "unit": unit, "value": value,
	})
}

// Stopwatch measures elapsed and CPU time.
type Stopwatch struct {
	wall       time.Time
	processors time.Duration
}

// StartStopwatch starts a stopwatch.
func StartStopwatch() Stopwatch { return Stopwatch{time.Now(), processors()} }

// Stop returns the elapsed time and the CPU time of all threads since the start.
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

// PerCall returns nanoseconds per call, as the median of chunks of calls.
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

// LongestCall calls a function while going is set, and returns the duration of the longest call.
func LongestCall(going *atomic.Bool, call func(number int)) time.Duration {
	var longest time.Duration
	for number := 0; going.Load(); number++ {
		start := time.Now()
		call(number)
		longest = max(longest, time.Since(start))
	}
	return longest
}

// Waits prints the minimum and the median of the longest waits of several tries.
func Waits(measure string, waits []time.Duration) {
	slices.Sort(waits)
	micros := func(wait time.Duration) float64 { return float64(wait.Nanoseconds()) / 1e3 }
	Figure(measure+", least", "µs", micros(waits[0]))
	Figure(measure+", median", "µs", micros(waits[len(waits)/2]))
}

// Gaps records the longest time between two deliveries.
type Gaps struct {
	start         time.Time
	last, longest atomic.Int64
}

// NewGaps returns an empty recorder.
func NewGaps() *Gaps { return &Gaps{start: time.Now()} }

// Delivered records a delivery.
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

// TakeLongest returns the longest gap since the last call.
func (g *Gaps) TakeLongest() time.Duration { return time.Duration(g.longest.Swap(0)) }

// Each prints the elapsed time and the CPU time per item.
func Each(measure string, count int, stopwatch Stopwatch) {
	wall, cpu := stopwatch.Stop()
	each := func(all time.Duration) float64 { return float64(all.Nanoseconds()) / float64(count) }
	Figure(measure, "ns", each(wall))
	Figure(measure+", processor time", "ns", each(cpu))
}

// Allocated returns the bytes in use.
func Allocated() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
