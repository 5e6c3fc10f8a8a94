// Prints how the Go types of Kubernetes' API encode and decode JSON, as far as the OpenAPI documents do not
// specify it.
//
// `cargo xtask tables` runs it and keeps the output as crates/kube-embedded/src/schema/go.txt.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

type types struct {
	seen map[reflect.Type]bool
	out  map[string]string
}

func openAPIName(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	host := strings.Split(parts[0], ".")
	for i, j := 0, len(host)-1; i < j; i, j = i+1, j-1 {
		host[i], host[j] = host[j], host[i]
	}
	return strings.Join(append(host, parts[1:]...), ".") + "." + t.Name()
}

func (ts *types) visit(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		ts.visit(t.Elem())
		return
	case reflect.Struct:
	default:
		return
	}
	if ts.seen[t] || reflect.PointerTo(t).Implements(unmarshaler) {
		return
	}
	ts.seen[t] = true
	var lines []string
	ts.fields(t, "", &lines)
	sort.Strings(lines)
	ts.out[openAPIName(t)] = strings.Join(lines, "")
}

func (ts *types) fields(t reflect.Type, via string, lines *[]string) {
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("json")
		parts := strings.Split(tag, ",")
		if f.Anonymous && parts[0] == "" {
			ts.fields(f.Type, via+f.Name+".", lines)
			continue
		}
		if !ok || !f.IsExported() || parts[0] == "-" || parts[0] == "" {
			continue
		}
		ts.visit(f.Type)
		line := " " + parts[0] + " " + f.Type.String()
		for _, option := range parts[1:] {
			line += " " + option
		}
		if via != "" {
			line += " via=" + strings.TrimSuffix(via, ".")
		}
		*lines = append(*lines, line+"\n")
	}
}

func main() {
	must(apiextensions.AddToScheme(scheme.Scheme))
	must(apiregistration.AddToScheme(scheme.Scheme))
	ts := &types{seen: map[reflect.Type]bool{}, out: map[string]string{}}
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version != "__internal" && !strings.HasSuffix(gvk.Kind, "List") {
			ts.visit(t)
		}
	}
	names := make([]string, 0, len(ts.out))
	for name := range ts.out {
		names = append(names, name)
	}
	sort.Strings(names)
	w := os.Stdout
	for _, name := range names {
		fmt.Fprintf(w, "type %s\n%s", name, ts.out[name])
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
