package main

import (
	"fmt"
	"reflect"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// values chooses the values of fields; no two calls have the same number.
type values interface {
	text(number int) string
	integer(number int) int64
	double(number int) float64
	boolean(number int) bool
	time(number int) time.Time
	quantity(number int) resource.Quantity
	intOrString(number int) intstr.IntOrString
	// behindPointer tells whether single values behind pointers are set or left empty.
	behindPointer() bool
	schemaOrArray(one apiextensions.JSONSchemaProps) apiextensions.JSONSchemaPropsOrArray
	schemaOrBool(one apiextensions.JSONSchemaProps) apiextensions.JSONSchemaPropsOrBool
	schemaOrNames(one apiextensions.JSONSchemaProps) apiextensions.JSONSchemaPropsOrStringArray
}

// plain values are never empty.
type plain struct{}

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (plain) text(number int) string    { return fmt.Sprintf("t%d", number) }
func (plain) integer(number int) int64  { return int64(number) }
func (plain) double(number int) float64 { return float64(number) + 0.5 }
func (plain) boolean(int) bool          { return true }
func (plain) behindPointer() bool       { return true }

func (plain) time(number int) time.Time {
	return begin.Add(time.Duration(number)*time.Second + 120*time.Microsecond)
}

func (plain) quantity(number int) resource.Quantity {
	return resource.MustParse(fmt.Sprintf("%dm", 10*number+1))
}

func (plain) intOrString(number int) intstr.IntOrString { return intstr.FromInt32(int32(number)) }

func (plain) schemaOrArray(one apiextensions.JSONSchemaProps) apiextensions.JSONSchemaPropsOrArray {
	return apiextensions.JSONSchemaPropsOrArray{Schema: &one}
}

func (plain) schemaOrBool(one apiextensions.JSONSchemaProps) apiextensions.JSONSchemaPropsOrBool {
	return apiextensions.JSONSchemaPropsOrBool{Allows: true, Schema: &one}
}

func (plain) schemaOrNames(one apiextensions.JSONSchemaProps) apiextensions.JSONSchemaPropsOrStringArray {
	return apiextensions.JSONSchemaPropsOrStringArray{Schema: &one}
}

// extreme values are negative, escaped in JSON, far away, or empty behind a pointer.
type extreme struct{}

func (extreme) text(number int) string    { return fmt.Sprintf("<\"é😀\u2028\\\n%d", number) }
func (extreme) integer(number int) int64  { return -int64(number) }
func (extreme) double(number int) float64 { return -float64(number) }
func (extreme) boolean(number int) bool   { return number%2 == 0 }
func (extreme) behindPointer() bool       { return false }
func (extreme) time(number int) time.Time { return time.Unix(-int64(number), 999_999_999).UTC() }

func (extreme) quantity(number int) resource.Quantity {
	return resource.MustParse(fmt.Sprintf("-%dGi", number))
}

func (extreme) intOrString(number int) intstr.IntOrString {
	return intstr.FromString(fmt.Sprintf("%d%%", number))
}

func (extreme) schemaOrArray(one apiextensions.JSONSchemaProps) apiextensions.JSONSchemaPropsOrArray {
	return apiextensions.JSONSchemaPropsOrArray{JSONSchemas: []apiextensions.JSONSchemaProps{one, one}}
}

func (extreme) schemaOrBool(apiextensions.JSONSchemaProps) apiextensions.JSONSchemaPropsOrBool {
	return apiextensions.JSONSchemaPropsOrBool{Allows: true}
}

func (extreme) schemaOrNames(one apiextensions.JSONSchemaProps) apiextensions.JSONSchemaPropsOrStringArray {
	return apiextensions.JSONSchemaPropsOrStringArray{Property: []string{one.ID, one.Title}}
}

// filler sets every field of every struct once; structs that it meets again get single values only,
// which keeps objects small and schemas of schemas finite.
type filler struct {
	values   values
	elements int
	number   int
	met      map[reflect.Type]bool
}

func newFiller(values values, elements int) *filler {
	return &filler{values: values, elements: elements, met: map[reflect.Type]bool{}}
}

func (f *filler) object(object runtime.Object) { f.fill(reflect.ValueOf(object).Elem()) }

func (f *filler) next() int {
	f.number++
	return f.number
}

func (f *filler) fill(value reflect.Value) {
	if f.fillKnown(value) {
		return
	}
	switch value.Kind() {
	case reflect.String:
		value.SetString(f.values.text(f.next()))
	case reflect.Bool:
		value.SetBool(f.values.boolean(f.next()))
	case reflect.Int, reflect.Int32, reflect.Int64:
		value.SetInt(f.values.integer(f.next()))
	case reflect.Float64:
		value.SetFloat(f.values.double(f.next()))
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		if f.values.behindPointer() || value.Type().Elem().Kind() == reflect.Struct {
			f.fill(value.Elem())
		}
	case reflect.Slice:
		f.fillSlice(value)
	case reflect.Map:
		f.fillMap(value)
	case reflect.Struct:
		f.fillStruct(value)
	default:
		panic(fmt.Sprintf("no value for %s", value.Type()))
	}
}

// fillKnown fills what is more, or less, than its fields.
func (f *filler) fillKnown(value reflect.Value) bool {
	number := f.next()
	raw := []byte(fmt.Sprintf(`{"f:n%d":{},"o":[%d,null,"x"]}`, number, number))
	var known any
	switch value.Interface().(type) {
	case metav1.TypeMeta:
		return true
	case metav1.Time:
		known = metav1.NewTime(f.values.time(number))
	case metav1.MicroTime:
		known = metav1.NewMicroTime(f.values.time(number))
	case resource.Quantity:
		known = f.values.quantity(number)
	case intstr.IntOrString:
		known = f.values.intOrString(number)
	case runtime.RawExtension:
		known = runtime.RawExtension{Raw: raw}
	case metav1.FieldsV1:
		known = metav1.FieldsV1{Raw: raw}
	case apiextensions.JSON:
		known = apiextensions.JSON{Raw: raw}
	case apiextensions.JSONSchemaPropsOrArray:
		known = f.values.schemaOrArray(f.schema())
	case apiextensions.JSONSchemaPropsOrBool:
		known = f.values.schemaOrBool(f.schema())
	case apiextensions.JSONSchemaPropsOrStringArray:
		known = f.values.schemaOrNames(f.schema())
	default:
		return false
	}
	value.Set(reflect.ValueOf(known))
	return true
}

func (f *filler) schema() apiextensions.JSONSchemaProps {
	var schema apiextensions.JSONSchemaProps
	f.fill(reflect.ValueOf(&schema).Elem())
	return schema
}

func (f *filler) fillSlice(value reflect.Value) {
	if value.Type().Elem().Kind() == reflect.Uint8 {
		value.SetBytes([]byte{0xff, 0, byte(f.next())})
		return
	}
	value.Set(reflect.MakeSlice(value.Type(), f.elements, f.elements))
	for i := range f.elements {
		f.fill(value.Index(i))
	}
}

func (f *filler) fillMap(value reflect.Value) {
	value.Set(reflect.MakeMap(value.Type()))
	for range f.elements {
		key := reflect.New(value.Type().Key()).Elem()
		key.SetString(f.values.text(f.next()))
		element := reflect.New(value.Type().Elem()).Elem()
		f.fill(element)
		value.SetMapIndex(key, element)
	}
}

func (f *filler) fillStruct(value reflect.Value) {
	met := f.met[value.Type()]
	f.met[value.Type()] = true
	for i := range value.NumField() {
		field := value.Type().Field(i)
		if !field.IsExported() || met && !field.Anonymous && isCompound(field.Type) {
			continue
		}
		if field.Anonymous && !met {
			delete(f.met, field.Type)
		}
		f.fill(value.Field(i))
	}
}

func isCompound(goType reflect.Type) bool {
	switch goType.Kind() {
	case reflect.Struct:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return isCompound(goType.Elem())
	default:
		return false
	}
}
