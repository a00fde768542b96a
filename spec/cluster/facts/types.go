package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Structs that are one value in JSON, and what sim/tools/schema calls them.
var leaves = map[string]string{
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":                                             "t",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":                                        "u",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":                                         "d",
	"k8s.io/apimachinery/pkg/api/resource.Quantity":                                         "q",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString":                                       "o",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":                                         "a",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":                                          "a",
	"k8s.io/apimachinery/pkg/runtime.Object":                                                "a",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON":                         "a",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrArray":       "a",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrBool":        "a",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrStringArray": "a",
}

// Field is what a struct's field is in JSON.
type Field struct {
	Name string `json:"name"`
	// Of protobuf, 0 for none; of a field of an inlined struct, the struct's
	// own number times 1024 comes on top.
	Number    int    `json:"number"`
	Type      string `json:"type"`
	Pointer   bool   `json:"pointer"`
	OmitEmpty bool   `json:"omitempty"`
	OmitZero  bool   `json:"omitzero"`
	// The inlined structs it is in, as messages name them: "ProbeHandler".
	Within string `json:"within,omitempty"`
	// What an absent one is given, whatever is beside it.
	Default json.RawMessage `json:"default,omitempty"`
}

// Struct is a Go type with the name that OpenAPI gives it.
type Struct struct {
	Name   string  `json:"name"`
	Go     string  `json:"go"`
	Fields []Field `json:"fields"`
}

type modelNamer interface{ OpenAPIModelName() string }

// message is what protobuf knows: also of a list that is one by itself.
type message interface{ Marshal() ([]byte, error) }

// modelName is the type's name in OpenAPI documents.
func modelName(t reflect.Type) string {
	if named, ok := reflect.New(t).Interface().(modelNamer); ok {
		return named.OpenAPIModelName()
	}
	parts := strings.Split(t.PkgPath(), "/")
	hosts := strings.Split(parts[0], ".")
	for i, j := 0, len(hosts)-1; i < j; i, j = i+1, j-1 {
		hosts[i], hosts[j] = hosts[j], hosts[i]
	}
	return strings.Join(append(hosts, append(parts[1:], t.Name())...), ".")
}

func pathOf(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

type reader struct {
	structs map[string]*Struct
	types   map[string]reflect.Type
}

// typeText is the type in the language of the table: see schema_table.h.
func (r *reader) typeText(t reflect.Type) string {
	if leaf, ok := leaves[pathOf(t)]; ok && t.Name() != "" {
		return named(leaf, t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return r.typeText(t.Elem())
	case reflect.Struct:
		r.read(t)
		return "@" + modelName(t) + "@"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return named("y", t)
		}
		if _, ok := reflect.New(t).Interface().(message); ok {
			return named("(", t) + r.typeText(t.Elem())
		}
		return named("[", t) + r.typeText(t.Elem())
	case reflect.Map:
		return named("{", t) + r.typeText(t.Elem())
	case reflect.String:
		return named("s", t)
	case reflect.Bool:
		return named("b", t)
	case reflect.Int32, reflect.Uint8:
		return named("i", t)
	case reflect.Int64, reflect.Int:
		return named("l", t)
	case reflect.Float64:
		return named("f", t)
	case reflect.Interface:
		return "a"
	}
	panic(fmt.Sprintf("no word for %s", t))
}

// named adds the Go name where it is not the usual one.
func named(letter string, t reflect.Type) string {
	usual := map[string]string{"s": "string", "b": "bool", "i": "int32", "l": "int64",
		"f": "float64", "y": "[]uint8", "t": "v1.Time", "u": "v1.MicroTime", "d": "v1.Duration",
		"q": "resource.Quantity", "o": "intstr.IntOrString", "a": "runtime.RawExtension"}
	if t.Name() == "" || t.String() == usual[letter] {
		return letter
	}
	return letter + "'" + t.String() + "'"
}

func (r *reader) read(t reflect.Type) {
	name := modelName(t)
	if _, ok := r.structs[name]; ok {
		return
	}
	s := &Struct{Name: name, Go: t.String()}
	r.structs[name] = s
	r.types[name] = t
	s.Fields = r.fields(t, inlined{numbered: true})
}

// inlined is where the fields of a struct are told: in the message of that
// number, by the name of the struct there; or, without a number, nowhere.
type inlined struct {
	numbered bool
	number   int
	within   string
}

const base = 1024 // of the numbers of messages within each other

func (r *reader) fields(t reflect.Type, in inlined) []Field {
	var all []Field
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		words := strings.Split(f.Tag.Get("json"), ",")
		if words[0] == "-" || !f.IsExported() {
			continue
		}
		number := protobufNumber(f)
		if words[0] == "" && (f.Anonymous || contains(words, "inline")) {
			if f.Type.Kind() != reflect.Struct {
				panic(t.String() + "." + f.Name + " is inlined, and no struct")
			}
			name := f.Name
			if name == "TypeMeta" {
				name = ""
			}
			all = append(all, r.fields(f.Type,
				inlined{number != 0, in.number*base + number, name})...)
			continue
		}
		if words[0] == "" {
			panic(t.String() + "." + f.Name + " has no name in JSON")
		}
		if number != 0 && in.numbered {
			number += in.number * base
		} else {
			number = 0
		}
		all = append(all, Field{
			Name: words[0], Number: number, Type: r.typeText(f.Type),
			Pointer:   f.Type.Kind() == reflect.Pointer,
			OmitEmpty: contains(words, "omitempty") && f.Type.Kind() != reflect.Struct,
			OmitZero:  contains(words, "omitzero"), Within: in.within,
		})
	}
	return all
}

func protobufNumber(f reflect.StructField) int {
	words := strings.Split(f.Tag.Get("protobuf"), ",")
	if len(words) < 2 {
		return 0
	}
	number, err := strconv.Atoi(words[1])
	if err != nil || number < 1 || number >= base {
		panic(f.Name + ": " + words[1])
	}
	return number
}

func contains(words []string, word string) bool {
	for _, w := range words {
		if w == word {
			return true
		}
	}
	return false
}
