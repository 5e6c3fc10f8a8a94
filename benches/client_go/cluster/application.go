package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// application is what the pods of one owner have in common.
type application struct {
	number, revisions               int
	name, namespace, kind           string
	labels, annotations             map[string]string
	checksum, restarted, mesh, logs bool
	network, init                   bool
	template                        corev1.PodSpec
}

// revision is a state of an application's template.
type revision struct {
	hash, tag, checksum string
	number              int
}

func (f fleet) app(number int) *application {
	r := chance(ofApps, number)
	word, part := words[number%len(words)], pick(r, parts)
	a := &application{
		number:    number,
		revisions: 1 + r.IntN(3),
		name:      fmt.Sprintf("%s-%s-%d", word, part, number),
		namespace: f.namespace(r.IntN(f.namespaces())),
		checksum:  r.IntN(2) == 0,
		restarted: r.IntN(5) == 0,
		mesh:      r.IntN(4) == 0,
		logs:      r.IntN(8) == 0,
		network:   r.IntN(3) == 0,
		init:      r.IntN(4) == 0,
	}
	switch at := r.IntN(100); {
	case at < 70:
		a.kind = "ReplicaSet"
	case at < 82:
		a.kind = "StatefulSet"
	case at < 92:
		a.kind = "DaemonSet"
	default:
		a.kind = "Job"
	}
	a.describe(r, word, part)
	a.template = a.newTemplate(r)
	return a
}

func (a *application) revision(number int) revision {
	r := chance(ofRevisions, a.number*8+number)
	tag := fmt.Sprintf("v%d.%d.%d", 1+r.IntN(4), r.IntN(40), r.IntN(20))
	if a.number%3 == 0 {
		tag = "main-" + hex(r, 8)
	}
	return revision{hash: suffix(r, 10), tag: tag, checksum: hex(r, 64), number: number}
}

func (a *application) describe(r *rand.Rand, word, part string) {
	team := pick(r, teams)
	all := []struct{ name, value string }{
		{"app.kubernetes.io/name", word + "-" + part},
		{"app.kubernetes.io/instance", a.name},
		{"team", team},
		{"app.kubernetes.io/managed-by", "Helm"},
		{"app.kubernetes.io/part-of", word},
		{"helm.sh/chart", fmt.Sprintf("%s-%d.%d.%d", pick(r, []string{"service", "worker", "app"}), r.IntN(5), r.IntN(30), r.IntN(9))},
		{"app.kubernetes.io/version", "of its revision"},
		{"tier", pick(r, tiers)},
		{"cost-center", fmt.Sprintf("cc-%04d", r.IntN(400))},
		{"topology.example.com/cell", fmt.Sprintf("cell-%d", r.IntN(12))},
		{"security.example.com/profile", pick(r, []string{"restricted", "baseline", "pci"})},
	}
	a.labels = map[string]string{"app": a.name}
	for _, label := range all[:3+r.IntN(len(all)-2)] {
		a.labels[label.name] = label.value
	}
	if a.mesh {
		a.labels["service.istio.io/canonical-name"] = a.name
		a.labels["security.istio.io/tlsMode"] = "istio"
	}
	notes := []struct{ name, value string }{
		{"prometheus.io/scrape", "true"},
		{"prometheus.io/port", fmt.Sprint(9000 + r.IntN(200))},
		{"prometheus.io/path", pick(r, []string{"/metrics", "/actuator/prometheus", "/internal/metrics"})},
		{"example.com/owner", team + "@example.com"},
		{"example.com/runbook", fmt.Sprintf("https://wiki.example.com/%s/%s/runbook-%d", team, a.name, r.IntN(900))},
		{"cluster-autoscaler.kubernetes.io/safe-to-evict", pick(r, []string{"true", "false"})},
		{"vault.example.com/role", a.name},
		{"ad.example.com/logs", fmt.Sprintf(`[{"source":%q,"service":%q,"tags":["team:%s"]}]`, pick(r, languages), a.name, team)},
	}
	a.annotations = map[string]string{}
	for range r.IntN(len(notes)) {
		note := pick(r, notes)
		a.annotations[note.name] = note.value
	}
}

