// Write random objects of every kind: their protobuf bytes, some of them damaged, and what Go itself makes of the bytes.
//
// Usage: go run ./samples <objects of each kind> <seed>
package main

import (
	"bytes"
	"encoding/json"
	"math/rand"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"fleetqueue-facts/known"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
)

type sample struct {
	Group   string          `json:"group"`
	Version string          `json:"version"`
	Kind    string          `json:"kind"`
	Damaged bool            `json:"damaged"`
	Body    []byte          `json:"body"`
	Object  json.RawMessage `json:"object,omitempty"`
	Error   string          `json:"error,omitempty"`
}

const deepest = 12

var (
	types  = known.Types()
	codec  = protobuf.NewSerializer(types, types)
	chance *rand.Rand
)

func main() {
	count, _ := strconv.Atoi(os.Args[1])
	seed, _ := strconv.ParseInt(os.Args[2], 10, 64)
	chance = rand.New(rand.NewSource(seed))
	out := json.NewEncoder(os.Stdout)
	for _, gvk := range kinds() {
		for i := range count {
			known.Must(out.Encode(sampled(gvk, i%3 == 2)))
		}
	}
}

func kinds() []schema.GroupVersionKind {
	found := []schema.GroupVersionKind{}
	for gvk := range types.AllKnownTypes() {
		if gvk.Version != runtime.APIVersionInternal && gvk.Kind != "WatchEvent" {
			found = append(found, gvk)
		}
	}
	slices.SortFunc(found, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return found
}

func sampled(gvk schema.GroupVersionKind, damaged bool) sample {
	object, err := types.New(gvk)
	known.Must(err)
	fill(reflect.ValueOf(object).Elem(), 0)
	object.GetObjectKind().SetGroupVersionKind(gvk)
	body, err := runtime.Encode(codec, object)
	known.Must(err)
	if damaged {
		damage(body[bytes.Index(body, []byte(gvk.Kind))+len(gvk.Kind):])
	}
	result := sample{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Damaged: damaged, Body: body}
	if result.Object, err = written(body, gvk); err != nil {
		result.Error = err.Error()
	}
	return result
}

// written reads the bytes and writes them as JSON.
func written(body []byte, gvk schema.GroupVersionKind) ([]byte, error) {
	object, found, err := codec.Decode(body, &gvk, nil)
	if err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(*found)
	return json.Marshal(object)
}

// damage changes a few bytes.
func damage(body []byte) {
	for range 1 + chance.Intn(3) {
		body[chance.Intn(len(body))] = byte(chance.Intn(256))
	}
}

// fill gives a value random contents; much stays empty, because zeros are what is easily written wrong.
func fill(v reflect.Value, depth int) {
	if special(v.Addr().Interface()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !rarely(depth) {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type().Field(i).Tag.Get("json") != "-" {
				fill(v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		fillSlice(v, depth)
	case reflect.Map:
		fillMap(v, depth)
	case reflect.String:
		v.SetString(text())
	case reflect.Bool:
		v.SetBool(chance.Intn(2) == 0)
	case reflect.Int32, reflect.Int64:
		v.SetInt([]int64{0, 0, 1, -1, 7, 300, 1<<31 - 1, -1 << 31}[chance.Intn(8)])
	case reflect.Float64:
		v.SetFloat([]float64{0, 1, -2.5, 1e30, 0.1}[chance.Intn(5)])
	case reflect.Uint8:
		v.SetUint(uint64(chance.Intn(256)))
	}
}

func fillSlice(v reflect.Value, depth int) {
	if rarely(depth) {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), chance.Intn(3), 3))
	for i := range v.Len() {
		fill(v.Index(i), depth+1)
	}
}

func fillMap(v reflect.Value, depth int) {
	if rarely(depth) {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for range chance.Intn(3) {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		key.SetString(text())
		fill(value, depth+1)
		v.SetMapIndex(key, value)
	}
}

func rarely(depth int) bool {
	return depth > deepest || chance.Intn(5) < 3
}

func text() string {
	return []string{"", "", "a", "name-1", "ü漢😀", "with \"quotes\" & <signs>\u2028", "bad\xff\xe6\xbc"}[chance.Intn(7)]
}

// special fills the types that write their own JSON with what they can hold.
func special(value any) bool {
	documents := []string{`{"a":{"b":[1,-2.5,"x",null,true]}}`, `{}`, `{"f:metadata":{"f:labels":{".":{}}}}`}
	document := []byte(documents[chance.Intn(len(documents))])
	switch it := value.(type) {
	case *metav1.Time:
		*it = metav1.Unix([]int64{-62135596800, 0, 1, 1700000000, -5, 253402300799}[chance.Intn(6)], 0)
	case *metav1.MicroTime:
		*it = metav1.NewMicroTime(metav1.Unix([]int64{-62135596800, 0, 1700000000}[chance.Intn(3)], int64(chance.Intn(3))*1234567).Time)
	case *resource.Quantity:
		*it = resource.MustParse([]string{"0", "1", "100m", "1.5Gi", "1e3", "0.5", "123456789012345678901", "-3k", "1.500"}[chance.Intn(9)])
	case *intstr.IntOrString:
		*it = []intstr.IntOrString{intstr.FromInt32(0), intstr.FromInt32(-8), intstr.FromString(""), intstr.FromString("50%")}[chance.Intn(4)]
	case *runtime.RawExtension:
		it.Raw = [][]byte{nil, document}[chance.Intn(2)]
	case *metav1.FieldsV1:
		it.Raw = document
	case *apiextensionsv1.JSON:
		it.Raw = [][]byte{nil, document, []byte(`"x"`), []byte(`false`)}[chance.Intn(4)]
	case *metav1.TypeMeta:
	default:
		return false
	}
	return true
}
