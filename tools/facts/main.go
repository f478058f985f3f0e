// Write what reflection knows of the Kubernetes API types as JSON: kinds, and the fields of every struct they lead to.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	"fleetqueue-facts/known"

	"k8s.io/apimachinery/pkg/runtime"
)

type kind struct {
	Group, Version, Kind, Type string
}

type field struct {
	Type          string
	Go            string
	Inline        bool
	JSON          string
	Protobuf      string
	PatchStrategy string
	PatchMergeKey string
}

var (
	structs   = map[string][]field{}
	marshaler = reflect.TypeFor[json.Marshaler]()
)

func main() {
	kinds := []kind{}
	for gvk, t := range known.Types().AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal {
			continue
		}
		kinds = append(kinds, kind{gvk.Group, gvk.Version, gvk.Kind, describe(t)})
	}
	known.Must(json.NewEncoder(os.Stdout).Encode(map[string]any{"kinds": kinds, "structs": structs}))
}

// describe names a type: a scalar, "*T", "[]T", "{}T", or a struct, whose fields it notes. "=" before a list means
// that the list is a message of its own on the wire.
func describe(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + describe(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		if _, isMessage := reflect.PointerTo(t).MethodByName("Unmarshal"); isMessage {
			return "=[]" + describe(t.Elem())
		}
		return "[]" + describe(t.Elem())
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			panic("a map whose keys are no strings: " + t.String())
		}
		return "{}" + describe(t.Elem())
	case reflect.Struct:
		note(t)
		return name(t)
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Float64:
		return t.Kind().String()
	}
	panic(fmt.Sprintf("a type of another sort: %s", t))
}

func name(t reflect.Type) string {
	return t.PkgPath() + "." + t.Name()
}

func note(t reflect.Type) {
	if _, noted := structs[name(t)]; noted {
		return
	}
	if t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
		structs[name(t)] = nil // it writes its own JSON: only a person can describe it
		return
	}
	fields := []field{}
	structs[name(t)] = fields // a type may lead back to itself
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("json") == "-" || !f.IsExported() {
			continue
		}
		fields = append(fields, field{
			Type:          describe(f.Type),
			Go:            strings.TrimPrefix(f.Type.String(), "*"),
			Inline:        f.Anonymous && strings.HasPrefix(f.Tag.Get("json"), ","),
			JSON:          f.Tag.Get("json"),
			Protobuf:      f.Tag.Get("protobuf"),
			PatchStrategy: f.Tag.Get("patchStrategy"),
			PatchMergeKey: f.Tag.Get("patchMergeKey"),
		})
	}
	structs[name(t)] = fields
}
