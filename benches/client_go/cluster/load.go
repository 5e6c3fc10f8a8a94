package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	// writers is the number of concurrent writers, enough to keep server and etcd busy.
	writers = 48
	// owners is the field manager that creates and updates pods.
	owners = "kube-controller-manager"
	// stamp is the annotation with the time of an update.
	stamp = "bench.kube-informer.dev/touched"
)

// load creates the pods of a fleet and prints their average sizes.
func load(ctx context.Context, client kubernetes.Interface, fleet fleet) error {
	for number := range fleet.namespaces() {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fleet.namespace(number)}}
		_, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	start := time.Now()
	var lock sync.Mutex
	var sizes sizes
	err := each(fleet.pods, writers, nil, func(number int) error {
		pod, status := fleet.pod(number)
		pods := client.CoreV1().Pods(pod.Namespace)
		created, err := pods.Create(ctx, pod, metav1.CreateOptions{FieldManager: owners})
		if err != nil {
			return err
		}
		created.Status = status
		whole, err := pods.UpdateStatus(ctx, created, metav1.UpdateOptions{FieldManager: "kubelet"})
		if err != nil {
			return err
		}
		if number%50 == 0 {
			lock.Lock()
			defer lock.Unlock()
			return sizes.add(whole)
		}
		return nil
	})
	if err != nil {
		return err
	}
	say(map[string]any{
		"step": "loaded", "pods": fleet.pods, "seconds": time.Since(start).Seconds(),
		"json": sizes.json / sizes.pods, "protobuf": sizes.protobuf / sizes.pods, "pruned": sizes.pruned / sizes.pods,
	})
	return nil
}

// sizes are sums over pods.
type sizes struct{ pods, json, protobuf, pruned int }

func (s *sizes) add(pod *corev1.Pod) error {
	length := func(media string) (int, error) {
		info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), media)
		encoder := scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion)
		bytes, err := runtime.Encode(encoder, pod)
		return len(bytes), err
	}
	json, err := length(runtime.ContentTypeJSON)
	if err != nil {
		return err
	}
	protobuf, err := length(runtime.ContentTypeProtobuf)
	if err != nil {
		return err
	}
	pod.ManagedFields = nil
	pruned, err := length(runtime.ContentTypeProtobuf)
	s.pods, s.json, s.protobuf, s.pruned = s.pods+1, s.json+json, s.protobuf+protobuf, s.pruned+pruned
	return err
}

// touch writes the time into an annotation of each of some pods: at a rate per second, or as fast as the
// server allows if the rate is zero.
func touch(ctx context.Context, client kubernetes.Interface, fleet fleet, count, rate int) error {
	if count > fleet.pods {
		return fmt.Errorf("cannot touch %d of %d pods once each", count, fleet.pods)
	}
	var pace <-chan time.Time
	if rate > 0 {
		ticker := time.NewTicker(time.Second / time.Duration(rate))
		defer ticker.Stop()
		pace = ticker.C
	}
	return each(count, 16, pace, func(number int) error {
		namespace, name := fleet.key(number)
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, stamp, time.Now().UnixNano())
		_, err := client.CoreV1().Pods(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: owners})
		return err
	})
}

// each calls a function with numbers in order, several at a time, and returns the first error.
func each(count, atOnce int, pace <-chan time.Time, call func(number int) error) error {
	numbers := make(chan int)
	failures := make([]error, atOnce)
	var done sync.WaitGroup
	for worker := range atOnce {
		done.Go(func() {
			for number := range numbers {
				if failures[worker] == nil {
					failures[worker] = call(number)
				}
			}
		})
	}
	for number := range count {
		if pace != nil {
			<-pace
		}
		numbers <- number
	}
	close(numbers)
	done.Wait()
	return errors.Join(failures...)
}
