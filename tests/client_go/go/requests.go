package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/pager"
)

// apply creates a conflict of two managers about a deployment's replicas.
func apply(ctx context.Context, p *program, _ json.RawMessage) (any, error) {
	deployments := p.typed.AppsV1().Deployments(p.namespace)
	labels := map[string]string{"app": "applied"}
	container := coreapply.Container().WithName("main").WithImage("example.com/main:1")
	template := coreapply.PodTemplateSpec().WithLabels(labels).WithSpec(coreapply.PodSpec().WithContainers(container))
	spec := appsapply.DeploymentSpec().
		WithReplicas(1).
		WithSelector(metaapply.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(template)
	whole := appsapply.Deployment("applied", p.namespace).WithSpec(spec)
	if _, err := deployments.Apply(ctx, whole, metav1.ApplyOptions{FieldManager: "one"}); err != nil {
		return nil, err
	}
	replicas := appsapply.Deployment("applied", p.namespace).WithSpec(appsapply.DeploymentSpec().WithReplicas(2))
	_, conflict := deployments.Apply(ctx, replicas, metav1.ApplyOptions{FieldManager: "two"})
	if !apierrors.IsConflict(conflict) {
		return nil, fmt.Errorf("no conflict but %v", conflict)
	}
	if _, err := deployments.Apply(ctx, replicas, metav1.ApplyOptions{FieldManager: "two", Force: true}); err != nil {
		return nil, err
	}
	spec.Replicas = nil
	final, err := deployments.Apply(ctx, whole, metav1.ApplyOptions{FieldManager: "one"})
	if err != nil {
		return nil, err
	}
	extracted, err := appsapply.ExtractDeployment(final, "two")
	if err != nil {
		return nil, err
	}
	return map[string]any{"conflict": conflict.Error(), "replicas": final.Spec.Replicas, "extracted": extracted.Spec}, nil
}

// scaleDeployment scales through the typed client and through the generic scale client.
func scaleDeployment(ctx context.Context, p *program, _ json.RawMessage) (any, error) {
	deployments := p.typed.AppsV1().Deployments(p.namespace)
	if _, err := deployments.Create(ctx, deployment("scaled"), metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	typed, err := deployments.GetScale(ctx, "scaled", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	typed.Spec.Replicas = 3
	if typed, err = deployments.UpdateScale(ctx, "scaled", typed, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(p.typed.Discovery())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	scales, err := scale.NewForConfig(p.config, mapper, dynamic.LegacyAPIPathResolverFunc,
		scale.NewDiscoveryScaleKindResolver(p.typed.Discovery()))
	if err != nil {
		return nil, err
	}
	resource := deploymentResource.GroupResource()
	generic, err := scales.Scales(p.namespace).Get(ctx, resource, "scaled", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	generic.Spec.Replicas = 5
	if generic, err = scales.Scales(p.namespace).Update(ctx, resource, generic, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	final, err := deployments.Get(ctx, "scaled", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"typed": typed.Spec.Replicas, "generic": generic.Spec.Replicas, "selector": generic.Status.Selector,
		"final": final.Spec.Replicas, "generation": final.Generation,
	}, nil
}

// evict evicts a pod twice: while its disruption budget does not allow it, and when it does.
func evict(ctx context.Context, p *program, _ json.RawMessage) (any, error) {
	pods := p.typed.CoreV1().Pods(p.namespace)
	made, err := pods.Create(ctx, pod("evicted"), metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	made.Status = corev1.PodStatus{
		Phase:      corev1.PodRunning,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}
	if _, err := pods.UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	budgets := p.typed.PolicyV1().PodDisruptionBudgets(p.namespace)
	budget, err := budgets.Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "budget"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "evicted"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	budget.Status.ObservedGeneration = budget.Generation
	budget.Status.CurrentHealthy, budget.Status.DesiredHealthy, budget.Status.ExpectedPods = 1, 1, 1
	if budget, err = budgets.UpdateStatus(ctx, budget, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "evicted", Namespace: p.namespace}}
	refused := pods.EvictV1(ctx, eviction)
	budget.Status.DisruptionsAllowed = 1
	if _, err := budgets.UpdateStatus(ctx, budget, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	if err := pods.EvictV1(ctx, eviction); err != nil {
		return nil, err
	}
	if budget, err = budgets.Get(ctx, "budget", metav1.GetOptions{}); err != nil {
		return nil, err
	}
	_, noted := budget.Status.DisruptedPods["evicted"]
	_, gone := pods.Get(ctx, "evicted", metav1.GetOptions{})
	return map[string]any{
		"refused": fmt.Sprint(refused), "retry": apierrors.IsTooManyRequests(refused), "noted": noted,
		"allowed": budget.Status.DisruptionsAllowed, "gone": apierrors.IsNotFound(gone),
	}, nil
}

// discover requests discovery documents, directly and through a mapper.
func discover(ctx context.Context, p *program, _ json.RawMessage) (any, error) {
	client := p.typed.Discovery()
	version, err := client.ServerVersion()
	if err != nil {
		return nil, err
	}
	groups, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return nil, err
	}
	var preferred []string
	for _, group := range groups {
		preferred = append(preferred, group.PreferredVersion.GroupVersion)
	}
	resources := 0
	for _, list := range lists {
		resources += len(list.APIResources)
	}
	cached := memory.NewMemCacheClient(client)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	found := map[string]string{}
	for _, name := range []string{"deploy", "po", "configmap", "ingress"} {
		kind, err := mapper.KindFor(schema.GroupVersionResource{Resource: name})
		if err != nil {
			return nil, err
		}
		mapping, err := mapper.RESTMapping(kind.GroupKind())
		if err != nil {
			return nil, err
		}
		found[name] = fmt.Sprintf("%s, %s", mapping.Resource.String(), mapping.Scope.Name())
	}
	return map[string]any{
		"version": version.GitVersion, "preferred": preferred, "resources": resources, "mapped": found,
	}, nil
}

// listInPages lists ten config maps in pages of three.
func listInPages(ctx context.Context, p *program, _ json.RawMessage) (any, error) {
	configMaps := p.typed.CoreV1().ConfigMaps(p.namespace)
	labels := map[string]string{"paged": "yes"}
	for number := range 10 {
		paged := configMap(fmt.Sprintf("paged-%d", number))
		paged.Labels = labels
		if _, err := configMaps.Create(ctx, paged, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
	}
	var sizes []int
	var remaining []int64
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		page, err := configMaps.List(ctx, options)
		if err == nil {
			sizes = append(sizes, len(page.Items))
			if page.RemainingItemCount != nil {
				remaining = append(remaining, *page.RemainingItemCount)
			}
		}
		return page, err
	})
	pages.PageSize = 3
	var names []string
	err := pages.EachListItem(ctx, metav1.ListOptions{FieldSelector: "metadata.namespace=" + p.namespace},
		func(object runtime.Object) error {
			names = append(names, object.(*corev1.ConfigMap).Name)
			return nil
		})
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "kube-root-ca.crt" })
	return map[string]any{"names": len(names), "sorted": slices.IsSorted(names), "sizes": sizes, "remaining": remaining}, nil
}

// deleteCollection deletes selected objects, and objects with a generated name.
func deleteCollection(ctx context.Context, p *program, _ json.RawMessage) (any, error) {
	secrets := p.typed.CoreV1().Secrets(p.namespace)
	for _, group := range []string{"kept", "collected", "collected"} {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{GenerateName: group + "-", Labels: map[string]string{"group": group}},
			StringData: map[string]string{"password": "secret"},
		}
		made, err := secrets.Create(ctx, secret, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		if len(made.Name) != len(group)+6 || string(made.Data["password"]) != "secret" {
			return nil, fmt.Errorf("made %q of %q with %v", made.Name, made.GenerateName, made.Data)
		}
	}
	err := secrets.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "group=collected"})
	if err != nil {
		return nil, err
	}
	left, err := secrets.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var groups []string
	for _, secret := range left.Items {
		groups = append(groups, secret.Labels["group"])
	}
	return groups, nil
}
