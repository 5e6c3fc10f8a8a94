package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// events measures events through the whole pipeline.
func events(ctx context.Context, s size) {
	script := newScript()
	script.lists <- list{podsAt(s.keys(), 1), 1}
	w := script.willWatch()
	informer := newInformer(script, nil)
	var done sync.WaitGroup
	done.Add(s.handlers)
	var registrations []cache.ResourceEventHandlerRegistration
	for range s.handlers {
		left := s.events()
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			UpdateFunc: func(_, _ any) {
				left--
				if left == 0 {
					done.Done()
				}
			},
		})
		if err != nil {
			panic(err)
		}
		registrations = append(registrations, registration)
	}
	updates := make([]watch.Event, s.events())
	order := orderOf(s.keys())
	for at := range updates {
		pod := podAt(order[at%len(order)], uint64(at)+2)
		updates[at] = watch.Event{Type: watch.Modified, Object: pod}
	}
	start(ctx, informer)
	for _, registration := range registrations {
		waitFor(registration.HasSynced)
	}
	runtime.GC()

	stopwatch := startStopwatch()
	for at, update := range updates {
		w.events <- update
		// Whatever is replaced in the cache is free, as in the other programs.
		updates[at].Object = nil
	}
	done.Wait()
	wall, cpu := stopwatch.stop()
	measure := fmt.Sprintf("events to %d", s.handlers)
	figure(measure, "events/s", float64(len(updates))/wall.Seconds())
	figure(measure+", processor time", "ns/event", float64(cpu.Nanoseconds())/float64(len(updates)))
}

func byNode(object any) ([]string, error) {
	return []string{object.(*corev1.Pod).Spec.NodeName}, nil
}

type name struct{ namespace, name string }

func names(s size) []name {
	names := make([]name, 0, s.objects())
	for _, number := range orderOf(s.objects()) {
		names = append(names, name{namespaceOf(number), nameOf(number)})
	}
	return names
}

// reads measures reading the cache.
func reads(ctx context.Context, s size) {
	script := newScript()
	script.lists <- list{podsAt(s.objects(), 1), 1}
	w := script.willWatch()
	informer := newInformer(script, cache.Indexers{"node": byNode})
	start(ctx, informer)
	read(s, informer, "")
	go w.updates(s.objects(), ctx.Done())
	read(s, informer, ", busy writer")
}

func read(s size, informer cache.SharedIndexInformer, when string) {
	lister := listers.NewPodLister(informer.GetIndexer())
	names := names(s)
	figure("get"+when, "ns", perCall(1000, s.gets(), func(call int) {
		name := names[call%len(names)]
		if _, err := lister.Pods(name.namespace).Get(name.name); err != nil {
			panic(err)
		}
	}))
	var namespaces, nodes []string
	for group := range groups {
		namespaces = append(namespaces, namespaceOf(group))
		nodes = append(nodes, nodeOf(group*groups))
	}
	figure("list of a namespace"+when, "ns", perCall(10, s.lists(), func(call int) {
		if _, err := lister.Pods(namespaces[call%groups]).List(labels.Everything()); err != nil {
			panic(err)
		}
	}))
	figure("by index"+when, "ns", perCall(10, s.lists(), func(call int) {
		if _, err := informer.GetIndexer().ByIndex("node", nodes[call%groups]); err != nil {
			panic(err)
		}
	}))
}

// pauses measures the longest wait of a reader while everything is replaced.
func pauses(ctx context.Context, s size) {
	script := newScript()
	script.lists <- list{podsAt(s.objects(), 1), 1}
	w := script.willWatch()
	informer := newInformer(script, nil)
	start(ctx, informer)
	<-script.asked
	lister := listers.NewPodLister(informer.GetIndexer())
	names := names(s)
	longest := func(going *atomic.Bool, into *[]time.Duration, done *sync.WaitGroup) {
		done.Go(func() {
			*into = append(*into, longestCall(going, func(call int) {
				name := names[call%len(names)]
				if _, err := lister.Pods(name.namespace).Get(name.name); err != nil {
					panic(err)
				}
			}))
		})
	}

	var floors, pauses []time.Duration
	for version := uint64(2); version < uint64(2+s.tries()); version++ {
		script.lists <- list{podsAt(s.objects(), version), version}
		next := script.willWatch()
		runtime.GC()

		var going atomic.Bool
		var done sync.WaitGroup
		going.Store(true)
		longest(&going, &floors, &done)
		time.Sleep(while)
		going.Store(false)
		done.Wait()

		w.expire()
		<-script.asked
		going.Store(true)
		longest(&going, &pauses, &done)
		wanted := strconv.FormatUint(version, 10)
		last := names[len(names)-1]
		for {
			// The version of the store moves with the list, but the objects are what a reader waits for.
			pod, err := lister.Pods(last.namespace).Get(last.name)
			if err == nil && pod.ResourceVersion == wanted {
				break
			}
			time.Sleep(time.Millisecond)
		}
		going.Store(false)
		done.Wait()
		w = next
	}
	waits("longest get, nobody writes", floors)
	waits("longest get, all is replaced", pauses)
}

// joins measures what a handler that joins late costs another.
func joins(ctx context.Context, s size) {
	script := newScript()
	script.lists <- list{podsAt(s.objects(), 1), 1}
	w := script.willWatch()
	informer := newInformer(script, nil)
	gaps := &gaps{start: time.Now()}
	first, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { gaps.delivered() },
		UpdateFunc: func(_, _ any) { gaps.delivered() },
	})
	if err != nil {
		panic(err)
	}
	start(ctx, informer)
	waitFor(first.HasSynced)
	go w.updates(s.objects(), ctx.Done())
	time.Sleep(while)

	var alone, joined []time.Duration
	for range s.tries() {
		time.Sleep(while)
		gaps.takeLongest()
		time.Sleep(while)
		alone = append(alone, gaps.takeLongest())

		late, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
		if err != nil {
			panic(err)
		}
		// The same length as without a join, and longer if the join takes longer.
		time.Sleep(while)
		waitFor(late.HasSynced)
		joined = append(joined, gaps.takeLongest())
		if err := informer.RemoveEventHandler(late); err != nil {
			panic(err)
		}
	}
	waits("longest gap, nobody joins", alone)
	waits("longest gap, a handler joins", joined)
}

// memory measures what an entry of the cache takes beyond its object.
func memory(ctx context.Context, s size) {
	debug.SetGCPercent(50)
	before := allocated()
	pods := podsAt(s.objects(), 1)
	bare := allocated() - before - float64(len(pods))*8

	script := newScript()
	script.lists <- list{pods, 1}
	pods = nil
	script.willWatch()
	informer := newInformer(script, nil)
	start(ctx, informer)
	time.Sleep(500 * time.Millisecond)
	entry := (allocated() - before - bare) / float64(s.objects())
	figure("memory of an entry beyond its object", "bytes", entry)
	runtime.KeepAlive(informer)
}

func allocated() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
