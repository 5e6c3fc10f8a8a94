// Prints the messages of Kubernetes' protobuf as a table: the message of every kind, and the fields of every
// message with their JSON names.
//
// The Go types are the source, because the .proto files do not describe JSON: different names, inlined
// messages, omitted values. Properties that both define (number, name, type, repetition) are compared, and
// nothing is printed if they differ.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	discoveryv2 "k8s.io/api/apidiscovery/v2"
	discoveryv2beta1 "k8s.io/api/apidiscovery/v2beta1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationv1beta1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1beta1"
)

// Types with a custom JSON encoding to a single value.
var forms = map[reflect.Type]string{
	typeOf[metav1.Time]():               "time",
	typeOf[metav1.MicroTime]():          "micro-time",
	typeOf[resource.Quantity]():         "quantity",
	typeOf[intstr.IntOrString]():        "int-or-string",
	typeOf[metav1.FieldsV1]():           "json",
	typeOf[runtime.RawExtension]():      "json",
	typeOf[apiextensionsv1.JSON]():      "json",
	typeOf[apiextensionsv1beta1.JSON](): "json",
}

// Messages with a custom JSON encoding to more than one type.
var unions = map[reflect.Type]string{
	typeOf[apiextensionsv1.JSONSchemaPropsOrBool]():             "schema-or-bool",
	typeOf[apiextensionsv1.JSONSchemaPropsOrArray]():            "schema-or-schemas",
	typeOf[apiextensionsv1.JSONSchemaPropsOrStringArray]():      "schema-or-strings",
	typeOf[apiextensionsv1beta1.JSONSchemaPropsOrBool]():        "schema-or-bool",
	typeOf[apiextensionsv1beta1.JSONSchemaPropsOrArray]():       "schema-or-schemas",
	typeOf[apiextensionsv1beta1.JSONSchemaPropsOrStringArray](): "schema-or-strings",
}

type field struct {
	number    int
	json      string
	proto     string
	kind      string       // scalar or form; empty for a message
	message   reflect.Type // nil for a scalar or form
	form      reflect.Type // the type behind a form
	container string       // "", "[]" or "{}"
	flags     []string
}

type message struct {
	goType reflect.Type
	fields []field
}

var messages = map[reflect.Type]*message{}

func main() {
	kinds := allKinds()
	for _, kind := range kinds {
		walk(kind.goType)
	}
	compareWithProto()
	print(kinds)
}

type kind struct {
	apiVersion, name string
	goType           reflect.Type
}

// allKinds returns the kinds that have protobuf. Kinds of all groups and versions (DeleteOptions, WatchEvent)
// are returned once, with "*" as apiVersion.
func allKinds() []kind {
	s := scheme.Scheme
	for _, add := range []func(*runtime.Scheme) error{
		admissionv1.AddToScheme, admissionv1beta1.AddToScheme,
		discoveryv2.AddToScheme, discoveryv2beta1.AddToScheme,
		imagepolicyv1alpha1.AddToScheme,
		apiextensionsv1.AddToScheme, apiextensionsv1beta1.AddToScheme,
		apiregistrationv1.AddToScheme, apiregistrationv1beta1.AddToScheme,
		metav1.AddMetaToScheme, metav1beta1.AddMetaToScheme,
	} {
		must(add(s))
	}
	uses := map[reflect.Type]int{}
	for _, goType := range s.AllKnownTypes() {
		uses[goType]++
	}
	unique := map[kind]bool{}
	for gvk, goType := range s.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal || !isMessage(goType) {
			continue
		}
		apiVersion := gvk.GroupVersion().String()
		if uses[goType] > 10 {
			apiVersion = "*"
		}
		unique[kind{apiVersion, gvk.Kind, goType}] = true
	}
	var kinds []kind
	for k := range unique {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b kind) int {
		return slices.Compare(
			[]string{a.apiVersion, a.goType.PkgPath(), a.name}, []string{b.apiVersion, b.goType.PkgPath(), b.name})
	})
	return kinds
}

