package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Variable is a name that an expression may use: with a schema when its type is known, else dynamic.
type Variable struct {
	Schema json.RawMessage `json:"schema,omitempty"`
	Value  json.RawMessage `json:"value"`
}

// Case is an expression, or what the expressions after it may refer to.
type Case struct {
	Expression string              `json:"expression"`
	Variables  map[string]Variable `json:"variables,omitempty"`
}

// Given is what the expressions after it may refer to.
type Given struct {
	Variables map[string]Variable `json:"variables"`
}

// Answer is all that Kubernetes says about a case.
type Answer struct {
	CompileError string          `json:"compileError,omitempty"`
	Type         string          `json:"type,omitempty"`
	Value        json.RawMessage `json:"value,omitempty"`
	Error        string          `json:"error,omitempty"`
	Cost         *uint64         `json:"cost,omitempty"`
	EstimateMin  *uint64         `json:"estimateMin,omitempty"`
	EstimateMax  *uint64         `json:"estimateMax,omitempty"`
}

// Recorded is an expression with its answer.
type Recorded struct {
	Expression string `json:"expression"`
	Answer     Answer `json:"answer"`
}

func baseEnvironment() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
}

func ask(expression string, variables map[string]Variable) Answer {
	declared := map[string]*apiservercel.DeclType{}
	schemas := map[string]*spec.Schema{}
	options := []cel.EnvOption{}
	declaredTypes := []*apiservercel.DeclType{}
	names := []string{}
	for name := range variables {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		variable := variables[name]
		if len(variable.Schema) == 0 {
			options = append(options, cel.Variable(name, cel.DynType))
			continue
		}
		var schema spec.Schema
		if err := json.Unmarshal(variable.Schema, &schema); err != nil {
			panic(err)
		}
		schemas[name] = &schema
		declaration := common.SchemaDeclType(&openapi.Schema{Schema: &schema}, false)
		if declaration.IsObject() || declaration.IsList() || declaration.IsMap() {
			declaration = declaration.MaybeAssignTypeName(name + "Type")
			declaredTypes = append(declaredTypes, declaration)
		}
		declared[name] = declaration
		options = append(options, cel.Variable(name, declaration.CelType()))
	}
	set, err := baseEnvironment().Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        options,
		DeclTypes:         declaredTypes,
	})
	if err != nil {
		return Answer{CompileError: "environment: " + err.Error()}
	}
	env, err := set.Env(environment.NewExpressions)
	if err != nil {
		return Answer{CompileError: "environment: " + err.Error()}
	}
	checked, issues := env.Compile(expression)
	if issues != nil && issues.Err() != nil {
		return Answer{CompileError: issues.String()}
	}
	answer := Answer{Type: checked.OutputType().String()}
	estimator := &library.CostEstimator{SizeEstimator: &sizes{declared: declared}}
	if estimate, err := env.EstimateCost(checked, estimator); err == nil {
		answer.EstimateMin, answer.EstimateMax = &estimate.Min, &estimate.Max
	}
	program, err := env.Program(checked)
	if err != nil {
		answer.Error = "program: " + err.Error()
		return answer
	}
	bindings := map[string]any{}
	for name, variable := range variables {
		var value any
		decoder := json.NewDecoder(strings.NewReader(string(variable.Value)))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err != nil {
			panic(err)
		}
		value = numbers(value)
		if schema, typed := schemas[name]; typed {
			bindings[name] = common.UnstructuredToVal(value, &openapi.Schema{Schema: schema})
		} else {
			bindings[name] = value
		}
	}
	result, details, err := program.ContextEval(context.Background(), bindings)
	if details != nil {
		answer.Cost = details.ActualCost()
	}
	if err != nil {
		answer.Error = err.Error()
		return answer
	}
	answer.Value = render(result)
	return answer
}

