package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

var (
	deploymentResource = appsv1.SchemeGroupVersion.WithResource("deployments")
	podResource        = corev1.SchemeGroupVersion.WithResource("pods")
	configMapResource  = corev1.SchemeGroupVersion.WithResource("configmaps")
)

// versions are the resource versions of objects by "namespace/name".
type versions map[string]string

// ledgers are the recorded events of the informers' handlers, by name.
type ledgers struct {
	typed    informers.SharedInformerFactory
	byName   map[string]*ledger
	news     chan struct{}
	shutdown context.CancelFunc
}

// ledger records the events of one informer's handler.
type ledger struct {
	store cache.Store
	news  chan<- struct{}

	mu       sync.Mutex
	received versions
	adds     int
	updates  int
	deletes  int
}

// account is the content of a ledger at one time.
type account struct {
	Store    versions `json:"store"`
	Received versions `json:"received"`
	Adds     int      `json:"adds"`
	Updates  int      `json:"updates"`
	Deletes  int      `json:"deletes"`
}

func startInformers(ctx context.Context, p *program, _ json.RawMessage) (any, error) {
	life, shutdown := context.WithCancel(context.Background())
	typed := informers.NewSharedInformerFactoryWithOptions(p.typed, 0, informers.WithNamespace(p.namespace))
	untyped := dynamicinformer.NewFilteredDynamicSharedInformerFactory(p.dynamic, 0, p.namespace, nil)
	partial := metadatainformer.NewFilteredSharedInformerFactory(p.metadata, 0, p.namespace, nil)
	followed := map[string]cache.SharedIndexInformer{
		"typed deployments":   typed.Apps().V1().Deployments().Informer(),
		"typed pods":          typed.Core().V1().Pods().Informer(),
		"typed configmaps":    typed.Core().V1().ConfigMaps().Informer(),
		"dynamic deployments": untyped.ForResource(deploymentResource).Informer(),
		"dynamic configmaps":  untyped.ForResource(configMapResource).Informer(),
		"metadata pods":       partial.ForResource(podResource).Informer(),
	}
	p.ledgers = ledgers{typed, map[string]*ledger{}, make(chan struct{}, 1), shutdown}
	var registered []cache.InformerSynced
	for name, informer := range followed {
		ledger := &ledger{store: informer.GetStore(), news: p.ledgers.news, received: versions{}}
		registration, err := informer.AddEventHandler(ledger)
		if err != nil {
			return nil, err
		}
		p.ledgers.byName[name] = ledger
		registered = append(registered, registration.HasSynced)
	}
	typed.Start(life.Done())
	untyped.Start(life.Done())
	partial.Start(life.Done())
	if !cache.WaitForCacheSync(ctx.Done(), registered...) {
		return nil, fmt.Errorf("the informers did not sync: %w", context.Cause(ctx))
	}
	return len(registered), nil
}

// compareStores waits until every informer and its handler have the objects in the argument. It returns what
// they have then, or after the timeout.
func compareStores(ctx context.Context, p *program, argument json.RawMessage) (any, error) {
	var wanted map[string]versions
	if err := json.Unmarshal(argument, &wanted); err != nil {
		return nil, err
	}
	for {
		accounts, equal := map[string]account{}, true
		for name, ledger := range p.ledgers.byName {
			account, err := ledger.account()
			if err != nil {
				return nil, err
			}
			accounts[name] = account
			equal = equal && maps.Equal(account.Store, wanted[name]) && maps.Equal(account.Received, wanted[name])
		}
		if equal {
			return accounts, nil
		}
		select {
		case <-p.ledgers.news:
		case <-ctx.Done():
			return accounts, nil
		}
	}
}

func (l *ledger) account() (account, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stored := versions{}
	for _, object := range l.store.List() {
		key, version, err := keyAndVersion(object)
		if err != nil {
			return account{}, err
		}
		stored[key] = version
	}
	return account{stored, maps.Clone(l.received), l.adds, l.updates, l.deletes}, nil
}

// OnAdd implements cache.ResourceEventHandler.
func (l *ledger) OnAdd(object any, _ bool) {
	l.note(object, func(key, version string) {
		if _, known := l.received[key]; known {
			panic("duplicate add of " + key)
		}
		l.adds++
		l.received[key] = version
	})
}

// OnUpdate implements cache.ResourceEventHandler.
func (l *ledger) OnUpdate(before, after any) {
	l.note(after, func(key, version string) {
		if _, old, err := keyAndVersion(before); err != nil || l.received[key] != old {
			panic(fmt.Sprintf("%s: recorded version %s, but the event's old version is %s", key, l.received[key], old))
		}
		l.updates++
		l.received[key] = version
	})
}

// OnDelete implements cache.ResourceEventHandler.
func (l *ledger) OnDelete(object any) {
	if tombstone, is := object.(cache.DeletedFinalStateUnknown); is {
		object = tombstone.Obj
	}
	l.note(object, func(key, _ string) {
		l.deletes++
		delete(l.received, key)
	})
}

func (l *ledger) note(object any, write func(key, version string)) {
	key, version, err := keyAndVersion(object)
	if err != nil {
		panic(err)
	}
	l.mu.Lock()
	write(key, version)
	l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
}

func keyAndVersion(object any) (key, version string, err error) {
	key, err = cache.MetaNamespaceKeyFunc(object)
	if err != nil {
		return "", "", err
	}
	metadata, err := meta.Accessor(object)
	if err != nil {
		return "", "", err
	}
	return key, metadata.GetResourceVersion(), nil
}