func walk(t reflect.Type) {
	if messages[t] != nil {
		return
	}
	m := &message{goType: t}
	messages[t] = m
	if t.Kind() == reflect.Slice {
		f := field{number: 1, json: "items", proto: "items", container: "[]"}
		f.setType(t.Elem(), t.String())
		m.fields = []field{f}
		return
	}
	if unions[t] == "" && (implements[json.Marshaler](t) || implements[json.Unmarshaler](t)) {
		fail("%s: unknown custom JSON encoding", t)
	}
	for i := range t.NumField() {
		if f, ok := fieldOf(t, t.Field(i)); ok {
			m.fields = append(m.fields, f)
		}
	}
	slices.SortFunc(m.fields, func(a, b field) int { return a.number - b.number })
}

func fieldOf(in reflect.Type, f reflect.StructField) (field, bool) {
	where := in.String() + "." + f.Name
	tag := f.Tag.Get("protobuf")
	if tag == "" {
		// The type's name goes into the envelope. Other fields without JSON are not used.
		if f.Type != typeOf[metav1.TypeMeta]() && f.Tag.Get("json") != "-" {
			fail("%s has no protobuf tag", where)
		}
		return field{}, false
	}
	if tag == "-" {
		fail("%s is in JSON but not in protobuf", where)
	}
	parts := strings.Split(tag, ",")
	var found field
	if _, err := fmt.Sscan(parts[1], &found.number); err != nil {
		fail("%s: number %q", where, parts[1])
	}
	for _, part := range parts[2:] {
		if name, ok := strings.CutPrefix(part, "name="); ok {
			found.proto = name
		}
		if part == "packed" {
			fail("%s is packed", where)
		}
	}
	options := strings.Split(f.Tag.Get("json"), ",")
	found.json = options[0]
	if found.json == "-" {
		fail("%s is in protobuf but not in JSON", where)
	}
	inline := slices.Contains(options[1:], "inline") || (found.json == "" && f.Anonymous)
	if found.json == "" {
		found.json = f.Name
	}
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
		found.flags = append(found.flags, "pointer")
	}
	switch {
	case isMessage(t):
	case t.Kind() == reflect.Map:
		if t.Key().Kind() != reflect.String {
			fail("%s: keys of %s", where, t)
		}
		found.container, t = "{}", t.Elem()
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		found.container, t = "[]", t.Elem()
	}
	if found.container != "" && len(found.flags) != 0 {
		fail("%s: a pointer to a list or map", where)
	}
	found.setType(t, where)
	if inline {
		if found.message == nil || found.container != "" {
			fail("%s: only messages can be inlined", where)
		}
		if len(found.flags) != 0 {
			fail("%s: a pointer is inlined", where)
		}
		found.flags = append(found.flags, "inline")
	}
	for _, option := range options[1:] {
		switch option {
		case "omitempty":
			found.flags = append(found.flags, option)
		case "omitzero":
			if found.form != typeOf[metav1.Time]() {
				fail("%s: omitzero is supported for times only", where)
			}
			found.flags = append(found.flags, option)
		case "inline", "":
		default:
			fail("%s: JSON option %q", where, option)
		}
	}
	return found, true
}

func (f *field) setType(t reflect.Type, where string) {
	if form := forms[t]; form != "" {
		f.kind, f.form = form, t
		return
	}
	switch {
	case isMessage(t):
		f.message = t
		walk(t)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		f.kind = "bytes"
	case t.Kind() == reflect.String:
		f.kind = "string"
	case t.Kind() == reflect.Bool, t.Kind() == reflect.Int32, t.Kind() == reflect.Int64:
		f.kind = t.Kind().String()
	case t.Kind() == reflect.Float64:
		f.kind = "double"
	default:
		fail("%s: type %s", where, t)
	}
}

// The definition of a field in a .proto file.
type declared struct{ label, typeName, name string }

var (
	protoMessage = regexp.MustCompile(`^message (\w+) \{`)
	protoField   = regexp.MustCompile(`^  (optional|repeated) (\S+) (\w+) = (\d+);`)
	protoMap     = regexp.MustCompile(`^  map<string, (\S+)> (\w+) = (\d+);`)
)

