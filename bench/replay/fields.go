package replay

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fields without an owner: the server sets them.
var unowned = map[string]bool{"name": true, "namespace": true, "uid": true,
	"resourceVersion": true, "creationTimestamp": true, "nodeName": true}

// The member that tells the elements of an associative list apart.
var listKeys = []string{"name", "uid", "type", "ip", "mountPath", "containerPort"}

// fields is the set of a value's fields as fieldsV1 spells it.
func fields(value any, depth int) map[string]any {
	set := map[string]any{}
	switch value := value.(type) {
	case map[string]any:
		if depth > 1 {
			set["."] = map[string]any{}
		}
		for name, member := range value {
			if depth != 1 || !unowned[name] {
				set["f:"+name] = fields(member, depth+1)
			}
		}
	case []any:
		for _, element := range value {
			member, _ := element.(map[string]any)
			for _, name := range listKeys {
				if key, is := member[name]; is {
					text, _ := json.Marshal(map[string]any{name: key})
					set["k:"+string(text)] = fields(member, depth+1)
					break
				}
			}
		}
	}
	return set
}

// owns is what `manager` left behind when it wrote all of `value`.
func owns(manager, subresource string, value map[string]any) metav1.ManagedFieldsEntry {
	var plain any
	at := metav1.NewTime(created)
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	if err == nil {
		text, err = json.Marshal(fields(plain, 0))
	}
	if err != nil {
		panic(err) // our own value
	}
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: "Update",
		APIVersion: "v1", Time: &at, FieldsType: "FieldsV1",
		FieldsV1: &metav1.FieldsV1{Raw: text}, Subresource: subresource}
}
