package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strings"
	"sync"
	"time"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	protobufType    = "application/vnd.kubernetes.protobuf"
	typedNamespace  = "typed"
	typedConfigMap  = "typed"
	informerTimeout = 30 * time.Second
)

var thingsResource = schema.GroupVersionResource{Group: "wire.example.com", Version: "v1", Resource: "things"}

// wireLog notes in which forms requests and answers travelled.
type wireLog struct {
	mutex sync.Mutex
	seen  map[string]int
}

func (l *wireLog) noted(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil {
			return response, err
		}
		sent := "nothing"
		if request.Body != nil && request.Body != http.NoBody {
			sent = request.Header.Get("Content-Type")
		}
		line := fmt.Sprintf("%s %s -> %s", request.Method, sent, response.Header.Get("Content-Type"))
		l.mutex.Lock()
		defer l.mutex.Unlock()
		if l.seen == nil {
			l.seen = map[string]int{}
		}
		l.seen[line]++
		return response, nil
	})
}

// isProtobufOnly fails if anything but a patch travelled in another form, or nothing travelled.
func (l *wireLog) isProtobufOnly(wanted ...string) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var lines []string
	for line, count := range l.seen {
		lines = append(lines, fmt.Sprintf("%d times %s", count, line))
	}
	sort.Strings(lines)
	for line := range l.seen {
		sent, got, _ := strings.Cut(line, " -> ")
		method, body, _ := strings.Cut(sent, " ")
		isPatch := method == http.MethodPatch && strings.HasSuffix(body, "-patch+json")
		isFine := body == "nothing" || body == protobufType || isPatch
		if !isFine || !strings.HasPrefix(got, protobufType) {
			return fmt.Errorf("not protobuf: %s, of %q", line, lines)
		}
	}
	for _, line := range wanted {
		if l.seen[line] == 0 {
			return fmt.Errorf("%q is not among %q", line, lines)
		}
	}
	return nil
}

func (h *harness) wired(log *wireLog) *rest.Config {
	config := h.config(nil)
	config.Wrap(log.noted)
	return config
}

// typedClientsSpeakProtobuf lets a clientset, as it comes, do what controllers do, with informers
// beside it, and checks on the wire that protobuf was sent and answered.
func typedClientsSpeakProtobuf(ctx context.Context, harness *harness) error {
	log := &wireLog{}
	client := kubernetes.NewForConfigOrDie(harness.wired(log))
	if err := createTypedNamespace(ctx, client); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(typedNamespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	names := &nameLog{}
	if _, err := informer.AddEventHandler(names); err != nil {
		return err
	}
	stop := make(chan struct{})
	defer close(stop)
	factory.Start(stop)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("the informer never synced")
	}
	for _, step := range []func(context.Context, kubernetes.Interface) error{
		changeConfigMap, scaleDeployment, askQuestions, requestToken, hearRefusals, deleteWithOptions,
	} {
		if err := step(ctx, client); err != nil {
			return err
		}
	}
	if err := names.tells(ctx, "add typed", "update typed", "delete typed"); err != nil {
		return err
	}
	if err := sameInBothForms(ctx, harness, client); err != nil {
		return err
	}
	return log.isProtobufOnly(
		"POST "+protobufType+" -> "+protobufType,
		"PUT "+protobufType+" -> "+protobufType,
		"DELETE "+protobufType+" -> "+protobufType,
		"PATCH application/merge-patch+json -> "+protobufType,
		"GET nothing -> "+protobufType,
		"GET nothing -> "+protobufType+";stream=watch",
	)
}

func createTypedNamespace(ctx context.Context, client kubernetes.Interface) error {
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: typedNamespace}}
	_, err := client.CoreV1().Namespaces().Create(ctx, object, metav1.CreateOptions{})
	return err
}

