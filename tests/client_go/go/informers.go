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

// ledgers are the informers by name, with what their handlers were told.
type ledgers struct {
	typed    informers.SharedInformerFactory
	byName   map[string]*ledger
	news     chan struct{}
	shutdown context.CancelFunc
}

// ledger is what the handler of one informer was told.
type ledger struct {
	store cache.Store
	news  chan<- struct{}

	mu      sync.Mutex
	told    versions
	adds    int
	updates int
	deletes int
}

// account is a ledger at one moment.
type account struct {
	Store   versions `json:"store"`
	Told    versions `json:"told"`
	Adds    int      `json:"adds"`
	Updates int      `json:"updates"`
	Deletes int      `json:"deletes"`
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
		ledger := &ledger{store: informer.GetStore(), news: p.ledgers.news, told: versions{}}
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

// compareStores waits until every informer holds, and has told its handler of, the objects in the argument; it gives
// what they hold then, or at the end of its patience.
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
			equal = equal && maps.Equal(account.Store, wanted[name]) && maps.Equal(account.Told, wanted[name])
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
	return account{stored, maps.Clone(l.told), l.adds, l.updates, l.deletes}, nil
}

// OnAdd is of cache.ResourceEventHandler.
func (l *ledger) OnAdd(object any, _ bool) {
	l.note(object, func(key, version string) {
		if _, known := l.told[key]; known {
			panic("told twice of the addition of " + key)
		}
		l.adds++
		l.told[key] = version
	})
}

// OnUpdate is of cache.ResourceEventHandler.
func (l *ledger) OnUpdate(before, after any) {
	l.note(after, func(key, version string) {
		if _, old, err := keyAndVersion(before); err != nil || l.told[key] != old {
			panic(fmt.Sprintf("%s was at %s when it was told to go from %s", key, l.told[key], old))
		}
		l.updates++
		l.told[key] = version
	})
}

// OnDelete is of cache.ResourceEventHandler.
func (l *ledger) OnDelete(object any) {
	if tombstone, is := object.(cache.DeletedFinalStateUnknown); is {
		object = tombstone.Obj
	}
	l.note(object, func(key, _ string) {
		l.deletes++
		delete(l.told, key)
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
