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

	"kube-informer/bench/measure"
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

	stopwatch := measure.StartStopwatch()
	for at, update := range updates {
		w.events <- update
		// Replaced objects are released, as in the other programs.
		updates[at].Object = nil
	}
	done.Wait()
	wall, cpu := stopwatch.Stop()
	name := fmt.Sprintf("events to %d", s.handlers)
	measure.Figure(name, "events/s", float64(len(updates))/wall.Seconds())
	measure.Figure(name+", processor time", "ns/event", float64(cpu.Nanoseconds())/float64(len(updates)))
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

// reads measures reads of the cache.
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
	measure.Figure("get"+when, "ns", measure.PerCall(1000, s.gets(), func(call int) {
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
	measure.Figure("list of a namespace"+when, "ns", measure.PerCall(10, s.lists(), func(call int) {
		if _, err := lister.Pods(namespaces[call%groups]).List(labels.Everything()); err != nil {
			panic(err)
		}
	}))
	measure.Figure("by index"+when, "ns", measure.PerCall(10, s.lists(), func(call int) {
		if _, err := informer.GetIndexer().ByIndex("node", nodes[call%groups]); err != nil {
			panic(err)
		}
	}))
}

// pauses measures the longest wait of a reader while all objects are replaced.
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
			*into = append(*into, measure.LongestCall(going, func(call int) {
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
			// The version of the store changes with the list, but a reader waits for the objects.
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
	measure.Waits("longest get, no writer", floors)
	measure.Waits("longest get, all objects replaced", pauses)
}

// joins measures the effect of adding a handler on another handler.
func joins(ctx context.Context, s size) {
	script := newScript()
	script.lists <- list{podsAt(s.objects(), 1), 1}
	w := script.willWatch()
	informer := newInformer(script, nil)
	gaps := measure.NewGaps()
	first, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { gaps.Delivered() },
		UpdateFunc: func(_, _ any) { gaps.Delivered() },
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
		gaps.TakeLongest()
		time.Sleep(while)
		alone = append(alone, gaps.TakeLongest())

		late, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
		if err != nil {
			panic(err)
		}
		// At least as long as without a new handler, and longer if adding the handler takes longer.
		time.Sleep(while)
		waitFor(late.HasSynced)
		joined = append(joined, gaps.TakeLongest())
		if err := informer.RemoveEventHandler(late); err != nil {
			panic(err)
		}
	}
	measure.Waits("longest gap, no new handler", alone)
	measure.Waits("longest gap, a new handler", joined)
}

// memory measures the size of a cache entry without its object.
func memory(ctx context.Context, s size) {
	debug.SetGCPercent(50)
	before := measure.Allocated()
	pods := podsAt(s.objects(), 1)
	bare := measure.Allocated() - before - float64(len(pods))*8

	script := newScript()
	script.lists <- list{pods, 1}
	pods = nil
	script.willWatch()
	informer := newInformer(script, nil)
	start(ctx, informer)
	time.Sleep(500 * time.Millisecond)
	entry := (measure.Allocated() - before - bare) / float64(s.objects())
	measure.Figure("memory of an entry beyond its object", "bytes", entry)
	runtime.KeepAlive(informer)
}