func changeConfigMap(ctx context.Context, client kubernetes.Interface) error {
	all := client.CoreV1().ConfigMaps(typedNamespace)
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: typedConfigMap, Labels: map[string]string{"a": "b"}},
		Data:       map[string]string{"k": "0"},
		BinaryData: map[string][]byte{"raw": {0, 255}},
	}
	created, err := all.Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if created.UID == "" || string(created.BinaryData["raw"]) != "\x00\xff" {
		return fmt.Errorf("created as %v", created)
	}
	created.Data["k"] = "1"
	updated, err := all.Update(ctx, created, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	patched, err := all.Patch(ctx, typedConfigMap, types.MergePatchType, []byte(`{"data":{"k":"2"}}`), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	got, err := all.Get(ctx, typedConfigMap, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !equality.Semantic.DeepEqual(got, patched) || got.ResourceVersion == updated.ResourceVersion {
		return fmt.Errorf("patched to %v, got %v", patched, got)
	}
	return nil
}

func scaleDeployment(ctx context.Context, client kubernetes.Interface) error {
	all := client.AppsV1().Deployments(typedNamespace)
	labels := map[string]string{"app": "typed"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod(0).Spec}
	object := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "typed"},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}
	if _, err := all.Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return err
	}
	scale, err := all.GetScale(ctx, "typed", metav1.GetOptions{})
	if err != nil {
		return err
	}
	scale.Spec = autoscalingv1.ScaleSpec{Replicas: 7}
	scaled, err := all.UpdateScale(ctx, "typed", scale, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	deployment, err := all.Get(ctx, "typed", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if scaled.Spec.Replicas != 7 || *deployment.Spec.Replicas != 7 {
		return fmt.Errorf("scaled to %v and %v", scaled, deployment)
	}
	deployment.Status.ObservedGeneration = deployment.Generation
	observed, err := all.UpdateStatus(ctx, deployment, metav1.UpdateOptions{})
	if err == nil && observed.Status.ObservedGeneration != deployment.Generation {
		err = fmt.Errorf("the status became %v", observed.Status)
	}
	return err
}

func askQuestions(ctx context.Context, client kubernetes.Interface) error {
	question := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods"},
	}}
	reviews := client.AuthorizationV1().SelfSubjectAccessReviews()
	answer, err := reviews.Create(ctx, question, metav1.CreateOptions{})
	if err == nil && !answer.Status.Allowed {
		err = fmt.Errorf("not allowed: %v", answer)
	}
	return err
}

func requestToken(ctx context.Context, client kubernetes.Interface) error {
	accounts := client.CoreV1().ServiceAccounts(typedNamespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "typed"}}
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return err
	}
	wish := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{"others"}}}
	given, err := accounts.CreateToken(ctx, "typed", wish, metav1.CreateOptions{})
	if err == nil && strings.Count(given.Status.Token, ".") != 2 {
		err = fmt.Errorf("no token: %v", given)
	}
	return err
}

func hearRefusals(ctx context.Context, client kubernetes.Interface) error {
	all := client.CoreV1().ConfigMaps(typedNamespace)
	_, err := all.Get(ctx, "missing", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) || err.Error() != `configmaps "missing" not found` {
		return fmt.Errorf("missing: %w", err)
	}
	again := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: typedConfigMap}}
	if _, err := all.Create(ctx, again, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("again: %w", err)
	}
	again.ResourceVersion = "1"
	if _, err := all.Update(ctx, again, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		return fmt.Errorf("stale: %w", err)
	}
	bad := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "Not A Name"}}
	_, err = all.Create(ctx, bad, metav1.CreateOptions{})
	if causes, found := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid); !found || causes.Field != "metadata.name" {
		return fmt.Errorf("bad name: %w", err)
	}
	return nil
}

func deleteWithOptions(ctx context.Context, client kubernetes.Interface) error {
	all := client.CoreV1().ConfigMaps(typedNamespace)
	other := types.UID("another")
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}}
	if err := all.Delete(ctx, typedConfigMap, options); !apierrors.IsConflict(err) {
		return fmt.Errorf("deleted another: %w", err)
	}
	orphan := metav1.DeletePropagationOrphan
	if err := all.Delete(ctx, typedConfigMap, metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		return err
	}
	// Whoever collects what is orphaned takes the finalizer off; here that may be us.
	remove := []byte(`{"metadata":{"finalizers":null}}`)
	_, err := all.Patch(ctx, typedConfigMap, types.MergePatchType, remove, metav1.PatchOptions{})
	if err = unless(apierrors.IsNotFound, err); err != nil {
		return err
	}
	return client.CoreV1().Secrets(typedNamespace).
		DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "none=such"})
}