// newTemplate returns the part of a template that all revisions share; images are set by each.
func (a *application) newTemplate(r *rand.Rand) corev1.PodSpec {
	grace := int64(pick(r, []int{10, 30, 30, 30, 60, 120}))
	spec := corev1.PodSpec{
		ServiceAccountName:            pick(r, []string{"default", a.name}),
		TerminationGracePeriodSeconds: &grace,
		RestartPolicy:                 corev1.RestartPolicyAlways,
	}
	if a.kind == "Job" {
		spec.RestartPolicy = corev1.RestartPolicyNever
	}
	volumes := map[string]corev1.VolumeSource{}
	if r.IntN(3) > 0 {
		volumes["config"] = corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: a.name + "-config"}}}
	}
	if r.IntN(3) == 0 {
		volumes["tls"] = corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: a.name + "-tls"}}
	}
	if r.IntN(2) == 0 {
		volumes["tmp"] = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	}
	if a.kind == "StatefulSet" {
		volumes["data"] = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-" + a.name}}
	}
	for _, name := range slices.Sorted(maps.Keys(volumes)) {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: volumes[name]})
	}
	names := []string{a.name}
	for at := range pick(r, []int{0, 0, 0, 0, 0, 1, 1, 2}) {
		names = append(names, fmt.Sprintf("%s-%d", pick(r, parts), at))
	}
	for at, name := range names {
		port := "http"
		if at > 0 {
			port = fmt.Sprintf("http-%d", at)
		}
		spec.Containers = append(spec.Containers, a.container(r, name, port, spec.Volumes))
	}
	if a.mesh {
		spec.Containers = append(spec.Containers, a.sidecar(r, "istio-proxy"))
	}
	if a.logs {
		spec.Containers = append(spec.Containers, a.sidecar(r, "fluent-bit"))
	}
	if a.init {
		spec.InitContainers = []corev1.Container{{
			Name: "migrate", Args: []string{"migrate", "--to=latest", "--lock-timeout=30s"},
			Env: environment(r, a, 3), VolumeMounts: mounts(spec.Volumes),
		}}
	}
	a.place(r, &spec)
	return spec
}

func (a *application) place(r *rand.Rand, spec *corev1.PodSpec) {
	if a.kind == "DaemonSet" {
		for _, key := range []string{"not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"} {
			spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: "node.kubernetes.io/" + key, Operator: corev1.TolerationOpExists})
		}
	} else if r.IntN(6) == 0 {
		spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: pick(r, teams), Effect: corev1.TaintEffectNoSchedule}}
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": a.name}}
	switch r.IntN(4) {
	case 0:
		spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
				Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{LabelSelector: selector, TopologyKey: "kubernetes.io/hostname"},
			}},
		}}
	case 1:
		spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: selector,
		}}
	case 2:
		spec.NodeSelector = map[string]string{"kubernetes.io/arch": pick(r, []string{"amd64", "arm64"}), "pool": pick(r, teams)}
	}
	if r.IntN(2) == 0 {
		user, yes := int64(1000+r.IntN(60000)), true
		spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: &user, FSGroup: &user, RunAsNonRoot: &yes}
	}
	if r.IntN(3) == 0 {
		spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry-credentials"}}
	}
}

func (a *application) container(r *rand.Rand, name, portName string, volumes []corev1.Volume) corev1.Container {
	port := int32(8000 + r.IntN(1000))
	container := corev1.Container{
		Name: name,
		Env:  environment(r, a, 2+r.IntN(9)),
		Ports: []corev1.ContainerPort{
			{Name: portName, ContainerPort: port}, {Name: strings.Replace(portName, "http", "metrics", 1), ContainerPort: port + 1000},
		}[:1+r.IntN(2)],
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": quantity(pick(r, processors[:6])), "memory": quantity(pick(r, memories[:5]))},
			Limits:   corev1.ResourceList{"memory": quantity(pick(r, memories[4:]))},
		},
		VolumeMounts: mounts(volumes),
	}
	if r.IntN(2) == 0 {
		container.Resources.Limits["cpu"] = quantity(pick(r, processors[5:]))
	}
	if r.IntN(2) == 0 {
		container.Command = []string{pick(r, []string{"/app/server", "/usr/local/bin/" + name, "java", "python3"})}
	}
	for range r.IntN(6) {
		flag := strings.ToLower(strings.ReplaceAll(pick(r, variables), "_", "-"))
		container.Args = append(container.Args, "--"+flag+"="+setting(r, a))
	}
	if a.kind != "Job" {
		container.ReadinessProbe = probe(r, portName, pick(r, []string{"/ready", "/healthz", "/actuator/health/readiness"}))
		if r.IntN(3) > 0 {
			container.LivenessProbe = probe(r, portName, pick(r, []string{"/live", "/livez", "/actuator/health/liveness"}))
		}
	}
	if r.IntN(3) > 0 {
		yes, no := true, false
		container.SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
	}
	if r.IntN(4) == 0 {
		container.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: a.name + "-env"}}}}
	}
	return container
}