// numbers turns JSON numbers to the types that Kubernetes decodes them to.
func numbers(value any) any {
	switch value := value.(type) {
	case json.Number:
		if integer, err := value.Int64(); err == nil {
			return integer
		}
		float, _ := value.Float64()
		return float
	case map[string]any:
		for key, inner := range value {
			value[key] = numbers(inner)
		}
	case []any:
		for index, inner := range value {
			value[index] = numbers(inner)
		}
	}
	return value
}

// sizes bounds what is not written in the expression by what the schemas allow.
type sizes struct {
	declared map[string]*apiservercel.DeclType
}

func (s *sizes) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	if len(element.Path()) == 0 {
		return nil
	}
	current := s.declared[element.Path()[0]]
	if current == nil {
		return nil
	}
	for _, name := range element.Path()[1:] {
		switch name {
		case "@items", "@values":
			if current.ElemType == nil {
				return nil
			}
			current = current.ElemType
		case "@keys":
			if current.KeyType == nil {
				return nil
			}
			current = current.KeyType
		default:
			field, ok := current.Fields[name]
			if !ok || field.Type == nil {
				return nil
			}
			current = field.Type
		}
	}
	return &checker.SizeEstimate{Min: 0, Max: uint64(current.MaxElements)}
}

func (s *sizes) EstimateCallCost(function, overload string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	return nil
}

// render writes a value so that its type can be told from the text.
func render(value ref.Val) json.RawMessage {
	text, err := json.Marshal(tagged(value))
	if err != nil {
		return json.RawMessage(fmt.Sprintf("%q", "unrenderable: "+err.Error()))
	}
	return text
}

func tagged(value ref.Val) any {
	switch value := value.(type) {
	case types.Null:
		return nil
	case types.Bool:
		return bool(value)
	case types.Int:
		return map[string]any{"int": fmt.Sprint(int64(value))}
	case types.Uint:
		return map[string]any{"uint": fmt.Sprint(uint64(value))}
	case types.Double:
		float := float64(value)
		if math.IsNaN(float) || math.IsInf(float, 0) {
			return map[string]any{"double": fmt.Sprint(float)}
		}
		return map[string]any{"double": float}
	case types.String:
		return string(value)
	case types.Bytes:
		return map[string]any{"bytes": []byte(value)}
	case types.Duration:
		return map[string]any{"duration": fmt.Sprint(value.Duration.Nanoseconds())}
	case types.Timestamp:
		return map[string]any{"timestamp": value.Time.UTC().Format(time.RFC3339Nano)}
	case *types.Optional:
		if !value.HasValue() {
			return map[string]any{"optional": []any{}}
		}
		return map[string]any{"optional": []any{tagged(value.GetValue())}}
	case *types.Type:
		return map[string]any{"type": value.TypeName()}
	case traits.Lister:
		items := []any{}
		for iterator := value.Iterator(); iterator.HasNext() == types.True; {
			items = append(items, tagged(iterator.Next()))
		}
		return items
	case traits.Mapper:
		entries := [][2]any{}
		for iterator := value.Iterator(); iterator.HasNext() == types.True; {
			key := iterator.Next()
			entries = append(entries, [2]any{tagged(key), tagged(value.Get(key))})
		}
		sort.Slice(entries, func(a, b int) bool { return fmt.Sprint(entries[a][0]) < fmt.Sprint(entries[b][0]) })
		return map[string]any{"map": entries}
	}
	return map[string]any{"other": value.Type().TypeName()}
}

func listFunctions() {
	env, err := baseEnvironment().Env(environment.NewExpressions)
	if err != nil {
		panic(err)
	}
	names := []string{}
	for name := range env.Functions() {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		for _, overload := range env.Functions()[name].OverloadDecls() {
			fmt.Println(signature(name, overload))
		}
	}
}

func signature(name string, overload *decls.OverloadDecl) string {
	arguments := []string{}
	for _, argument := range overload.ArgTypes() {
		arguments = append(arguments, argument.String())
	}
	style := "global"
	if overload.IsMemberFunction() {
		style = "member"
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", name, overload.ID(), style, strings.Join(arguments, "|"), overload.ResultType())
}