// sameInBothForms lists kinds that the server itself fills, in protobuf and in JSON.
func sameInBothForms(ctx context.Context, harness *harness, client kubernetes.Interface) error {
	asJSON := harness.config(nil)
	asJSON.ContentType, asJSON.AcceptContentTypes = "application/json", "application/json"
	inJSON := kubernetes.NewForConfigOrDie(asJSON)
	type lister func(kubernetes.Interface) (runtime.Object, error)
	options := metav1.ListOptions{}
	for name, list := range map[string]lister{
		"namespaces": func(c kubernetes.Interface) (runtime.Object, error) {
			return c.CoreV1().Namespaces().List(ctx, options)
		},
		"services": func(c kubernetes.Interface) (runtime.Object, error) {
			return c.CoreV1().Services("").List(ctx, options)
		},
		"secrets": func(c kubernetes.Interface) (runtime.Object, error) { return c.CoreV1().Secrets("").List(ctx, options) },
		"deployments": func(c kubernetes.Interface) (runtime.Object, error) {
			return c.AppsV1().Deployments("").List(ctx, options)
		},
		"pods": func(c kubernetes.Interface) (runtime.Object, error) {
			return c.CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: pageSize})
		},
	} {
		one, err := list(client)
		if err != nil {
			return err
		}
		other, err := list(inJSON)
		if err != nil {
			return err
		}
		if !equality.Semantic.DeepEqual(one, other) {
			return fmt.Errorf("%s differ: %v in protobuf, %v in JSON", name, one, other)
		}
	}
	return nil
}

// metadataClientsSpeakProtobuf follows a kind by its metadata alone.
func metadataClientsSpeakProtobuf(ctx context.Context, harness *harness) error {
	log := &wireLog{}
	client := metadata.NewForConfigOrDie(harness.wired(log))
	factory := metadatainformer.NewFilteredSharedInformerFactory(client, 0, typedNamespace, nil)
	informer := factory.ForResource(secretsResource).Informer()
	names := &nameLog{}
	if _, err := informer.AddEventHandler(names); err != nil {
		return err
	}
	stop := make(chan struct{})
	defer close(stop)
	factory.Start(stop)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("the informer never synced")
	}
	writer := harness.dynamic(nil).Resource(secretsResource).Namespace(typedNamespace)
	object := &unstructured.Unstructured{Object: secret("followed")}
	if _, err := writer.Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := names.tells(ctx, "add followed"); err != nil {
		return err
	}
	got, err := client.Resource(secretsResource).Namespace(typedNamespace).Get(ctx, "followed", metav1.GetOptions{})
	if err != nil || got.UID == "" {
		return fmt.Errorf("got %v: %w", got, err)
	}
	if _, err := client.Resource(secretsResource).List(ctx, metav1.ListOptions{}); err != nil {
		return err
	}
	return log.isProtobufOnly(
		"GET nothing -> "+protobufType,
		"GET nothing -> "+protobufType+";stream=watch",
	)
}

// customKindsAreProtobufInTheirMetadata defines a kind in protobuf, asks for its objects in JSON, as
// they have no other form, and for their metadata in protobuf.
func customKindsAreProtobufInTheirMetadata(ctx context.Context, harness *harness) error {
	log := &wireLog{}
	if err := defineCustomKind(ctx, apiextensions.NewForConfigOrDie(harness.wired(log))); err != nil {
		return err
	}
	objects := harness.dynamic(nil).Resource(thingsResource).Namespace(typedNamespace)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "wire.example.com/v1", "kind": "Thing",
		"metadata": map[string]any{"name": "one"},
		"spec":     map[string]any{"replicas": int64(2)},
	}}
	err := wait.PollUntilContextTimeout(ctx, convergePause, informerTimeout, true,
		func(ctx context.Context) (bool, error) {
			_, err := objects.Create(ctx, object, metav1.CreateOptions{})
			return err == nil, unless(apierrors.IsNotFound, err)
		})
	if err != nil {
		return err
	}
	metadataClient := metadata.NewForConfigOrDie(harness.wired(log)).Resource(thingsResource)
	list, err := metadataClient.Namespace(typedNamespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != "one" {
		return fmt.Errorf("listed %v: %w", list, err)
	}
	if err := log.isProtobufOnly("POST " + protobufType + " -> " + protobufType); err != nil {
		return err
	}
	return isNotAcceptable(ctx, harness, "/apis/wire.example.com/v1/things", protobufType)
}