// sidecar returns a container that is similar in all applications.
func (a *application) sidecar(r *rand.Rand, name string) corev1.Container {
	container := corev1.Container{
		Name:      name,
		Args:      []string{"proxy", "sidecar", "--domain=$(POD_NAMESPACE).svc.cluster.local", "--log_output_level=default:info", "--concurrency=2"},
		Env:       environment(r, a, 2),
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": quantity("10m"), "memory": quantity("64Mi")}},
	}
	for _, field := range fields {
		container.Env = append(container.Env, corev1.EnvVar{Name: "MESH_" + field[0], ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: field[1]},
		}})
	}
	return container
}

func probe(r *rand.Rand, port, path string) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:        corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(port)}},
		InitialDelaySeconds: int32(r.IntN(60)), PeriodSeconds: int32(pick(r, []int{5, 10, 15, 30})), TimeoutSeconds: int32(1 + r.IntN(5)),
	}
}

func mounts(volumes []corev1.Volume) []corev1.VolumeMount {
	paths := map[string]string{"config": "/etc/app", "tls": "/etc/tls", "tmp": "/tmp", "data": "/var/lib/data"}
	var mounts []corev1.VolumeMount
	for _, volume := range volumes {
		mounts = append(mounts, corev1.VolumeMount{Name: volume.Name, MountPath: paths[volume.Name], ReadOnly: volume.Secret != nil})
	}
	return mounts
}

func environment(r *rand.Rand, a *application, plain int) []corev1.EnvVar {
	var all []corev1.EnvVar
	for _, at := range r.Perm(len(variables))[:plain] {
		all = append(all, corev1.EnvVar{Name: variables[at], Value: setting(r, a)})
	}
	for _, name := range secrets[:r.IntN(len(secrets))] {
		all = append(all, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: a.name + "-secrets"}, Key: strings.ToLower(name),
		}}})
	}
	for _, field := range fields[:r.IntN(len(fields))] {
		all = append(all, corev1.EnvVar{Name: field[0], ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: field[1]},
		}})
	}
	return all
}

// setting returns a typical configuration value: a number, a word, an address or a list.
func setting(r *rand.Rand, a *application) string {
	switch r.IntN(6) {
	case 0:
		return fmt.Sprint(r.IntN(10_000))
	case 1:
		return pick(r, []string{"true", "false", "info", "debug", "warn", "eu-west-1", "UTC", "30s", "5m"})
	case 2:
		return fmt.Sprintf("https://%s.%s.svc.cluster.local:%d/%s", pick(r, words), a.namespace, 8000+r.IntN(999), pick(r, parts))
	case 3:
		return fmt.Sprintf("%s-%s.%s.example.internal:%d", pick(r, words), hex(r, 6), pick(r, environments), 1024+r.IntN(30_000))
	case 4:
		return strings.Join([]string{pick(r, words), pick(r, words), pick(r, parts)}, ",")
	default:
		return pick(r, words) + "-" + hex(r, 4+r.IntN(20))
	}
}

// spec returns the template with a revision's images.
func (a *application) spec(revision revision) corev1.PodSpec {
	spec := a.template.DeepCopy()
	for at := range spec.Containers {
		spec.Containers[at].Image = a.image(spec.Containers[at].Name, revision)
	}
	for at := range spec.InitContainers {
		spec.InitContainers[at].Image = a.image(a.name, revision)
	}
	return *spec
}

func (a *application) image(container string, revision revision) string {
	switch container {
	case "istio-proxy":
		return fmt.Sprintf("docker.io/istio/proxyv2:1.2%d.%d", 5+revision.number, a.number%4)
	case "fluent-bit":
		return "cr.fluentbit.io/fluent/fluent-bit:3.2.4"
	}
	return fmt.Sprintf("%s/%s/%s:%s", hosts[a.number%len(hosts)], teams[a.number%len(teams)], container, revision.tag)
}
