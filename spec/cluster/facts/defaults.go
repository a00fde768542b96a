package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// prober finds out what an absent field is given: each struct that a kind may
// hold is put into an otherwise empty object of the kind, once empty and once
// with all other fields set, and the object is defaulted.
type prober struct {
	scheme *runtime.Scheme
	// By struct and field, the values found and where.
	found map[string]map[string][]string
}

// place is where a struct is in a kind: indexes of fields. Whatever holds
// elements, or is pointed to, is made on the way.
type place struct {
	kind  reflect.Type
	owner string // the struct whose members its fields are in JSON
	steps []int
}

// within is the place of a field.
func (at place) within(field int, f reflect.StructField) place {
	inner := place{at.kind, at.owner, append(append([]int{}, at.steps...), field)}
	if !f.Anonymous {
		inner.owner = modelName(element(f.Type))
	}
	return inner
}

func (p *prober) probe(kind reflect.Type) {
	p.walk(place{kind, modelName(kind), nil}, kind, map[reflect.Type]int{})
}

func (p *prober) walk(at place, t reflect.Type, seen map[reflect.Type]int) {
	if seen[t] > 0 || leaves[pathOf(t)] != "" {
		return
	}
	seen[t]++
	defer func() { seen[t]-- }()
	p.try(at, t)
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		inner := element(f.Type)
		if f.IsExported() && inner.Kind() == reflect.Struct && f.Name != "TypeMeta" &&
			f.Name != "ObjectMeta" && f.Name != "ListMeta" {
			p.walk(at.within(i, f), inner, seen)
		}
	}
}

func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}

// reach makes what is on the way, and returns the struct at its end.
func reach(v reflect.Value, steps []int) reflect.Value {
	for _, step := range steps {
		v = enter(v.Field(step))
	}
	return v
}

func enter(v reflect.Value) reflect.Value {
	for {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		case reflect.Slice:
			if v.Len() == 0 {
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			}
			v = v.Index(0)
		case reflect.Map:
			// Nothing in a map has defaults; let it go.
			return reflect.New(element(v.Type())).Elem()
		default:
			return v
		}
	}
}

// fill sets every field that it can set to something that is not zero.
func fill(v reflect.Value, but int) {
	for i := 0; i < v.NumField(); i++ {
		if i != but && v.Type().Field(i).IsExported() {
			fillOne(v.Field(i))
		}
	}
}

func fillOne(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillOne(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillOne(v.Index(0))
	}
}

func (p *prober) try(at place, t reflect.Type) {
	for i := 0; i < t.NumField(); i++ {
		if f := t.Field(i); f.IsExported() && !f.Anonymous {
			bare, _ := p.value(at, i, false)
			full, _ := p.value(at, i, true)
			if bare != full {
				bare += " or, among others, " + full
			}
			p.note(at, f, bare)
		}
	}
}

// value is what the field gets, as JSON; "" for nothing.
func (p *prober) value(at place, field int, among bool) (text string, ok bool) {
	object := reflect.New(at.kind)
	holder := reach(object.Elem(), at.steps)
	if among {
		fill(holder, field)
	}
	defer func() {
		if problem := recover(); problem != nil {
			text = "?"
		}
	}()
	p.scheme.Default(object.Interface().(runtime.Object))
	after := reach(object.Elem(), at.steps).Field(field)
	if after.IsZero() {
		return "", false
	}
	bytes, err := json.Marshal(after.Interface())
	if err != nil {
		panic(err)
	}
	return string(bytes), true
}

func (p *prober) note(at place, f reflect.StructField, value string) {
	name := strings.Split(f.Tag.Get("json"), ",")[0]
	key := at.owner + " " + name
	if p.found[key] == nil {
		p.found[key] = map[string][]string{}
	}
	p.found[key][value] = append(p.found[key][value], at.kind.String())
}

// settle keeps what is the same everywhere, and tells what is not.
func (p *prober) settle(r *reader) {
	var keys []string
	for key := range p.found {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		values := p.found[key]
		if len(values) == 1 && values[""] != nil {
			continue
		}
		name, field, _ := strings.Cut(key, " ")
		for value := range values {
			if len(values) == 1 && !strings.Contains(value, " or,") && value != "?" {
				r.set(name, field, value)
				continue
			}
			fmt.Fprintf(os.Stderr, "%s: %q in %s\n", key, value, strings.Join(values[value], ", "))
		}
	}
}

func (r *reader) set(name, field, value string) {
	fields := r.structs[name].Fields
	for i := range fields {
		if fields[i].Name == field {
			fields[i].Default = json.RawMessage(value)
		}
	}
}
