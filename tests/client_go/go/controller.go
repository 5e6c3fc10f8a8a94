package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
)

// reconcile runs a small controller for config maps: it labels each one, based on the lister's copy, and
// retries through its queue after a conflict.
func reconcile(ctx context.Context, p *program, _ json.RawMessage) (any, error) {
	lister := p.ledgers.typed.Core().V1().ConfigMaps().Lister().ConfigMaps(p.namespace)
	all, err := lister.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	limiter := workqueue.DefaultTypedControllerRateLimiter[string]()
	queue := workqueue.NewTypedRateLimitingQueue(limiter)
	defer queue.ShutDown()
	for _, configMap := range all {
		queue.Add(configMap.Name)
	}
	marked := 0
	for marked < len(all) {
		name, _ := queue.Get()
		err := p.mark(ctx, name)
		switch {
		case err == nil:
			queue.Forget(name)
			marked++
		case apierrors.IsConflict(err) && ctx.Err() == nil:
			queue.AddRateLimited(name)
		default:
			return nil, err
		}
		queue.Done(name)
	}
	return marked, nil
}

func (p *program) mark(ctx context.Context, name string) error {
	cached, err := p.ledgers.typed.Core().V1().ConfigMaps().Lister().ConfigMaps(p.namespace).Get(name)
	if err != nil {
		return err
	}
	copied := cached.DeepCopy()
	metav1.SetMetaDataLabel(&copied.ObjectMeta, "marked", "yes")
	_, err = p.typed.CoreV1().ConfigMaps(p.namespace).Update(ctx, copied, metav1.UpdateOptions{})
	return err
}

// elect runs two candidates one after the other and returns the lease after each of them.
func elect(ctx context.Context, p *program, _ json.RawMessage) (any, error) {
	var left []string
	for _, candidate := range []string{"first", "second"} {
		leaders, err := p.lead(ctx, candidate)
		if err != nil {
			return nil, err
		}
		lease, err := p.typed.CoordinationV1().Leases(p.namespace).Get(ctx, "leader", metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		left = append(left, fmt.Sprintf("%v then %q, transitions %d, seconds %d",
			leaders, *lease.Spec.HolderIdentity, *lease.Spec.LeaseTransitions, *lease.Spec.LeaseDurationSeconds))
	}
	return left, nil
}

// lead acquires the lease, reads its holder, and releases it.
func (p *program) lead(ctx context.Context, candidate string) ([]string, error) {
	ctx, resign := context.WithCancel(ctx)
	defer resign()
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, p.namespace, "leader", p.typed.CoreV1(),
		p.typed.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: candidate})
	if err != nil {
		return nil, err
	}
	var holders []string
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		LeaseDuration:   15 * time.Second,
		RenewDeadline:   10 * time.Second,
		RetryPeriod:     time.Second,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				lease, err := p.typed.CoordinationV1().Leases(p.namespace).Get(ctx, "leader", metav1.GetOptions{})
				if err == nil {
					holders = append(holders, *lease.Spec.HolderIdentity)
				}
				resign()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return nil, err
	}
	elector.Run(ctx)
	if elector.IsLeader() {
		return nil, errors.New("the lease was not given back")
	}
	return holders, nil
}

// recordEvents records the same event twice and returns it as stored on the server.
func recordEvents(ctx context.Context, p *program, _ json.RawMessage) (any, error) {
	regarding, err := p.typed.CoreV1().ConfigMaps(p.namespace).Create(ctx, configMap("regarded"), metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	events := p.typed.CoreV1().Events(p.namespace)
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: events})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "client-go-program"})
	for range 2 {
		recorder.Event(regarding, corev1.EventTypeNormal, "Regarded", "the object was reconciled")
	}
	selector := fields.OneTermEqualSelector("involvedObject.name", "regarded").String()
	lists := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = selector
			return events.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			return events.Watch(ctx, options)
		},
	}
	last, err := watchtools.UntilWithSync(ctx, lists, &corev1.Event{}, nil, func(event watch.Event) (bool, error) {
		return event.Object.(*corev1.Event).Count == 2, nil
	})
	if err != nil {
		return nil, err
	}
	event := last.Object.(*corev1.Event)
	return fmt.Sprintf("%s %s %s: %s, %d times", event.Type, event.InvolvedObject.Kind, event.Reason, event.Message,
		event.Count), nil
}

// watchUntil waits until a pod has succeeded, like a job runner.
func watchUntil(ctx context.Context, p *program, _ json.RawMessage) (any, error) {
	pods := p.typed.CoreV1().Pods(p.namespace)
	created, err := pods.Create(ctx, pod("runner"), metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	phases := []corev1.PodPhase{corev1.PodRunning, corev1.PodSucceeded}
	for _, phase := range phases {
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
			current, err := pods.Get(ctx, created.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			current.Status.Phase = phase
			_, err = pods.UpdateStatus(ctx, current, metav1.UpdateOptions{})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	selector := fields.OneTermEqualSelector("metadata.name", created.Name).String()
	watcher := &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			return pods.Watch(ctx, options)
		},
	}
	var seen []corev1.PodPhase
	_, err = watchtools.Until(ctx, created.ResourceVersion, watcher, func(event watch.Event) (bool, error) {
		phase := event.Object.(*corev1.Pod).Status.Phase
		seen = append(seen, phase)
		return phase == corev1.PodSucceeded, nil
	})
	return seen, err
}
