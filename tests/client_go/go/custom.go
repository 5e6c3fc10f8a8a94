package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

type object = map[string]any

var definitionResource = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// definition is of a kind with both subresources, in a group that is unique to this namespace.
func definition(group string) *unstructured.Unstructured {
	integer := object{"type": "integer"}
	properties := object{
		"spec":   object{"type": "object", "properties": object{"size": integer, "colour": object{"type": "string", "default": "red"}}},
		"status": object{"type": "object", "properties": object{"size": integer}},
	}
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   object{"name": "widgets." + group},
		"spec": object{
			"group": group,
			"scope": "Namespaced",
			"names": object{"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
			"versions": []any{object{
				"name": "v1", "served": true, "storage": true,
				"schema": object{"openAPIV3Schema": object{"type": "object", "properties": properties}},
				"subresources": object{
					"status": object{},
					"scale":  object{"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
				},
			}},
		},
	}}
}

// customResource defines a kind, finds it through discovery, uses it through the dynamic client and deletes
// it.
func customResource(ctx context.Context, p *program, _ json.RawMessage) (any, error) {
	group := p.namespace + ".example.com"
	definitions := p.dynamic.Resource(definitionResource)
	created, err := definitions.Create(ctx, definition(group), metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	watcher := &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = "metadata.name=" + created.GetName()
			return definitions.Watch(ctx, options)
		},
	}
	_, err = watchtools.Until(ctx, created.GetResourceVersion(), watcher, func(event watch.Event) (bool, error) {
		return established(event.Object.(*unstructured.Unstructured)), nil
	})
	if err != nil {
		return nil, err
	}
	mapping, err := p.discovered(ctx, schema.GroupKind{Group: group, Kind: "Widget"})
	if err != nil {
		return nil, err
	}
	widgets := p.dynamic.Resource(mapping.Resource).Namespace(p.namespace)
	_, err = widgets.Create(ctx, &unstructured.Unstructured{Object: object{
		"apiVersion": group + "/v1", "kind": "Widget", "metadata": object{"name": "one"},
		"spec": object{"size": int64(1)}, "status": object{"size": int64(9)},
	}}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	patch := []byte(`{"spec":{"size":7},"status":{"size":4}}`)
	if _, err := widgets.Patch(ctx, "one", types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		return nil, err
	}
	patch = []byte(`{"spec":{"replicas":3}}`)
	scale, err := widgets.Patch(ctx, "one", types.MergePatchType, patch, metav1.PatchOptions{}, "scale")
	if err != nil {
		return nil, err
	}
	final, err := widgets.Get(ctx, "one", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if err := definitions.Delete(ctx, created.GetName(), metav1.DeleteOptions{}); err != nil {
		return nil, err
	}
	return object{
		"spec": final.Object["spec"], "status": final.Object["status"], "generation": final.GetGeneration(),
		"scale": fmt.Sprintf("%s %s %v", scale.GetAPIVersion(), scale.GetKind(), scale.Object["spec"]),
	}, nil
}

// discovered waits until discovery contains a kind that was just established.
func (p *program) discovered(ctx context.Context, kind schema.GroupKind) (mapping *meta.RESTMapping, err error) {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(p.typed.Discovery()))
	err = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		mapper.Reset()
		found, err := mapper.RESTMapping(kind)
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		mapping = found
		return true, err
	})
	return mapping, err
}

func established(definition *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	for _, condition := range conditions {
		fields, _ := condition.(object)
		if fields["type"] == "Established" && fields["status"] == "True" {
			return true
		}
	}
	return false
}

// metadataOnly reads, labels and deletes an object through the metadata client.
func metadataOnly(ctx context.Context, p *program, _ json.RawMessage) (any, error) {
	made, err := p.typed.CoreV1().ConfigMaps(p.namespace).Create(ctx, configMap("plain"), metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	client := p.metadata.Resource(configMapResource).Namespace(p.namespace)
	patch := []byte(`{"metadata":{"labels":{"seen":"yes"}}}`)
	patched, err := client.Patch(ctx, "plain", types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return nil, err
	}
	listed, err := client.List(ctx, metav1.ListOptions{LabelSelector: "seen=yes"})
	if err != nil {
		return nil, err
	}
	if err := client.Delete(ctx, "plain", *metav1.NewPreconditionDeleteOptions(string(made.UID))); err != nil {
		return nil, err
	}
	return fmt.Sprintf("%s %v, %d listed", patched.Name, patched.Labels, len(listed.Items)), nil
}
