package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// status returns the status that kubelet reports.
func status(r *rand.Rand, app *application, pod *corev1.Pod, node int, born time.Time) corev1.PodStatus {
	ip := fmt.Sprintf("10.%d.%d.%d", 100+node%100, r.IntN(256), 1+r.IntN(254))
	host := fmt.Sprintf("10.%d.%d.%d", 16+node%7, node/200, node%200+4)
	started := metav1.NewTime(born)
	status := corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, HostIP: host, HostIPs: []corev1.HostIP{{IP: host}},
		StartTime: &started,
	}
	ready := r.IntN(30) > 0
	switch at := r.IntN(100); {
	case app.kind == "Job" && at < 80:
		status.Phase, ready = corev1.PodSucceeded, false
	case at == 98:
		status.Phase, ready = corev1.PodFailed, false
	case at == 99:
		return corev1.PodStatus{
			Phase:      corev1.PodPending,
			Conditions: []corev1.PodCondition{condition(corev1.PodScheduled, true, born, "")},
		}
	}
	moment := born
	for _, kind := range []corev1.PodConditionType{
		corev1.PodScheduled, corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady,
	} {
		moment = moment.Add(time.Duration(r.IntN(9)) * time.Second)
		isLate := kind == corev1.ContainersReady || kind == corev1.PodReady
		status.Conditions = append(status.Conditions, condition(kind, ready || !isLate, moment, pod.Spec.Containers[0].Name))
	}
	for _, container := range pod.Spec.InitContainers {
		done := containerStatus(r, container, born, corev1.PodSucceeded, true)
		status.InitContainerStatuses = append(status.InitContainerStatuses, done)
	}
	for _, container := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, containerStatus(r, container, moment, status.Phase, ready))
	}
	return status
}

func condition(kind corev1.PodConditionType, holds bool, since time.Time, unready string) corev1.PodCondition {
	condition := corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)}
	if !holds {
		condition.Status = corev1.ConditionFalse
		condition.Reason = "ContainersNotReady"
		condition.Message = "containers with unready status: [" + unready + "]"
	}
	return condition
}

func containerStatus(r *rand.Rand, container corev1.Container, since time.Time, phase corev1.PodPhase, ready bool) corev1.ContainerStatus {
	image, _, _ := strings.Cut(container.Image, ":")
	digest := hex(chance(0, int(uint32(len(container.Image))*31+uint32(container.Image[len(container.Image)-1]))), 64)
	id := "containerd://" + hex(r, 64)
	isStarted := phase == corev1.PodRunning
	status := corev1.ContainerStatus{
		Name: container.Name, Image: container.Image, ImageID: image + "@sha256:" + digest, ContainerID: id,
		Ready: ready, Started: &isStarted,
	}
	began, ended := metav1.NewTime(since), metav1.NewTime(since.Add(time.Duration(1+r.IntN(900))*time.Second))
	switch phase {
	case corev1.PodRunning:
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: began}
		if r.IntN(12) == 0 {
			status.RestartCount = int32(1 + r.IntN(40))
			status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
				ExitCode: 137, Reason: "OOMKilled", StartedAt: began, FinishedAt: ended, ContainerID: "containerd://" + hex(r, 64),
			}
		}
	case corev1.PodFailed:
		status.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", StartedAt: began, FinishedAt: ended, ContainerID: id}
	default:
		status.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: began, FinishedAt: ended, ContainerID: id}
	}
	return status
}
