package main

import (
	"fmt"
	"math/rand"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// groups is the number of namespaces and of nodes; with 100,000 pods, each has a thousand pods.
const groups = 100

func namespaceOf(number int) string { return fmt.Sprintf("team-%03d", number%groups) }
func nameOf(number int) string      { return fmt.Sprintf("web-%06d-x7k2p", number) }
func nodeOf(number int) string      { return fmt.Sprintf("node-%03d", number/groups%groups) }

// podAt returns the same pod as src/pods.rs.
func podAt(number int, version uint64) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            nameOf(number),
			Namespace:       namespaceOf(number),
			UID:             types.UID(fmt.Sprintf("0d7b5bd6-5d3c-4b7e-9d54-%012d", number)),
			ResourceVersion: strconv.FormatUint(version, 10),
			Labels: map[string]string{
				"app":               "web",
				"tier":              "front",
				"pod-template-hash": "6d4b75cb6d",
			},
			Annotations: map[string]string{"checksum/config": "9f86d081884c7d65"},
		},
		Spec: corev1.PodSpec{
			NodeName: nodeOf(number),
			Containers: []corev1.Container{{
				Name:  "web",
				Image: "registry.example/web:1.27",
				Env: []corev1.EnvVar{
					{Name: "MODE", Value: "production"},
					{Name: "REGION", Value: "north"},
				},
			}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.1.2.3"},
	}
}

// podsAt returns pods 0..count, all at one version.
func podsAt(count int, version uint64) []*corev1.Pod {
	pods := make([]*corev1.Pod, count)
	for number := range pods {
		pods[number] = podAt(number, version)
	}
	return pods
}

// orderOf returns a pseudorandom order.
func orderOf(count int) []int {
	return rand.New(rand.NewSource(7)).Perm(count)
}
