package main

import (
	"context"
	"encoding/json"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// failures sends requests that must be refused, and returns the reason and message of each.
func failures(ctx context.Context, p *program, _ json.RawMessage) (any, error) {
	configMaps := p.typed.CoreV1().ConfigMaps(p.namespace)
	made, err := configMaps.Create(ctx, configMap("twice"), metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	changed := made.DeepCopy()
	changed.Data["greeting"] = "changed"
	if _, err := configMaps.Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	foreign := types.UID("00000000-0000-0000-0000-000000000000")
	attempts := map[string]func() error{
		"exists": func() error {
			_, err := configMaps.Create(ctx, configMap("twice"), metav1.CreateOptions{})
			return err
		},
		"missing": func() error {
			_, err := configMaps.Get(ctx, "missing", metav1.GetOptions{})
			return err
		},
		"stale": func() error {
			_, err := configMaps.Update(ctx, made, metav1.UpdateOptions{})
			return err
		},
		"foreign": func() error {
			return configMaps.Delete(ctx, "twice", *metav1.NewPreconditionDeleteOptions(string(foreign)))
		},
		"name": func() error {
			_, err := configMaps.Create(ctx, configMap("Not_A_Name"), metav1.CreateOptions{})
			return err
		},
		"empty": func() error {
			_, err := p.typed.CoreV1().Pods(p.namespace).Create(ctx, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "empty"},
			}, metav1.CreateOptions{})
			return err
		},
		"immutable": func() error {
			moved := changed.DeepCopy()
			moved.UID, moved.ResourceVersion = foreign, ""
			_, err := configMaps.Update(ctx, moved, metav1.UpdateOptions{})
			return err
		},
		"continue": func() error {
			_, err := configMaps.List(ctx, metav1.ListOptions{Continue: "nonsense"})
			return err
		},
		"selector": func() error {
			_, err := configMaps.List(ctx, metav1.ListOptions{FieldSelector: "data.greeting=hello"})
			return err
		},
		"namespace": func() error {
			_, err := p.typed.CoreV1().ConfigMaps("nowhere").Create(ctx, configMap("lost"), metav1.CreateOptions{})
			return err
		},
		"patch": func() error {
			_, err := configMaps.Patch(ctx, "twice", types.JSONPatchType,
				[]byte(`[{"op":"test","path":"/data/greeting","value":"other"}]`), metav1.PatchOptions{})
			return err
		},
	}
	refusals := map[string]string{}
	for name, attempt := range attempts {
		err := attempt()
		if err == nil {
			return nil, errors.New(name + " was not refused")
		}
		refusals[name] = string(apierrors.ReasonForError(err)) + ": " + err.Error()
	}
	return refusals, nil
}
