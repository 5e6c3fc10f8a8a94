package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"kube-informer/bench/measure"
)

// Idle times after updates and after a sync, when other subjects have background work.
const (
	shortRest = time.Second
	longRest  = 3 * time.Second
)

// subject is client-go as measured: a shared informer with one handler and default settings.
type subject struct {
	config   *rest.Config
	lists    atomic.Int64
	arrivals arrivals
}

func newSubject(config *rest.Config) *subject {
	s := &subject{config: config}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &counted{next, &s.lists} })
	return s
}

// run executes commands from standard input and prints measurements.
func (s *subject) run(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().Pods().Informer()
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, pod any) { s.arrivals.updated(pod.(*corev1.Pod)) },
	})
	if err != nil {
		return err
	}
	before := memory("VmRSS")
	say(map[string]any{"step": "started"})
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		words := strings.Fields(commands.Text())
		switch {
		case len(words) == 1 && words[0] == "sync":
			stopwatch := measure.StartStopwatch()
			factory.Start(ctx.Done())
			if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced, handler.HasSynced) {
				return errors.New("the informer does not sync")
			}
			wall, cpu := stopwatch.Stop()
			peak := memory("VmHWM")
			quiet := settle(longRest)
			_, settled := stopwatch.Stop()
			heap := measure.Allocated()
			debug.FreeOSMemory()
			say(map[string]any{
				"step": "sync", "objects": len(informer.GetStore().ListKeys()), "wall": wall.Seconds(), "cpu": cpu.Seconds(),
				"settled": (settled - quiet).Seconds(), "peak": peak, "steady": memory("VmRSS") - before, "heap": heap,
			})
		case len(words) == 2 && words[0] == "updates":
			count, err := strconv.Atoi(words[1])
			if err != nil {
				return err
			}
			say(s.updates("updates", count))
		case len(words) == 1 && words[0] == "relist":
			lists := s.lists.Load()
			relisted := s.updates("relist", 1)
			if s.lists.Load() == lists {
				return errors.New("the informer did not relist")
			}
			say(relisted)
		default:
			return fmt.Errorf("unknown command %q", commands.Text())
		}
	}
	runtime.KeepAlive(informer)
	return commands.Err()
}

// updates waits until a number of pods was updated and the process is idle, and returns the measurement.
func (s *subject) updates(step string, count int) map[string]any {
	arrived := s.arrivals.expect(count)
	stopwatch := measure.StartStopwatch()
	say(map[string]any{"step": "watching"})
	<-arrived
	quiet := settle(shortRest)
	_, cpu := stopwatch.Stop()
	p50, p99 := s.arrivals.delays()
	return map[string]any{"step": step, "count": count, "cpu": (cpu - quiet).Seconds(), "p50": p50, "p99": p99}
}

// arrivals are the updated pods that the handler received.
type arrivals struct {
	lock    sync.Mutex
	since   int64
	missing int
	waits   []float64
	all     chan struct{}
}

func (a *arrivals) expect(count int) <-chan struct{} {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.since, a.missing, a.waits, a.all = time.Now().UnixNano(), count, make([]float64, 0, count), make(chan struct{})
	return a.all
}

func (a *arrivals) updated(pod *corev1.Pod) {
	touched, err := strconv.ParseInt(pod.Annotations[stamp], 10, 64)
	if err != nil {
		return
	}
	a.lock.Lock()
	defer a.lock.Unlock()
	// Earlier updates are received again after a relist.
	if touched < a.since || a.missing == 0 {
		return
	}
	a.waits = append(a.waits, float64(time.Now().UnixNano()-touched)/1e6)
	if a.missing--; a.missing == 0 {
		close(a.all)
	}
}

// delays returns the median and the 99th percentile in milliseconds.
func (a *arrivals) delays() (p50, p99 float64) {
	a.lock.Lock()
	defer a.lock.Unlock()
	slices.Sort(a.waits)
	return a.waits[len(a.waits)/2], a.waits[len(a.waits)*99/100]
}

// settle waits until the process was idle for a time, and returns the CPU time of that wait.
func settle(long time.Duration) time.Duration {
	for {
		stopwatch := measure.StartStopwatch()
		for {
			time.Sleep(100 * time.Millisecond)
			wall, cpu := stopwatch.Stop()
			if cpu > long/50 {
				break
			}
			if wall >= long {
				return cpu
			}
		}
	}
}

// memory returns a value of /proc/self/status, in bytes.
func memory(name string) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == name+":" {
			kilobytes, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil {
				panic(err)
			}
			return kilobytes << 10
		}
	}
	panic("no " + name)
}

// counted counts lists, including watches with initial events.
type counted struct {
	next  http.RoundTripper
	lists *atomic.Int64
}

func (c *counted) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	if !query.Has("watch") || query.Has("sendInitialEvents") {
		c.lists.Add(1)
	}
	return c.next.RoundTrip(request)
}
