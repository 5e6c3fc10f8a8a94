package main

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

// view is the selection and the type of one informer.
type view struct {
	Name      string `json:"name"`
	Form      string `json:"form"`
	Group     string `json:"group"`
	Version   string `json:"version"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace"`
	Labels    string `json:"labels"`
}

// follow starts an informer for each view in the argument, without waiting: the server may be down.
func follow(_ context.Context, p *program, argument json.RawMessage) (any, error) {
	var views []view
	if err := json.Unmarshal(argument, &views); err != nil {
		return nil, err
	}
	life, shutdown := context.WithCancel(context.Background())
	p.ledgers = ledgers{byName: map[string]*ledger{}, news: make(chan struct{}, 1), shutdown: shutdown}
	for _, view := range views {
		informer, err := p.informer(view)
		if err != nil {
			return nil, err
		}
		ledger := &ledger{store: informer.GetStore(), news: p.ledgers.news, received: versions{}}
		if _, err := informer.AddEventHandler(ledger); err != nil {
			return nil, err
		}
		p.ledgers.byName[view.Name] = ledger
		go informer.Run(life.Done())
	}
	return len(views), nil
}

func (p *program) informer(view view) (cache.SharedIndexInformer, error) {
	resource := schema.GroupVersionResource{Group: view.Group, Version: view.Version, Resource: view.Resource}
	tweak := func(options *metav1.ListOptions) { options.LabelSelector = view.Labels }
	switch view.Form {
	case "typed":
		factory := informers.NewSharedInformerFactoryWithOptions(p.typed, 0,
			informers.WithNamespace(view.Namespace), informers.WithTweakListOptions(tweak))
		generic, err := factory.ForResource(resource)
		if err != nil {
			return nil, err
		}
		return generic.Informer(), nil
	case "dynamic":
		factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(p.dynamic, 0, view.Namespace, tweak)
		return factory.ForResource(resource).Informer(), nil
	case "metadata":
		factory := metadatainformer.NewFilteredSharedInformerFactory(p.metadata, 0, view.Namespace, tweak)
		return factory.ForResource(resource).Informer(), nil
	}
	return nil, fmt.Errorf("there is no form %q", view.Form)
}

// accounts returns the current contents of every informer.
func accounts(_ context.Context, p *program, _ json.RawMessage) (any, error) {
	accounts := map[string]account{}
	for name, ledger := range p.ledgers.byName {
		account, err := ledger.account()
		if err != nil {
			return nil, err
		}
		accounts[name] = account
	}
	return accounts, nil
}
