package main

import (
	"math/rand"
	"runtime"
	"runtime/debug"
	"time"

	"k8s.io/client-go/util/workqueue"
	testingclock "k8s.io/utils/clock/testing"

	"kube-informer/bench/measure"
)

// settling is the time for the goroutine of delayed items to process its input.
const settling = 300 * time.Millisecond

// stopped returns a queue with a stopped clock, and a limiter per item.
func stopped() (queue, *testingclock.FakeClock) {
	clock := testingclock.NewFakeClock(time.Now())
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, 1000*time.Second)
	config := workqueue.TypedRateLimitingQueueConfig[string]{Clock: clock}
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, config), clock
}

func delaysOf(count int) []time.Duration {
	random := rand.New(rand.NewSource(7))
	delays := make([]time.Duration, count)
	for at := range delays {
		delays[at] = time.Millisecond + time.Duration(random.Int63n(int64(time.Hour)))
	}
	return delays
}

// delays measures delayed items that all become due at the same time.
func delays(s size) {
	queue, clock := stopped()
	defer queue.ShutDown()
	keys, delays := keysOf(s.items()), delaysOf(s.items())
	stopwatch := start()
	for at, key := range keys {
		queue.AddAfter(key, delays[at])
	}
	measure.Each("insert a delayed item", len(keys), stopwatch)
	time.Sleep(settling)

	stopwatch = start()
	clock.Step(2 * time.Hour)
	for range keys {
		key, _ := queue.Get()
		queue.Done(key)
	}
	measure.Each("take a delayed item", len(keys), stopwatch)
}

// limits measures items that are delayed by a limiter, become due, and are forgotten.
func limits(s size) {
	queue, clock := stopped()
	defer queue.ShutDown()
	keys := keysOf(s.items())
	stopwatch := start()
	for _, key := range keys {
		queue.AddRateLimited(key)
	}
	measure.Each("insert a rate-limited item", len(keys), stopwatch)
	time.Sleep(settling)

	stopwatch = start()
	clock.Step(time.Hour)
	for range keys {
		key, _ := queue.Get()
		queue.Forget(key)
		queue.Done(key)
	}
	measure.Each("take and forget a rate-limited item", len(keys), stopwatch)
}

// memory measures the size of an item without its key.
func memory(s size) {
	debug.SetGCPercent(50)
	keys, delays := keysOf(s.items()), delaysOf(s.items())
	each := func(measured string, add func(queue queue, at int)) {
		var sum float64
		// Tables grow in steps, so the load factor matters.
		levels := []int{len(keys) * 10 / 16, len(keys) * 12 / 16, len(keys) * 14 / 16, len(keys)}
		for _, count := range levels {
			before := measure.Allocated()
			queue, _ := stopped()
			for at := range count {
				add(queue, at)
			}
			time.Sleep(settling)
			sum += (measure.Allocated() - before) / float64(count)
			queue.ShutDown()
			queue = nil
			time.Sleep(settling)
		}
		measure.Figure(measured, "bytes", sum/float64(len(levels)))
	}
	each("memory of a queued item", func(queue queue, at int) { queue.Add(keys[at]) })
	each("memory of a delayed item", func(queue queue, at int) { queue.AddAfter(keys[at], delays[at]) })
	each("memory of a rate-limited item", func(queue queue, at int) { queue.AddRateLimited(keys[at]) })
	runtime.KeepAlive(keys)
	runtime.KeepAlive(delays)
}
