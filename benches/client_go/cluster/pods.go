package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// seed is the same in every run, so that the pods are the same.
const seed = 0x9e3779b97f4a7c15

// era is the creation time of the oldest pod; the pods are spread over the ninety days after it.
var era = time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)

// fleet generates the pods of a cluster, as similar and as different as those of a real one. The content of a
// pod is determined by three things, each with its own random seed, so that any pod can be generated without
// the others:
//
//   - its application (one for about fifty pods; a few are large, most are small): namespace, team, kind of owner
//     (ReplicaSet 70%, StatefulSet 12%, DaemonSet 10%, Job 8%), one to three containers with their
//     commands, environments of 2 to 20 variables (plain values, addresses, secrets, config maps, fields), ports, probes,
//     resources, one in three with a service mesh or logging sidecar, one in four with an init container, volumes (config
//     maps, secrets, empty, projected tokens, claims of stateful ones), tolerations, affinity, labels and annotations;
//   - its revision of the application (one to three at a time, as while a rollout goes on): image tag and digest,
//     pod-template-hash, checksum of the configuration;
//   - itself: name, node, addresses, owner's number, times, restarts, container IDs, and where it is in its life
//     (running 93%, of which one in thirty is not ready; succeeded or failed, mostly of jobs; pending).
//
// kube-controller-manager creates them and kubelet writes their status, so managedFields has both.
type fleet struct {
	pods int
	// orphaned pods have no owners: a garbage collector would delete pods whose owners do not exist.
	orphaned bool
}

// Seeds; the number of the pod, application or revision is added.
const (
	ofPods      = 1 << 40
	ofApps      = 2 << 40
	ofRevisions = 3 << 40
)

func chance(stream, number int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(stream+number)))
}

func (f fleet) apps() int       { return max(f.pods/50, 8) }
func (f fleet) nodes() int      { return max(f.pods/40, 4) }
func (f fleet) namespaces() int { return max(f.apps()/8, 3) }

func (f fleet) namespace(number int) string {
	return pick(chance(ofApps/2, number), environments) + "-" + words[number%len(words)] + fmt.Sprintf("-%d", number/len(words))
}

// pod returns the pod with a number: the object as its owner creates it, and the status as kubelet reports
// it.
func (f fleet) pod(number int) (*corev1.Pod, corev1.PodStatus) {
	r := chance(ofPods, number)
	// The product of two random numbers gives few large applications and many small ones.
	app := f.app(int(r.Float64() * r.Float64() * float64(f.apps())))
	revision := app.revision(r.IntN(app.revisions))
	born := era.Add(time.Duration(r.Int64N(int64(90 * 24 * time.Hour)))).Truncate(time.Second)
	node := r.IntN(f.nodes())

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name:            app.podName(r, revision, number),
		Namespace:       app.namespace,
		Labels:          app.podLabels(revision, number),
		Annotations:     app.podAnnotations(r, revision, born),
		OwnerReferences: []metav1.OwnerReference{app.owner(revision, number)},
	}}
	if f.orphaned {
		pod.OwnerReferences = nil
	}
	if app.kind != "StatefulSet" {
		pod.GenerateName = app.ownerName(revision, number) + "-"
	}
	pod.Spec = app.spec(revision)
	pod.Spec.NodeName = f.node(node)
	if app.kind == "StatefulSet" {
		pod.Spec.Hostname = pod.Name
		pod.Spec.Subdomain = app.name
	}
	token := "kube-api-access-" + suffix(r, 5)
	pod.Spec.Volumes = append(pod.Spec.Volumes, tokenVolume(token))
	mount := corev1.VolumeMount{Name: token, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for at := range containers {
			containers[at].VolumeMounts = append(containers[at].VolumeMounts, mount)
		}
	}
	return pod, status(r, app, pod, node, born)
}

// key returns only namespace and name.
func (f fleet) key(number int) (namespace, name string) {
	pod, _ := f.pod(number)
	return pod.Namespace, pod.Name
}

func (f fleet) node(number int) string {
	return fmt.Sprintf("ip-10-%d-%d-%d.eu-west-%d.compute.internal", 16+number%7, number/200, number%200+4, 1+number%3)
}

func (a *application) podName(r *rand.Rand, revision revision, number int) string {
	switch a.kind {
	case "StatefulSet":
		return fmt.Sprintf("%s-%d", a.name, number)
	default:
		// The number keeps random names unique.
		return a.ownerName(revision, number) + "-" + suffix(r, 2) + suffixOf(number)
	}
}

