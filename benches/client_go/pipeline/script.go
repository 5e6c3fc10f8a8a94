package main

import (
	"context"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// list is a response to a list request.
type list struct {
	pods    []*corev1.Pod
	version uint64
}

// script replaces the server: it returns the added responses in order.
type script struct {
	lists   chan list
	watches chan *scriptedWatch
	// asked is notified when a list is requested.
	asked chan struct{}
}

func newScript() *script {
	return &script{
		lists:   make(chan list, 16),
		watches: make(chan *scriptedWatch, 16),
		asked:   make(chan struct{}, 16),
	}
}

func (s *script) listerWatcher() *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			s.asked <- struct{}{}
			select {
			case answer := <-s.lists:
				return answer.object(), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
		WatchFuncWithContext: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			select {
			case answer := <-s.watches:
				return answer, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	}
}

// object is a list whose items need not be copied: it holds them as pointers, which a decoded list cannot.
func (l list) object() runtime.Object {
	items := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: strconv.FormatUint(l.version, 10)}}
	items.Items = make([]runtime.RawExtension, len(l.pods))
	for at, pod := range l.pods {
		items.Items[at].Object = pod
	}
	return items
}

// scriptedWatch is a watch whose events come from a buffered channel.
type scriptedWatch struct {
	events  chan watch.Event
	stopped chan struct{}
	once    sync.Once
}

func (s *script) willWatch() *scriptedWatch {
	w := &scriptedWatch{events: make(chan watch.Event, 1000), stopped: make(chan struct{})}
	s.watches <- w
	return w
}

func (w *scriptedWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *scriptedWatch) Stop() { w.once.Do(func() { close(w.stopped) }) }

func (w *scriptedWatch) expire() {
	status := apierrors.NewResourceExpired("expired by the script").Status()
	w.events <- watch.Event{Type: watch.Error, Object: &status}
}

// updates sends updates of the first keys pods, in rounds, until it is stopped.
func (w *scriptedWatch) updates(keys int, stop <-chan struct{}) {
	order := orderOf(keys)
	for version := uint64(2); ; version++ {
		pod := podAt(order[int(version)%keys], version)
		select {
		case w.events <- watch.Event{Type: watch.Modified, Object: pod}:
		case <-stop:
			return
		case <-w.stopped:
			return
		}
	}
}
