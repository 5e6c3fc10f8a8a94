package main

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Data:       map[string]string{"greeting": "hello"},
		BinaryData: map[string][]byte{"bytes": {0, 1, 254, 255}},
	}
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main:1"}}}
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}, Spec: podSpec()}
}

func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec()},
		},
	}
}

// churn creates objects of each kind with a name prefix, then changes and deletes some: of five, three are
// changed, one stays unchanged and one is deleted.
func churn(ctx context.Context, p *program, argument json.RawMessage) (any, error) {
	var prefix string
	if err := json.Unmarshal(argument, &prefix); err != nil {
		return nil, err
	}
	for number := range 5 {
		name := fmt.Sprintf("%s-%d", prefix, number)
		if err := p.createThree(ctx, name); err != nil {
			return nil, err
		}
		if number < 3 {
			if err := p.changeThree(ctx, name); err != nil {
				return nil, err
			}
		}
	}
	return nil, p.deleteThree(ctx, prefix+"-4")
}

func (p *program) createThree(ctx context.Context, name string) error {
	options := metav1.CreateOptions{}
	if _, err := p.typed.CoreV1().ConfigMaps(p.namespace).Create(ctx, configMap(name), options); err != nil {
		return err
	}
	if _, err := p.typed.CoreV1().Pods(p.namespace).Create(ctx, pod(name), options); err != nil {
		return err
	}
	_, err := p.typed.AppsV1().Deployments(p.namespace).Create(ctx, deployment(name), options)
	return err
}

func (p *program) changeThree(ctx context.Context, name string) error {
	configMap, err := p.typed.CoreV1().ConfigMaps(p.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	configMap.Data["greeting"] = "good day"
	if _, err := p.typed.CoreV1().ConfigMaps(p.namespace).Update(ctx, configMap, metav1.UpdateOptions{}); err != nil {
		return err
	}
	pod, err := p.typed.CoreV1().Pods(p.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	pod.Status.Phase = corev1.PodRunning
	if _, err := p.typed.CoreV1().Pods(p.namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		return err
	}
	patch := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"example.com/main:2"}]}}}}`)
	deployments := p.typed.AppsV1().Deployments(p.namespace)
	_, err = deployments.Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}

func (p *program) deleteThree(ctx context.Context, name string) error {
	// Without a grace period, a pod is deleted at once, even if no kubelet confirms it.
	if err := p.typed.CoreV1().Pods(p.namespace).Delete(ctx, name, *metav1.NewDeleteOptions(0)); err != nil {
		return err
	}
	if err := p.typed.CoreV1().ConfigMaps(p.namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return p.typed.AppsV1().Deployments(p.namespace).Delete(ctx, name, metav1.DeleteOptions{})
}