func compareWithProto() {
	packages := map[string]bool{}
	for t := range messages {
		packages[t.PkgPath()] = true
	}
	declarations := map[string]map[string]declared{}
	for path := range packages {
		folder, err := exec.Command("go", "list", "-f", "{{.Dir}}", path).Output()
		must(err)
		readProto(strings.TrimSpace(string(folder))+"/generated.proto", path, declarations)
	}
	for t, m := range messages {
		in := declarations[nameOf(t)]
		if in == nil {
			fail("%s is in no .proto file", nameOf(t))
		}
		for _, f := range m.fields {
			label := map[string]string{"": "optional", "[]": "repeated", "{}": "map"}[f.container]
			typeName := f.kind
			switch {
			case f.message != nil:
				typeName = nameOf(f.message)
			case f.form != nil:
				typeName = nameOf(f.form)
			}
			number := fmt.Sprint(f.number)
			name := f.proto
			if name == "" {
				// Some tags omit it.
				name = in[number].name
			}
			want := declared{label, typeName, name}
			if in[number] != want {
				fail("%s field %s: Go says %v, the .proto file %v", nameOf(t), number, want, in[number])
			}
			delete(in, number)
		}
		if len(in) != 0 {
			fail("%s: only the .proto file has %v", nameOf(t), in)
		}
	}
}

func readProto(path, pkg string, into map[string]map[string]declared) {
	file, err := os.Open(path)
	must(err)
	defer file.Close()
	var current map[string]declared
	qualified := func(name string) string {
		if absolute, ok := strings.CutPrefix(name, "."); ok {
			return absolute
		}
		if slices.Contains([]string{"string", "bool", "int32", "int64", "double", "bytes"}, name) {
			return name
		}
		return strings.ReplaceAll(pkg, "/", ".") + "." + name
	}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := lines.Text()
		if found := protoMessage.FindStringSubmatch(line); found != nil {
			current = map[string]declared{}
			into[strings.ReplaceAll(pkg, "/", ".")+"."+found[1]] = current
		} else if found := protoField.FindStringSubmatch(line); found != nil {
			current[found[4]] = declared{found[1], qualified(found[2]), found[3]}
		} else if found := protoMap.FindStringSubmatch(line); found != nil {
			current[found[3]] = declared{"map", qualified(found[1]), found[2]}
		}
	}
	must(lines.Err())
}

func print(kinds []kind) {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	heading := ""
	for _, k := range kinds {
		if k.name != k.goType.Name() {
			fail("kind %s %s has a message of another name: %s", k.apiVersion, k.name, k.goType)
		}
		in := k.apiVersion + " " + packageOf(k.goType)
		if in != heading {
			heading = in
			fmt.Fprintln(out, "kinds", heading)
		}
		fmt.Fprintln(out, "", k.name)
	}
	var sorted []*message
	for _, m := range messages {
		sorted = append(sorted, m)
	}
	slices.SortFunc(sorted, func(a, b *message) int {
		return slices.Compare(
			[]string{packageOf(a.goType), a.goType.Name()}, []string{packageOf(b.goType), b.goType.Name()})
	})
	pkg := ""
	for _, m := range sorted {
		if m.goType.PkgPath() != pkg {
			pkg = m.goType.PkgPath()
			fmt.Fprintln(out, "package", packageOf(m.goType))
		}
		words := []string{"message", m.goType.Name()}
		if m.goType.Kind() == reflect.Slice {
			words = append(words, "list")
		} else if union := unions[m.goType]; union != "" {
			words = append(words, union)
		}
		fmt.Fprintln(out, strings.Join(words, " "))
		for _, f := range m.fields {
			typeName := f.kind
			if f.message != nil {
				typeName = "@" + nameOf(f.message)
				if f.message.PkgPath() == pkg {
					typeName = "@" + f.message.Name()
				}
			}
			words := append([]string{fmt.Sprint(f.number), f.json, f.container + typeName}, f.flags...)
			fmt.Fprintln(out, "", strings.Join(words, " "))
		}
	}
}

// isMessage returns whether values of the type are messages on the wire, which includes lists.
func isMessage(t reflect.Type) bool {
	_, is := reflect.PointerTo(t).MethodByName("Unmarshal")
	return is
}

func implements[I any](t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(typeOf[I]())
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

func packageOf(t reflect.Type) string { return strings.ReplaceAll(t.PkgPath(), "/", ".") }

func nameOf(t reflect.Type) string { return packageOf(t) + "." + t.Name() }

func must(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}
