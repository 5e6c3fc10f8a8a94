// Runs one scenario of client-go's informer, with a scripted list and watch instead of a server.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// while is the duration of a baseline measurement.
const while = 300 * time.Millisecond

type size struct {
	handlers int
	quick    bool
}

func (s size) choose(quick, whole int) int {
	if s.quick {
		return quick
	}
	return whole
}

func (s size) keys() int    { return s.choose(1_000, 10_000) }
func (s size) objects() int { return s.choose(10_000, 100_000) }
func (s size) tries() int   { return s.choose(2, 5) }
func (s size) gets() int    { return s.choose(50_000, 500_000) }
func (s size) lists() int   { return s.choose(50, 500) }
func (s size) events() int {
	if s.handlers < 50 {
		return s.choose(5_000, 100_000)
	}
	return s.choose(5_000, 30_000)
}

func main() {
	// The script supports lists, but not streams of initial events.
	os.Setenv("KUBE_FEATURE_WatchListClient", "false")
	var s size
	flag.IntVar(&s.handlers, "handlers", 1, "handlers, for the events")
	flag.BoolVar(&s.quick, "quick", false, "run a shorter version")
	flag.Parse()
	scenarios := map[string]func(context.Context, size){
		"events": events, "reads": reads, "pauses": pauses, "joins": joins, "memory": memory,
	}
	scenario := scenarios[flag.Arg(0)]
	if scenario == nil {
		fmt.Fprintln(os.Stderr, "usage: [-handlers N] [-quick] events|reads|pauses|joins|memory")
		os.Exit(2)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	scenario(ctx, s)
}

// newInformer creates the informer like the generated ones: with the namespace index.
func newInformer(s *script, more cache.Indexers) cache.SharedIndexInformer {
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	for name, function := range more {
		indexers[name] = function
	}
	return cache.NewSharedIndexInformer(s.listerWatcher(), &corev1.Pod{}, 0, indexers)
}

func start(ctx context.Context, informer cache.SharedIndexInformer) {
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		panic("the informer does not sync")
	}
}

func waitFor(condition func() bool) {
	for !condition() {
		time.Sleep(time.Millisecond)
	}
}