func defineCustomKind(ctx context.Context, client apiextensions.Interface) error {
	keep := true
	schema := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &keep}
	names := apiextensionsv1.CustomResourceDefinitionNames{
		Plural: "things", Singular: "thing", Kind: "Thing", ListKind: "ThingList",
	}
	version := apiextensionsv1.CustomResourceDefinitionVersion{
		Name: "v1", Served: true, Storage: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema},
	}
	object := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things.wire.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "wire.example.com", Names: names, Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version},
		},
	}
	all := client.ApiextensionsV1().CustomResourceDefinitions()
	_, err := all.Create(ctx, object, metav1.CreateOptions{})
	return err
}

// openapiIsTheSameInProtobuf compares the message with what gnostic makes of the JSON.
func openapiIsTheSameInProtobuf(ctx context.Context, harness *harness) error {
	client := discovery.NewDiscoveryClientForConfigOrDie(harness.config(nil))
	sent, err := client.OpenAPISchema()
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, harness.url+"/openapi/v2", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	made, err := openapi_v2.ParseDocument(text)
	if err != nil {
		return err
	}
	if definitions := len(made.Definitions.AdditionalProperties); definitions < 500 {
		return fmt.Errorf("only %d definitions", definitions)
	}
	if !proto.Equal(sent, made) {
		return fmt.Errorf("the message is not what the JSON says: %s", firstDifference(sent, made))
	}
	return nil
}

func firstDifference(sent, made *openapi_v2.Document) string {
	for place, definition := range made.Definitions.AdditionalProperties {
		if place >= len(sent.Definitions.AdditionalProperties) {
			return "definitions are missing"
		}
		if found := sent.Definitions.AdditionalProperties[place]; !proto.Equal(found, definition) {
			return fmt.Sprintf("%v instead of %v", found, definition)
		}
	}
	for place, path := range made.Paths.Path {
		if found := sent.Paths.Path[place]; !proto.Equal(found, path) {
			return fmt.Sprintf("%v instead of %v", found, path)
		}
	}
	return "outside of definitions and paths"
}

// tablesAreNotProtobuf hears what Kubernetes says to whoever asks for one.
func tablesAreNotProtobuf(ctx context.Context, harness *harness) error {
	return isNotAcceptable(ctx, harness, "/api/v1/pods", protobufType+";as=Table;g=meta.k8s.io;v=v1")
}

func isNotAcceptable(ctx context.Context, harness *harness, path, accept string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, harness.url+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	said := []byte("only the following media types are accepted")
	if response.StatusCode != http.StatusNotAcceptable || !bytes.Contains(text, said) {
		return fmt.Errorf("%s: %s", response.Status, text)
	}
	return nil
}

// nameLog notes what a handler is told, by name.
type nameLog struct {
	mutex sync.Mutex
	told  []string
}

func (l *nameLog) OnAdd(object any, _ bool) { l.note("add", object) }
func (l *nameLog) OnUpdate(_, object any)   { l.note("update", object) }
func (l *nameLog) OnDelete(object any)      { l.note("delete", object) }
func (l *nameLog) note(what string, of any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if object, ok := of.(metav1.Object); ok {
		l.told = append(l.told, what+" "+object.GetName())
	}
}

// tells waits until all of these were told, in this order.
func (l *nameLog) tells(ctx context.Context, wanted ...string) error {
	err := wait.PollUntilContextTimeout(ctx, convergePause, informerTimeout, true,
		func(context.Context) (bool, error) {
			l.mutex.Lock()
			defer l.mutex.Unlock()
			next := 0
			for _, line := range l.told {
				if next < len(wanted) && line == wanted[next] {
					next++
				}
			}
			return next == len(wanted), nil
		})
	if err != nil {
		return fmt.Errorf("%w: told %q, not %q", err, l.told, wanted)
	}
	return nil
}
