package main

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/util/workqueue"

	"kube-informer/bench/measure"
)

// hot is the number of keys that are requeued.
const hot = 16

type queue = workqueue.TypedRateLimitingInterface[string]

// newQueue creates a queue like controllers do.
func newQueue() queue {
	return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
}

// cycles measures add, get and done.
func cycles(s size) {
	distinct(s)
	goRound(s)
	burst(s)
}

func name(what string, s size) string { return fmt.Sprintf("%s, %d workers", what, s.workers) }

// distinct lets each worker add new keys and take the next one. So each add is followed by one get, and no
// worker waits without a key.
func distinct(s size) {
	queue := newQueue()
	defer queue.ShutDown()
	keys := keysOf(s.items())
	each := len(keys) / s.workers
	stopwatch := start()
	var done sync.WaitGroup
	for worker := range s.workers {
		own := keys[worker*each : (worker+1)*each]
		done.Go(func() {
			for _, added := range own {
				queue.Add(added)
				key, _ := queue.Get()
				queue.Done(key)
			}
		})
	}
	done.Wait()
	measure.Each(name("cycle of distinct keys", s), each*s.workers, stopwatch)
}

// goRound lets workers add their current key again, so that it is requeued when they are done.
func goRound(s size) {
	queue := newQueue()
	defer queue.ShutDown()
	for _, key := range keysOf(hot) {
		queue.Add(key)
	}
	each := s.items() / s.workers
	stopwatch := start()
	var done sync.WaitGroup
	for range s.workers {
		done.Go(func() {
			for range each {
				key, _ := queue.Get()
				queue.Add(key)
				queue.Done(key)
			}
		})
	}
	done.Wait()
	measure.Each(name("cycle of hot keys", s), each*s.workers, stopwatch)
}

// burst adds all keys at once, like an informer does, while workers wait.
func burst(s size) {
	queue := newQueue()
	keys := keysOf(s.items())
	var left atomic.Int64
	left.Store(int64(len(keys)))
	all := make(chan struct{})
	stopwatch := start()
	for range s.workers {
		go func() {
			for {
				key, closed := queue.Get()
				if closed {
					return
				}
				queue.Done(key)
				if left.Add(-1) == 0 {
					close(all)
				}
			}
		}()
	}
	for _, key := range keys {
		queue.Add(key)
	}
	<-all
	measure.Each(name("cycle of a burst", s), len(keys), stopwatch)
	queue.ShutDown()
}

// start collects garbage first, so that the measurement does not include it.
func start() measure.Stopwatch {
	runtime.GC()
	return measure.StartStopwatch()
}