func (a *application) ownerName(revision revision, number int) string {
	switch a.kind {
	case "ReplicaSet":
		return a.name + "-" + revision.hash
	case "Job":
		return fmt.Sprintf("%s-%d", a.name, 29_000_000+number/4*5)
	default:
		return a.name
	}
}

func (a *application) owner(revision revision, number int) metav1.OwnerReference {
	yes := true
	group := "apps/v1"
	if a.kind == "Job" {
		group = "batch/v1"
	}
	name := a.ownerName(revision, number)
	return metav1.OwnerReference{
		APIVersion: group, Kind: a.kind, Name: name, UID: uid(name), Controller: &yes, BlockOwnerDeletion: &yes,
	}
}

func (a *application) podLabels(revision revision, number int) map[string]string {
	labels := map[string]string{}
	for name, value := range a.labels {
		labels[name] = value
	}
	switch a.kind {
	case "ReplicaSet":
		labels["pod-template-hash"] = revision.hash
	case "StatefulSet":
		labels["controller-revision-hash"] = a.name + "-" + revision.hash
		labels["apps.kubernetes.io/pod-index"] = fmt.Sprint(number)
		labels["statefulset.kubernetes.io/pod-name"] = fmt.Sprintf("%s-%d", a.name, number)
	case "DaemonSet":
		labels["controller-revision-hash"] = revision.hash
		labels["pod-template-generation"] = fmt.Sprint(1 + len(revision.hash)%7)
	case "Job":
		labels["batch.kubernetes.io/job-name"] = a.ownerName(revision, number)
		labels["batch.kubernetes.io/controller-uid"] = string(uid(a.ownerName(revision, number)))
		labels["job-name"] = a.ownerName(revision, number)
	}
	if a.labels["app.kubernetes.io/version"] != "" {
		labels["app.kubernetes.io/version"] = revision.tag
	}
	return labels
}

func (a *application) podAnnotations(r *rand.Rand, revision revision, born time.Time) map[string]string {
	annotations := map[string]string{}
	for name, value := range a.annotations {
		annotations[name] = value
	}
	if a.checksum {
		annotations["checksum/config"] = revision.checksum
	}
	if a.restarted {
		annotations["kubectl.kubernetes.io/restartedAt"] = born.Add(-time.Hour).Format(time.RFC3339)
	}
	if a.mesh {
		annotations["sidecar.istio.io/status"] = `{"initContainers":["istio-init"],"containers":["istio-proxy"],` +
			`"volumes":["workload-socket","istio-envoy","istio-data","istio-podinfo"],"revision":"default"}`
	}
	if a.network {
		annotations["cni.projectcalico.org/containerID"] = hex(r, 64)
		annotations["cni.projectcalico.org/podIP"] = fmt.Sprintf("10.%d.%d.%d/32", 100+r.IntN(50), r.IntN(256), 1+r.IntN(254))
	}
	return annotations
}

func tokenVolume(name string) corev1.Volume {
	hour, mode := int64(3607), int32(0o644)
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: &mode,
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: &hour, Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
				Path:     "namespace",
				FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
			}}}},
		},
	}}}
}

// letters are those of Kubernetes' own random names: no vowels.
const letters = "bcdfghjklmnpqrstvwxz2456789"

func suffix(r *rand.Rand, length int) string {
	var text strings.Builder
	for range length {
		text.WriteByte(letters[r.IntN(len(letters))])
	}
	return text.String()
}

// suffixOf formats a number with the letters of random names.
func suffixOf(number int) string {
	text := make([]byte, 4)
	for at := range text {
		text[at] = letters[number%len(letters)]
		number /= len(letters)
	}
	return string(text)
}

func hex(r *rand.Rand, digits int) string {
	text := make([]byte, digits)
	for at := range text {
		text[at] = "0123456789abcdef"[r.IntN(16)]
	}
	return string(text)
}

// uid returns the same uid for the same name.
func uid(name string) types.UID {
	number := 0
	for _, letter := range name {
		number = number*31 + int(letter)
	}
	r := chance(0, number)
	return types.UID(hex(r, 8) + "-" + hex(r, 4) + "-4" + hex(r, 3) + "-a" + hex(r, 3) + "-" + hex(r, 12))
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func quantity(text string) resource.Quantity { return resource.MustParse(text) }
